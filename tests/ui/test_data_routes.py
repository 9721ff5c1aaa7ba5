"""The data routes of the workbench over HTTP: who is answered, with what, and what is not said."""

import asyncio
import gc
import json
import logging
import shutil
import threading

import numpy as np
import pytest
from bench import reasons_in
from hostile import LABELS
from made_traces import unpack
from starlette.applications import Starlette
from starlette.testclient import TestClient

from transformer_viz import store
from transformer_viz.language import Words
from transformer_viz.pictures import views
from transformer_viz.questions.effects.measure import effects
from transformer_viz.questions.effects.result import Effects
from transformer_viz.service.engine import EngineError
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.shell import classroom, journal
from transformer_viz.ui.shell.web import HEADERS, MIDDLEWARE
from transformer_viz.ui.workbench import question as questions
from transformer_viz.ui.workbench import routes
from transformer_viz.ui.workbench import stream as streams
from transformer_viz.ui.workbench.seat import MOST_AT_ONCE, MOST_KEYS, Run, new_seat

pytestmark = pytest.mark.usefixtures("engine", "decoders")

TEXT = "A lovely film, not good."
SECRET = "Zanzibar"
ASKED = {"model": "small", "text": TEXT, "language": "en"}
HOME = "http://testserver"

WRONG = (
    None,
    True,
    5,
    -1.5,
    1e999,
    [],
    {},
    "",
    "\ud800",
    [[[[]]]],
    {"a": {"b": []}},
    "x" * 9000,
    [None],
    ["\0"],
)
"""Values of every type, and spellings that nobody types."""

FIELDS = (
    *("model", "text", "target", "changes", "before", "filled", "looks", "ablates", "language", "lesson"),
    *("revealed", "wants", "about", "act", "live"),
)


