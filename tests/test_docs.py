"""README and documentation: the same in both languages, without broken links, and current."""

import re
import sys

import pytest
from running_app import ROOT

sys.path.append(str(ROOT / "docs"))

import build

DOCS = ROOT / "docs"
MADE = {name for language in build.LANGUAGES for name in build.made(language)}
READMES = (ROOT / "README.md", ROOT / "README.zh.md")
CHINESE = sorted((DOCS / "zh").rglob("*.md"))
PAIRS = [READMES] + [
    (DOCS / "en" / page.relative_to(DOCS / "zh"), page) for page in CHINESE if page.name not in MADE
]
PAGES = [*READMES, ROOT / "CONTRIBUTING.md", *sorted((DOCS / "en").rglob("*.md")), *CHINESE]
COMMENT = re.compile(r"(^| +)# .*", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)")


def name_of(page):
    return str(page.relative_to(ROOT)) if hasattr(page, "relative_to") else name_of(page[1])


def text_of(page):
    return page.read_text(encoding="utf-8")


def commands(text):
    """Return what the blocks of code hold, without comments, which are in the language of the text."""
    return [COMMENT.sub("", block) for block in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)]


@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
@pytest.mark.parametrize("part", [commands, lambda text: re.findall(r"^#+ ", text, re.MULTILINE)])
def test_both_languages_give_the_same_commands_and_parts(pair, part):
    english, chinese = map(text_of, pair)
    assert part(english) == part(chinese)


@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
def test_both_languages_show_the_same_pictures_and_as_many_rows(pair):
    for part in (r"images/[\w.-]+", r"^\|.*\|$"):
        english, chinese = (re.findall(part, text_of(page), re.MULTILINE) for page in pair)
        assert len(english) == len(chinese)
        assert part.startswith("^") or english == chinese


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_a_file(page):
    links = [link for link in LINK.findall(re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)) if link]
    assert [link for link in links if not (page.parent / link).is_file()] == []


@pytest.mark.parametrize("language", build.LANGUAGES)
def test_every_picture_is_shown_and_light(language):
    pictures = {path.name: path.stat().st_size for path in (DOCS / language / "images").iterdir()}
    shown = set()
    for page in PAGES:
        shown |= {link.rsplit("/", 1)[-1] for link in LINK.findall(text_of(page))}
    assert set(pictures) - shown == set()
    assert max(pictures.values()) < 3_000_000


@pytest.mark.parametrize("language", build.LANGUAGES)
def test_the_pages_that_are_made_are_those_that_stand_there(language):
    for name, text in build.made(language).items():
        assert text_of(DOCS / language / name) == text, f"{name} is old: run `make docs`"


@pytest.mark.parametrize("readme", READMES, ids=name_of)
def test_a_readme_is_read_in_one_sitting(readme):
    assert len(text_of(readme).splitlines()) < 160


def test_each_language_links_to_the_other_at_its_beginning():
    english, chinese = map(text_of, READMES)
    assert "(README.zh.md)" in english[:100]
    assert "(README.md)" in chinese[:100]
