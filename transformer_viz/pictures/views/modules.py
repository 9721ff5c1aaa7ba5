"""ES modules of the views with their imports inlined, without a build step."""

import base64
import functools
import re
from pathlib import Path

FOLDER = Path(__file__).parent

IMPORT = re.compile(r'from "\./([a-z]+)\.js"')

COMMENT = re.compile(r"^ *//[^\n]*\n|(^ *)?/\*\*(?:(?!\*/).)*\*/(?: |\n+)", re.MULTILINE | re.DOTALL)
"""Comments of lines of their own and types: `make lint` checks the types; the browser does not need them."""


@functools.cache
def module(name: str) -> str:
    """Return an ES module whose imports are data URLs.

    Args:
        name: File name without ".js".
    """
    text = COMMENT.sub("", (FOLDER / f"{name}.js").read_text(encoding="utf-8"))
    return IMPORT.sub(lambda found: f'from "{_address(found[1])}"', text)


def stylesheet(name: str) -> str:
    """Return the CSS of a view.

    Args:
        name: File name without ".css".
    """
    return (FOLDER / f"{name}.css").read_text(encoding="utf-8")


@functools.cache
def _address(name):
    """Return a module as a data URL, the same one for every import of it."""
    text = base64.b64encode(module(name).encode()).decode()
    return f"data:text/javascript;base64,{text}"