@pytest.fixture
def client():
    """Return a client of the routes behind the middleware of the app."""
    app = Starlette(routes=routes.ROUTES, middleware=MIDDLEWARE)
    with TestClient(app, base_url=HOME, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def seat():
    return new_seat("ann")


def post(client, seat, path, body, **headers):
    content = body if isinstance(body, bytes) else json.dumps(body)
    return client.post(f"/data/{path}", content=content, headers={"X-Token": seat.token} | headers)


def get(client, seat, path):
    return client.get(f"/data/{path}", headers={"X-Token": seat.token})


def parts(response):
    """Return the lines of an answer before the last, the last, and the bytes behind it."""
    lines, left = [], response.content
    while not lines or "bytes" not in lines[-1]:
        line, _, left = left.partition(b"\n")
        lines.append(json.loads(line))
    *told, last = lines
    assert last["bytes"] == len(left)
    return told, last, left


def ask(client, seat, **given):
    """Return the last line of an answer, and its bytes."""
    response = post(client, seat, "ask", ASKED | given)
    assert response.status_code == 200, response.text
    _, header, content = parts(response)
    return header, content


def test_a_question_is_answered_by_what_the_views_draw_and_its_key(client, seat, explorer):
    header, content = ask(client, seat)
    assert set(header) == {"state", "stamp", "key", "bytes"}
    state = {"model": "small", "text": TEXT, "target": "", "changes": {}, "before": None, "filled": []}
    assert header["state"] == state
    found, arrays = unpack(content)
    assert found["said"]["text"] == TEXT
    weights = np.stack([block.attention.weights for block in explorer.trace(TEXT).encoder])
    np.testing.assert_array_equal(arrays["encoder"]["weights"], weights.astype(np.float16))


ROUTES = [
    *(("POST", "ask"), ("GET", "view/{key}"), ("GET", "vectors/{key}/encoder/0")),
    *(("POST", "save/{key}/csv"), ("POST", "shown"), ("POST", "write")),
]
WRITE = {"model": "writer", "text": TEXT, "written": "", "settings": "0-0-1"}
SHOWN = {"text": TEXT, "target": "", "changes": "", "before": ""}

FOREIGN = [
    *({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://testserver.evil.example"}),
    *({"Origin": "http://testserver:81"}, {"Origin": "http://["}, {"Origin": ""}, {"Origin": "testserver"}),
    *({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": ""}),
]

OWN = [{"Origin": HOME}, {"Origin": HOME, "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}]


def asked(client, seat, method, path, **headers):
    """Ask one of `ROUTES` for something that it has."""
    key = ask(client, seat)[0]["key"]
    body = {"ask": ASKED, "write": WRITE}.get(path, SHOWN)
    content = json.dumps(body) if method == "POST" else None
    given = {"X-Token": seat.token} | headers
    return client.request(method, f"/data/{path.format(key=key)}", content=content, headers=given)


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_only_a_page_of_this_server_that_has_the_token_is_answered(client, seat, method, path):
    for headers in OWN:
        assert asked(client, seat, method, path, **headers).status_code in (200, 204)
    for headers in FOREIGN:
        refused = asked(client, seat, method, path, **headers)
        assert refused.status_code == 403, headers
        assert refused.json() == {"refused": "Another page asks."}
    for token in ("", "x", seat.token[:-1], seat.token + "=", new_seat("bob").token):  # bob is gone at once
        refused = asked(client, seat, method, path, **{"X-Token": token})
        assert refused.status_code == 403, token
        assert "set-cookie" not in refused.headers


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_route_has_one_method(client, seat, method, path):
    other = "GET" if method == "POST" else "POST"
    refused = client.request(other, f"/data/{path.format(key='k')}", headers={"X-Token": seat.token})
    assert refused.status_code == 405


@pytest.mark.parametrize("base", ["", "/tv", "/some/where"])
def test_the_routes_are_beside_the_page_wherever_that_is(client, seat, base):
    answer = client.post(f"{base}/data/ask", content=json.dumps(ASKED), headers={"X-Token": seat.token})
    assert answer.status_code == 200


def test_the_token_of_an_ended_session_is_none(client):
    seat = new_seat("ann")
    token = seat.token
    assert ask(client, seat)[0]["key"]
    del seat
    gc.collect()
    refused = client.post("/data/ask", content=json.dumps(ASKED), headers={"X-Token": token})
    assert refused.status_code == 403


def test_the_key_of_one_session_opens_nothing_in_another(client, seat):
    key, other = ask(client, seat)[0]["key"], new_seat("bob")
    for path in (f"view/{key}", f"vectors/{key}/encoder/0"):
        assert get(client, seat, path).status_code == 200
        assert get(client, other, path).status_code == 404
    assert post(client, other, f"save/{key}/csv", {}).status_code == 404
    assert ask(client, other)[0]["key"] != key  # nor can it be guessed


def test_one_question_has_one_key_and_each_other_question_another(client, seat):
    keys = [
        ask(client, seat, **given)[0]["key"]
        for given in (
            *({}, {}, {"text": "A dull film."}, {"language": "zh"}, {"looks": ["mean"]}, {"wants": "why"}),
            *({"changes": {"scaling": False}}, {"before": {"model": "small", "text": "A plot."}}),
            {"wants": "why", "about": {"about": "good"}},
        )
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == len(keys) - 1


def test_a_rewritten_model_gives_another_key_and_another_answer(client, seat, models_folder, explorer):
    shutil.copytree(models_folder / "small", models_folder / "rewritten")
    try:
        first, before = ask(client, seat, model="rewritten")
        again, same = ask(client, seat, model="rewritten")
        assert (again["key"], same) == (first["key"], before)
        parameters = {name: 2 * np.array(value) for name, value in explorer.model.parameters().items()}
        shutil.rmtree(models_folder / "rewritten")
        tokenizer = explorer.tokenizer.to_json()
        made = {"config": explorer.config, "tokenizer": tokenizer, "card": {}, "parameters": parameters}
        store.write_model("rewritten", folder=models_folder, **made)
        second, after = ask(client, seat, model="rewritten")
        assert second["key"] != first["key"]
        assert after != before
    finally:
        shutil.rmtree(models_folder / "rewritten")


def test_under_its_key_an_answer_is_the_same_and_may_be_kept_by_this_browser_alone(client, seat):
    for wants in ("run", "why"):
        header, content = ask(client, seat, wants=wants)
        answer = get(client, seat, f"view/{header['key']}")
        assert answer.content == content
        assert "private" in answer.headers["cache-control"]
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["vary"] == "X-Token"


@pytest.mark.parametrize("key", ["x", "..", "%2e%2e%2fetc", "0" * 32, "é", "\u202e", "a" * 5000])
def test_an_unknown_key_is_not_found(client, seat, key):
    for path in (f"view/{key}", f"vectors/{key}/encoder/0"):
        assert get(client, seat, path).status_code == 404
    assert post(client, seat, f"save/{key}/csv", {}).status_code == 404


def test_what_is_no_longer_there_is_not_found_and_not_kept(client, seat, models_folder):
    shutil.copytree(models_folder / "small", models_folder / "passing")
    header, _ = ask(client, seat, model="passing", text="A passing film.")
    shutil.rmtree(models_folder / "passing")
    answer = get(client, seat, f"view/{header['key']}")
    assert answer.status_code == 404
    assert answer.headers["cache-control"] == "no-store"
    assert get(client, seat, f"vectors/{header['key']}/encoder/0").status_code == 404
    assert post(client, seat, f"save/{header['key']}/csv", {}).status_code == 404


def test_the_keys_of_a_session_are_forgotten_the_oldest_first(seat):
    keys = [seat.key_of(number, str(number)) for number in range(MOST_KEYS + 1)]
    assert seat.asked_under(keys[0]) is None
    assert [seat.asked_under(key) for key in keys[1:]] == [*range(1, MOST_KEYS + 1)]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b" " * routes.MAX_BODY + b"{}", 413),
        (json.dumps(ASKED | {"text": "x" * routes.MAX_BODY}).encode(), 413),
        (b"", 400),
        (b"no JSON", 400),
        (b'{"model": "small"', 400),
        (b"[" * 100_000, 400),
        (b'{"a":' * 50_000, 400),
        (b"9" * 9000, 400),
        (b"\xff\xfe\x00", 400),
        *((json.dumps(value).encode(), 400) for value in (None, True, 5, "small", [], [ASKED], {})),
    ],
    ids=lambda value: str(value[:20]) if isinstance(value, bytes) else str(value),
)
def test_what_is_no_question_is_refused(client, seat, body, status):
    refused = post(client, seat, "ask", body)
    assert refused.status_code == status
    assert set(refused.json()) == {"refused"}
    assert refused.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_any_type_is_answered_or_refused(client, seat, field):
    for value in WRONG:
        response = post(client, seat, "ask", ASKED | {field: value})
        assert response.status_code in (200, 400), (field, value)
        if response.status_code == 200:
            _, header, content = parts(response)
            assert content or {"hint", "problem", "busy"} & set(header)


@pytest.mark.parametrize("depth", [10, 100, 300, 600, 900, 990, 2000])
@pytest.mark.parametrize("field", ["changes", "before", "filled", "looks", "about", "act"])
def test_what_is_nested_deeply_is_answered_or_refused(client, seat, field, depth):
    nested = "[" * depth + "]" * depth
    for value in (
        nested,
        f'{{"positions": {nested}}}',
        f'{{"do": "set", "name": "positions", "value": {nested}}}',
    ):
        body = json.dumps(ASKED)[:-1] + f', "{field}": {value}}}'
        assert post(client, seat, "ask", body.encode()).status_code in (200, 400)


@pytest.mark.parametrize(
    "model",
    [
        *(
            "../small",
            "./small",
            "/etc/passwd",
            "..",
            ".",
            "",
            "small/",
            "small\0",
            "SMALL",
            "small/../small",
        ),
        *(
            "C:\\models\\small",
            "..\\small",
            "~",
            "%2e%2e/small",
            "x" * 5000,
            "\u202esmall",
            "small\n",
            "COM1",
        ),
        *LABELS,
    ],
    ids=lambda name: ascii(name[:16]),
)
def test_a_model_that_is_not_on_the_shelf_is_not_looked_for_elsewhere(client, seat, model):
    refused = post(client, seat, "ask", ASKED | {"model": model})
    assert (refused.status_code, refused.json()) == (400, {"refused": "There is no such model."})
    before = {"model": model, "text": "A plot."}
    assert ask(client, seat, before=before)[0]["state"]["before"] is None


MALFORMED = [
    *(
        {"leave_out": [-1]},
        {"ablate": [5]},
        {"ablate": "ab"},
        {"ablate": [[0.5, 0]]},
        {"cut": [[0, 0, 1, None]]},
    ),
    *({"patterns": [[[0, 0], [[1]]]]}, {"mute": [[0, 0, 1]]}, {"positions": [[1, 2]]}, {"order": "sorted"}),
    *({"padding": -1}, {"shift": 3}, {"reference": ["A text"]}, {"cross_attention_mask": "painted:"}),
    *({"ablate": [[0, 1]], "colour": "red"}, {"scaling": "maybe"}, {"attention_mask": "../etc"}, [1], "x", 5),
]


@pytest.mark.parametrize("changes", MALFORMED, ids=json.dumps)
def test_changes_that_no_page_makes_are_none(client, seat, changes):
    header, content = ask(client, seat, changes=changes)
    assert header["state"]["changes"] == {}
    assert content == ask(client, seat)[1]
    before = {"model": "small", "text": "A plot.", "changes": changes}
    assert ask(client, seat, before=before)[0]["state"]["before"] is None


@pytest.mark.parametrize(
    "before",
    [
        *(
            {"model": 5, "text": "a"},
            {"model": "small", "text": 5},
            {"model": "small", "text": "a", "target": 5},
        ),
        *({"model": "small", "text": ["a"]}, {"text": "a"}, {"model": "gone", "text": "a"}, [], "x", 5),
        {"model": "small", "text": "a", "wants": "effects"},
    ],
    ids=json.dumps,
)
def test_a_run_that_cannot_be_compared_with_is_left_out(client, seat, before):
    assert ask(client, seat, before=before)[0]["state"]["before"] is None


@pytest.mark.parametrize("text", LABELS, ids=lambda text: ascii(text[:16]))
def test_whatever_text_is_asked_is_said_as_it_is_and_saved_without_markup(client, seat, text):
    header, content = ask(client, seat, text=f"film {text}", before={"model": "small", "text": text})
    if not content:
        assert header["hint"] or header["problem"]
        return
    saved = post(client, seat, f"save/{header['key']}/html", {}).text.lower()
    plain = views.page(content, title="plain").lower()
    for tag in ("<script", "</script", "<img", "<b>"):
        assert saved.count(tag) == plain.count(tag)


@pytest.mark.parametrize(
    "looks", [["words", "mean", "max"], ["x"], "mean", {"mean": 1}, [["mean"]], [None], 5], ids=str
)
def test_looks_that_there_are_not_are_left_out_and_one_combines_heads(client, seat, looks):
    _, content = ask(client, seat, looks=looks)
    expected = [look for look in ("words", "max") if isinstance(looks, list) and look in looks]
    assert unpack(content)[0] == unpack(ask(client, seat, looks=expected)[1])[0]


ACTS = [
    *(
        {"do": "x"},
        {"do": None},
        {"do": []},
        {},
        {"do": "head"},
        {"do": "edge", "name": "cut"},
        {"do": "undo"},
    ),
    *(
        {"do": "undo", "name": "__class__"},
        {"do": "set", "name": "colour", "value": 1},
        {"do": "set", "name": []},
    ),
    *({"do": "head", "name": "ablate", "kind": [], "layer": 0, "head": 0}, {"do": "leave_out", "tokens": 5}),
    *(
        {"do": "leave_out", "tokens": ["x"]},
        {"do": "leave_out", "tokens": [-1]},
        {"do": "set", "name": "ablate"},
    ),
    *(
        {"do": "set", "name": "positions", "value": 5},
        {"do": "text"},
        {"do": "append"},
        {"do": "fill", "begin": 0},
    ),
    *(
        {"do": "hide", "begin": "a", "end": 2},
        {"do": "hide", "begin": 1.5, "end": 2},
        {"do": "restore", "begin": {}},
    ),
    *({"do": "hide", "begin": -5, "end": 10**30}, {"do": "restore", "begin": 5, "end": 1}, {"do": "after"}),
    *({"do": "text", "text": {"a": 1}}, {"do": "append", "token": 5}, {"do": "_with", "name": "x"}),
    {"do": "set", "name": "cut", "value": [["nowhere", 0, 0, 0, 0]]},
]


@pytest.mark.parametrize("act", ACTS, ids=json.dumps)
def test_an_act_of_any_form_is_answered_or_refused(client, seat, act):
    assert post(client, seat, "ask", ASKED | {"act": act}).status_code in (200, 400)


def test_an_act_that_no_page_offers_is_refused(client, seat):
    for act in (
        {"do": "set", "name": "positions", "value": 5},
        {"do": "x"},
        {"do": "leave_out", "tokens": [-1]},
    ):
        assert post(client, seat, "ask", ASKED | {"act": act}).status_code == 400


def test_half_a_character_is_a_question_mark(client, seat):
    body = json.dumps(ASKED | {"text": "A \ud800 film"})
    assert "\\ud800" in body
    _, header, _ = parts(post(client, seat, "ask", body.encode()))
    assert header["state"]["text"] == "A ? film"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """In a class: the seats of two visitors, the first of whom has a model "mine"."""
    monkeypatch.setenv("TRANSFORMER_VIZ_CLASSROOM", "1")
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path / "runs"))
    seats = []
    for name in ("ann", "bob"):
        seat = new_seat(name)
        seat.folder = classroom.own_models(classroom.owner_of(name))
        seat.folder.mkdir(parents=True)
        seats.append(seat)
    shutil.copytree(store.models_folder() / "small", seats[0].folder / "mine")
    return seats


def test_a_model_of_another_visitor_is_never_answered(client, own):
    ann, bob = own
    reference = str(ann.folder / "mine")
    header, content = ask(client, ann, model="mine")
    assert content
    assert str(ann.folder) not in json.dumps(header)
    for name in ("mine", reference, f"../{ann.folder.parent.name}/models/mine", f"{bob.folder}/../mine"):
        assert post(client, bob, "ask", ASKED | {"model": name}).status_code == 400
        assert ask(client, bob, before={"model": name, "text": TEXT})[0]["state"]["before"] is None
        act = {"act": {"do": "undo", "name": "model"}, "before": {"model": name, "text": TEXT}}
        assert post(client, bob, "ask", ASKED | act).status_code == 400
    shutil.copytree(ann.folder / "mine", bob.folder / "mine")
    assert ask(client, bob, model="mine")[1]
    assert post(client, bob, "ask", ASKED | {"model": reference}).status_code == 400


def test_the_model_of_another_visitor_is_not_offered_either(client, own, shipped, monkeypatch, tmp_path):
    """What is said of a run is kept for all visitors; which models there are is not."""
    ann, bob = own
    shelf = store.models_folder()
    shutil.copytree(shelf / "attention-only", ann.folder / "able")
    shutil.copytree(shelf / "hotel-zh", tmp_path / "shelf" / "hotel-zh")
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path / "shelf"))
    for seat, offered in ((ann, {"able"}), (bob, set()), (ann, {"able"})):
        found, _ = unpack(ask(client, seat, model="hotel-zh", text="The room was clean.")[1])
        assert {item["open"] for item in found["said"]["notes"] if "open" in item} == offered


@pytest.mark.parametrize("busy", [True, False])
def test_while_the_engine_is_busy_what_is_typed_is_not_answered(client, seat, monkeypatch, busy):
    monkeypatch.setattr("transformer_viz.service.engine.Engine.is_free", not busy)
    header, content = ask(client, seat, live=True, text="A live film.")
    assert (header.get("busy", False), bool(content)) == (busy, not busy)
    assert ("key" in header) != busy
    assert ask(client, seat, text="A live film.")[1]  # whoever has pressed Enter is


def test_only_what_is_shown_becomes_the_run_of_other_pages(client, seat):
    ask(client, seat, live=True)
    ask(client, seat, wants="why")
    ask(client, seat, text="")
    assert seat.shown is None
    changes, before = {"ablate": [[0, 1]]}, {"model": "small", "text": "A plot."}
    header, _ = ask(client, seat, changes=changes, before=before)
    shown = seat.shown
    assert (shown.text, shown.target, json.loads(shown.changes)) == (TEXT, "", changes)
    assert json.loads(shown.before)["text"] == "A plot."
    ask(client, seat, live=True, text="A dull film.")
    ask(client, seat, text="A dull plot.")
    get(client, seat, f"view/{header['key']}")
    assert seat.shown == Run("A dull plot.")
    assert post(client, seat, "shown", SHOWN).status_code == 204
    assert seat.shown == Run(TEXT)


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        {},
        {"text": "a"},
        5,
        "x",
        [*SHOWN],
        SHOWN | {"changes": "{"},
        SHOWN | {"changes": '{"x": 1}'},
    ],
    ids=str,
)
def test_what_is_no_run_is_not_shown(client, seat, given):
    assert post(client, seat, "shown", given).status_code == 400
    assert seat.shown is None


