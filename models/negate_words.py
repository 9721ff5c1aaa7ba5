"""Write short sentences that judge something with one word, plain and negated, with their labels.

    python models/negate_words.py PHRASES TEXTS OUT [--count N] [--seed N]

PHRASES are labelled phrases, among them single words: the words of praise and blame. Of these, the adjectives
are taken, told by TEXTS: what often follows "is very", "was so" and the like. A plain sentence has the label
of its word, a negated one the other, as phrases such as "it's not bad prose" have in SST-2. Reviews and
phrases hold too few negated words of blame for a small model to learn what "not" does to them.
"""

import argparse
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from transformer_viz.data import read_labelled
from transformer_viz.data.read import read_texts

DEGREE = re.compile(r"\b(?:is|are|was|were) (?:so|too|very|quite|rather|really) ([a-z]+)\b")
"""What an adjective follows."""

TIMES = 5
"""Least number of times that an adjective follows it in the texts."""

SUBJECTS = (
    *("it is", "it was", "this is", "this was", "that is", "the movie was", "the plot is", "the story was"),
    *("the idea is", "the actors are", "the music was", "the jokes are", "most scenes are", "the rest was"),
)

PLAIN = ("{subject} {word}", "{subject} very {word}", "{subject} so {word}", "{word}")

NEGATED = (
    *("{subject} not {word}", "{subject}n't {word}", "{subject} never {word}", "{subject} not at all {word}"),
    *("{subject} by no means {word}", "{subject} not {word} at all", "not {word}", "never {word}"),
)


def adjectives(phrases: pd.DataFrame, texts: pd.Series) -> pd.Series:
    """Return the label of each adjective among the phrases of one word, by the word."""
    alone = phrases.assign(text=phrases["text"].str.strip().str.lower())
    alone = alone[alone["text"].str.fullmatch("[a-z]+")].groupby("text")["label"]
    labels = alone.first()[alone.nunique() == 1]
    follows = Counter(word for text in texts for word in DEGREE.findall(text.lower()))
    return labels[[word for word in labels.index if follows[word] >= TIMES]]


def judgements(words: pd.Series, count: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return columns text and label: two negated sentences for each plain one.

    Args:
        words: Label of each adjective, by the word; there are two labels.
        count: Number of rows.
        rng: `numpy.random.Generator`.
    """
    other = dict(zip(sorted(set(words)), sorted(set(words), reverse=True), strict=True))
    rows = []
    for number, word in enumerate(rng.choice(words.index, count)):
        frames, label = (NEGATED, other[words[word]]) if number % 3 else (PLAIN, words[word])
        text = str(rng.choice(frames)).format(subject=rng.choice(SUBJECTS), word=word)
        rows.append((f"{text[0].upper()}{text[1:]}." if " " in text else text, label))
    return pd.DataFrame(rows, columns=pd.Index(["text", "label"]))


def main() -> None:
    """Write the sentences as a file of labelled texts."""
    parser = argparse.ArgumentParser(description="Write judgements of one word, plain and negated.")
    parser.add_argument("phrases", type=Path, help="labelled phrases, single words among them")
    parser.add_argument("texts", type=Path, help="texts that tell which words are adjectives")
    parser.add_argument("out", type=Path, help="the file of labelled texts to write")
    parser.add_argument("--count", type=int, default=9_000, help="number of sentences (default 9000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice")
    arguments = parser.parse_args()
    words = adjectives(read_labelled(arguments.phrases), read_texts(arguments.texts)["text"])
    found = judgements(words, arguments.count, np.random.default_rng(arguments.seed))
    found.to_csv(arguments.out, index=False)
    print(f"Wrote {len(found):,} sentences with {len(words):,} words ({', '.join(words.index[:8])}, ...)")


if __name__ == "__main__":
    main()
