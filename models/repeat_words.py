"""Write texts of random words, each of which is a sequence and its repetitions.

    python models/repeat_words.py TEXTS OUT [--count N] [--seed N]

Such texts can only be predicted by looking at what followed the same word before: they teach a language model
induction (Olsson et al., 2022) with far less reading than ordinary texts, in which little is repeated word
for word. The words are drawn from TEXTS by the root of their frequency, so that rare ones are there too.
"""

import argparse
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from transformer_viz.data.read import read_texts

WORDS = 20_000
"""Number of words that are drawn from, the commonest."""

SHORTEST, LONGEST = 4, 60
"""Fewest and most words of a sequence."""

LENGTH = 150
"""Words of a text, about: a text has two repetitions or more, and the last one may be cut."""


def repeated_texts(texts: pd.Series, count: int, rng: np.random.Generator) -> list[str]:
    """Return texts, each a random sequence of words again and again; all lengths are as likely."""
    common = Counter(word for text in texts for word in re.findall(r"[^\W\d_]+", text)).most_common(WORDS)
    words = np.array([word for word, _ in common])
    chance = np.sqrt([number for _, number in common])
    chance /= chance.sum()
    lengths = rng.integers(SHORTEST, LONGEST + 1, count)
    sequences = (rng.choice(words, length, p=chance) for length in lengths)
    return [" ".join(np.resize(sequence, LENGTH)) for sequence in sequences]


def main() -> None:
    """Write the texts as a file with the column text."""
    parser = argparse.ArgumentParser(description="Write texts of random words that repeat themselves.")
    parser.add_argument("texts", type=Path, help="texts whose words are drawn")
    parser.add_argument("out", type=Path, help="the file to write")
    parser.add_argument("--count", type=int, default=8_000, help="number of texts (default 8000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the words")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    found = repeated_texts(read_texts(arguments.texts)["text"], arguments.count, rng)
    pd.DataFrame({"text": found}).to_csv(arguments.out, index=False)
    print(f"Wrote {len(found):,} texts")


if __name__ == "__main__":
    main()