class Asking:
    """A question that takes as long as the test wants, asked as a server does whose client may go."""

    def __init__(self, seat, monkeypatch):
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.ended = threading.Event()
        self.messages, self.seat = [], seat

        def work(question, progress):
            try:
                self.begun.set()
                while not self.go_on.wait(0.01):
                    progress("words", 1, 2)
                return b"answer"
            finally:
                self.ended.set()

        monkeypatch.setattr(questions.Question, "content", work)

    async def ask(self, *, leave):
        scope = {
            **{"type": "http", "method": "POST", "path": "/data/ask", "query_string": b"", "scheme": "http"},
            **{"headers": [(b"x-token", self.seat.token.encode()), (b"host", b"testserver")]},
            **{"asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "root_path": ""},
        }
        sent = iter([{"type": "http.request", "body": json.dumps(ASKED).encode(), "more_body": False}])

        async def receive():
            message = next(sent, None)
            if message:
                return message
            while not (leave and self.begun.is_set()):
                await asyncio.sleep(0.01)
            return {"type": "http.disconnect"}

        async def send(message):
            self.messages.append(message)

        await Starlette(routes=routes.ROUTES)(scope, receive, send)


def test_whoever_goes_ends_the_work(seat, monkeypatch):
    asking = Asking(seat, monkeypatch)
    asyncio.run(asking.ask(leave=True))
    assert asking.ended.wait(10)
    assert not asking.go_on.is_set()
    assert not any(b"answer" in message.get("body", b"") for message in asking.messages)
    assert seat.shown is None
    with seat.working() as fits:
        assert fits


def test_the_steps_of_the_work_are_told_before_its_answer(seat, monkeypatch):
    asking = Asking(seat, monkeypatch)
    threading.Timer(0.3, asking.go_on.set).start()
    asyncio.run(asking.ask(leave=False))
    first, *_, last = b"".join(message.get("body", b"") for message in asking.messages).split(b"\n")
    told = json.loads(first)
    assert told == {"said": Words("en")("work.words", count=1, done=1, total=2), "share": 0.5}
    assert last == b"answer"


def test_so_much_at_once_is_answered_and_no_more(client, seat):
    with seat.working(), seat.working(), seat.working():
        assert ask(client, seat)[1]
        with seat.working():
            assert MOST_AT_ONCE == 4
            header, content = ask(client, seat)
            assert (header, content) == ({"refused": "Too much at once.", "bytes": 0}, b"")
            bob = new_seat("bob")
            assert ask(client, bob)[1]
    assert ask(client, seat)[1]


def test_every_response_says_what_a_browser_may_do_with_it(client, seat):
    key = ask(client, seat)[0]["key"]
    responses = [
        *(
            post(client, seat, "ask", ASKED),
            get(client, seat, f"view/{key}"),
            post(client, seat, "shown", SHOWN),
        ),
        *(get(client, seat, f"vectors/{key}/encoder/0"), post(client, seat, f"save/{key}/html", {})),
        *(get(client, seat, "view/x"), post(client, seat, "ask", b"x"), client.post("/data/ask")),
    ]
    for response in responses:
        for name, value in HEADERS.items():
            assert response.headers[name] == value
        assert "default-src 'self'" in response.headers["content-security-policy"]
        assert "set-cookie" not in response.headers
        assert "public" not in response.headers.get("cache-control", "")


def test_the_vectors_of_a_layer_are_those_of_the_trace(client, seat, explorer):
    key, trace = ask(client, seat)[0]["key"], explorer.trace(TEXT)
    for layer, block in enumerate(trace.encoder):
        payload = get(client, seat, f"vectors/{key}/encoder/{layer}").content
        length = int.from_bytes(payload[:8], "little")
        header = json.loads(payload[8 : 8 + length])
        assert (header["kind"], header["layer"]) == ("encoder", layer)
        for name in ("query", "key", "value", "context", "output"):
            place = header["arrays"][name]
            found = np.frombuffer(
                payload, place["dtype"], int(np.prod(place["shape"])), 8 + length + place["at"]
            )
            expected = getattr(block.attention, name)
            np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-5)
            assert header["sizes"][name] == expected.shape[-1]


