import ast
import pickle
import re
import string
from pathlib import Path

import pytest
import streamlit
from chinese import english
from hypothesis import given
from hypothesis import strategies as st

import transformer_viz
from transformer_viz.language import (
    LANGUAGES,
    Phrase,
    Problem,
    Words,
    language_here,
    language_of,
    sentence_of,
)
from transformer_viz.language.words import VARIABLES
from transformer_viz.ui.shell.language import escaped, time_of

PACKAGE = Path(transformer_viz.__file__).parent
VIEWS = PACKAGE / "pictures" / "views"
SINGULARS = {key for key in Words("en").sentences if key.endswith(".one")}
PROBLEMS = {"Problem", "DataError", "ModelError", "QuotaError", "RunError", "NoTokensError"}
"""Classes whose sentences are made where they are shown."""

ARGUMENTS = {"QuotaError": {"trash", "is_shared"}, "ModelError": {"lines"}}
"""Class -> what it is given beside the facts of its sentence."""


def names_in(sentence):
    """Return what a sentence is filled in with."""
    return frozenset(name for _, name, _, _ in string.Formatter().parse(sentence) if name)


def called(key):
    """Return what the program calls a sentence: singular and plural alike, an error by its code."""
    base, _, form = key.rpartition(".")
    is_form = form in ("one", "other") and f"{base}.one" in SINGULARS
    return (base if is_form else key).removeprefix("error.")


def test_every_language_has_the_same_sentences():
    assert set(Words("zh").sentences) == set(Words("en").sentences) - SINGULARS


@pytest.mark.parametrize("key", sorted(set(Words("en").sentences) - SINGULARS))
def test_a_sentence_is_filled_in_alike_in_every_language(key):
    assert len({names_in(Words(language).sentences[key]) for language in LANGUAGES}) == 1


@pytest.mark.parametrize("key", sorted(SINGULARS))
def test_a_singular_has_a_plural_that_names_the_count_and_more(key):
    plural = names_in(Words("en").sentences[f"{key.removesuffix('one')}other"])
    assert "count" in plural
    assert names_in(Words("en").sentences[key]) <= plural


def test_a_count_chooses_between_singular_and_plural():
    assert Words("en")("card.rows.count", count=1) == "1 row"
    assert Words("en")("card.rows.count", count="2,000") == "2,000 rows"
    assert Words("zh")("card.rows.count", count=1) == "1 条"


