"""Data files, logs and folders of runs that are bad in every way somebody could think of, made from a seed.

    PYTHONPATH=. python tests/hostile.py FOLDER --seed 7 --rounds 3

writes every kind of each, as often as asked for, and prints what it wrote.
"""

import argparse
import gzip
import json
import random
import time
from pathlib import Path

from zipping import zipped

from transformer_viz.network.config import TransformerConfig
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run
from transformer_viz.training.runs.settings import TrainingSettings

LABELS = [
    "a\u2028b",
    "a\x85b",
    "\u202egnp.exe",
    "<script>window.hit=1</script>",
    '<img src="https://evil.example/x.png" onerror="window.hit=1">',
    "[click](https://evil.example)",
    "https://evil.example/x",
    "www.evil.example",
    "me@evil.example",
    "![](https://evil.example/x.png)",
    "$\\href{javascript:window.hit=1}{x}$",
    "**bold** :red[red] `code` # 1.",
    "| a | b |",
    "=cmd|' /C calc'!A0",
    "../../etc/passwd",
    "\x1b[31mred\x1b[0m",
    "\x07\x08\x7f\x9b",
    "\ufeff",
    "\uffff",
    "{label}",
    "%s %(x)s {0}",
    "a" * 10_000,
    "e" + "\u0301" * 300,
    "👩‍👩‍👧‍👦" * 20,
    "مرحبا",
    "0",
    "null",
    "NaN",
]


def table(rows, header=("text", "label"), between=",", end="\n"):
    """Return a table as bytes, nothing in it quoted."""
    lines = [between.join(map(str, row)) for row in ([header] if header else []) + list(rows)]
    return (end.join(lines) + end).encode("utf-8", "surrogatepass")


def good(number, labels=("bad", "good")):
    """Return rows in which nothing is wrong."""
    return [(f"a film of number {i}", labels[i % len(labels)]) for i in range(number)]


def objects(rows):
    """Return rows as JSONL, every character escaped that can be."""
    return b"".join(json.dumps({"text": text, "label": label}).encode() + b"\n" for text, label in rows)


def cut(data, rng):
    """Return the beginning of something."""
    return data[: rng.randrange(len(data))] if data else data


def flipped(data, rng, share=0.001):
    """Return something with a few of its bits flipped."""
    damaged = bytearray(data)
    for _ in range(max(1, int(share * len(damaged)))):
        if damaged:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


HARMFUL = [b"\0", b'"', b"\n", b"\r", b",", b"\t", b"\xff", b"\xe6\xbb", b"{", b"]", b"\\ud800"]


def mutated(data, rng):
    """Return `data` cut, flipped, repeated, or with harmful bytes inserted."""
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(data) + 1)
        before, after, put = data[:place], data[place:], rng.choice(HARMFUL)
        data = rng.choice(
            [
                before,
                flipped(data, rng),
                before + put + after,
                before + put * 500 + after,
                before + after[rng.randrange(50) :],
                before + before[-200:] * 3 + after,
            ]
        )
    return data


CSV, JSONL = table(good(30)), objects(good(30))

