import re

import pytest
from running_app import ROOT

ENGLISH, CHINESE = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh.md"))
COMMENT = re.compile(r"(^| +)# .*", re.MULTILINE)


def commands(text):
    """Return what the blocks of code hold, without comments, which are in the language of the text."""
    return [COMMENT.sub("", block) for block in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)]


def in_code(text):
    """Return names and commands in running text and tables."""
    return sorted(re.findall(r"`[^`\n]+`", text))


@pytest.mark.parametrize("part", [commands, in_code])
def test_both_languages_give_the_same_commands_and_names(part):
    assert part(ENGLISH) == part(CHINESE) != []


def test_both_languages_have_the_same_parts_and_pictures():
    for part in ("^#+ ", r"^\|.*\|$", r"\]\(docs/[^)]+\)"):
        found = [re.findall(part, text, re.MULTILINE) for text in (ENGLISH, CHINESE)]
        assert len(found[0]) == len(found[1]) > 0
    assert re.findall(r"\((docs/[^)]+)\)", ENGLISH) == re.findall(r"\((docs/[^)]+)\)", CHINESE)


@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_every_link_to_a_file_leads_to_one(text):
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_each_language_links_to_the_other_at_its_beginning():
    assert "(README.zh.md)" in ENGLISH[:100]
    assert "(README.md)" in CHINESE[:100]