def calls():
    """Yield every call in the package whose first argument is a text, with its possible texts."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                first = node.args[0]
                parts = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
                texts = [part.value for part in parts if isinstance(part, ast.Constant)]
                yield node, [text for text in texts if isinstance(text, str)], parts


def test_whoever_has_a_problem_gives_the_facts_that_its_sentence_names():
    for node, texts, _ in calls():
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        for text in texts if name in PROBLEMS | {"Phrase"} else ():
            assert Words("en").has(f"error.{text}"), text
            given = {keyword.arg for keyword in node.keywords} - ARGUMENTS.get(name, set())
            forms = [key for key in Words("en").sentences if called(key) == text and key.startswith("error.")]
            asked = frozenset().union(*(names_in(Words("en").sentences[key]) for key in forms))
            assert (asked >= given - {None}) if None in given else (asked == given), text


def test_no_problem_is_raised_as_an_english_sentence():
    for node, texts, parts in calls():
        if isinstance(node.func, ast.Name) and node.func.id in PROBLEMS:
            made = [
                value.value
                for part in parts
                if isinstance(part, ast.JoinedStr)
                for value in part.values
                if isinstance(value, ast.Constant)
            ]
            assert not any(" " in text for text in (*texts, *made)), ast.unparse(node)


def test_a_problem_is_the_same_in_another_process():
    problem = Problem("file.large", path=Path("a.csv"), most=3)
    again = pickle.loads(pickle.dumps(problem))
    assert (type(again), again.code, again.facts) == (Problem, "file.large", {"path": "a.csv", "most": 3})
    assert str(again) == "a.csv has more than 3 MB. Use a part of it."


def test_a_problem_survives_as_json_with_the_phrases_in_it():
    problem = Problem("parts.no_third", two=Phrase("two.texts"))
    again = Problem.from_json(problem.to_json())
    sentence = "只有两条不同的文本；训练加测试至少需要三个。"
    assert sentence_of(again, "zh") == sentence_of(problem, "zh") == sentence


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {"code": "file.large"},
        {"code": "file.large", "facts": {}},
        {"code": 5, "facts": {}},
        {"code": "table.rows", "facts": {"path": "a", "most": "many"}},
        {"code": "parts.no_third", "facts": {"two": {}}},
        {"code": ["a"], "facts": {}},
    ],
    ids=str,
)
def test_what_is_no_problem_is_refused(content):
    with pytest.raises(ValueError, match=r"no phrase|Unknown format|Cannot specify"):
        Problem.from_json(content)


def test_a_reason_of_the_system_is_translated_where_it_is_known():
    denied, strange = (
        Problem("file.unreadable", path="a", reason=each) for each in ("Permission denied", "No.")
    )
    assert sentence_of(denied, "zh") == "无法读取 a：没有权限。"
    assert sentence_of(strange, "zh") == "无法读取 a：No.。"


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "C"}, "en"),
        ({"LANG": "de_DE", "LC_ALL": "zh"}, "zh"),
        ({"LANG": "zh_TW", "LC_ALL": ""}, "zh"),
        ({"LC_ALL": "zh_CN.UTF-8", "TRANSFORMER_VIZ_LANG": "en"}, "en"),
    ],
)
def test_the_environment_names_the_language(environment, language):
    assert language_of(environment) == language


@pytest.mark.parametrize(
    ("system", "language"), [("Chinese (Simplified)_China", "zh"), ("English_Canada", "en"), (None, "en")]
)
def test_where_no_variable_is_set_the_system_names_the_language(monkeypatch, system, language):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("locale.getlocale", lambda: (system, "UTF-8"))
    assert language_here() == language


def is_word_of(name, views, source):
    """Whether the views ask for a word by name, or Python sends a figure of that name."""
    return re.search(rf"\b{name}\b", views) or f'"{name}"' in source


def test_no_sentence_is_unused_and_none_is_missing():
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    literal = set(re.findall(r'"([a-z_]+(?:\.[a-z_]+)+)"', source))
    templates = re.findall(r'\b(?:t|words)\(\s*f"([^"]+)"', source) + re.findall(
        r'f"([a-z]+\.[^" ]*\{[^"]+)"', source
    )
    made = [re.sub(r"\{[^}]+\}", "[a-z0-9_]+", text) for text in templates]
    views = "\n".join(path.read_text(encoding="utf-8") for path in VIEWS.glob("*.js"))
    unused = [
        key
        for key in Words("en").sentences
        if not {key, called(key)} & literal
        and not any(re.fullmatch(pattern, called(key)) for pattern in made)
        and not key.startswith(("error.reason.", "streamlit."))  # texts of others: all are looked up
        and not (
            key.startswith(("lens.", "generation.", "beams.", "map."))
            and is_word_of(key.rpartition(".")[2], views, source)
        )
    ]
    assert not unused, " ".join(unused)
    assert all(map(Words("en").has, re.findall(r'\b(?:t|words)\(\s*"([^"]+)"', source)))


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
        has_words = re.search(r"[A-Za-z]", re.sub(r"\{.*?\}", "", Words("en").sentences[key]))
        assert re.search(r"[\u3001-\u9fff]", sentence) or not has_words, key


def test_no_part_of_a_chinese_error_is_in_english():
    for key, text in Words("zh").sentences.items():
        if key.startswith("error."):
            assert english(re.sub(r"\{\w[^}]*\}", "|", text)) == [], key


@pytest.mark.parametrize("text", ["**a**", "$x$", ":red[a]", "<b>", "[a](b)", "a_b`c`", "\\"])
def test_plain_text_has_every_mark_escaped(text):
    assert re.sub(r"\\(.)", r"\1", escaped(text)) == text
    assert not re.search(r"(?<!\\)[*$:<\[\]`_]", escaped(text))


ADDRESSES = ["https://a.example/x", "HTTP://a.example", "www.a.example", "WWW.a.example", "me@a.example"]
ADDRESSES += ["(www.a.example)", "see:https://a.example", "a.b-c_d+e@a.example.", "mailto:me@a.example"]


@pytest.mark.parametrize("text", ADDRESSES)
def test_an_address_is_broken_by_something_that_is_not_seen(text):
    shown = re.sub(r"\\(.)", r"\1", escaped(text))
    assert shown.replace("\u2060", "") == text
    assert not re.search(r"(?i)https?://|www\.|[-.\w+]@[-\w]", shown)


@pytest.mark.parametrize("text", ["3.5 @ 2", "@name", "a //b", "http: a", "www", "100%", "e-mail"])
def test_what_is_no_address_stays_as_it_is(text):
    assert re.sub(r"\\(.)", r"\1", escaped(text)) == text


def test_what_no_page_can_carry_is_left_out():
    assert escaped("a\ud800b") == "a\\?b"
    assert escaped("\u202egnp.exe\x1b[31m\x00\x9b") == r"gnp\.exe\[31m"
    assert escaped("a\u2028b\x85c\x1fd\te") == "a b c d e"


@given(st.text(st.characters() | st.sampled_from("@:/.wW`*[\ud800\u2028\u202e")))
def test_any_text_is_one_line_of_characters_and_escapes(text):
    shown = escaped(text)
    shown.encode()  # raises if no page can carry it
    assert len(shown.split()) == len(shown.split(" ")) or not shown
    assert re.fullmatch(r"(?:\\[!-/:-@\[-`{-~]|[^!-/:-@\[-`{-~])*", shown)
