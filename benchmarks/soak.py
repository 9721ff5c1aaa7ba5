"""Many sentences and many sessions: what the server and its engine hold in memory and in open files.

`python benchmarks/soak.py [--sentences 10000] [--sessions 500]`. One visitor types sentences as fast as they
are answered; memory is read after a tenth of them and after all. Then visitors come and go; file handles are
read when Streamlit has had the time to forget them. Linux only. Exit status 1 if anybody met an error.
"""

import argparse
import asyncio
import itertools
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
from running_app import running_app
from visitor import REVIEWS, Visitor
from visitors import warm_up

FORGOTTEN = 45
"""Seconds after which Streamlit has forgotten a visitor who left."""


def memory(server):
    """Return name -> MB resident of the server and of each of its children, the largest first."""
    children = sorted((child.memory_info().rss for child in server.children()), reverse=True)
    numbered = {f"child {number}": size for number, size in enumerate(children, start=1)}
    return {name: size / 1e6 for name, size in {"server": server.memory_info().rss, **numbered}.items()}


async def type_sentences(address, count, server):
    """Type sentences without a pause; return memory after a tenth and after all, and the errors."""
    visitor, texts = Visitor(address, 0), itertools.cycle(REVIEWS)
    await visitor.arrive()
    found = {}
    for number in range(1, count + 1):
        visitor.text = f"{next(texts)} {number}"
        await visitor.run("sentence")
        if number in (count // 10, count):
            found[number] = memory(server)
    await visitor.leave()
    return found, visitor.errors


async def come_and_go(address, count):
    """Let visitors come, see attention, and go, one after the other; return the errors."""
    errors = []
    for number in range(count):
        visitor = Visitor(address, number)
        await visitor.arrive()
        await visitor.leave()
        errors += visitor.errors
    return errors


async def soak(address, options, server):
    """Do both, print what was measured, and return how many errors there were."""
    await warm_up(address)
    begin = time.monotonic()
    found, errors = await type_sentences(address, options.sentences, server)
    early, late = found.values()
    print(f"{options.sentences} sentences in {time.monotonic() - begin:.0f} s; resident MB after", *found)
    for name, size in late.items():
        before = early.get(name, float("nan"))
        print(f"{name:8} {before:7.0f} {size:7.0f}   ratio {size / before:.3f}")
    before = server.num_fds()
    errors += await come_and_go(address, options.sessions)
    at_once = server.num_fds()
    await asyncio.sleep(FORGOTTEN)
    errors += await come_and_go(address, 1)  # Streamlit forgets when somebody comes
    print(f"{options.sessions} sessions: {before} file handles before, {at_once} at once after,", end=" ")
    print(f"{server.num_fds()} after {FORGOTTEN} s; memory {memory(server)['server']:.0f} MB")
    for error, number in Counter(errors).most_common(5):
        print(f"{number:5} x {error[:120]}")
    print(f"{len(errors)} errors")
    return len(errors)


def main():
    """Soak the app."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=500)
    options = parser.parse_args()
    if not Path("/proc/self/fd").exists():
        sys.exit("This is measured on Linux.")
    with running_app() as (process, port):
        server = psutil.Process(process.pid)
        wrong = asyncio.run(soak(f"ws://127.0.0.1:{port}/_stcore/stream", options, server))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
