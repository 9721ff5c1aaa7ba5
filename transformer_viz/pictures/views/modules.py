"""The JavaScript of the views as one text: what a module imports stands in it, without a build step."""

import base64
import functools
import re
from pathlib import Path

FOLDER = Path(__file__).parent

IMPORT = re.compile(r'from "\./([a-z]+)\.js"')

TYPE = re.compile(r'^/\*\* @typedef \{import\("\./[a-z]+\.js"\)\.\w+\} \w+ \*/\n+', re.MULTILINE)
"""A comment that names a type of another module: for who reads the sources, not for the browser."""


@functools.cache
def module(name: str) -> str:
    """Return an ES module that imports nothing from a server: its imports are data URLs.

    Args:
        name: Of the file, without ".js".
    """
    text = TYPE.sub("", (FOLDER / f"{name}.js").read_text(encoding="utf-8"))
    return IMPORT.sub(lambda found: f'from "{_address(found[1])}"', text)


def stylesheet(name: str) -> str:
    """Return the CSS of a view.

    Args:
        name: Of the file, without ".css".
    """
    return (FOLDER / f"{name}.css").read_text(encoding="utf-8")


@functools.cache
def _address(name):
    """Return a module as the address of its own text; the same module is always the same address."""
    text = base64.b64encode(module(name).encode()).decode()
    return f"data:text/javascript;base64,{text}"
