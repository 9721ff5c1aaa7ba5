"""The scripts beside the shelf that make texts to train on."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

MODELS = Path(__file__).parents[1] / "models"

sys.path.append(str(MODELS))

from guess_labels import guess_labels, log_count_ratios  # noqa: E402
from repeat_words import LENGTH, LONGEST, SHORTEST, repeated_texts  # noqa: E402

GOOD = ["a fine and moving film", "moving and fine", "fine acting, a moving story", "a moving, fine film"]
BAD = ["a dull and empty film", "empty and dull", "dull acting, an empty story", "an empty, dull film"]


def run(name, *arguments):
    command = [sys.executable, str(MODELS / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def period(words):
    """Return after how many words a text repeats itself."""
    return next(n for n in range(1, len(words)) if words[n:] == words[: len(words) - n])


def test_each_text_is_one_sequence_of_words_again_and_again():
    texts = pd.Series(["one two three four five six seven eight nine ten"])
    found = [text.split() for text in repeated_texts(texts, 40, np.random.default_rng(0))]
    assert {len(words) for words in found} == {LENGTH}
    assert {word for words in found for word in words} <= set(texts[0].split())
    periods = [period(words) for words in found]
    assert all(SHORTEST <= each <= LONGEST for each in periods)
    assert len(set(periods)) > 20


def test_rare_words_are_drawn_by_the_root_of_their_frequency():
    texts = pd.Series(["often " * 900 + "rare " * 100])
    words = Counter(" ".join(repeated_texts(texts, 400, np.random.default_rng(1))).split())
    assert_allclose(words["often"] / words["rare"], 3, rtol=0.1)


def test_repeated_texts_are_written_as_the_seed_says(tmp_path):
    pd.DataFrame({"text": [*GOOD, *BAD]}).to_csv(tmp_path / "texts.csv", index=False)
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        said = run("repeat_words.py", tmp_path / "texts.csv", tmp_path / name, "--count", 5, "--seed", seed)
        assert said == "Wrote 5 texts\n"
    one, again, other = (pd.read_csv(tmp_path / name) for name in ("one", "again", "other"))
    assert len(one) == 5
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
