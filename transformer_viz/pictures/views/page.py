"""A standalone HTML page for a payload: no server, no network."""

import base64
import gzip
import html
import json

from transformer_viz.language import TAGS
from transformer_viz.pictures.theme import BACKGROUND
from transformer_viz.pictures.views.modules import bundle, stylesheet

LEVEL = 6
"""How hard a page is compressed."""

LEAST_HEIGHT, MARGIN = 420, 24
"""Least height of a page in a notebook, so that its menus have room, and its margin, in pixels."""

STYLES = {"lens": ("lens", "pipeline"), "epochs": ("panel", "lapse")}
"""View of a whole page -> its style sheets."""

PAGE = """<!doctype html>
<html lang="{lang}">
<meta charset="utf-8">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --st-background-color: {light}; --st-text-color: #31333f }}
@media (prefers-color-scheme: dark) {{ :root {{ --st-background-color: {dark}; --st-text-color: #e6e8ee;
  --st-secondary-background-color: #1a1f2b; --st-primary-color: #3fa7c4 }} }}
body {{ margin: 1.5rem; font-family: system-ui;
  background: var(--st-background-color); color: var(--st-text-color) }}
h1 {{ margin: 0 0 1rem; font-size: 1.15rem; overflow-wrap: anywhere }}
{style}
</style>
<h1>{title}</h1>
<div id="{view}"></div>
<script type="module">
{script}
const text = atob({data});
const packed = new Uint8Array(text.length);
for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
const halves = new Uint8Array(await new Response(unpacked).arrayBuffer());
const [bytes, middle] = [new Uint8Array(halves.length), (halves.length + 1) >> 1];
for (let i = 0; i < middle; i++) bytes[2 * i] = halves[i];
for (let i = middle; i < halves.length; i++) bytes[2 * (i - middle) + 1] = halves[i];
const frame = window.frameElement; // of a notebook
if (frame) document.documentElement.style.setProperty("--room", `${{window.innerHeight}}px`);
mount(document.getElementById("{view}"), bytes, {{ start: () => ({start}), remember() {{}} }});
if (frame) {{
  frame.previousElementSibling?.remove(); // what is shown where no scripts run
  const fit = () => {{
    const end = document.body.getBoundingClientRect().bottom + window.scrollY + {margin};
    frame.style.height = `${{Math.max({least}, Math.ceil(end))}}px`;
  }};
  new ResizeObserver(fit).observe(document.body);
}}
</script>
"""


def page(
    payload: bytes, *, title: str, language: str = "en", start: dict | None = None, view: str = "lens"
) -> str:
    """Return the HTML of a page that shows a payload.

    The payload is compressed, its bytes of even places first: those with the exponents of half-precision
    numbers are more alike. In a frame of a notebook the page is as high as what it shows.

    Args:
        payload: As `payload_bytes` returns it; of another view, as it is packed for that.
        title: Title of the page.
        language: Of its words, "en" or "zh"; screen readers and fonts follow it.
        start: Initial selection of the lens: any of "kind", "layer", "head" (0-based), "view", "projected".
        view: A key of `STYLES`.
    """
    halves = gzip.compress(payload[::2] + payload[1::2], LEVEL, mtime=0)
    return PAGE.format(
        lang=TAGS[language],
        title=html.escape(title),
        **BACKGROUND,
        view=view,
        style="".join(map(stylesheet, STYLES[view])),
        script=bundle(view),
        data=json.dumps(base64.b64encode(halves).decode()),
        least=LEAST_HEIGHT,
        margin=MARGIN,
        start=json.dumps(start or {}).replace("<", "\\u003c"),
    )
