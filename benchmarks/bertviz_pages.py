"""BertViz's views as its own Python writes them, without PyTorch, without a notebook and without a network.

BertViz is fetched from PyPI, what its pages load is fetched from npm; each once, verified, into `.cache/`.
"""

import hashlib
import importlib
import io
import json
import subprocess
import sys
import tarfile
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np

CACHE = Path(__file__).parent.parent / ".cache" / "bertviz"

BERTVIZ = "bertviz==1.4.1 --hash=sha256:e53e5fb77812d73fdc1142f56334cbf723d6cfcb54f9a6f6d3d5c83dd9763192"

NPM = "https://registry.npmjs.org"

LIBRARIES = {
    "require.min.js": (
        "requirejs/-/requirejs-2.3.6.tgz",
        "package/require.js",
        "1d1a8a5ea21b941f5c80f7caf3ac7f3e1cb8cf2903a706d5c0d15434eaedd326",
    ),
    "d3.min.js": (
        "d3/-/d3-5.7.0.tgz",
        "package/dist/d3.min.js",
        "21f53af012d1c00bc9476fa7c3be902fda809495b001e7f7a9481c744d4fe51e",
    ),
    "jquery.min.js": (
        "jquery/-/jquery-2.1.0.tgz",
        "package/dist/jquery.min.js",
        "b991ccb0af0fded3fb9e8bb463e06bc500d88145058b4f0703cbbddf0100e8a7",
    ),
}
"""Last part of the address on the page -> tarball, file in it, sha256 of the tarball.

The versions are those the page names, but for jQuery 2.0.0: the nearest that npm has is 2.1.0, and the views
only fill a list and empty an element with it.
"""

SCRIPT = '<script type="text/javascript">'


def fetch():
    """Fetch what is missing; return the package."""
    package = CACHE / "python"
    if not (package / "bertviz").is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        requirements = CACHE / "requirements.txt"
        requirements.write_text(BERTVIZ + "\n")
        install = ["install", "-q", "--no-deps", "--require-hashes", "--target", package, "-r", requirements]
        subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    for name, library in LIBRARIES.items():
        if not (CACHE / name).is_file():
            (CACHE / name).write_bytes(from_npm(*library))
    return imported(package)


def from_npm(tarball, member, sha256):
    """Return a file of a tarball that is the published one."""
    with urllib.request.urlopen(f"{NPM}/{tarball}", timeout=30) as sent:
        content = sent.read()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(f"{tarball} is not the file that was published.")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return archive.extractfile(member).read()


def imported(package):
    """Import BertViz; of PyTorch it needs `stack`, of a notebook something that holds a text."""
    text = SimpleNamespace(display=None, HTML=Text, Javascript=Text)
    modules = {"torch": SimpleNamespace(stack=np.stack), "IPython.display": text}
    with mock.patch.dict(sys.modules, modules), mock.patch.object(sys, "path", [str(package), *sys.path]):
        return importlib.import_module("bertviz")


class Text:
    """A text for a notebook."""

    def __init__(self, data):
        self.data = data


class Tensor(np.ndarray):
    """An array that is asked for its size as PyTorch's tensors are."""

    def size(self, axis):
        """Return its length along an axis."""
        return self.shape[axis]


def write(path, view, weights, tokens):
    """Write a view's markup and its script with the weights in it as JSON, to be put into a page.

    Args:
        path: Of the file.
        view: BertViz's function.
        weights: (layer, head, query, key).
        tokens: A text for each token.
    """
    markup, script = html(view, weights, tokens).split(SCRIPT)
    path.write_text(json.dumps([markup, script.removesuffix("</script>\n")]))


def write_page(path, package):
    """Write a page that loads what BertViz's views need: one with the smallest of views."""
    small = html(package.head_view, np.ones((1, 1, 1, 1), np.float32), ["token"])
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{small}")


def html(view, weights, tokens):
    """Return a view as BertViz writes it."""
    return view([layer[None].view(Tensor) for layer in weights], tokens, html_action="return").data


def open_page(browser, address, viewport):
    """Open the page and return it once the libraries are there."""
    page = browser.new_page(viewport=viewport)
    page.route("https://cdnjs.cloudflare.com/**", answer)
    page.goto(f"{address}/bertviz.html")
    page.wait_for_function("() => document.querySelector('svg line')")
    return page


def answer(route):
    """Answer with a library that was fetched."""
    path = CACHE / route.request.url.rpartition("/")[2]
    route.fulfill(path=path, content_type="text/javascript")
