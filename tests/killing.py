"""Writers of runs and uploads, killed at random moments: nothing may be lost, mixed or half.

    PYTHONPATH=. python tests/killing.py --kills 200 --seed 7

kills as often as asked for and prints what was checked. A writer notes what it has finished in a journal,
line by line, after it is finished: all of that must be there, and whatever else is there must be whole.
"""

import argparse
import hashlib
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
from hostile import JOB, Picture

from transformer_viz.store.folders import write_whole
from transformer_viz.training.checkpoint import Progress, read_checkpoint, write_checkpoint
from transformer_viz.training.runs.events import append_event, parse_event
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.listing import create_run, list_runs
from transformer_viz.training.runs.uploads import FACTS, keep_upload, sweep_runs, uploads_folder

ROOT = str(Path(__file__).parents[1])

LONGEST = 0.4
"""Longest time in seconds that writers run before they are killed."""


KINDS = {"upload", "event", "checkpoint", "frame", "created", "deleted"}
"""What the journal names; the last writers are killed after all of it was written at least once."""


class Writers:
    """Threads that write to a folder of runs as fast as they can.

    Args:
        folder: Folder of runs.
        seed: Seed for what they write.
    """

    def __init__(self, folder, seed):
        self.folder, self.seed = folder, seed
        self.run = TrainingRun(folder / "shared")
        self.run.path.mkdir(parents=True, exist_ok=True)
        write_whole(self.run.path / "job.json", JOB.to_json().encode())
        self.journal = os.open(folder / "journal", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, *facts):
        """Write down what is finished."""
        os.write(self.journal, json.dumps(facts).encode() + b"\n")

    def start(self):
        """Start everything and never return."""
        works = [self.upload] * 3 + [self.append] * 2
        works += [self.keep_checkpoint, self.write_frame, self.make_runs, self.remove_runs, self.claim]
        for number, work in enumerate(works):
            rng = random.Random(self.seed * 100 + number)
            threading.Thread(target=self.work_on, args=(work, rng, number), daemon=True).start()
        threading.Event().wait()

    def work_on(self, work, rng, number):
        """Do one thing again and again, with time for the others between."""
        for count in itertools.count():
            work(rng, number, count)
            time.sleep(0.002)

    def upload(self, rng, number, count):
        """Keep an upload; all of them have the same name."""
        upload = keep_upload(rng.randbytes(rng.randint(1, 200_000)), "reviews.csv", folder=self.folder)
        self.note("upload", str(upload.path), upload.sha256)

    def append(self, rng, number, count):
        """Add an event to a log to which others add, too."""
        unique = (self.seed * 100 + number) * 10**6 + count
        append_event(self.run.path / "events.jsonl", "step", step=unique, device="\u2028" * (count % 50))
        self.note("event", unique)

    def keep_checkpoint(self, rng, number, count):
        """Write a checkpoint whose every number is its step."""
        step = self.seed * 10**5 + count
        state = {"a": np.full(rng.randint(1, 50_000), step, np.int64)}
        write_checkpoint(self.run.checkpoint, state, Progress(step=step))
        self.note("checkpoint", step)

    def write_frame(self, rng, number, count):
        """Write a picture that says how long it is."""
        step = self.seed * 10**4 + count
        self.run.write_frame(step, 0, Picture(step))
        self.note("frame", step)

    def make_runs(self, rng, number, count):
        """Put a run into the queue."""
        self.note("created", create_run(JOB, folder=self.folder).id)

    def remove_runs(self, rng, number, count):
        """Make a run with something in it, and delete it."""
        run = create_run(JOB, folder=self.folder, title="removed")
        for name in range(300):
            (run.path / f"{name}").write_bytes(bytes(10))
        run.delete()
        self.note("deleted", run.id)

    def claim(self, rng, number, count):
        """Write down who works on the run."""
        self.run.claim()


