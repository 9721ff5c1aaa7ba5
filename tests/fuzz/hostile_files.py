"""Files that mean harm, by the thousand: data through every reader, models through admission, uploads.

`python tests/fuzz/hostile_files.py [--files 1000] [--models 500] [--uploads 10000] [--seed 0]`. Each file of
data is read in every way: rows or a sentence. Each packed model is admitted or refused in a sentence, and
the process that checks it takes no more time and memory than it may. Uploads all have one name and come from
several visitors at once; each must hold afterwards what was uploaded. Exit status 1 if anything failed.
"""

import argparse
import hashlib
import itertools
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]

import hostile  # noqa: E402
import hostile_models  # noqa: E402
import targets  # noqa: E402

from transformer_viz import store  # noqa: E402
from transformer_viz.service import admission  # noqa: E402
from transformer_viz.store.quota import Quota  # noqa: E402
from transformer_viz.training.runs.uploads import keep_upload  # noqa: E402

VISITORS = 16
"""Visitors who upload at the same time."""

LIMITS, SLACK = admission.Limits(), 2**28
"""Limits of a check, and bytes that a process may take more of between two looks at it."""

TOGETHER = 200
"""Uploads that go to one folder."""


def read_files(count, seed) -> int:
    """Read so many files in every way; return how many failed."""
    kinds, failed = itertools.cycle(hostile.DATA.items()), 0
    for number, (kind, make) in enumerate(itertools.islice(kinds, count)):
        try:
            targets.table(make(random.Random(f"{seed} {number}")))
        except Exception:
            failed += 1
            print(f"{kind} {number}: {traceback.format_exc(limit=-1)}", flush=True)
    print(f"{count} files of {len(hostile.DATA)} kinds through 4 readers: {failed} failed", flush=True)
    return failed


def admit_models(count, seed, folder) -> int:
    """Let so many models be checked; return how many failed, or took more than they may."""
    tables = (hostile_models.KINDS, hostile_models.DAMAGED, hostile_models.COSTLY)
    good, ended, failed, longest = targets.seeds("packed")[0], Counter(), 0, 0.0
    admission.context = lambda: multiprocessing.get_context("spawn")  # a child of this one: measured
    admit(good, folder)
    usual = taken()
    most_seconds = usual.seconds + 2 * LIMITS.seconds * os.cpu_count()
    most_memory = usual.memory + LIMITS.memory + SLACK
    for kind, data in hostile_models.drawn(good, seed, count, tables):
        before = taken()
        try:
            admit(data, folder)
            ended["admitted"] += 1
        except store.ModelError as error:
            ended["refused"] += 1
            if not str(error).isprintable():
                failed += 1
                print(f"{kind}: {error!r}", flush=True)
        except Exception:
            failed += 1
            print(f"{kind}: {traceback.format_exc(limit=-1)}", flush=True)
        after = taken()
        seconds, memory = after.seconds - before.seconds, after.memory
        longest = max(longest, seconds)
        if seconds > most_seconds or memory > max(most_memory, before.memory):
            failed += 1
            print(f"{kind}: took {seconds:.1f} s and {memory / 1e9:.2f} GB", flush=True)
        store.empty_trash(folder, older_than=0)
        failed += bool(list(folder.iterdir()))
    print(
        f"{count} models: {dict(ended)}, {failed} failed; the check of one took at most {longest:.1f} s of "
        f"processor time ({most_seconds:.0f} s are allowed), TensorFlow's start included, and "
        f"{taken().memory / 1e9:.2f} GB of memory ({most_memory / 1e9:.2f} GB), TensorFlow's included",
        flush=True,
    )
    return failed


def admit(data, folder) -> None:
    """Let one model be checked and read, and delete it."""
    admission.admit_model(data, name="guest", folder=folder)
    store.read_model("guest", folder)
    store.delete_model("guest", folder)


class Taken(NamedTuple):
    """Processor time of all ended children, and the most bytes of memory that one of them had."""

    seconds: float
    memory: int


def taken() -> Taken:
    """Return what the children that have ended took (Linux)."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Taken(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def upload_at_once(count, folder) -> int:
    """Keep so many uploads of one name, several at a time; return how many hold anything else."""

    def keep(number):
        data = f"text,label\nfilm {number},1\n".encode() * (1 + number % 50)
        place = folder / str(number // TOGETHER)
        upload = keep_upload(data, "reviews.csv", owner=str(number % VISITORS), folder=place, quota=room)
        return upload, hashlib.sha256(data).hexdigest()

    room = Quota(10**9, 10**9)
    with ThreadPoolExecutor(VISITORS) as visitors:
        kept = list(visitors.map(keep, range(count)))
    wrong = sum(hashlib.sha256(upload.path.read_bytes()).hexdigest() != sha256 for upload, sha256 in kept)
    wrong += count - len({upload.path for upload, _ in kept})
    print(f"{count} uploads of one name, {VISITORS} at a time: {wrong} with wrong content", flush=True)
    return wrong


def main() -> int:
    """Try the requested number of each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, count in (("files", 1000), ("models", 500), ("uploads", 10_000), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=count)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / name for name in ("models", "runs")]
        for place in places:
            place.mkdir()
        failed = read_files(options.files, options.seed)
        failed += upload_at_once(options.uploads, places[1])
        failed += admit_models(options.models, options.seed, places[0])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
