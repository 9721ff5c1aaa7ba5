"""What the settings chosen for a person's own data give: the figure, and whether any head learns to attend.

`python benchmarks/recipes.py reviews.csv pairs.csv [--rows 6000] [--change norm=pre positions=sinusoidal]
[--options ...]` trains on the first rows of each file as `transformer-viz train` does by default, and once
more for each change, and prints for each:

- the figure of the test rows, and with every head made uniform: without attention that looks anywhere;
- even: lowest, middle and highest entropy of a head relative to uniform attention, over validation texts;
- uniform: how many heads stay uniform (at least 0.98 of it), of how many;
- seconds.

`--change` can be given several times; `--options` are further options of `train`, for all.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from transformer_viz import store

UNIFORM = 0.98
"""Entropy relative to uniform attention from which a head is called uniform here."""

FIGURES = ("accuracy", "token_accuracy", "perplexity")


def main():
    """Print a row for each file and each change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--rows", type=int, default=6_000)
    parser.add_argument("--change", nargs="+", action="append", default=[], metavar="FIELD=VALUE")
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for file in arguments.files:
            shortened = Path(folder) / f"{file.name.partition('.')[0]}.csv"
            pd.read_csv(file, keep_default_na=False, nrows=arguments.rows).to_csv(shortened, index=False)
            for change in ([], *arguments.change):
                options = [*arguments.options, *(["--set", *change] if change else [])]
                row = {"data": shortened.stem, "change": " ".join(change)}
                print(row | trained(shortened, Path(folder) / "model", options), flush=True)


def trained(data, model, options):
    """Return the figures of a model trained with these options."""
    command = [
        sys.executable,
        "-m",
        "transformer_viz",
        "train",
        "--data",
        data,
        "--out",
        model,
        "--overwrite",
    ]
    began = time.monotonic()
    subprocess.run([*map(str, command), *options], check=True, capture_output=True)
    seconds = time.monotonic() - began
    test = store.read_model(str(model)).card["test"]
    kinds = store.read_head_roles(str(model)).kinds.values()
    even = np.concatenate([kind.share[..., kind.names.index("even")].ravel() for kind in kinds])
    name = next(name for name in FIGURES if name in test)
    return {
        name: round(test[name], 3),
        "with uniform heads": round(test.get("uniform_accuracy", np.nan), 3),
        "even": [round(float(np.quantile(even, share)), 3) for share in (0, 0.5, 1)],
        "uniform": f"{(even >= UNIFORM).sum()} of {even.size}",
        "seconds": round(seconds),
    }


if __name__ == "__main__":
    main()