def kill_writers(folder, kills, seed=0) -> Counter:
    """Start and kill writers as often as asked for; return how much was checked.

    Args:
        folder: An empty folder.
        kills: How often.
        seed: Seed for what they write, and for the moments.
    """
    rng, checked = random.Random(seed), Counter()
    for number in range(kills):
        command = [sys.executable, __file__, "--write", str(folder), "--seed", str(seed * 1000 + number + 1)]
        writers = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": ROOT})
        journal, before = folder / "journal", size_of(folder / "journal")
        while size_of(journal) == before:
            assert writers.poll() is None
            time.sleep(0.005)
        time.sleep(rng.uniform(0, LONGEST))
        while number == kills - 1 and KINDS - journalled(folder).keys():  # a busy machine needs longer
            assert writers.poll() is None
            time.sleep(0.05)
        writers.kill()
        writers.wait()
        checked["kills"] += 1
        checked |= check(folder)
    sweep_runs(folder)
    left = [path for path in folder.rglob(".t*") if folder / "shared" not in path.parents]
    assert left == [], left
    TrainingRun(folder / "shared").claim()  # as whoever goes on with the run does
    assert not list((folder / "shared").rglob(".t*"))
    return checked


def size_of(path):
    """Return how long a file is, 0 if there is none."""
    return path.stat().st_size if path.exists() else 0


def journalled(folder):
    """Return what is finished: kind -> the facts of each."""
    done = {}
    for line in (folder / "journal").read_bytes().split(b"\n")[:-1]:  # one that is not ended may be cut
        kind, *facts = json.loads(line)
        done.setdefault(kind, []).append(facts)
    return done


def check(folder) -> Counter:
    """Return how many of each kind were checked; fail if any is lost, mixed up or incomplete."""
    done = journalled(folder)
    check_uploads(folder, done.get("upload", []))
    run = TrainingRun(folder / "shared")
    check_events(run, {step for [step] in done.get("event", [])})
    steps = [step for [step] in done.get("checkpoint", [])]
    if steps:
        state, progress = read_checkpoint(run.checkpoint)
        assert progress.step >= max(steps)
        assert (state["a"] == progress.step).all()
        assert not run.has_damaged_checkpoint
    for [step] in done.get("frame", []):
        assert run.frame(step, 0).exists()
    for path in (run.path / "frames").glob("[0-9]*"):
        assert path.read_bytes() == f"{int(path.name.split('-')[0])}\n".encode() * 5000, path
    claim = run.path / "process.json"
    assert not claim.exists() or run.pid
    check_runs(
        folder, {name for [name] in done.get("created", [])}, {name for [name] in done.get("deleted", [])}
    )
    return Counter({kind: len(facts) for kind, facts in done.items()})


def check_uploads(folder, kept):
    """Check that each upload is there, and that each holds what its facts say."""
    for path, digest in kept:
        assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == digest, path
    for place in uploads_folder(folder).iterdir():
        if not place.name.startswith("."):
            facts = json.loads((place / FACTS).read_bytes())
            data = (place / "reviews.csv").read_bytes()
            assert (hashlib.sha256(data).hexdigest(), len(data)) == (facts["sha256"], facts["size"]), place


def check_events(run, appended):
    """Check that each event is there once and that none were merged."""
    lines = (run.path / "events.jsonl").read_bytes().split(b"\n") if appended else []
    found = [event["step"] for event in map(parse_event, lines) if event]
    assert len(found) == len(set(found))
    assert appended <= set(found)


def check_runs(folder, created, deleted):
    """Check that created runs are there, deleted ones are not, and none is incomplete."""
    runs = {run.id: run for run in list_runs(folder) if run.id != "shared"}
    assert created <= runs.keys()
    assert not deleted & runs.keys()
    for run in runs.values():
        assert run.job == JOB
        assert run.status == "queued"


def main():
    """Write until killed, or kill writers and say what was checked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path, help="write to this folder until killed")
    parser.add_argument("--kills", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.write:
        Writers(arguments.write, arguments.seed).start()
    with tempfile.TemporaryDirectory() as folder:
        print(dict(kill_writers(Path(folder), arguments.kills, arguments.seed)))


if __name__ == "__main__":
    main()
