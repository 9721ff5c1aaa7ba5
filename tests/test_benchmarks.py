"""What the benchmarks make of a server that fails: an error that counts, and figures all the same."""

import asyncio
import json
import os
import socket
import sys
import time
from pathlib import Path

import psutil
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import load
import soak
import visitor

TOLD = {"token": "t", "model": "small", "stamp": "s", "language": "en", "examples": ["A lovely film."]}
"""What a page tells its workbench."""


async def silent(stream):
    """Read whatever comes and never answer."""
    await stream.accept("streamlit")
    while True:
        await stream.receive_bytes()


async def hasty(stream):
    """Close the session at once."""
    await stream.accept("streamlit")
    await stream.close()


async def open_page(stream):
    """Answer the arrival with a workbench, and nothing after that."""
    await stream.accept("streamlit")
    await stream.receive_bytes()
    bench, end = ForwardMsg(), ForwardMsg(script_finished=ForwardMsg.FINISHED_SUCCESSFULLY)
    component = bench.delta.new_element.bidi_component
    component.component_name, component.json = visitor.WORKBENCH, json.dumps(TOLD)
    for message in (bench, end):
        await stream.send_bytes(message.SerializeToString())
    while True:
        await stream.receive_bytes()


async def weary(request):
    """Answer the question with which a page opens, and no other."""
    question = await request.json()
    if question["text"] not in TOLD["examples"]:
        await asyncio.sleep(60)
    content = json.dumps({"said": {"explains": False}}).encode()
    payload = len(content).to_bytes(8, "little") + content
    return Response(json.dumps({"key": "k", "bytes": len(payload)}).encode() + b"\n" + payload)


def beside(page, act):
    """Run `act` with the address of a server whose websocket does nothing but `page`."""

    async def both():
        routes = [
            WebSocketRoute("/_stcore/stream", page),
            Route("/data/ask", weary, methods=["POST"]),
        ]
        with socket.create_server(("127.0.0.1", 0)) as listener:
            server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="critical"))
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            try:
                return await act(visitor.stream_of(f"http://127.0.0.1:{listener.getsockname()[1]}/"))
            finally:
                server.should_exit = server.force_exit = True
                await serving

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

    early, late, errors = beside(open_page, sentences)
    assert [early[0], late[0]] == [1, 1]
    assert late[1]["server"] > 1
    assert errors == ["ReadTimeout('')"]


def test_what_is_not_answered_does_not_count_as_answered():
    async def insist(address):
        rude = load.Rude(address, "long", ["any"])
        await rude.insist(time.monotonic() + 0.5)
        return rude

    rude = beside(open_page, insist)
    assert rude.answered == 0
    assert set(rude.errors) == {"ReadTimeout('')"}
