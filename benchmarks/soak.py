"""Memory and open files of the server and its engine after many sentences and sessions.

`python benchmarks/soak.py [--sentences 10000] [--sessions 500]`. One visitor types sentences as fast as they
are answered; memory is read after a tenth of them and after all. Then many sessions are opened and closed;
file handles are counted after Streamlit has discarded the sessions. Linux only. Exit status 1 if there was an
error.
"""

import asyncio
import itertools
import sys
import time
from pathlib import Path

import psutil
from server import running_app
from visitor import REVIEWS, Visitor, parser_of, print_errors, stream_of
from visitors import warm_up

FORGOTTEN = 45
"""Seconds after which Streamlit has discarded a closed session."""


def memory(server):
    """Return name -> MB resident of the server and of each of its children, the largest first."""
    children = sorted((child.memory_info().rss for child in server.children()), reverse=True)
    numbered = {f"child {number}": size for number, size in enumerate(children, start=1)}
    return {name: size / 1e6 for name, size in {"server": server.memory_info().rss, **numbered}.items()}


async def type_sentences(address, count, server):
    """Type sentences without a pause, unless an error ends the session.

    Args:
        address: Address of the app's websocket.
        count: Number of sentences.
        server: The app's `psutil.Process`.

    Returns:
        (sentences so far, memory) after the first tenth, and after the last; and the errors.
    """
    visitor, texts = Visitor(address, 0), itertools.cycle(REVIEWS)
    await visitor.arrive()
    number, early = 0, None
    while number < count and visitor.is_open:
        number += 1
        await visitor.type(f"{next(texts)} {number}")
        if not early and number >= count / 10:
            early = number, memory(server)
    late = number, memory(server)
    await visitor.leave()
    return early or late, late, visitor.errors


async def come_and_go(address, count):
    """Open and close sessions one after the other; return the errors."""
    errors = []
    for number in range(count):
        visitor = Visitor(address, number)
        await visitor.arrive()
        await visitor.leave()
        errors += visitor.errors
    return errors


async def soak(address, options, server):
    """Run both parts and print the figures; return the number of errors."""
    await warm_up(address)
    begin = time.monotonic()
    early, late, errors = await type_sentences(address, options.sentences, server)
    taken = time.monotonic() - begin
    print(f"{late[0]} sentences in {taken:.0f} s; resident MB after", early[0], late[0])
    for name, size in late[1].items():
        before = early[1].get(name, float("nan"))
        print(f"{name:8} {before:7.0f} {size:7.0f}   ratio {size / before:.3f}")
    before = server.num_fds()
    errors += await come_and_go(address, options.sessions)
    at_once = server.num_fds()
    await asyncio.sleep(FORGOTTEN)
    errors += await come_and_go(address, 1)  # Streamlit discards sessions when a new one opens
    print(f"{options.sessions} sessions: {before} file handles before, {at_once} at once after,", end=" ")
    print(f"{server.num_fds()} after {FORGOTTEN} s; memory {memory(server)['server']:.0f} MB")
    print_errors(errors)
    print(f"{len(errors)} errors")
    return len(errors)


def main():
    """Run the soak test."""
    parser = parser_of(__doc__)
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=500)
    options = parser.parse_args()
    if not Path("/proc/self/fd").exists():
        sys.exit("This is measured on Linux.")
    with running_app() as (process, port):
        server = psutil.Process(process.pid)
        wrong = asyncio.run(soak(stream_of(f"http://127.0.0.1:{port}"), options, server))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
