"""Rendering and response times of the canvas views in headless Chromium.

`python benchmarks/views.py`. Random attention of 12 layers with 12 heads, on the offline page. Rendering is
timed from the loaded payload to two animation frames after mounting; a hover or another head from the event
to the second frame after it. Two idle frames are printed last. Without a GPU, Chromium renders in software.
"""

import contextlib
import functools
import http.server
import os
import shutil
import statistics
import tempfile
import threading
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from transformer_viz.language import Words
from transformer_viz.network.tensors import Attentions, AttentionTrace
from transformer_viz.pictures import views

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
LAYERS = HEADS = 12
LENGTHS = (64, 128, 512)
TIMES = 5
VIEWPORT = {"width": 1440, "height": 1000}

FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"

MOUNT = f"""async ([file, view]) => {{
    const bytes = new Uint8Array(await (await fetch(file)).arrayBuffer());
    document.body.replaceChildren(document.createElement('div'));
    await {FRAMES};
    const shown = new Set(Array({HEADS}).keys()); // the lines of all heads
    const start = performance.now();
    const host = {{ start: () => ({{ view, shown }}), remember() {{}} }};
    const lens = window.mount(document.body.firstChild, bytes, host);
    await {FRAMES};
    const taken = performance.now() - start;
    return [taken, document.querySelectorAll('*').length];
}}"""

ACT = f"""async (act) => {{
    const start = performance.now();
    eval(act);
    await {FRAMES};
    return performance.now() - start;
}}"""

HOVER = """{
    const canvas = document.querySelector('.lines canvas'), box = canvas.getBoundingClientRect();
    const place = { clientX: box.left + 90, clientY: box.top + 60 + 300 * Math.random(), bubbles: true };
    canvas.dispatchEvent(new PointerEvent('pointermove', place));
}"""

HEAD = "document.querySelectorAll('.heads .head')[Math.floor(Math.random() * 12)].click()"


def main():
    """Print the figures."""
    with served_browser() as (folder, address, browser):
        write_page(folder)
        for length in LENGTHS:
            write_payload(folder / f"{length}.bin", random_attention(LAYERS, length))
        page = mounting_page(browser, address)
        for length in LENGTHS:
            measure(page, length)
        print(f"two frames in which nothing changes {median(page, ''):6.0f} ms")


@contextlib.contextmanager
def served_browser():
    """Yield an empty folder, the address of its server, and headless Chromium."""
    with tempfile.TemporaryDirectory() as folder, serving(folder) as address, sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield Path(folder), address, browser
        browser.close()


def write_page(folder):
    """Write the page that mounts the views."""
    (folder / "index.html").write_text(
        f"<!doctype html><meta charset=utf-8><style>{views.stylesheet('lens')}</style><body>"
        f"<script type=module>{views.module('lens')}\nwindow.mount = mount;</script>"
    )


def mounting_page(browser, address):
    """Open the page and return it once it can mount the views."""
    page = browser.new_page(viewport=VIEWPORT)
    page.goto(address)
    page.wait_for_function("() => Boolean(window.mount)")
    return page


def measure(page, length):
    """Print the times for one length."""
    for view, name in (("grid", "all 144 heads"), ("lines", "a layer as lines"), ("all", "side by side")):
        found = [page.evaluate(MOUNT, [f"{length}.bin", view]) for _ in range(TIMES)]
        taken, nodes = statistics.median(taken for taken, _ in found), found[0][1]
        print(f"{length:4} tokens: {name:<17} {taken:6.0f} ms, {nodes} nodes")
    print(f"{length:4} tokens: hover on a token  {median(page, HOVER):6.0f} ms")
    print(f"{length:4} tokens: another head      {median(page, HEAD):6.0f} ms")


def median(page, act):
    """Return the median milliseconds of an act."""
    return statistics.median(page.evaluate(ACT, act) for _ in range(4 * TIMES))


def random_attention(layers, length):
    """Return peaked random attention (layer, head, query, key)."""
    random = np.random.default_rng(0)
    scores = random.normal(0, 2, (layers, HEADS, length, length)).astype(np.float32)
    weights = np.exp(scores)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights


def names_of_tokens(length):
    """Return a display string for each token."""
    return [f"token{number}" for number in range(length)]


def write_payload(path, weights):
    """Write attention as payload of the views."""
    length = weights.shape[-1]
    layers = [AttentionTrace(None, None, None, None, layer, None, None) for layer in weights]
    tokens = names_of_tokens(length)
    mask = np.ones((1, 1, length, length), bool)
    shown = views.AttentionPayload(
        Attentions(layers, mask, tokens, tokens),
        tokens=(tokens, tokens),
        name="encoder",
        title="reads",
        head_title="Layer {layer}, head {head}",
        metrics={},
        roles=[[""] * HEADS for _ in layers],
        captions=[[""] * HEADS for _ in layers],
        vectors={},
        sentences=(np.zeros(length, int), np.zeros(length, int)),
    )
    path.write_bytes(views.payload_bytes("random", {"encoder": shown}, Words("en").under("lens")))


@contextlib.contextmanager
def serving(folder):
    """Serve a folder on a free port."""
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server without a log."""

    def log_message(self, *arguments):
        """Log nothing."""


if __name__ == "__main__":
    main()
