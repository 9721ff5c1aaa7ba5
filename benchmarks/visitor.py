"""A simulated visitor: what a browser sends to the websocket and the data routes of the app."""

import argparse
import asyncio
import contextlib
import itertools
import json
import random
import time
from collections import Counter
from urllib.parse import parse_qsl, urlencode

import httpx
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

PATIENCE = 60
"""Seconds after which a run counts as failed."""

SENTENCES = """\
A film so warm that I forgave its slow first hour.
I left before the end and regret nothing.
The jokes were not funny, and there were hundreds of them.
Brilliant!
Nobody in this cast seems to have met another human being.
My daughter laughed from start to finish; I slept, and we were both happy.
It could have been great, but the script gives up halfway.
Not the worst thing I have seen this year, though close.
The camera loves her, and so will you.
Two hours of rain, silence and wonderful faces.
Predictable, loud and far too long.
I expected nothing and got one of the best evenings in years.
The sequel has everything the original had, except a reason to exist.
An honest little story about bread, debt and forgiveness.
Why was the villain the only sensible person on screen?
Boring boring boring.
The battle on the bridge is worth the ticket alone.
He acts with his eyebrows, and it works.
I have never been so glad to see the credits.
Subtle, sad and beautifully lit.
The music tells you what to feel, and it is always wrong.
A masterpiece of wasted talent.
It is hardly a thriller when you can guess the murderer from the poster.
Watch it twice: the second time you will cry earlier.
The dialogue sounds as if a committee had translated it.
Charming leads, a silly plot, and a dog that steals every scene.
I wanted to like it more than I did.
Cheap effects, rich imagination: pure joy.
The book was better, shorter and had fewer explosions.
Nothing happens, slowly, and I could not look away.
An insult to everybody who paid for popcorn.
This director has finally learned to trust the audience.
The ending ruins what was otherwise a clever mystery.
Neither scary nor funny, which is a pity for a horror comedy.
Her best performance since the one nobody saw.
If you enjoy watching paint dry, this is your blockbuster.
A delight for children, and no torture for their parents.
Overrated, but that last shot still haunts me.
They should show this in schools, as a warning.
Simple, funny, human: go and see it.""".splitlines()

WORKBENCH = "transformer_viz.workbench"
"""Name of the component that asks the data routes."""

REVIEWS = [" ".join(pair) for pair in itertools.permutations(SENTENCES, 2)]
"""Texts to type: more than the server caches answers for."""


def parser_of(description):
    """Return an argument parser that prints the module's docstring unchanged."""
    form = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(description=description, formatter_class=form)


def stream_of(url):
    """Return the address of the websocket of the app at `url`."""
    return url.replace("http", "ws", 1).rstrip("/") + "/_stcore/stream"


def home_of(stream):
    """Return the address of the app whose websocket is at `stream`."""
    return stream.replace("ws", "http", 1).removesuffix("_stcore/stream")


def print_errors(errors):
    """Print the most frequent errors with their counts."""
    for error, count in Counter(errors).most_common(5):
        print(f"{count:5} x {error[:120]}")


class RefusedError(Exception):
    """A question that a data route has not answered."""


