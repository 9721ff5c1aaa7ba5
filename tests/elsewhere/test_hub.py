"""Fetching models by name, from a server that speaks the paths of the Hugging Face hub."""

import functools
import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from transformer_viz import store

FOLDER = Path(__file__).parent / "models" / "bert-masked"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "somebody/bert-masked"


class Hub(http.server.BaseHTTPRequestHandler):
    """One repository, with a pickle beside the safetensors, and one that is gated."""

    def __init__(self, asked, *args):
        self.asked = asked
        super().__init__(*args)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.partition("?")[0]
        self.asked.append(path)
        files = {file.name: file.read_bytes() for file in FOLDER.iterdir()} | {"pytorch_model.bin": b"\x80"}
        if path.startswith(f"/api/models/{NAME}/tree/"):
            tree = [
                {"type": "file", "path": name, "size": len(files[name]), "oid": "0" * 40} for name in files
            ]
            return self.answer(json.dumps(tree).encode())
        if path.startswith(f"/api/models/{NAME}"):
            siblings = [{"rfilename": name, "size": len(data)} for name, data in files.items()]
            about = {"id": NAME, "sha": COMMIT, "siblings": siblings, "cardData": {"license": "apache-2.0"}}
            return self.answer(json.dumps(about | {"tags": [], "private": False}).encode())
        if path.startswith("/api/models/somebody/gated"):
            return self.answer(b"{}", 403, {"X-Error-Code": "GatedRepo"})
        name = path.rpartition("/")[2]
        if path.startswith(f"/{NAME}/resolve/") and name in files:
            etag = hashlib.sha1(files[name]).hexdigest()
            return self.answer(files[name], 200, {"X-Repo-Commit": COMMIT, "ETag": f'"{etag}"'})
        return self.answer(b"{}", 404, {"X-Error-Code": "RepoNotFound"})

    def answer(self, body, status=200, headers=()):
        self.send_response(status)
        for header, value in dict(headers).items():
            self.send_header(header, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub():
    """Return the address of the server, and the paths that it was asked for."""
    asked = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Hub, asked)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


@pytest.fixture
def run(tmp_path):
    """Run Python in a process of its own: the library reads its settings when it is imported."""

    def run(endpoint, *arguments):
        own = {"HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_DISABLE_XET": "1"}
        own |= {"TRANSFORMER_VIZ_MODELS": str(tmp_path / "models"), "TF_CPP_MIN_LOG_LEVEL": "3"}
        return subprocess.run(
            [sys.executable, *arguments], env=os.environ | own, capture_output=True, text=True, check=False
        )

    return run


def test_a_model_is_fetched_by_its_name_and_said_before_what_it_is(hub, run, tmp_path):
    endpoint, asked = hub
    done = run(endpoint, "-m", "transformer_viz", "fetch", NAME)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{NAME}: 0.1 MB, apache-2.0\nWrote ")
    place = tmp_path / "models" / "bert-masked"
    read = {"config.json", "tokenizer.json", "model.safetensors"}
    assert {file.name for file in place.iterdir()} == {*read, "hub.json"}
    card = store.find_model(place.name, place.parent).card
    assert (card["source"], card["revision"]) == (f"Hugging Face: {NAME}", COMMIT)
    assert (place / "model.safetensors").read_bytes() == (FOLDER / "model.safetensors").read_bytes()
    assert not any("pytorch_model" in path for path in asked)
    listed = run(endpoint, "-m", "transformer_viz", "models")
    assert "bert-masked" in listed.stdout
    again = run(endpoint, "-m", "transformer_viz", "fetch", NAME)
    assert again.returncode == 2
    assert "bert-masked exists already. Rename or delete it first." in again.stderr


def test_a_model_is_fetched_quietly_and_in_chinese(hub, run, tmp_path):
    done = run(hub[0], "-m", "transformer_viz", "fetch", "--lang", "zh", "-q", NAME)
    assert (done.returncode, done.stderr) == (0, "")
    place = tmp_path / "models" / "bert-masked"
    size = store.read_config(place).num_parameters
    assert done.stdout == f"已写入 {place}：{size:,} 个参数。\n"


def test_a_model_of_the_hub_opens_in_python_and_from_the_cache_without_a_network(hub, run):
    endpoint, _ = hub
    code = f"import transformer_viz as tv; found = tv.load('hf:{NAME}'); print(found.trace('The film').model)"
    code += "; print(found.card['source'], found.card['revision'])"
    for place in (endpoint, "http://127.0.0.1:9"):  # nothing answers at the second one
        done = run(place, "-c", code)
        assert done.stdout == f"bert-masked\nHugging Face: {NAME} {COMMIT}\n", done.stderr


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("somebody/else", "There is no model somebody/else on the hub."),
        ("somebody/gated", "somebody/gated may only be fetched after its terms are accepted"),
        ("a/b/c", "“a/b/c” is no name of a model on the hub."),
    ],
)
def test_what_cannot_be_fetched_is_said_in_a_sentence(hub, run, name, says):
    done = run(hub[0], "-m", "transformer_viz", "fetch", name)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_network_and_a_cache_it_says_so(run):
    done = run("http://127.0.0.1:9", "-m", "transformer_viz", "fetch", NAME)
    assert done.returncode == 2
    assert f"The hub does not answer, and {NAME} is not in its cache" in done.stderr