@pytest.mark.parametrize(
    "place", ["encoder/2", "encoder/99999999999999999999999", "cross/0", "x/0", "__class__/0"]
)
def test_a_layer_that_the_run_does_not_have_is_not_found(client, seat, place):
    key = ask(client, seat)[0]["key"]
    assert get(client, seat, f"vectors/{key}/{place}").status_code == 404


@pytest.mark.parametrize("place", ["encoder/-1", "encoder/x", "encoder/0x1", "encoder"])
def test_a_layer_that_is_no_number_is_not_found(client, seat, place):
    assert get(client, seat, f"vectors/{ask(client, seat)[0]['key']}/{place}").status_code == 404


def test_a_run_is_saved_as_a_table_a_trace_its_effects_and_a_page(client, seat, explorer, tmp_path):
    key, trace = ask(client, seat)[0]["key"], explorer.trace(TEXT)

    def saved(kind, given):
        response = post(client, seat, f"save/{key}/{kind}", given)
        assert response.status_code == 200
        named = response.headers["content-disposition"].partition("filename*=utf-8''")[2]
        return named, response.headers["content-type"].partition(";")[0], response.content

    name, mime, content = saved("csv", {})
    assert (name, mime) == ("small-attention.csv", "text/csv")
    assert content.decode("utf-8-sig").replace("\r\n", "\n") == trace.to_frame().to_csv(index=False)
    name, mime, content = saved("npz", {})
    assert (name, mime) == ("small-attention.npz", "application/zip")
    (tmp_path / "found.npz").write_bytes(content)
    found = Trace.load(tmp_path / "found.npz")
    np.testing.assert_array_equal(found.encoder[1].attention.weights, trace.encoder[1].attention.weights)
    assert found.text == TEXT
    name, mime, content = saved("effects", {"about": {}})
    assert (name, mime) == ("small-effects.npz", "application/zip")
    (tmp_path / "effects.npz").write_bytes(content)
    assert Effects.load(tmp_path / "effects.npz").words.equals(effects(explorer, TEXT).words)
    assert b",effect" in saved("csv", {"about": {}})[2].partition(b"\n")[0]
    start = {"kind": "encoder", "layer": 1, "head": 2, "view": "matrix"}
    name, mime, content = saved("html", {"start": start})
    assert (name, mime) == ("small-attention.html", "text/html")
    assert json.dumps(start).encode() in content
    assert f"<title>small: {TEXT}</title>".encode() in content


