"""How well the estimated effects of a model's cells, heads and words agree with the measured ones.

    SCRIPT=benchmarks/effects.py sh models/train.sh DATA [NAME ...]

What it finds is kept in the model's card. Over fifty of its test rows, of long ones over a sentence of each;
in a masked language model the middle word is [MASK].
"""

import sys
import time
from pathlib import Path

import pandas as pd

sys.path.append(str(Path(__file__).parents[1] / "models"))

from measure import job_of_model

from transformer_viz import store
from transformer_viz.questions.effects.quality import card_facts, quality
from transformer_viz.questions.roles.measure import short_texts
from transformer_viz.store.load import load
from transformer_viz.training.job import dataset_of
from transformer_viz.training.rows import choose_role_texts

TEXTS = 50


def main(argv: list[str]) -> None:
    """Print the rows of a model and keep them in its card."""
    job = job_of_model(argv)
    dataset, explorer = dataset_of(job, store.read_model(job.out)), load(job.out)
    texts = choose_role_texts(explorer.config, dataset.test, TEXTS)
    if explorer.config.architecture != "encoder-decoder":
        texts = short_texts(explorer, texts) or texts
    begun = time.monotonic()
    found = quality(explorer, texts)
    pd.set_option("display.width", 200)
    print(f"\n{Path(job.out).name}: {len(texts)} texts, {time.monotonic() - begun:.0f} s")
    print(found.to_string(index=False, float_format="{:.3f}".format))
    place = Path(job.out)
    store.write_in_card(place.name, card_facts(found, len(texts)), place.parent)


if __name__ == "__main__":
    main(sys.argv[1:])
