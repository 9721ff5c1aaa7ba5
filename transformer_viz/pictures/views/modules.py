"""The JavaScript of the views as one text per module, with its imports inside; there is no build step."""

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
    """Return an ES module whose imports are data URLs, so that it needs no server.

    Args:
        name: Of the file, without ".js".
    """
    text = COMMENT.sub("", (FOLDER / f"{name}.js").read_text(encoding="utf-8"))
    return IMPORT.sub(lambda found: f'from "{_address(found[1])}"', text)


def stylesheet(name: str) -> str:
    """Return the CSS of a view.

    Args:
        name: Of the file, without ".css".
    """
    return (FOLDER / f"{name}.css").read_text(encoding="utf-8")


@functools.cache
def _address(name):
    """Return a module as a data URL; the same module always has the same URL."""
    text = base64.b64encode(module(name).encode()).decode()
    return f"data:text/javascript;base64,{text}"