def test_two_runs_are_saved_as_a_table_and_a_page_and_nothing_else(client, seat):
    before = {"model": "small", "text": "A film."}
    key = ask(client, seat, before=before)[0]["key"]
    table = post(client, seat, f"save/{key}/csv", {"about": {}}).text
    assert table.partition("\n")[0].rstrip().endswith("a,b,difference,effect_a,effect_b")
    assert f"A film. | {TEXT}" in post(client, seat, f"save/{key}/html", {}).text
    for kind in ("npz", "effects"):
        assert post(client, seat, f"save/{key}/{kind}", {"about": {}}).status_code == 404


@pytest.mark.parametrize("kind", ["x", "exe", "CSV", "..", "effects"])
def test_a_file_that_there_is_not_is_not_found(client, seat, kind):
    key = ask(client, seat)[0]["key"]
    assert post(client, seat, f"save/{key}/{kind}", {}).status_code == 404


@pytest.mark.parametrize(
    "given", [*WRONG, {"start": "</script>"}, {"start": [5]}, {"about": 5}, {"about": {"at": []}}], ids=str
)
def test_a_file_is_saved_whatever_is_said_of_its_beginning(client, seat, given):
    key = ask(client, seat)[0]["key"]
    assert post(client, seat, f"save/{key}/html", given).status_code == 200


