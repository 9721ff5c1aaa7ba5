"""Visitors over the real websocket, without browsers: how long each waits, and what the server spends.

`python benchmarks/visitors.py [--visitors 30] [--think 5] [--seconds 60]`. Starts the app. Each visitor
opens a session, waits for the first heatmap, then acts after random pauses of `--think` seconds on average:
70 of 100 times another head, else another sentence. A wait lasts from sending the action to Streamlit's word
that the run has ended. Exit status 1 if anything went wrong.
"""

import argparse
import asyncio
import random
import sys
import time

import websockets
from running_app import processor_seconds, running_app
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ENDED_WELL = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
SUBJECTS = ("The film", "This story", "Her acting", "The music", "Every scene", "That ending", "The plot")
VERBS = ("was", "felt", "was never", "was not", "seemed", "was anything but")
JUDGEMENTS = ("dull.", "a delight!", "far too long.", "clever and warm.", "a waste of time.", "wonderful.")


class Visitor:
    """One session: the widgets it has seen, and the answers it got."""

    def __init__(self, address, chance):
        self.address = address
        self.chance = chance
        self.widgets = {}
        self.values = {}
        self.waits = {"head": [], "sentence": [], "arrival": []}
        self.errors = []

    async def visit(self, think, until):
        """Arrive, act until the time is over, and leave."""
        try:
            async with websockets.connect(
                self.address, subprotocols=["streamlit"], max_size=None
            ) as self.socket:
                await self.run("arrival")
                while True:
                    pause = self.chance.expovariate(1 / think)
                    if time.monotonic() + pause > until:
                        return
                    await asyncio.sleep(pause)
                    await self.act()
        except (OSError, TimeoutError, websockets.WebSocketException) as error:
            self.errors.append(repr(error))

    async def act(self):
        """Choose another head or type another sentence."""
        if self.chance.random() < 0.7:
            heads = [option.content for option in self.widgets["head"].options]
            self.values["head"] = self.chance.choice(
                [h for h in heads if h != self.values.get("head", heads[0])]
            )
            await self.run("head")
        else:
            parts = (SUBJECTS, VERBS, JUDGEMENTS)
            self.values["sentence"] = " ".join(self.chance.choice(part) for part in parts)
            await self.run("sentence")

    async def run(self, kind):
        """Send the widgets' values, read until the run has ended, and note the wait."""
        message = BackMsg()
        message.rerun_script.query_string = ""
        for name, value in self.values.items():
            state = message.rerun_script.widget_states.widgets.add(id=self.widgets[name].id)
            if name == "head":
                state.string_array_value.data.append(value)
            else:
                state.string_value = value
        begin = time.perf_counter()
        await self.socket.send(message.SerializeToString())
        charts = 0
        while True:
            answer = ForwardMsg.FromString(await asyncio.wait_for(self.socket.recv(), 60))
            charts += self.note(answer)
            if answer.WhichOneof("type") == "script_finished":
                break
        self.waits[kind].append(1000 * (time.perf_counter() - begin))
        if answer.script_finished not in ENDED_WELL or not charts:
            self.errors.append(f"{kind}: ended as {answer.script_finished} with {charts} charts")

    def note(self, answer):
        """Remember the widgets of a message; return 1 if it holds, or stands for, a chart."""
        if answer.WhichOneof("type") == "ref_hash":
            return answer.ref_hash in CHARTS
        element = answer.delta.new_element
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.errors.append(element.exception.message)
        elif kind in ("button_group", "text_area"):
            widget = getattr(element, kind)
            self.widgets[widget.id.rpartition("-")[2]] = widget
        elif kind == "plotly_chart":
            CHARTS.add(answer.hash)
            return 1
        return 0


CHARTS = set()
"""Hashes of the messages that held a chart: the server sends such a message once and then its hash."""


async def visits(port, options):
    """Let all visitors come at once, and return them when the last has left."""
    address = f"ws://localhost:{port}/_stcore/stream"
    until = time.monotonic() + options.seconds
    everybody = [Visitor(address, random.Random(i)) for i in range(options.visitors)]
    await asyncio.gather(*(visitor.visit(options.think, until) for visitor in everybody))
    return everybody


def report(everybody, used):
    """Print the figures; return 1 if anything went wrong."""
    waits = {kind: sorted(w for v in everybody for w in v.waits[kind]) for kind in everybody[0].waits}
    acts = sorted(waits["head"] + waits["sentence"])
    runs = len(acts) + len(waits["arrival"])
    print(f"{len(everybody)} visitors, {len(acts)} actions")
    for kind, values in (("all actions", acts), *waits.items()):
        median, p95, p99 = (values[int(share * (len(values) - 1))] for share in (0.5, 0.95, 0.99))
        figures = {"median": median, "p95": p95, "p99": p99, "worst": values[-1]}
        print(f"{kind:12}", *(f"{name} {value:6.0f} ms  " for name, value in figures.items()))
    print(f"processor time of the server for one run {1000 * used / runs:.1f} ms")
    errors = [error for visitor in everybody for error in visitor.errors]
    print(f"errors {len(errors)}", *errors[:5], sep="\n  ")
    return 1 if errors else 0


def main():
    """Start the app, let the visitors come, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--visitors", type=int, default=30)
    parser.add_argument("--think", type=float, default=5.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with running_app() as (process, port):
        asyncio.run(visits(port, argparse.Namespace(visitors=1, think=1, seconds=1)))
        used = processor_seconds(process.pid)
        everybody = asyncio.run(visits(port, options))
        return report(everybody, processor_seconds(process.pid) - used)


if __name__ == "__main__":
    sys.exit(main())
