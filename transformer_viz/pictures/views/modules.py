"""ES modules of the views, without a build step: as the app serves them, or with their imports inlined."""

import base64
import functools
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

FOLDER = Path(__file__).parent

IMPORT = re.compile(r'from "\./([a-z]+)\.js"')

COMMENT = re.compile(r"^ *//[^\n]*\n|(^ *)?/\*\*(?:(?!\*/).)*\*/(?: |\n+)", re.MULTILINE | re.DOTALL)
"""Comments of lines of their own and types: `make lint` checks the types; the browser does not need them."""


@functools.cache
def served_modules() -> Mapping[str, str]:
    """Return file name -> ES module, which imports others by their file names beside its own."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.js"))}
    return MappingProxyType({name: COMMENT.sub("", text) for name, text in texts.items()})


@functools.cache
def version() -> str:
    """Return a name for the contents of all modules, which changes with any of them."""
    return hashlib.sha256("\0".join(served_modules().values()).encode()).hexdigest()[:16]


@functools.cache
def module(name: str) -> str:
    """Return an ES module whose imports are data URLs.

    Args:
        name: File name without ".js".
    """
    return IMPORT.sub(lambda found: f'from "{_address(found[1])}"', served_modules()[f"{name}.js"])


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