def test_a_selection_is_no_markup_in_a_saved_page(client, seat):
    key, evil = ask(client, seat)[0]["key"], "</script><script>window.hit=1</script>"
    saved = post(client, seat, f"save/{key}/html", {"start": {"kind": evil, evil: evil}}).text
    assert evil not in saved


def test_a_name_in_any_script_is_the_name_of_the_file(client, seat, models_folder):
    shutil.copytree(models_folder / "small", models_folder / "我的")
    try:
        key = ask(client, seat, model="我的")[0]["key"]
        named = post(client, seat, f"save/{key}/csv", {}).headers["content-disposition"]
        assert named.endswith("%E6%88%91%E7%9A%84-attention.csv")
    finally:
        shutil.rmtree(models_folder / "我的")


def lines_of(response):
    return [json.loads(line) for line in response.content.splitlines()]


def test_a_text_is_written_on_token_by_token(client, seat, writer):
    lines = lines_of(post(client, seat, "write", WRITE))
    expected = writer.generate(TEXT, max_new=len(lines)).token_ids
    assert [line["token"] for line in lines] == [*expected][-len(lines) :]
    assert 1 < len(lines) <= 20
    for line in lines:
        assert line["chip"]["rank"] == "1"
        assert line["likeliest"][0][0] == line["chip"]["word"]
        assert np.isclose(np.exp(line["likeliest"][0][1]), line["chip"]["share"], rtol=1e-3)
    begun = ".".join(str(line["token"]) for line in lines[:2])
    rest = lines_of(post(client, seat, "write", WRITE | {"written": begun}))
    assert rest[: len(lines) - 2] == lines[2:]


