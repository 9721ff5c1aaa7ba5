"""Streamlit components made from the modules of the views."""

import functools
from collections.abc import Callable
from typing import Any

from streamlit.components import v2

from transformer_viz.pictures import views


@functools.cache
def component(module: str, *stylesheets: str) -> Callable[..., Any]:
    """Return the component of a module; registered once per process.

    Args:
        module: Name of the module, as for `views.module`.
        *stylesheets: Names of its style sheets; none: an invisible component.
    """
    return v2.component(
        f"transformer_viz.{module}",
        html="<div></div>",
        css="\n".join(map(views.stylesheet, stylesheets)) or None,
        js=views.module(module),
    )
