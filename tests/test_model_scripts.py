"""The scripts beside the shelf that make texts to train on."""

import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

MODELS = Path(__file__).parents[1] / "models"

sys.path.append(str(MODELS))

import negate_chinese  # noqa: E402
from chinese_reviews import divided  # noqa: E402
from guess_labels import guess_labels, log_count_ratios  # noqa: E402
from negate_words import NEGATED, PLAIN, SUBJECTS, adjectives, judgements  # noqa: E402
from repeat_words import (  # noqa: E402
    FEWEST,
    LENGTH,
    LONGEST,
    MARK,
    MOST,
    SHORTEST,
    Words,
    marked_text,
    repeated_text,
)

GOOD = ["a fine and moving film", "moving and fine", "fine acting, a moving story", "a moving, fine film"]
BAD = ["a dull and empty film", "empty and dull", "dull acting, an empty story", "an empty, dull film"]


def run(name, *arguments):
    command = [sys.executable, str(MODELS / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def period(words):
    """Return after how many words a text repeats itself."""
    return next(n for n in range(1, len(words)) if words[n:] == words[: len(words) - n])


TEN = "one two three four five six seven eight nine ten"


def words_of(text, seed):
    return Words(pd.Series([text]), np.random.default_rng(seed))


def test_a_repeated_text_is_one_sequence_of_words_again_and_again():
    words = words_of(TEN, 0)
    found = [repeated_text(words).split() for _ in range(40)]
    assert {len(text) for text in found} == {LENGTH}
    assert {word for text in found for word in text} <= set(TEN.split())
    periods = [period(text) for text in found]
    assert all(SHORTEST <= each <= LONGEST for each in periods)
    assert len(set(periods)) > 20


def test_in_a_marked_text_the_mark_follows_each_word_that_was_there_before():
    words = words_of(" ".join(f"{a}{b}" for a in "bcdfghjklm" for b in TEN.split()), 0)
    choices = set()
    for _ in range(40):
        text = marked_text(words).split()
        assert LENGTH <= len(text) <= LENGTH + 1
        drawn = [word for word in text if word != MARK]
        expected = [part for n, word in enumerate(drawn) for part in [word, MARK][: 1 + (word in drawn[:n])]]
        assert text == expected
        choices.add(len(set(drawn)))
    assert min(choices) > FEWEST / 2
    assert max(choices) <= MOST
    assert len(choices) > 10


def test_rare_words_are_drawn_by_the_root_of_their_frequency():
    words = words_of("often " * 900 + "rare " * 100, 1)
    counts = Counter(" ".join(repeated_text(words) for _ in range(400)).split())
    assert_allclose(counts["often"] / counts["rare"], 3, rtol=0.1)


def test_made_texts_are_written_as_the_seed_says(tmp_path):
    pd.DataFrame({"text": [*GOOD, *BAD]}).to_csv(tmp_path / "texts.csv", index=False)
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        said = run("repeat_words.py", tmp_path / "texts.csv", tmp_path / name, "--count", 5, "--seed", seed)
        assert said == "Wrote 5 texts\n"
    one, again, other = (pd.read_csv(tmp_path / name) for name in ("one", "again", "other"))
    assert [MARK in text.split() for text in one["text"]] == [False, False, True, True, True]
    assert one.equals(again)
    assert not one.equals(other)


def test_adjectives_are_single_words_of_one_label_that_follow_a_word_of_degree():
    phrases = {"dull": 0, "fine ": 1, "Plain": 0, "plot": 1, "mixed": 1, "a dull film": 0, "unseen": 0}
    rows = pd.DataFrame({"text": [*phrases, "mixed"], "label": [*phrases.values(), 0]})
    said = "It was so {0}. It is very {0}! They were too {0}, and he is QUITE {0}. It was really {0}."
    texts = pd.Series([*map(said.format, ("dull", "fine", "plain", "mixed")), "the plot is very good" * 9])
    assert adjectives(rows, texts).to_dict() == {"dull": 0, "fine": 1, "plain": 0}
    assert adjectives(rows, texts[1:]).to_dict() == {"fine": 1, "plain": 0}


def test_a_negated_sentence_has_the_other_label():
    labels = {"dull": 0, "fine": 1}
    made = {
        frame.format(subject=subject, word=word).lower().rstrip("."): label ^ (frame in NEGATED)
        for word, label in labels.items()
        for frame in (*PLAIN, *NEGATED)
        for subject in SUBJECTS
    }
    found = judgements(pd.Series(labels), 900, np.random.default_rng(0))
    assert [made[text.lower().rstrip(".")] for text in found["text"]] == found["label"].tolist()
    assert (found["text"].str.contains(r"\bn(?:ot|ever)\b|n't|no means", case=False)).sum() == 600


def test_sentences_are_written_as_the_seed_says(tmp_path):
    pd.DataFrame({"text": ["dull", "fine"], "label": [0, 1]}).to_csv(tmp_path / "phrases.csv", index=False)
    pd.DataFrame({"text": ["It was so dull. It was so fine."] * 5}).to_csv(
        tmp_path / "texts.csv", index=False
    )
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        files = (tmp_path / each for each in ("phrases.csv", "texts.csv", name))
        said = run("negate_words.py", *files, "--count", 30, "--seed", seed)
        assert said == "Wrote 30 sentences with 2 words (dull, fine, ...)\n"
    one, again, other = (pd.read_csv(tmp_path / name) for name in ("one", "again", "other"))
    assert len(one) == 30
    assert one.equals(again)
    assert not one.equals(other)


def test_log_count_ratios_are_those_of_the_paper():
    counts = sparse.csr_matrix(np.array([[1, 0], [1, 1], [0, 1]]))
    found = log_count_ratios(counts, np.array([True, True, False]))
    assert_allclose(found, np.log([(3 / 5) / (1 / 3), (2 / 5) / (2 / 3)]))


def test_a_guess_follows_the_words_of_the_labels():
    train = pd.DataFrame({"text": GOOD + BAD, "label": ["good"] * 4 + ["bad"] * 4})
    found = guess_labels(train, pd.Series(["fine and moving", "empty and dull", "unheard"]))
    assert found["label"][:2].tolist() == ["good", "bad"]
    assert found["probability"][:2].min() > 0.6
    assert found["probability"][2] == pytest.approx(0.5, abs=0.1)


def test_no_label_of_a_validation_row_reaches_the_guesses(tmp_path):
    """Only validation rows have words of their own: whoever has seen them guesses by these."""
    from transformer_viz.data import read_labelled, split

    file = tmp_path / "train.csv"
    rows = pd.DataFrame({"text": (GOOD + BAD) * 20, "label": (["good"] * 4 + ["bad"] * 4) * 20})
    rows["text"] += [f" {number}" for number in range(len(rows))]
    rows.to_csv(file, index=False)
    kept = set(split(read_labelled(file), seed=3).train["text"])
    held_out = ~rows["text"].isin(kept)
    assert held_out.any()
    words = {"good": "seen glimpsed", "bad": "hidden veiled"}
    own = rows["label"].map(words) + [f" {number}" for number in range(len(rows))]
    rows["text"] = rows["text"].where(~held_out, own)
    rows.to_csv(file, index=False)
    pd.DataFrame({"text": [*words.values(), *GOOD, *BAD]}).to_csv(tmp_path / "new.csv", index=False)
    said = run("guess_labels.py", file, tmp_path / "new.csv", tmp_path / "out.csv", "--seed", 3)
    found = pd.read_csv(tmp_path / "out.csv")
    assert found["text"].tolist() == [*GOOD, *BAD]
    assert found["label"].tolist() == ["good"] * 4 + ["bad"] * 4
    assert said.startswith("Kept 8 of 10 texts")


def test_chinese_reviews_are_divided_so_that_no_text_is_trained_on_and_measured():
    hotels = pd.DataFrame({"text": [f"酒店{n}" for n in range(100)], "label": [0, 1] * 50})
    goods = ["酒店", "书籍", "蒙牛", "水果"]
    rows = [(f"{kind}{n}", n % 2, kind) for kind in goods for n in range(30)] + [("书籍3", 1, "水果")]
    found = divided(hotels, pd.DataFrame(rows, columns=["text", "label", "category"]))
    assert (len(found["test"]), len(found["books"]), len(found["milk"])) == (10, 30, 30)
    held = {text for name in ("test", "books", "milk") for text in found[name]["text"]}
    assert not held & set(found["train"]["text"])
    assert sorted(found["train"]["text"]) == sorted(
        {*hotels["text"], *(f"水果{n}" for n in range(30))} - set(found["test"]["text"])
    )


def test_a_chinese_sentence_that_is_negated_twice_has_the_label_of_its_word():
    reviews = {"房间很脏。": 0, "房间很干净。": 1, "很好看，很大": 1, "很大": 0}
    rows = pd.DataFrame([*reviews.items()] * 15, columns=["text", "label"])
    words = negate_chinese.judging_words(rows)
    assert words.to_dict() == {"脏": 0, "干净": 1, "好看": 1}
    labels: dict[str, set[int]] = {}
    for kind in negate_chinese.KINDS:
        own = (
            words.to_dict()
            if not kind.blame
            else dict.fromkeys(kind.praise, 1) | dict.fromkeys(kind.blame, 0)
        )
        for frames, turned in ((kind.plain, 0), (kind.negated, 1), (kind.twice, 0)):
            for frame, subject, (word, label) in product(frames, negate_chinese.SUBJECTS, own.items()):
                labels.setdefault(frame.format(subject, word), set()).add(label ^ turned)
    assert {len(each) for each in labels.values()} == {1}
    found = negate_chinese.judgements(words, 900, np.random.default_rng(0))
    assert [{label} for label in found["label"]] == [labels[text.strip("。！，")] for text in found["text"]]
    assert found["label"].mean() == pytest.approx(0.5, abs=0.05)


def test_no_made_sentence_is_measured_on():
    listed = [word for kind in negate_chinese.KINDS for word in (*kind.praise, *kind.blame)]
    measured = " ".join(negate_chinese.MEASURED)
    assert not [word for word in listed if word in measured]
    words = pd.Series({"脏": 0, "难闻": 0, "干净": 1, "新鲜": 1})
    found = negate_chinese.judgements(words, 9000, np.random.default_rng(0))
    assert len(found) > 5000
    assert not set(found["text"].str.strip("。！，")) & negate_chinese.MEASURED