@pytest.mark.parametrize(
    "wrong", [{"model": "small"}, {"model": SECRET}, {"model": 5}, {"text": None}, {"written": []}], ids=str
)
def test_what_no_page_writes_on_is_refused(client, seat, wrong):
    assert post(client, seat, "write", WRITE | wrong).status_code == 400


def test_a_stream_ends_when_writing_fails(client, seat, monkeypatch):
    def failing(request, stamp, progress):
        raise KeyError(SECRET)

    monkeypatch.setattr(streams, "cached_answer", failing)
    response = post(client, seat, "write", WRITE | {"text": "never asked before"})
    assert (response.status_code, response.content) == (200, b"")


BREAKING = {
    "looks": {"looks": ["mean"]},
    "effects": {"ablates": True},
    "before": {"before": {"model": "small", "text": "A plot."}},
    "changes": {"changes": {"scaling": False}},
}


def breaks_on(monkeypatch, breaks):
    """Make the packing of a view fail whenever something holds of what is asked."""
    packs = questions.view_bytes

    def packed(made, *args):
        if breaks(made.asked):
            raise KeyError(SECRET)
        return packs(made, *args)

    monkeypatch.setattr(questions, "view_bytes", packed)


IS_ASKED = {
    "looks": lambda asked: bool(asked.looks),
    "effects": lambda asked: asked.ablates,
    "before": lambda asked: asked.before is not None,
    "changes": lambda asked: bool(asked.request.changes.changed_fields),
}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("part", BREAKING)
def test_a_part_that_breaks_the_page_is_left_out_and_named(client, seat, monkeypatch, part, language):
    breaks_on(monkeypatch, IS_ASKED[part])
    usual = ask(client, seat, language=language)[1]
    header, content = ask(client, seat, **BREAKING[part], language=language)
    assert content == usual
    assert header["left_out"].startswith(Words(language).sentences["recovery.part"].partition("{")[0] + part)
    assert (header["looks"], header["ablates"]) == ([], False)
    assert (header["state"]["changes"], header["state"]["before"]) == ({}, None)


