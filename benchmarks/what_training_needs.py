"""What warm-up, residual connections and layer normalisation are for, in trainings of a minute each.

`python benchmarks/what_training_needs.py [--seeds 3] [--layers 4] [--rows 10000] [--epochs 4]`. An
encoder-decoder learns to reverse digits, with one thing left out in each training. Prints the exact match on
digits it has not seen, for each seed. The lesson on warm-up begins with the same settings.
"""

import argparse
import tempfile
from pathlib import Path

from transformer_viz.training.job import run_job
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.recipes import RECIPES

SETTINGS = {"learning_rate": 0.002, "warmup": 0.2}

VARIANTS = {
    "post-norm with warm-up": ({}, {}),
    "post-norm without warm-up": ({}, {"warmup": 0.0}),
    "pre-norm without warm-up": ({"norm": "pre", "final_norm": True}, {"warmup": 0.0}),
    "without residual connections": ({"residual": False}, {}),
    "without layer normalisation": ({"norm": "none"}, {}),
}
"""Name -> fields of the config, and of the settings, that differ from the first one."""


def main():
    """Train each variant with each seed, and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, default in (("seeds", 3), ("layers", 4), ("rows", 10_000), ("epochs", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    for name, variant in VARIANTS.items():
        found = [exact_match(*variant, seed, arguments) for seed in range(arguments.seeds)]
        print(f"{name:30}", *(f"{each:6.1%}" for each in found), flush=True)


def exact_match(fields, changes, seed, arguments):
    """Return the exact match of a finished training on its test rows."""
    recipe = RECIPES["reverse"]
    job = TrainingJob(
        config=recipe.config(num_layers=arguments.layers, **fields),
        settings=recipe.training(**SETTINGS | {"epochs": arguments.epochs, "seed": seed} | changes),
        data="reverse",
        rows=arguments.rows,
    )
    with tempfile.TemporaryDirectory() as folder:
        return run_job(job, runs=Path(folder))["test"]["exact_match"]


if __name__ == "__main__":
    main()