DATA = {
    "empty": lambda rng: b"",
    "blank": lambda rng: b" \r\n\t\n" * rng.randint(1, 9),
    "a mark alone": lambda rng: b"\xef\xbb\xbf",
    "random bytes": lambda rng: rng.randbytes(rng.randint(1, 5000)),
    "UTF-16": lambda rng: CSV.decode().encode("utf-16"),
    "UTF-32": lambda rng: CSV.decode().encode("utf-32"),
    "Latin-1": lambda rng: "text,label\nnaïveté,é\n".encode("latin-1") * 9,
    "GBK, cut": lambda rng: cut(("text,label\n" + "房间很大,好\n" * 30).encode("gbk"), rng),
    "half a character": lambda rng: CSV + "满".encode()[: rng.randint(1, 2)],
    "surrogates in bytes": lambda rng: CSV + b"\xed\xa0\x80,1\n",
    "overlong": lambda rng: CSV + b"\xc0\xaf,1\n",
    "NUL, late": lambda rng: table(good(200)) + b"a\0b,good\n",
    "gzip, cut": lambda rng: cut(gzip.compress(CSV), rng),
    "gzip, flipped": lambda rng: flipped(gzip.compress(table(good(300))), rng, 0.01),
    "gzip of gzip": lambda rng: gzip.compress(gzip.compress(CSV)),
    "gzip of zeros": lambda rng: gzip.compress(bytes(2**24)),
    "gzip and more": lambda rng: gzip.compress(CSV) + rng.randbytes(50),
    "zip": lambda rng: zipped({"data.csv": b"<x/>"}),
    "workbook": lambda rng: zipped({"xl/workbook.xml": b"<x/>"}),
    "PDF": lambda rng: b"%PDF-1.7\n" + rng.randbytes(300),
    "SQLite": lambda rng: b"SQLite format 3\0" + bytes(300),
    "Parquet": lambda rng: b"PAR1" + rng.randbytes(300) + b"PAR1",
    "web page": lambda rng: b"<!DOCTYPE html><html><body>text,label</body></html>",
    "XML": lambda rng: b"<?xml version='1.0'?><a/>",
    "JSON array": lambda rng: json.dumps([{"text": "a", "label": 1}] * 20).encode(),
    "JSONL, cut": lambda rng: cut(JSONL, rng),
    "JSONL, nested": lambda rng: JSONL + b'{"text": ' + b"[" * 50_000,
    "JSONL, half of characters": lambda rng: JSONL + b'{"text": "a\\ud83d b", "label": "good"}\n',
    "JSONL, half of a name": lambda rng: JSONL + b'{"text": "a b", "label": "x", "\\udc00": 1}\n',
    "JSONL, many names": lambda rng: json.dumps({f"k{i}": "a" for i in range(5000)}).encode(),
    "JSONL, other names in each line": lambda rng: b"".join(b'{"k%d": "a b"}\n' % i for i in range(3000)),
    "JSONL, lists": lambda rng: b'{"text": ["a", ["b"]], "label": {"c": 1}}\n' * 20,
    "JSONL, one long list": lambda rng: b'{"text": [' + b"[]," * 500_000 + b'[]], "label": "a"}\n',
    "JSONL, large numbers": lambda rng: b'{"text": "a b", "label": %s}\n' % (b"9" * 9000),
    "JSONL, no numbers": lambda rng: b'{"text": "a b", "label": NaN}\n' * 20,
    "JSONL, nulls": lambda rng: JSONL + b"null\n",
    "ragged": lambda rng: CSV + rng.choice([b"a,b,c\n", b"a\n", b"\n", b",\n"]) + CSV,
    "open quote": lambda rng: CSV + b'"a film,good\n' + CSV,
    "quote in the middle": lambda rng: CSV + b'"a" film,good\n',
    "quotes alone": lambda rng: b'"' * rng.randint(1, 999),
    "too many columns": lambda rng: table([range(999)] * 3, range(999)),
    "two columns of one name": lambda rng: table(good(20), ("text", "text")),
    "names of nothing": lambda rng: table(good(20), ("", " ")),
    "header alone": lambda rng: b"text,label\n",
    "no header": lambda rng: table(good(30), None),
    "one row": lambda rng: table(good(1)),
    "one label": lambda rng: table(good(30, ["good"])),
    "too many labels": lambda rng: table(good(300, [f"l{i}" for i in range(100)])),
    "odd labels": lambda rng: objects(good(60, rng.sample(LABELS, 4))),
    "odd labels in CSV": lambda rng: table(good(60, [f'"{label}"' for label in LABELS[:2]])),
    "a label of 10,000 characters": lambda rng: table(good(30, ["a" * 10_000, "b"])),
    "odd texts": lambda rng: objects([(text, "ab"[i % 2]) for i, text in enumerate(LABELS * 3)]),
    "texts of spaces": lambda rng: table([("\u3000 \u00a0", "good")] * 20),
    "one text again and again": lambda rng: table([("the same", "good"), ("the same", "bad")] * 30),
    "a text of a million": lambda rng: CSV + b"a" * 1_000_001 + b",good\n",
    "a line without an end": lambda rng: b"word " * 300_000,
    "lines that end in CR": lambda rng: table(good(30), end="\r"),
    "lines that end in all ways": lambda rng: b"text,label\r\na film,1\nb film,0\rc film,1\r\n" * 20,
    "lines that end in NEL": lambda rng: table(good(30), end="\x85"),
    "lines that end in U+2028": lambda rng: table(good(30), end="\u2028"),
    "tabs and commas": lambda rng: table([("a\tb;c", "1")] * 20),
    "TSV with quotes": lambda rng: table([('"a" 6" b', '"'), ('""', "b")] * 20, between="\t"),
    "TSV, quoted over lines": lambda rng: table([('"a\nb\tc"', "1"), ("b", "0")] * 20, between="\t"),
    "delimiters alone": lambda rng: b",;\t" * 500,
    "mutated CSV": lambda rng: mutated(CSV, rng),
    "mutated TSV": lambda rng: mutated(table(good(30), between="\t"), rng),
    "mutated JSONL": lambda rng: mutated(JSONL, rng),
    "mutated text": lambda rng: mutated("To be, or not to be.\n满意。\n".encode() * 20, rng),
    "mutated gzip": lambda rng: mutated(gzip.compress(CSV), rng),
}
"""Kind of data file -> what is in one."""


