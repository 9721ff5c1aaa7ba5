"""Whether the word that does most to an answer is one that a person would name.

    python benchmarks/named_words.py --sst2 SST2/dev.csv.gz
    SCRIPT="benchmarks/named_words.py" sh models/train.sh DATA reviews-zh

Of the first 20 sentences of a length, those of SST-2's development set in imdb-sentiment and the test rows
of reviews-zh: in how many one of the first two words is among those in `named_words.json`, which were written
down before. Words are in the order of what the predicted class loses without them; the others are printed.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

sys.path.append(str(Path(__file__).parents[1] / "models"))

from measure import job_of_model

from transformer_viz import store
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.questions.effects.measure import effects
from transformer_viz.store.load import load
from transformer_viz.training.job import dataset_of

NAMED = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
"""Data set -> the words that a person would name, of each sentence."""

FIRST = 2
"""Words of the model among which one must be named."""


def main(argv: list[str]) -> None:
    """Print how many sentences agree, and those that do not."""
    if "--sst2" in argv:
        parser = argparse.ArgumentParser()
        parser.add_argument("--sst2", required=True, type=Path)
        texts = pd.read_csv(parser.parse_args(argv).sst2)["text"]
        chosen = [text for text in texts if 6 <= len(text.split()) <= 20]
        judge(load("imdb-sentiment"), chosen, NAMED["sst2"])
        return
    job = job_of_model(argv)
    rows = dataset_of(job, store.read_model(job.out)).test
    judge(load(job.out), [text for text in rows["text"] if 10 <= len(text) <= 35], NAMED["hotels"])


def judge(explorer: Explorer, texts: Sequence[str], named: Sequence[Sequence[str]]) -> None:
    """Print the sentences of which none of the first words is named."""
    agree = 0
    for text, words in zip(texts, named, strict=False):
        found = effects(explorer, text)
        ranked = found.words.sort_values("value", ascending=False, kind="stable")
        first = ranked["word"].head(FIRST).tolist()
        if any(_same(word, each) for word in words for each in first):
            agree += 1
        else:
            print(f"{found.labels[0]} {found.certainty.probability:.2f}  {first}, named {words}: {text}")
    print(f"{explorer.name}: {agree} of {len(named)}")


def _same(named, found):
    """Return whether one is the other, or a part of it: words fall apart at hyphens."""
    named, found = named.lower(), found.lower()
    return named == found or (len(found) > 1 and (found in named or named in found))


if __name__ == "__main__":
    main(sys.argv[1:])
