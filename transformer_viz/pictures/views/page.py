"""A standalone HTML page for a payload: no server, no network."""

import base64
import html
import json

from transformer_viz.language import TAGS
from transformer_viz.pictures.figures.theme import BACKGROUND
from transformer_viz.pictures.views.modules import module, stylesheet

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
<div id="lens"></div>
<script type="module">
{script}
const text = atob({data});
const bytes = new Uint8Array(text.length);
for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
mount(document.getElementById("lens"), bytes, {{ start: () => ({start}), remember() {{}} }});
</script>
"""


def page(payload: bytes, *, title: str, language: str = "en", start: dict | None = None) -> str:
    """Return the HTML of a page that shows a payload.

    Args:
        payload: As `payload_bytes` returns it.
        title: Title of the page.
        language: Of its words, "en" or "zh"; screen readers and fonts follow it.
        start: Initial selection: any of "kind", "layer", "head" (0-based), "view", "projected".
    """
    return PAGE.format(
        lang=TAGS[language],
        title=html.escape(title),
        **BACKGROUND,
        style=stylesheet("lens") + stylesheet("pipeline"),
        script=module("lens"),
        data=json.dumps(base64.b64encode(payload).decode()),
        start=json.dumps(start or {}).replace("<", "\\u003c"),
    )
