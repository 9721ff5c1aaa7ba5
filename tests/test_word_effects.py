"""What words do to the labels of a classifier over many texts."""

import numpy as np
import pytest
from scipy.stats import t as student
from shelf import place_of

import transformer_viz as tv
from transformer_viz.language import Problem
from transformer_viz.questions.effects.many_texts import effects_in
from transformer_viz.questions.effects.word_effects import WordEffect, _quantile, words_for_labels
from transformer_viz.store.load import load

TEXTS = ["A dull film.", "A lovely film, not a dull one!", "Dull, dull, dull.", "No plot."]


@pytest.fixture(scope="module")
def imdb():
    return load(place_of("imdb-sentiment"))


def test_they_are_those_of_each_text_alone(imdb):
    for text, found in zip(TEXTS, effects_in(imdb, TEXTS), strict=True):
        for number, label in enumerate(imdb.labels):
            alone = tv.effects(imdb, text, answer=label).words
            for word, effect in found:
                rows = alone[(alone["word"].str.lower() == word) & (alone["by"] == "left out")]
                assert effect[number] == pytest.approx(rows["value"].mean(), abs=1e-3)


def test_a_word_that_is_clearly_for_a_label_stands_there(imdb):
    texts = [
        f"The {thing} was {word}."
        for thing in ("film", "plot", "cast", "end", "music", "start")
        for word in ("awful", "wonderful")
    ]
    found = tv.word_effects(imdb, texts)
    assert found.groupby("label")["word"].first().to_dict() == {"negative": "awful", "positive": "wonderful"}
    assert (found["low"] > 0).all()
    assert (found["low"] < found["effect"]).all()
    assert found["texts"].min() >= 5


def test_words_that_are_rare_or_not_the_same_everywhere_are_left_out():
    def effect(word, *values):
        return [[WordEffect(word, np.array([value, -value]))] for value in values]

    found = [
        *effect("sure", 1, 1.2, 0.9, 1.1, 1),
        *effect("rare", 5, 5, 5, 5),
        *effect("mixed", 3, -2, 4, -3, 2),
    ]
    frame = words_for_labels(found, ("a", "b"))
    assert frame[["label", "word", "texts"]].to_numpy().tolist() == [["a", "sure", 5]]
    assert words_for_labels([], ("a", "b")).empty


@pytest.mark.parametrize("freedom", [4, 9, 99])
def test_the_interval_is_that_of_few_texts(freedom):
    assert _quantile(freedom) == pytest.approx(student.ppf(0.975, freedom), rel=0.02)


def test_a_model_without_labels_is_refused(writer):
    with pytest.raises(Problem, match="predicts no labels"):
        tv.word_effects(writer, TEXTS)