class Visitor:
    """One session, with its page, waits and errors.

    Attributes:
        is_open: Whether the session has begun and no error has ended it.
        told: What the page tells the workbench: its token, the model, examples.
    """

    def __init__(self, address, seed):
        self.address, self.chance = address, random.Random(seed)
        self.socket, self.is_open = None, False
        self.routes = httpx.AsyncClient(base_url=home_of(address), timeout=PATIENCE, trust_env=False)
        self.told, self.query = None, {}
        self.kept, self.max_age, self.runs = {}, 0, 0
        self.waits = {"arrival": [], "picture": [], "sentence": []}
        self.errors = []

    @contextlib.contextmanager
    def noting_errors(self):
        """Record a closed or silent socket as an error, which ends the session."""
        try:
            yield
        except (OSError, websockets.WebSocketException, httpx.HTTPError, RefusedError) as error:
            self.is_open = False
            self.errors.append(repr(error))

    async def arrive(self):
        """Open the session and wait for its page, with the first picture."""
        with self.noting_errors():
            begin = time.perf_counter()
            self.socket = await websockets.connect(
                self.address, subprotocols=["streamlit"], max_size=None, proxy=None
            )
            self.is_open = True
            await self.open_page()
            if self.told is None:
                raise RefusedError("There is no workbench on the page.")
            await self.ask(self.query.get("text") or self.told["examples"][0])
            self.waits["arrival"].append(1000 * (time.perf_counter() - begin))

    async def stay(self, think, until):
        """Type texts after random pauses until the time is over."""
        with self.noting_errors():
            while self.is_open and time.monotonic() < until:
                pause = self.chance.expovariate(1 / think)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(pause, until - time.monotonic())):
                        while True:
                            self.take(await self.socket.recv())
                if time.monotonic() < until:
                    await self.type(self.chance.choice(REVIEWS))

    async def leave(self):
        """Close the session."""
        await self.routes.aclose()
        if self.socket:
            await self.socket.close()

    async def type(self, text):
        """Type a text and wait for its attention, and then for the reasons of its answer."""
        with self.noting_errors():
            begin = time.perf_counter()
            explains = await self.ask(text)
            self.waits["picture"].append(1000 * (time.perf_counter() - begin))
            if explains:
                await self.ask(text, wants="why", about={})
            self.waits["sentence"].append(1000 * (time.perf_counter() - begin))

    async def ask(self, text, **more):
        """Ask for a run, until the last byte of the answer; return whether its reasons can be asked for.

        Raises:
            RefusedError: If there is no answer.
        """
        question = self.question(text) | more
        answer = await self.routes.post("data/ask", json=question, headers={"X-Token": self.told["token"]})
        line, content = b"{}", answer.content
        while content and "bytes" not in json.loads(line):  # lines of progress come before it
            line, _, content = content.partition(b"\n")
        header = json.loads(line)
        if "key" not in header:
            raise RefusedError(str(header.get("problem") or header.get("hint") or header))
        length = int.from_bytes(content[:8], "little")
        return bool(json.loads(content[8 : 8 + length]).get("said", {}).get("explains"))

    def question(self, text):
        """Return what the workbench asks for a text."""
        told = self.told
        return {
            **{
                "model": told["model"],
                "text": text,
                "target": "",
                "changes": {},
                "before": None,
                "filled": [],
            },
            **{"looks": [], "ablates": self.query.get("effects") == "1", "stamp": told["stamp"]},
            **{"language": told["language"], "lesson": "", "revealed": False},
        }

    async def open_page(self):
        """Send a browser's message, and read until the run of the page has ended."""
        message = BackMsg()
        request = message.rerun_script
        request.query_string = urlencode(self.query)
        request.cached_message_hashes.extend(self.kept)
        await self.socket.send(message.SerializeToString())
        async with asyncio.timeout(PATIENCE):
            while not self.take(await self.socket.recv()):
                pass

    def take(self, payload):
        """Process one message; return whether it ends a run."""
        message = ForwardMsg.FromString(payload)
        match message.WhichOneof("type"):
            case "new_session":
                self.max_age = message.new_session.config.max_cached_message_age
            case "page_info_changed":
                self.query = dict(parse_qsl(message.page_info_changed.query_string))
            case "delta":
                if message.metadata.cacheable:
                    self.kept[message.hash] = message.delta, self.runs
                self.see(message.delta)
            case "ref_hash":
                delta, _ = self.kept[message.ref_hash]
                self.kept[message.ref_hash] = delta, self.runs
                self.see(delta)
            case "script_finished" if message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    self.errors.append("the script does not compile")
                self.runs += 1
                self.kept = {h: kept for h, kept in self.kept.items() if self.runs - kept[1] <= self.max_age}
                return True
        return False

    def see(self, delta):
        """Record a delta's element if it is the workbench or an exception."""
        kind = delta.new_element.WhichOneof("type")
        if kind == "bidi_component":
            if delta.new_element.bidi_component.component_name == WORKBENCH:
                self.told = json.loads(delta.new_element.bidi_component.json)
        elif kind == "exception":
            self.errors.append(f"{delta.new_element.exception.type}: {delta.new_element.exception.message}")