def line(event, **facts):
    """Return a line of a log, whatever is in it."""
    return json.dumps({"event": event, "time": time.time(), **facts}).encode() + b"\n"


LOG = (
    line("queued")
    + line("started", step=0, device="CPU (2 cores)")
    + line("data", train=100, validation=10, parameters=9, steps_per_epoch=10, total_steps=50)
    + b"".join(line("step", step=i, loss=1 / (i + 1), tokens_per_second=99.5, memory=1) for i in range(20))
    + line("epoch", epoch=1, step=10, best=True, seconds=1.0, loss=0.5, val_loss=0.4, val_accuracy=0.7)
    + line("samples", step=10, samples=[{"text": "a", "expected": "b", "written": "c"}])
)


def many(rng, make, number=3000):
    """Return a log with a great many lines."""
    return LOG + b"".join(make(rng.randrange(number)) for _ in range(number))


BAD_ROWS = {"path": "a.csv", "rows": 9, "blank": 0, "counts": {"total": 1}, "first": [["total", 3, "x"]]}

ODD_BAD_ROWS = [
    "x",
    {},
    [3],
    [{}],
    *(
        [BAD_ROWS | odd]
        for odd in (
            {"rows": "x"},
            {"counts": [1]},
            {"counts": {"total": None}},
            {"first": [["total"]]},
            {"counts": {"missing": 1}},
            {"first": []},
            {"more": 1},
        )
    ),
]

