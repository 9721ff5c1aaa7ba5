import re
from pathlib import Path

import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st

import transformer_viz
from transformer_viz.language import LANGUAGES, Words
from transformer_viz.ui.shell.language import plain, time_of

PACKAGE = Path(transformer_viz.__file__).parent
VIEWS = PACKAGE / "pictures" / "views"
NAMES = re.compile(r"\{(\w+)\}")


def test_every_language_has_the_same_sentences():
    assert len({frozenset(Words(language).sentences) for language in LANGUAGES}) == 1


@pytest.mark.parametrize("key", Words("en").sentences)
def test_a_sentence_is_filled_in_alike_in_every_language(key):
    assert len({frozenset(NAMES.findall(Words(language).sentences[key])) for language in LANGUAGES}) == 1


def is_word_of(name, views, source):
    """Whether the views ask for a word by name, or Python sends a figure of that name."""
    return re.search(rf"\b{name}\b", views) or f'"{name}"' in source


def test_no_sentence_is_unused_and_none_is_missing():
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    literal = set(re.findall(r'"([a-z_]+(?:\.[a-z_]+)+)"', source))
    templates = re.findall(r'\b(?:t|words)\(\s*f"([^"]+)"', source) + re.findall(
        r'f"([a-z]+\.[^" ]*\{[^"]+)"', source
    )
    made = [re.sub(r"\{[^}]+\}", "[a-z_]+", text) for text in templates]
    views = "\n".join(path.read_text(encoding="utf-8") for path in VIEWS.glob("*.js"))
    unused = [
        key
        for key in Words("en").sentences
        if key not in literal
        and not any(re.fullmatch(pattern, key) for pattern in made)
        and not (key.startswith("lens.") and is_word_of(key.rpartition(".")[2], views, source))
    ]
    assert unused == []
    assert set(re.findall(r'\b(?:t|words)\(\s*"([^"]+)"', source)) <= set(Words("en").sentences)


@pytest.mark.parametrize(
    ("seconds", "english", "chinese"),
    [
        (0, "0 s", "0 秒"),
        (59.4, "59 s", "59 秒"),
        (59.5, "1 min 0 s", "1 分 0 秒"),
        (253, "4 min 13 s", "4 分 13 秒"),
        (3599.6, "1 h 0 min", "1 小时 0 分"),
        (100 * 3600 + 121, "100 h 2 min", "100 小时 2 分"),
    ],
)
def test_a_duration_has_its_units(monkeypatch, seconds, english, chinese):
    for language, written in (("en", english), ("zh", chinese)):
        monkeypatch.setitem(streamlit.session_state, "lang", language)
        assert time_of(seconds) == written


def test_no_chinese_sentence_was_left_in_english():
    for key, sentence in Words("zh").sentences.items():
        assert re.search(r"[\u3001-\u9fff]", sentence), key


@pytest.mark.parametrize("text", ["**a**", "$x$", ":red[a]", "<b>", "[a](b)", "a_b`c`", "\\"])
def test_plain_text_has_every_mark_escaped(text):
    assert re.sub(r"\\(.)", r"\1", plain(text)) == text
    assert not re.search(r"(?<!\\)[*$:<\[\]`_]", plain(text))


ADDRESSES = ["https://a.example/x", "HTTP://a.example", "www.a.example", "WWW.a.example", "me@a.example"]
ADDRESSES += ["(www.a.example)", "see:https://a.example", "a.b-c_d+e@a.example.", "mailto:me@a.example"]


@pytest.mark.parametrize("text", ADDRESSES)
def test_an_address_is_broken_by_something_that_is_not_seen(text):
    shown = re.sub(r"\\(.)", r"\1", plain(text))
    assert shown.replace("\u2060", "") == text
    assert not re.search(r"(?i)https?://|www\.|[-.\w+]@[-\w]", shown)


@pytest.mark.parametrize("text", ["3.5 @ 2", "@name", "a //b", "http: a", "www", "100%", "e-mail"])
def test_what_is_no_address_stays_as_it_is(text):
    assert re.sub(r"\\(.)", r"\1", plain(text)) == text


def test_what_no_page_can_carry_is_left_out():
    assert plain("a\ud800b") == "a\\?b"
    assert plain("\u202egnp.exe\x1b[31m\x00\x9b") == r"gnp\.exe\[31m"
    assert plain("a\u2028b\x85c\x1fd\te") == "a b c d e"


@given(st.text(st.characters() | st.sampled_from("@:/.wW`*[\ud800\u2028\u202e")))
def test_any_text_is_one_line_of_characters_and_escapes(text):
    shown = plain(text)
    shown.encode()  # raises if no page can carry it
    assert len(shown.split()) == len(shown.split(" ")) or not shown
    assert re.fullmatch(r"(?:\\[!-/:-@\[-`{-~]|[^!-/:-@\[-`{-~])*", shown)
