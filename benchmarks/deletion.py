"""How fast an answer falls while the words that speak most for it are taken away, beside a random order.

    SCRIPT=benchmarks/deletion.py sh models/train.sh DATA [NAME ...]

Over a hundred of a model's test rows, of long ones over a sentence of each. The area is that under the
probability of the answer, as a share of its first value, while up to half of the tokens are replaced: 1 if
nothing changes, lower is better (DeYoung et al., 2020, ERASER, section 4.2, for the comprehensiveness that it
sums up). Only the answers of classifiers and next tokens: those of one row.
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "models"))

from measure import job_of_model

from transformer_viz import store
from transformer_viz.questions.effects.answer import Asked
from transformer_viz.questions.effects.measure import estimate, left_out
from transformer_viz.questions.effects.words import Word, words_of
from transformer_viz.questions.roles.measure import short_texts
from transformer_viz.store.load import load
from transformer_viz.trace.softmax import sigmoid
from transformer_viz.training.job import dataset_of
from transformer_viz.training.rows import choose_role_texts

TEXTS, ORDERS = 100, 5
"""Texts, and random orders of each."""

LEAST_WORDS = 4
"""Words of the shortest text that counts."""


def main(argv: list[str]) -> None:
    """Print the areas of a model."""
    job = job_of_model(argv)
    dataset, explorer = dataset_of(job, store.read_model(job.out)), load(job.out)
    texts = choose_role_texts(explorer.config, dataset.test, TEXTS)
    texts = (short_texts(explorer, texts) or texts)[:TEXTS]
    random, begun = np.random.default_rng(0), time.monotonic()
    found = np.array([pair for pair in (areas(explorer, text, random) for text in texts) if pair])
    gain, seconds = found[:, 1] - found[:, 0], time.monotonic() - begun
    spread = gain.std() / len(gain) ** 0.5
    ordered, mixed = found.mean(axis=0)
    said = f"strongest first {ordered:.3f}, random {mixed:.3f}, {gain.mean():.3f} ± {1.96 * spread:.3f} below"
    print(f"{Path(job.out).name}: {len(found)} texts, {said}; {seconds:.0f} s", flush=True)


def areas(explorer, text, random) -> tuple[float, float] | None:
    """Return the area with the strongest words first, and the mean of random orders; None: too few words."""
    prepared = explorer.prepare(explorer.request(text))
    found, words = estimate(explorer, prepared, Asked()), words_of(prepared.source)
    if len(words) < LEAST_WORDS:
        return None
    without = {word: f for part in left_out(explorer, prepared, found.answer, words) for word, f in part}
    ordered = sorted(words, key=lambda word: without[word])

    def area(order):
        tokens, first = sum(len(word.tokens) for word in words), found.certainty.probability
        shares, gone, steps = [(0.0, 1.0)], (), []
        for word in order:
            gone = (*gone, *word.tokens)
            if len(gone) > tokens / 2:
                break
            steps.append(Word("text", "", 0, 0, tuple(sorted(gone))))
        f = dict(pair for part in left_out(explorer, prepared, found.answer, steps) for pair in part)
        shares += [(len(step.tokens) / tokens, float(sigmoid(np.array(f[step]))) / first) for step in steps]
        x, y = np.array(shares).T
        return float(((y[1:] + y[:-1]) / 2 * np.diff(x)).sum() / x[-1]) if len(x) > 1 else 1.0

    orders = [[words[number] for number in random.permutation(len(words))] for _ in range(ORDERS)]
    return area(ordered), float(np.mean([area(order) for order in orders]))


if __name__ == "__main__":
    main(sys.argv[1:])