def test_two_parts_that_break_the_page_are_left_out_together(client, seat, monkeypatch):
    breaks_on(monkeypatch, lambda asked: asked.looks or asked.request.changes.changed_fields)
    header, content = ask(client, seat, **BREAKING["looks"], **BREAKING["changes"], ablates=True)
    assert content == ask(client, seat)[1]
    assert header["left_out"]


def test_what_fails_without_any_part_is_said_and_keeps_them(client, seat, monkeypatch):
    breaks_on(monkeypatch, lambda asked: True)
    header, content = ask(client, seat, **BREAKING["looks"])
    assert content == b""
    assert header["problem"].startswith(Words("en").sentences["unexpected.sorry"].partition("(")[0])
    assert not {"left_out", "key", "looks"} & set(header)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_error_is_one_sentence_in_the_language_asked_without_paths(client, seat, models_folder, language):
    broken = models_folder / "broken-parameters"
    shutil.copytree(models_folder / "small", broken)
    parameters = bytearray((broken / "parameters.safetensors").read_bytes())
    parameters[-1] ^= 1
    (broken / "parameters.safetensors").write_bytes(parameters)
    try:
        header, content = ask(client, seat, model=broken.name, language=language)
    finally:
        shutil.rmtree(broken)
    assert content == b""
    assert header["problem"].startswith(Words(language).sentences["model.unreadable"].partition("{")[0])
    assert str(models_folder) not in json.dumps(header)
    assert header["problem"].endswith(("。", "."))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_error_of_the_engine_is_said_and_noted_without_the_text(client, seat, monkeypatch, language, log):
    def failing(request, stamp, progress):
        raise EngineError("unexpected", kind="KeyError", where="network/model:1")

    monkeypatch.setattr(questions, "cached_answer", failing)
    header, _ = ask(client, seat, text=SECRET, language=language)
    said = Words(language)("engine.unexpected", kind="KeyError", where="network/model:1", command="")
    assert header["problem"].partition("（")[0].partition("(")[0] == said.partition("（")[0].partition("(")[0]
    assert "engine visitor=ann model=small code=unexpected" in log.read_text()
    assert SECRET not in log.read_text()


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_LOG", str(tmp_path / "logs" / "app.log"))
    journal.open_log()
    yield tmp_path / "logs" / "app.log"
    for handler in logging.getLogger("transformer_viz.app").handlers:
        handler.close()


def test_nothing_that_a_person_typed_is_in_the_log(client, seat, monkeypatch, log, caplog):
    caplog.set_level(logging.DEBUG)
    secret = {"text": SECRET, "before": {"model": "small", "text": f"{SECRET} before"}}
    header, _ = ask(client, seat, **secret)
    ask(client, seat, **secret, wants="why", about={"about": SECRET, "rather": SECRET})
    ask(client, seat, **secret, act={"do": "text", "text": SECRET})
    post(client, seat, "ask", ASKED | secret | {"act": {"do": SECRET}})
    post(client, seat, "ask", ASKED | {"model": SECRET})
    post(client, seat, "shown", dict.fromkeys(SHOWN, SECRET))
    post(client, seat, f"save/{header['key']}/html", {"start": {"kind": SECRET}})
    breaks_on(monkeypatch, lambda asked: True)
    number = ask(client, seat, **secret)[0]["problem"]
    [line] = [line for line in log.read_text().splitlines() if " error " in line]
    assert "visitor=ann" in line
    assert "kind=KeyError" in line
    assert line.partition("report=")[2][:8] in number
    assert SECRET not in log.read_text()
    assert SECRET not in "".join(record.getMessage() for record in caplog.records if record.name != "httpx2")


@pytest.mark.parametrize("route", ["ask", "save"])
def test_what_nobody_expected_is_refused_and_noted_without_its_message(client, seat, monkeypatch, log, route):
    key = ask(client, seat)[0]["key"]

    def failing(*_):
        raise KeyError(SECRET)

    if route == "ask":
        monkeypatch.setattr(questions.Question, "answer", failing)
        header, content = ask(client, seat)
        assert (header, content) == ({"refused": "This failed.", "bytes": 0}, b"")
    else:
        monkeypatch.setattr(routes, "export", failing)
        refused = post(client, seat, f"save/{key}/csv", {})
        assert (refused.status_code, refused.json()) == (500, {"refused": "This failed."})
        assert refused.headers["x-frame-options"] == "DENY"
    assert "kind=KeyError" in log.read_text()
    assert SECRET not in log.read_text()


def test_reasons_are_those_of_python_over_http_too(client, seat, explorer):
    _, content = ask(client, seat, wants="why")
    found = reasons_in(content)
    assert found["run"] == unpack(ask(client, seat)[1])[0]["run"]
    expected = effects(explorer, TEXT)
    np.testing.assert_array_equal(found["kinds"]["encoder"]["cells"], expected.cells["encoder"].astype("f2"))
