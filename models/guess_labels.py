"""Label unlabelled reviews with a linear model over n-grams, and keep those it is sure of.

    python models/guess_labels.py TRAIN UNLABELLED OUT [--beside FILE ...] [--seed N]

The model is a logistic regression over the words, pairs and triples of words of a text, each weighted by its
naive Bayes log-count ratio (Wang and Manning, 2012, section 2). Of TRAIN, it learns only from the rows that
`train --data TRAIN FILE ... --seed N` trains on: no label of a validation row reaches the guesses.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from transformer_viz.data import read_labelled, split
from transformer_viz.data.read import read_texts

SURE = 0.9
"""Least probability of the guessed label of a review that is kept."""

WORD = r"[\w']+|[!?]"


def log_count_ratios(counts: sparse.csr_matrix, is_positive: np.ndarray) -> np.ndarray:
    """Return log(p / q) of each n-gram: p and q are its shares of the counts of each label, plus one."""
    shares = [1 + np.asarray(counts[rows].sum(axis=0)).ravel() for rows in (is_positive, ~is_positive)]
    return np.log(shares[0] / shares[0].sum()) - np.log(shares[1] / shares[1].sum())


def guess_labels(train: pd.DataFrame, texts: pd.Series) -> pd.DataFrame:
    """Return columns text, label and probability of unlabelled texts, the label that is likelier."""
    words = CountVectorizer(binary=True, ngram_range=(1, 3), min_df=2, token_pattern=WORD, dtype=np.float32)
    counts = words.fit_transform(train["text"])
    negative, positive = sorted(train["label"].unique())
    ratios = sparse.diags(log_count_ratios(counts, (train["label"] == positive).to_numpy()))
    model = LogisticRegression(C=1.0, solver="liblinear", dual=True, max_iter=200)
    model.fit(counts @ ratios, train["label"])
    probs = model.predict_proba(words.transform(texts) @ ratios)[:, 1]
    labels = np.where(probs > 0.5, positive, negative)
    return pd.DataFrame({"text": texts, "label": labels, "probability": np.maximum(probs, 1 - probs)})


def main() -> None:
    """Write the sure guesses as a file of labelled texts."""
    parser = argparse.ArgumentParser(description="Label unlabelled reviews, and keep the sure guesses.")
    parser.add_argument("train", type=Path, help="labelled texts")
    parser.add_argument("unlabelled", type=Path, help="texts")
    parser.add_argument("out", type=Path, help="the file of labelled texts to write")
    parser.add_argument(
        "--beside", type=Path, nargs="*", default=[], help="labelled texts that are split with it"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the split")
    arguments = parser.parse_args()
    files = [read_labelled(path).assign(file=path) for path in (arguments.train, *arguments.beside)]
    train = split(pd.concat(files, ignore_index=True), seed=arguments.seed).train
    guesses = guess_labels(train[train["file"] == arguments.train], read_texts(arguments.unlabelled)["text"])
    sure = guesses[guesses["probability"] >= SURE]
    sure[["text", "label"]].to_csv(arguments.out, index=False)
    counts = ", ".join(f"{label}: {count:,}" for label, count in sure["label"].value_counts().items())
    print(
        f"Kept {len(sure):,} of {len(guesses):,} texts, those with a probability of {SURE} or more ({counts})"
    )


if __name__ == "__main__":
    main()
