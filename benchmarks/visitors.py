"""Waiting times of simulated visitors of the app, and processor time of the server.

`python benchmarks/visitors.py [--visitors 30] [--think 5] [--seconds 60] [--url http://127.0.0.1:8501]`.
Without `--url` it starts the app. It waits for the attention of a first visitor's text; then all sessions
open at once; when the last has its page, each types another sentence after random pauses of `--think` seconds
on average. The wait for the picture lasts from sending the sentence to the last byte of its attention; that
for the sentence to the last byte of the reasons, by which the words are tinted.
Processor time is that of the server process while they type, without its children; not measured with
`--url`. Exit status 1 if there was any error: an exception on the page, a failed run, a run without
attention, a closed socket.
"""

import asyncio
import math
import os
import sys
import time
from pathlib import Path

from server import processor_seconds, running_app
from visitor import PATIENCE, Visitor, parser_of, print_errors, stream_of


async def measure(url, options, pid=None):
    """Run all sessions; return the visitors and the server's processor seconds while they type."""
    address = stream_of(url)
    await warm_up(address)
    visitors = [Visitor(address, seed) for seed in range(options.visitors)]
    await asyncio.gather(*(visitor.arrive() for visitor in visitors))
    before = processor_seconds(pid) if pid else 0
    until = time.monotonic() + options.seconds
    await asyncio.gather(*(visitor.stay(options.think, until) for visitor in visitors))
    used = processor_seconds(pid) - before if pid else 0
    await asyncio.gather(*(visitor.leave() for visitor in visitors))
    return visitors, used


async def warm_up(address):
    """Wait until the engine answers a first visitor's text; the picture on arrival is a stored one."""
    until = time.monotonic() + 2 * PATIENCE
    while True:
        first = Visitor(address, 0)
        await first.arrive()
        with first.noting_errors():
            await first.type("A lovely film.")
        await first.leave()
        if not first.errors:
            return
        if time.monotonic() > until:
            sys.exit(f"No attention within {2 * PATIENCE} s: {first.errors[0]}")
        await asyncio.sleep(0.5)


def percentile(ordered, share):
    """Return a percentile of sorted waits; NaN without waits."""
    return ordered[math.ceil(share * len(ordered)) - 1] if ordered else math.nan


def report(visitors):
    """Print the waits and the errors; return the number of sentences and of errors."""
    waits = {name: [w for visitor in visitors for w in visitor.waits[name]] for name in visitors[0].waits}
    errors = [error for visitor in visitors for error in visitor.errors]
    print(f"{len(visitors)} visitors, {len(waits['sentence'])} sentences, {len(errors)} errors")
    for name, values in waits.items():
        shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1}
        figures = (f"{label} {percentile(sorted(values), share):5.0f} ms" for label, share in shares.items())
        print(f"{name:8}", *figures, sep="  ")
    print_errors(errors)
    return len(waits["sentence"]), len(errors)


def main():
    """Run the sessions and print the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("--visitors", type=int, default=30)
    parser.add_argument("--think", type=float, default=5.0, help="mean pause in seconds")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--url", help="an app that runs already")
    options = parser.parse_args()
    if options.url:
        visitors, _ = asyncio.run(measure(options.url, options))
        return 1 if report(visitors)[1] else 0
    with running_app() as (process, port):
        visitors, used = asyncio.run(measure(f"http://127.0.0.1:{port}", options, process.pid))
        pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
        sentences, errors = report(visitors)
    print(f"server: {1000 * used / max(sentences, 1):.1f} ms of processor time for each sentence,", end=" ")
    print(f"{pages * os.sysconf('SC_PAGE_SIZE') / 1e6:.0f} MB resident")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
