"""ES modules of the views, without a build step: as the app serves them, or several as one."""

import functools
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

FOLDER = Path(__file__).parent

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z]+)\.js";$', re.MULTILINE)

DEFAULT = re.compile(r"^export default ", re.MULTILINE)

INDENTATION = re.compile(r"^ +", re.MULTILINE)

EXPORT = re.compile(r"^export (?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)

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
def bundle(name: str) -> str:
    """Return a module and all that it imports as one module, without a server to fetch them from.

    Each becomes a function of its own, so that none sees the names of another; indentation is left out.

    Args:
        name: File name without ".js".
    """
    names = EXPORT.findall(served_modules()[f"{name}.js"])
    exports = [f"export const {{ {', '.join(names)} }} = ${name};", f"export default ${name}.$default;"]
    return INDENTATION.sub("", "\n".join([*map(_wrapped, _order(name)), *exports]))


def _order(name):
    """Return a module behind all that it imports, each once."""
    found: list[str] = []
    for file in dict.fromkeys(file for _, file in IMPORT.findall(served_modules()[f"{name}.js"])):
        found += [each for each in _order(file) if each not in found]
    return [*found, name]


def _wrapped(name):
    """Return a module as a function that is called at once, and returns what it exports."""
    text = served_modules()[f"{name}.js"]
    text = IMPORT.sub(lambda found: f"const {{{found[1].replace(' as ', ': ')}}} = ${found[2]};", text)
    exports = ["$default", *EXPORT.findall(text)]
    text = DEFAULT.sub("$default = ", EXPORT.sub(lambda found: found[0].removeprefix("export "), text))
    return f"const ${name} = (() => {{\nlet $default;\n{text}return {{ {', '.join(exports)} }};\n}})();"


def stylesheet(name: str) -> str:
    """Return the CSS of a view.

    Args:
        name: File name without ".css".
    """
    return (FOLDER / f"{name}.css").read_text(encoding="utf-8")