LOGS = {
    "empty": lambda rng: b"",
    "newlines": lambda rng: b"\n" * rng.randint(1, 99_999),
    "half": lambda rng: cut(LOG, rng),
    "flipped": lambda rng: flipped(LOG, rng),
    "mutated": lambda rng: mutated(LOG, rng),
    "random bytes": lambda rng: rng.randbytes(5000),
    "zeros": lambda rng: LOG + bytes(4096) + LOG,
    "UTF-16": lambda rng: LOG.decode().encode("utf-16"),
    "half a character": lambda rng: LOG + "满".encode()[:-1],
    "U+2028 and U+0085, unescaped": lambda rng: LOG + '{"event": "failed", "message": "\u2028\x85"}'.encode(),
    "no objects": lambda rng: LOG + b"null\n3\ntrue\n[]\n{}\n" + b'"queued"\n',
    "another version": lambda rng: LOG + line("paused", step=3) + line("step", at={"epoch": 1}),
    "no times": lambda rng: LOG.replace(b'"time"', b'"when"'),
    "no steps": lambda rng: LOG.replace(b'"step":', b'"stride":'),
    "other types": lambda rng: LOG + line("step", step="3") + line("epoch", step=1, epoch=[], best=2),
    "odd samples": lambda rng: LOG + line("samples", step=9, samples=rng.choice([None, 3, [3], [{}], "x"])),
    "odd bad rows": lambda rng: LOG + b"".join(line("data", train=9, left_out=odd) for odd in ODD_BAD_ROWS),
    "odd texts": lambda rng: (
        LOG
        + line("started", step=9, device=rng.choice(LABELS))
        + line("samples", step=9, samples=[dict.fromkeys(("text", "expected", "written"), x) for x in LABELS])
        + line("failed", message=rng.choice(LABELS))
    ),
    "no numbers": lambda rng: LOG + line("step", step=21, loss=float("nan"), tokens_per_second=float("inf")),
    "large numbers": lambda rng: LOG + line("step", step=2**52, loss=1e300) + line("data", total_steps=1),
    "numbers beyond all": lambda rng: LOG + b'{"event": "step", "time": 1, "step": ' + b"9" * 5000 + b"}\n",
    "times before and after": lambda rng: (
        LOG + line("step", step=30, time=0) + line("step", step=31, time=1e15)
    ),
    "steps backwards": lambda rng: many(rng, lambda i: line("step", step=i, loss=0.5)),
    "begun again and again": lambda rng: many(rng, lambda i: line("started", step=i, device="CPU")),
    "epochs without end": lambda rng: many(rng, lambda i: line("epoch", step=i, epoch=i, best=i % 2 == 0)),
    "turns in disorder": lambda rng: many(
        rng, lambda i: line(["finished", "queued", "stopped", "failed"][i % 4], model="m"), 99
    ),
    "an endless line": lambda rng: LOG + b'{"event": "failed", "message": "' + b"a" * 2_000_000,
    "an endless message": lambda rng: LOG + line("failed", message="a b " * 100_000),
    "nested": lambda rng: LOG + b"[" * 100_000 + b"\n" + b'{"event":' * 2000 + b"\n",
    "lines that end in CRLF": lambda rng: LOG.replace(b"\n", b"\r\n"),
    "total of nothing": lambda rng: LOG + line("data", total_steps=0) + line("step", step=5),
}
"""Kind of log -> what is in one."""


def put(name, make):
    """Return a function that rewrites a file of a run; `make` gets what is there, b"" if nothing is."""

    def change(run, rng):
        path = run / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(make(path.read_bytes() if path.is_file() else b"", rng))

    return change


def replace_by_folder(name):
    """Return a function that replaces a file of a run by a folder."""

    def change(run, rng):
        (run / name).unlink(missing_ok=True)
        (run / name).mkdir()

    return change


def fact(name, value):
    """Return a function that changes a field of a job, or adds one."""
    return put("job.json", lambda data, rng: json.dumps(json.loads(data) | {name: value}).encode())


def linked_in_a_circle(run, rng):
    (run / "frames").symlink_to(run)


def without(name):
    return lambda run, rng: (run / name).unlink()


