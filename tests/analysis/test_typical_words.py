"""Words typical of a label, with their log-odds computed by hand, and the tokens of such words."""

import math

import numpy as np
import pytest

from transformer_viz.questions.roles.words import most_typical, typical_keys, words_of

PLAIN = ["the", "film", "was", "on"]


def texts(count, *extra, length=20):
    """Return texts of one label: in each `length` plain words and these ones."""
    return [[*(PLAIN * length)[:length], *extra] for _ in range(count)]


MARKS = [f"mark{number}" for number in range(9)]
"""Words that every text of the first label has: nine typical words beside the one in question."""


def found(**labelled):
    """Return the words typical of each label, given the texts of each."""
    rows = [(words, label) for label, each in labelled.items() for words in each]
    return most_typical([words for words, _ in rows], [label for _, label in rows])


def is_typical(inside, outside, each=200):
    """Return whether a word is typical of a label if it is in so many texts of it and of the other label."""
    rows = {
        label: texts(count, *marks, "word") + texts(each - count, *marks, "other")
        for label, count, marks in (
            ("bad", inside, MARKS),
            ("good", outside, [mark.upper() for mark in MARKS]),
        )
    }
    return "word" in found(**rows).get("bad", ())


def statistic(inside, outside, total=200 * 30):
    """Return the likelihood ratio statistic of a word by observed and expected counts (G-test)."""
    expected = (inside + outside) / 2
    cells = [
        (inside, expected),
        (outside, expected),
        (total - inside, total - expected),
        (total - outside, total - expected),
    ]
    return 2 * sum(count * math.log(count / mean) for count, mean in cells if count)


def test_a_word_is_typical_of_the_label_in_whose_texts_it_is_far_more_frequent():
    awful, lovely = ([f"{word}{number}" for number in range(10)] for word in ("awful", "lovely"))
    words = found(bad=texts(50, *awful), good=texts(50, *lovely))
    assert {label: set(each) for label, each in words.items()} == {"bad": set(awful), "good": set(lovely)}


def test_the_difference_must_be_significant():
    assert statistic(57, 16) < 25 < statistic(58, 16)
    assert not is_typical(57, 16)
    assert is_typical(58, 16)
    assert not is_typical(16, 58)


def test_the_word_must_be_twice_as_frequent():
    assert statistic(179, 90) > 25
    assert not is_typical(179, 90)
    assert is_typical(180, 90)


def test_a_word_of_few_texts_is_typical_of_none_however_often_they_repeat_it():
    other = [f"other{number}" for number in range(10)]
    for count, is_enough in ((19, False), (20, True)):
        bad = texts(count, *MARKS, *["ghost"] * 9) + texts(50 - count, *MARKS)
        assert ("ghost" in found(bad=bad, good=texts(50, *other)).get("bad", ())) == is_enough


def test_a_word_without_an_end_is_typical_of_none():
    other = [f"other{number}" for number in range(10)]
    words = found(bad=texts(50, *MARKS, "a" * 100, "b" * 101), good=texts(50, *other))["bad"]
    assert ("a" * 100 in words, "b" * 101 in words) == (True, False)


def test_some_words_are_no_class():
    assert found(bad=texts(50, *MARKS), good=texts(50)) == {}
    assert found(bad=texts(50, *MARKS, "ghost"), good=texts(50)) == {"bad": ("ghost", *MARKS)}


def test_longer_texts_make_no_common_word_typical():
    assert found(bad=texts(60, length=80), good=texts(60, length=8)) == {}


def test_labels_given_at_random_have_no_typical_words():
    random = np.random.default_rng(3)
    frequency = 1 / np.arange(1, 2001)
    words = np.array([f"w{number}" for number in range(2000)])
    drawn = random.choice(words, (600, 60), p=frequency / frequency.sum())
    labels = random.choice(["bad", "good"], 600).tolist()
    assert most_typical(drawn.tolist(), labels) == {}


def test_each_of_several_labels_is_compared_with_all_others():
    own = {label: [f"{label}{number}" for number in range(10)] for label in "abc"}
    shared = [f"shared{number}" for number in range(10)]
    words = found(**{label: texts(60, *own[label], *shared * (label != "c")) for label in "abc"})
    assert {label: set(each) for label, each in words.items()} == {label: set(own[label]) for label in "abc"}


def test_at_most_a_hundred_words_are_kept_the_most_significant_first():
    rare = [f"rare{number}" for number in range(120)]
    bad = texts(40, *rare, "often") + texts(40, "often")
    words = found(bad=bad, good=texts(80, length=81))["bad"]
    assert len(words) == 100
    assert words[0] == "often"


def test_with_more_labels_than_can_be_shown_no_words_are_typical():
    many = {
        f"label{number}": texts(30, *[f"word{number}-{word}" for word in range(10)]) for number in range(21)
    }
    assert found(**many) == {}
    many.popitem()
    assert "word7-3" in found(**many)["label7"]


@pytest.mark.parametrize(
    ("text", "offsets", "tokens", "words", "place"),
    [
        (
            "Unhappy ends",
            [(0, 2), (2, 7), (8, 12)],
            ["un", "##happy", "ends"],
            ["unhappy", "ends"],
            [0, 0, 1],
        ),
        ("不错", [(0, 1), (1, 2)], ["不", "错"], ["不", "错"], [0, 1]),
        ("A xyz", [(0, 0), (0, 1), (2, 5)], ["[START]", "a", "[UNK]"], ["", "a", ""], [0, 1, 2]),
        ("", [], [], [], []),
    ],
)
def test_words_are_whole_in_lower_case_and_what_the_model_cannot_read_is_none(
    text, offsets, tokens, words, place
):
    assert words_of(text, offsets, tokens)[0] == words
    assert words_of(text, offsets, tokens)[1].tolist() == place


def test_all_tokens_of_a_typical_word_belong_to_it_and_no_part_of_another_word_does():
    text, offsets, tokens = "unhappy happy", [(0, 2), (2, 7), (8, 13)], ["un", "##happy", "happy"]
    keys = typical_keys(text, offsets, tokens, {"bad": ("unhappy",), "good": ("happy", "joy")})
    assert {name: marks.tolist() for name, marks in keys.items()} == {
        "words:bad": [True, True, False],
        "words:good": [False, False, True],
    }
    assert typical_keys(text, offsets, tokens, {}) == {}


def test_a_text_without_tokens_has_no_such_keys():
    assert typical_keys("", [], [], {"bad": ("unhappy",)})["words:bad"].tolist() == []


def test_a_text_without_words_teaches_nothing():
    assert found(bad=[*texts(50, *MARKS, "ghost"), []], good=texts(50)) == {"bad": ("ghost", *MARKS)}
    assert found(bad=texts(50, *MARKS, "ghost"), good=[[]] * 50) == {}
    assert most_typical([], []) == {}
