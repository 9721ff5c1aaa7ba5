"""What the benchmarks make of a server that fails: an error that counts, and figures all the same."""

import asyncio
import os
import sys
import time
from pathlib import Path

import psutil
import pytest
import websockets
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import load
import soak
import visitor


async def silent(socket):
    """Read whatever comes and never answer."""
    async for _ in socket:
        pass


async def hasty(socket):
    """Close the session at once."""


async def weary(socket):
    """Answer the arrival with a box and a view, and nothing after that."""
    await socket.recv()
    box, view, end = ForwardMsg(), ForwardMsg(), ForwardMsg(script_finished=ForwardMsg.FINISHED_SUCCESSFULLY)
    box.delta.new_element.text_input.id = "box"
    view.delta.new_element.bidi_component.SetInParent()
    for message in (box, view, end):
        await socket.send(message.SerializeToString())
    await silent(socket)


def beside(answer, act):
    """Run `act` with the address of a server that does nothing but `answer`."""

    async def both():
        async with websockets.serve(answer, "127.0.0.1", 0, subprotocols=["streamlit"]) as server:
            port = server.sockets[0].getsockname()[1]
            return await act(visitor.stream_of(f"http://127.0.0.1:{port}/"))

    return asyncio.run(both())


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(visitor, "PATIENCE", 0.2)


@pytest.mark.parametrize(("answer", "said"), [(silent, "TimeoutError()"), (hasty, "ConnectionClosed")])
def test_a_session_that_fails_is_one_error_and_ends(answer, said):
    async def sentence(address):
        ann = visitor.Visitor(address, 0)
        await ann.arrive()
        await ann.stay(think=0.01, until=time.monotonic() + 1)
        await ann.leave()
        return ann

    ann = beside(answer, sentence)
    assert len(ann.errors) == 1
    assert ann.errors[0].startswith(said)
    assert ann.waits == {"arrival": [], "picture": [], "sentence": []}


def test_a_sentence_that_is_not_answered_leaves_the_figures_so_far():
    server = psutil.Process(os.getpid())

    async def sentences(address):
        return await soak.type_sentences(address, 5, server)

    early, late, errors = beside(weary, sentences)
    assert [early[0], late[0]] == [1, 1]
    assert late[1]["server"] > 1
    assert errors == ["TimeoutError()"]


def test_what_is_not_answered_does_not_count_as_answered():
    async def insist(address):
        rude = load.Rude(address, "long", ["any"])
        await rude.insist(time.monotonic() + 0.5)
        return rude

    rude = beside(weary, insist)
    assert rude.answered == 0
    assert set(rude.errors) == {"TimeoutError()"}
