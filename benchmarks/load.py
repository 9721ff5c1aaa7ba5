"""Waiting times of a class during a training and with one additional abusive visitor.

`python benchmarks/load.py [--visitors 40] [--think 5] [--seconds 300] [--rude effects long cold endless]`.
Starts the app with a copy of the shelf, and a training (not with `--no-training`). The time is divided into
equal parts: the first without an abusive visitor, then one part for each kind, who repeatedly requests head
ablations of a translator, types 20,000 characters, opens models that are not in memory, or generates with a
model that never ends. Waits are in milliseconds, from sending a sentence to the end of the run. Exit status 1
if there was any error.
"""

import asyncio
import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from server import ROOT, running_app
from visitor import REVIEWS, Visitor, parser_of, print_errors, stream_of
from visitors import percentile, warm_up

from transformer_viz import store
from transformer_viz.network.config import END_ID
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run
from transformer_viz.training.runs.recipes import RECIPES

LONG = 20_000
"""Length of a long text, in characters."""

SETTLE = 5
"""Seconds between two parts."""

STARTED = 120
"""Seconds to wait for the first step of the training."""

STOPPED = 60
"""Seconds to wait for a stopped training before it is killed."""


def endless(folder):
    """Write a translator that never generates [END], whose embedding is set to zeros."""
    stored = store.read_model("translate-en-fr", folder)
    parameters = {name: array.copy() for name, array in stored.parameters.items()}
    parameters["token_embedding/embeddings"][END_ID] = 0
    store.write_model(
        "endless",
        config=stored.config.replace(target_max_len=1000),
        tokenizer=stored.tokenizer,
        target_tokenizer=stored.target_tokenizer,
        card={},
        parameters=parameters,
        folder=folder,
    )


@contextlib.contextmanager
def training():
    """Run an endless training, started as the Train page does."""
    recipe = RECIPES["reverse"]
    settings = recipe.training(epochs=10_000, patience=10_000)
    run = create_run(TrainingJob(config=recipe.config(), settings=settings, data="reverse", rows=recipe.rows))
    worker = subprocess.Popen(
        [sys.executable, "-m", "transformer_viz.training.worker"], stdin=subprocess.PIPE
    )
    try:
        worker.stdin.write(b"\n")
        worker.stdin.close()
        until = time.monotonic() + STARTED
        while not run.state().steps:
            if worker.poll() is not None or time.monotonic() > until:
                sys.exit(f"The training made no step within {STARTED} s.")
            time.sleep(0.2)
        yield
        run.stop()
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.wait(STOPPED)
    finally:
        worker.kill()
        worker.wait()


class Rude:
    """An abusive visitor who repeats one request; `answered` counts its successes."""

    def __init__(self, address, kind, models):
        self.address, self.kind, self.answered = address, kind, 0
        self.models = itertools.cycle(models)
        self.texts = itertools.cycle(REVIEWS)
        self.errors = []

    async def insist(self, until):
        """Repeat the request until the time is over."""
        while time.monotonic() < until:
            visitor = Visitor(self.address, 0)
            visitor.query = self.query()
            await visitor.arrive()
            if self.kind == "long" and visitor.is_open:
                await visitor.type((next(self.texts) * LONG)[:LONG])
            await visitor.leave()
            self.errors += visitor.errors
            self.answered += not visitor.errors

    def query(self):
        """Return the query parameters of the next request."""
        if self.kind == "effects":
            return {"model": "translate-en-fr", "effects": "1", "text": next(self.texts)}
        if self.kind == "cold":
            return {"model": next(self.models), "text": next(self.texts)}
        return {"model": "endless", "text": next(self.texts)} if self.kind == "endless" else {}


async def part(address, options, kind, models, seconds):
    """Let all visitors and an abusive one act for `seconds`; return them."""
    visitors = [Visitor(address, seed) for seed in range(options.visitors)]
    await asyncio.gather(*(visitor.arrive() for visitor in visitors))
    until = time.monotonic() + seconds
    rude = Rude(address, kind, models)
    insisting = asyncio.create_task(rude.insist(until)) if kind != "none" else None
    await asyncio.gather(*(visitor.stay(options.think, until) for visitor in visitors))
    if insisting:
        await insisting
    await asyncio.gather(*(visitor.leave() for visitor in visitors))
    return visitors, rude


async def play(address, options, models):
    """Run each part and print a line for it; return the number of errors."""
    await warm_up(address)
    wrong = 0
    kinds = ["none", *options.rude]
    print(f"{'rude':8}  actions   p50   p95   p99   max  errors")
    for kind in kinds:
        visitors, rude = await part(address, options, kind, models, options.seconds / len(kinds))
        waits = sorted(wait for visitor in visitors for wait in visitor.waits["sentence"])
        errors = [error for visitor in visitors for error in visitor.errors] + rude.errors
        figures = (percentile(waits, share) for share in (0.5, 0.95, 0.99, 1))
        note = "" if kind == "none" else f"  (answered {rude.answered} times)"
        print(f"{kind:8}  {len(waits):7}", *(f"{wait:5.0f}" for wait in figures), f"{len(errors):7}{note}")
        print_errors(errors)
        wrong += len(errors)
        await asyncio.sleep(SETTLE)
    return wrong


def main():
    """Measure a class."""
    parser = parser_of(__doc__)
    parser.add_argument("--visitors", type=int, default=40)
    parser.add_argument("--think", type=float, default=5.0, help="mean pause in seconds")
    parser.add_argument("--seconds", type=float, default=300.0)
    kinds = ("effects", "long", "cold", "endless")
    parser.add_argument("--rude", nargs="*", choices=kinds, default=kinds)
    parser.add_argument("--no-training", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        shelf = Path(scratch) / "models"
        shutil.copytree(ROOT / "models", shelf)
        os.environ["TRANSFORMER_VIZ_MODELS"] = str(shelf)
        os.environ["TRANSFORMER_VIZ_RUNS"] = str(Path(scratch) / "runs")
        endless(shelf)
        models = [model.name for model in store.list_models(shelf) if model.name != "endless"]
        beside = contextlib.nullcontext() if options.no_training else training()
        with beside, running_app() as (_, port):
            wrong = asyncio.run(play(stream_of(f"http://127.0.0.1:{port}"), options, models))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
