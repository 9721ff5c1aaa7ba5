"""A class on this machine, with a training running and one rude visitor: how long everybody else waits.

`python benchmarks/load.py [--visitors 40] [--think 5] [--seconds 300] [--rude effects long cold endless]`.
The app is started with a copy of the shelf, and a training beside it. The time is shared out equally: first
nobody is rude, then one visitor more does the same thing over and over: asks for the effects of a
translator's heads, types 20,000 characters, opens one model after the other, so that none is in memory, or
lets a model write that never ends. `--no-training` leaves the training out. Waits are in milliseconds, from
sending a sentence to the end of the run. Exit status 1 if anybody met an error.
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
from transformer_viz.runs import TrainingJob, create_run
from transformer_viz.runs.recipes import RECIPES
from transformer_viz.values.config import END_ID

LONG = 20_000
"""Length of a long text, in characters."""

SETTLE = 5
"""Seconds between two parts."""

STARTED = 120
"""Seconds after which a training has made its first step, or is not waited for."""

STOPPED = 60
"""Seconds after which a training that was stopped is ended."""


def endless(folder):
    """Write a translator that never writes [END]: with an embedding of zeros, it is never the likeliest."""
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
    """A visitor who does one thing over and over; `answered` counts how often that went well."""

    def __init__(self, address, kind, models):
        self.address, self.kind, self.answered = address, kind, 0
        self.models = itertools.cycle(models)
        self.texts = itertools.cycle(REVIEWS)
        self.errors = []

    async def insist(self, until):
        """Go on until the time is over."""
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
    """Let all visitors act for `seconds`, with one extra, rude visitor; return them and the rude one."""
    everybody = [Visitor(address, seed) for seed in range(options.visitors)]
    await asyncio.gather(*(visitor.arrive() for visitor in everybody))
    until = time.monotonic() + seconds
    rude = Rude(address, kind, models)
    insisting = asyncio.create_task(rude.insist(until)) if kind != "nobody" else None
    await asyncio.gather(*(visitor.stay(options.think, until) for visitor in everybody))
    if insisting:
        await insisting
    await asyncio.gather(*(visitor.leave() for visitor in everybody))
    return everybody, rude


async def play(address, options, models):
    """Run each part, print a line for it, and return the number of errors."""
    await warm_up(address)
    wrong = 0
    kinds = ["nobody", *options.rude]
    print(f"{'rude':8}  actions   p50   p95   p99   max  errors")
    for kind in kinds:
        everybody, rude = await part(address, options, kind, models, options.seconds / len(kinds))
        waits = sorted(wait for visitor in everybody for wait in visitor.waits["sentence"])
        errors = [error for visitor in everybody for error in visitor.errors] + rude.errors
        figures = (percentile(waits, share) for share in (0.5, 0.95, 0.99, 1))
        said = "" if kind == "nobody" else f"  (answered {rude.answered} times)"
        print(f"{kind:8}  {len(waits):7}", *(f"{wait:5.0f}" for wait in figures), f"{len(errors):7}{said}")
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