RUNS = {
    "job, empty": put("job.json", lambda data, rng: b""),
    "job, cut": put("job.json", cut),
    "job, flipped": put("job.json", flipped),
    "job, mutated": put("job.json", mutated),
    "job, missing": without("job.json"),
    "job, a folder": replace_by_folder("job.json"),
    "job, too large": put("job.json", lambda data, rng: data + b" " * (4 * 2**20)),
    "job, nested": put("job.json", lambda data, rng: b"[" * 100_000),
    "job, of another version": fact("colour", "red"),
    "job, another config": fact("config", {"d_model": -1}),
    "job, odd settings": fact("settings", {"learning_rate": "fast"}),
    "job, odd probes": fact("probes", [["a", "b", "c"], 5]),
    "job, odd data": fact("data", "\ud800\0/../../etc/passwd"),
    "job, odd owner": fact("owner", {"name": "ann"}),
    "job, too many rows": fact("rows", 10**15),
    "log, missing": without("events.jsonl"),
    "log, a folder": replace_by_folder("events.jsonl"),
    "claim, cut": put("process.json", lambda data, rng: b'{"pid": 12'),
    "claim, odd": put(
        "process.json", lambda data, rng: rng.choice([b"null", b"[]", b'{"pid": -1, "created": 1}', b"\xff"])
    ),
    "claim, a folder": replace_by_folder("process.json"),
    "checkpoint, empty": put("checkpoint.safetensors", lambda data, rng: b""),
    "checkpoint, random": put("checkpoint.safetensors", lambda data, rng: rng.randbytes(2000)),
    "checkpoint, a huge header": put("checkpoint.safetensors", lambda data, rng: b"\xff" * 7 + b"\x7f{}"),
    "checkpoint, a folder": replace_by_folder("checkpoint.safetensors"),
    "pictures, empty": put("frames/0000010-0.npz", lambda data, rng: b""),
    "pictures, random": put("frames/0000010-0.npz", lambda data, rng: rng.randbytes(2000)),
    "pictures, another zip": put("frames/0000010-0.npz", lambda data, rng: zipped({"x.npy": b"<x/>"})),
    "pictures, odd names": put("frames/²-3-x.npz", lambda data, rng: b"x"),
    "pictures, a file": put("frames", lambda data, rng: b"x"),
    "pictures, a circle": linked_in_a_circle,
    "model, empty": lambda run, rng: (run / "model").mkdir(),
    "model, a file": put("model", lambda data, rng: b"x"),
    "model, odd": put("model/manifest.json", lambda data, rng: rng.choice([b"", b"null", b"[]", b"{}"])),
    "stop, left behind": put("stop", lambda data, rng: b""),
    "traceback, of a page": put("traceback.txt", lambda data, rng: b"<b>" * 1000),
}
"""Kind of damage -> what does it to the folder of a run."""


JOB = TrainingJob(
    config=TransformerConfig(d_model=8, num_heads=2, ffn_dim=8, norm="pre", max_len=32),
    settings=TrainingSettings(epochs=1),
    data="parity",
    rows=200,
)


class Picture:
    """Stands for a trace, which writes itself to a path."""

    def __init__(self, step=0):
        self.step = step

    def save(self, path):
        """Write a file that tells whether it is whole."""
        with open(path, "wb") as file:
            file.write(f"{self.step}\n".encode() * 5000)


def a_run(folder, rng, *, log=None, damage=None):
    """Make a run that was interrupted, with a log of one kind or one kind of damage; return it."""
    run = create_run(JOB, folder=folder)
    (run.path / "events.jsonl").write_bytes(LOGS[log](rng) if log else LOG)
    if damage:
        RUNS[damage](run.path, rng)
    return run


def main():
    """Write every kind."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    (arguments.folder / "data").mkdir(parents=True, exist_ok=True)
    for number in range(arguments.rounds):
        for kind, make in DATA.items():
            path = arguments.folder / "data" / f"{number:03d} {kind}"
            path.write_bytes(make(rng))
            print(path)
        for kind in LOGS:
            print(a_run(arguments.folder / "runs", rng, log=kind).path, f"(log: {kind})")
        for kind in RUNS:
            print(a_run(arguments.folder / "runs", rng, damage=kind).path, f"({kind})")


if __name__ == "__main__":
    main()
