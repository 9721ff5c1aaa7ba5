import re
from pathlib import Path

import pytest

import transformer_viz.ui
from transformer_viz.ui.language import LANGUAGES, plain, sentences

UI = Path(transformer_viz.ui.__file__).parent
VIEWS = UI.parent / "views"
NAMES = re.compile(r"\{(\w+)\}")


def test_every_language_has_the_same_sentences():
    assert len({frozenset(sentences(language)) for language in LANGUAGES}) == 1


@pytest.mark.parametrize("key", sentences("en"))
def test_a_sentence_is_filled_in_alike_in_every_language(key):
    assert len({frozenset(NAMES.findall(sentences(language)[key])) for language in LANGUAGES}) == 1


def is_word_of(name, views, source):
    """Whether the views ask for a word by name, or Python sends a figure of that name."""
    return re.search(rf"\b{name}\b", views) or f'"{name}"' in source


def test_no_sentence_is_unused_and_none_is_missing():
    source = "\n".join(path.read_text(encoding="utf-8") for path in UI.glob("*.py"))
    literal = set(re.findall(r'"([a-z_]+(?:\.[a-z_]+)+)"', source))
    templates = re.findall(r'\bt\(\s*f"([^"]+)"', source) + re.findall(r'f"([a-z]+\.[^" ]*\{[^"]+)"', source)
    made = [re.sub(r"\{[^}]+\}", "[a-z_]+", text) for text in templates]
    views = "\n".join(path.read_text(encoding="utf-8") for path in VIEWS.glob("*.js"))
    views = "\n".join(path.read_text(encoding="utf-8") for path in VIEWS.glob("*.js"))
    unused = [
        key
        for key in sentences("en")
        if key not in literal
        and not any(re.fullmatch(pattern, key) for pattern in made)
        and not (key.startswith("lens.") and is_word_of(key.rpartition(".")[2], views, source))
    ]
    assert unused == []
    assert set(re.findall(r'\bt\(\s*"([^"]+)"', source)) <= set(sentences("en"))


def test_no_chinese_sentence_was_left_in_english():
    for key, sentence in sentences("zh").items():
        assert re.search(r"[\u3001-\u9fff]", sentence), key


@pytest.mark.parametrize("text", ["**a**", "$x$", ":red[a]", "<b>", "[a](b)", "a_b`c`", "\\"])
def test_plain_text_has_every_mark_escaped(text):
    assert re.sub(r"\\(.)", r"\1", plain(text)) == text
    assert not re.search(r"(?<!\\)[*$:<\[\]`_]", plain(text))
