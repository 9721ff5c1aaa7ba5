"""Fine-tuning a language model beside training from scratch, on few and on many labelled texts.

`python benchmarks/fine_tuning.py --data reviews.csv [--sizes 500 2500 22500] [--parent reviews-masked]`; the
file has the columns text and label. Its last 2,500 rows measure every model. Each size takes rows from the
beginning; a tenth of them chooses the epoch. From scratch means: the same architecture, a vocabulary learned
from these rows, and a higher learning rate, as nothing learned can be lost. Prints accuracies and minutes.
"""

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from transformer_viz import PRESETS, store
from transformer_viz.data import read_labelled
from transformer_viz.network.fine_tuning import child_config

MEASURED = 2_500
"""Rows that measure the models."""

EPOCHS = {1_000: 10, 10_000: 6, 1_000_000: 3}
"""Most rows -> passes over them."""

CHANGES = {
    "max_len": 256,
    "truncation": "middle",
    "pooling": "mean",
    "dropout": 0.2,
    "embedding_dropout": 0.1,
}
SETTINGS = "--batch-size 32 --weight-decay 0.05 --clip-norm 1 --beta-2 0.99 --word-dropout 0.1"
PRESET = "single-block"


def main():
    """Print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 2_500, 22_500])
    parser.add_argument("--parent", default="reviews-masked")
    parser.add_argument("--precision", default="float32")
    arguments = parser.parse_args()
    rows = read_labelled(arguments.data)[["text", "label"]]
    config = child_config(store.read_config(arguments.parent), classifies=True, **CHANGES)
    ways = {
        "fine-tuned": ["--from", arguments.parent, "--learning-rate", "0.0002", *set_options(CHANGES)],
        "from scratch": [*scratch_options(config), "--learning-rate", "0.001"],
    }
    print(f"{'rows':>7}  {'':12}  accuracy  minutes")
    with tempfile.TemporaryDirectory() as folder:
        rows[-MEASURED:].to_csv(test := Path(folder) / "test.csv", index=False)
        for size in arguments.sizes:
            rows[:-MEASURED][:size].to_csv(train := Path(folder) / "train.csv", index=False)
            common = ["--data", train, "--test", test, "--out", Path(folder) / "model", "--overwrite"]
            common += [*SETTINGS.split(), "--precision", arguments.precision, "--epochs", epochs_for(size)]
            for way, options in ways.items():
                accuracy, minutes = trained([*options, *common], Path(folder) / "model")
                print(f"{size:>7,}  {way:12}  {accuracy:8.1%}  {minutes:7.1f}", flush=True)


def epochs_for(size):
    """Return the passes over so many rows."""
    return next(epochs for most, epochs in EPOCHS.items() if size <= most)


def scratch_options(config):
    """Return options that train the architecture of a config from scratch, with its vocabulary's size."""
    base, wanted = PRESETS[PRESET], dataclasses.asdict(config.replace(reads_start=False))
    changes = {name: value for name, value in wanted.items() if value != getattr(base, name)}
    return ["--preset", PRESET, "--tokens", "bpe", "--keep-case", *set_options(changes)]


def set_options(changes):
    """Return the options that change fields of a config."""
    return ["--set", *(f"{name}={json.dumps(value)}" for name, value in changes.items())]


def trained(options, model):
    """Return the accuracy on the test rows of a model trained with these options, and the minutes it took."""
    command = [sys.executable, "-m", "transformer_viz", "train", *map(str, options)]
    began = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    return store.read_model(str(model)).card["test"]["accuracy"], (time.monotonic() - began) / 60


if __name__ == "__main__":
    main()
