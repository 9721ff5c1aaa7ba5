"""The bag of words beside which classifiers are looked at."""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from transformer_viz.questions.evaluation.naive_bayes import FOLDS, bag_of_words_accuracy

RANDOM = np.random.default_rng(5)
WORDS = {0: ["dull", "slow", "poor", "film", "plot"], 1: ["fine", "warm", "good", "film", "plot"]}
LABELS = RANDOM.integers(0, 2, 120)
TEXTS = [" ".join([*RANDOM.choice(WORDS[label], 2), *RANDOM.choice(WORDS[1 - label], 2)]) for label in LABELS]


def test_it_is_as_often_right_as_naive_bayes_of_scikit_learn():
    parts = np.random.default_rng(0).permutation(len(TEXTS)) % FOLDS
    right = 0
    for part in range(FOLDS):
        known, asked = np.flatnonzero(parts != part), np.flatnonzero(parts == part)
        counts = CountVectorizer(ngram_range=(1, 2), binary=True, token_pattern=r"\w+")
        seen = counts.fit_transform([TEXTS[n] for n in known])
        model = MultinomialNB().fit(seen, LABELS[known])
        right += (model.predict(counts.transform([TEXTS[n] for n in asked])) == LABELS[asked]).sum()
    assert abs(bag_of_words_accuracy(TEXTS, LABELS) - right / len(TEXTS)) <= 1.5 / len(TEXTS)


def test_each_chinese_character_is_a_word():
    texts = [f"房间很{'好' if label else '差'}{n % 7}" for n, label in enumerate(LABELS)]
    assert bag_of_words_accuracy(texts, LABELS) == 1


def test_of_too_few_texts_there_is_none():
    assert bag_of_words_accuracy(TEXTS[:9], LABELS[:9]) is None
