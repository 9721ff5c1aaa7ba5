"""Streamlit components made from the modules of the views, which the browser fetches once and keeps."""

import functools
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from streamlit.components import v2

from transformer_viz.pictures import views

MODULES = "views/{version}/{name}"
"""Where the modules are, as seen from the pages; Streamlit's own files stand beside it."""

LOADER = """const loaded = import(new URL("{address}", document.baseURI));
export default async (component) => (await loaded).default(component);
"""
"""What Streamlit sends, and again with each message for a component: not the module, only where it is.

All messages wait for one import: browsers end several of one module in any order, and the last one must win.
"""

FOREVER = {"Cache-Control": "public, immutable, max-age=31536000"}
"""Another module has another address."""


@functools.cache
def component(module: str, *stylesheets: str) -> Callable[..., Any]:
    """Return the component of a module; registered once per process.

    Args:
        module: Name of the module, as for `views.module`.
        *stylesheets: Names of its style sheets; none: an invisible component.
    """
    address = MODULES.format(version=views.version(), name=f"{module}.js")
    return v2.component(
        f"transformer_viz.{module}",
        html="<div></div>",
        css="\n".join(map(views.stylesheet, stylesheets)) or None,
        js=LOADER.replace("{address}", address),
    )


async def served_module(request: Request) -> Response:
    """Return a module of the views."""
    text = views.served_modules().get(request.path_params["name"])
    if text is None or request.path_params["version"] != views.version():
        return PlainTextResponse("Not found", 404)
    return Response(text, media_type="text/javascript", headers=FOREVER)
