"""Write texts in which random words recur.

    python models/repeat_words.py TEXTS OUT [--count N] [--seed N]

Half of them are a sequence of words again and again. Such a text can only be predicted by looking at what
followed the same word before: it teaches a language model induction (Olsson et al., 2022) with far less
reading than ordinary texts, in which little is repeated word for word. In the other half, words of a small
choice come in any order, and each that was there before is followed by "again": a single repetition has to be
noticed. The words are drawn from TEXTS by the root of their frequency, so that rare ones are there too.
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

FEWEST, MOST = 20, 80
"""Fewest and most words that a text of single repetitions chooses from."""

LENGTH = 150
"""Words of a text, about: a sequence is there twice or more, and the last time it may be cut."""

MARK = "again"
"""What follows a word that was there before."""


class Words:
    """The commonest words of some texts, to be drawn at random.

    Args:
        texts: The texts.
        rng: `numpy.random.Generator`.
    """

    def __init__(self, texts: pd.Series, rng: np.random.Generator):
        common = Counter(word for text in texts for word in re.findall(r"[^\W\d_]+", text)).most_common(WORDS)
        self.words = np.array([word for word, _ in common])
        roots = np.sqrt([number for _, number in common])
        self.chance, self.rng = roots / roots.sum(), rng

    def draw(self, fewest: int, most: int) -> np.ndarray:
        """Return so many words, any number as likely; some may be the same."""
        return self.rng.choice(self.words, self.rng.integers(fewest, most + 1), p=self.chance)


def repeated_text(words: Words) -> str:
    """Return a random sequence of words again and again."""
    return " ".join(np.resize(words.draw(SHORTEST, LONGEST), LENGTH))


def marked_text(words: Words) -> str:
    """Return words of a small choice in random order, `MARK` after each that was there before."""
    choice, text, seen = words.draw(FEWEST, MOST), [], set()
    while len(text) < LENGTH:
        word = str(words.rng.choice(choice))
        text += [word, MARK] if word in seen else [word]
        seen.add(word)
    return " ".join(text)


def main() -> None:
    """Write the texts as a file with the column text."""
    parser = argparse.ArgumentParser(description="Write texts in which random words recur.")
    parser.add_argument("texts", type=Path, help="texts whose words are drawn")
    parser.add_argument("out", type=Path, help="the file to write")
    parser.add_argument("--count", type=int, default=16_000, help="number of texts (default 16000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the words")
    arguments = parser.parse_args()
    words = Words(read_texts(arguments.texts)["text"], np.random.default_rng(arguments.seed))
    half = arguments.count // 2
    found = [repeated_text(words) for _ in range(half)]
    found += [marked_text(words) for _ in range(arguments.count - half)]
    pd.DataFrame({"text": found}).to_csv(arguments.out, index=False)
    print(f"Wrote {len(found):,} texts")


if __name__ == "__main__":
    main()
