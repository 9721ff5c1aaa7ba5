"""Read what a `.keras` file says about its model: its two JSON files, without Keras and without executing."""

import contextlib
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transformer_viz.language import Phrase, json_reason
from transformer_viz.store.foreign import KERAS_NAMES, KIND_OF_SUFFIX, check_kind
from transformer_viz.store.format import ModelError, disk_errors, one_line
from transformer_viz.store.places import shelves
from transformer_viz.values.keras_file import KerasFile, SavedAttention
from transformer_viz.values.zips import COMPRESSIONS, DAMAGED

LARGEST = {"config.json": 2**23, "metadata.json": 2**16}
"""File in the zip -> most bytes that are read."""

DEEPEST = 100
"""Most models and layers within one another."""

MOST_HEADS = 2**20
"""Larger numbers of heads, or sizes of a head, are taken for none."""

MOST_REFUSED = 20
"""Most files beside the models that are explained."""

NAMED = 5
"""Most layers or classes that a sentence names."""

LONGEST_NAME = 100
"""Characters of a name that are kept."""

_ATTENTION = {"MultiHeadAttention", "GroupQueryAttention", "Attention", "AdditiveAttention"}
_HEADS, _WIDTHS = ("num_heads", "num_query_heads"), ("key_dim", "head_dim")
_PASSED_OVER = {"compile_config", "build_config", "inbound_nodes"}
_BUILT_IN = ("keras", "builtins")


def keras_file(path: str | os.PathLike[str]) -> KerasFile:
    """Return what a `.keras` file says about its model, without opening the model.

        keras_file("model.keras")  # KerasFile('model.keras', Functional, Keras 3.15.1) and a table of layers

    Args:
        path: The file.

    Raises:
        ModelError: If there is no such file, if it is none of Keras, or damaged, or if its config is larger
            than 8 MiB or nested more than 100 models and layers deep.
    """
    file = Path(path)
    if not os.path.lexists(file):
        raise ModelError("file.missing", path=file)
    if not os.path.isfile(file) or check_kind(file) != "keras":
        raise ModelError("keras_file.none", file=file)
    config, metadata = (_json(file, name, text) for name, text in _texts(file).items())
    if not (isinstance(config, dict) and isinstance(config.get("class_name"), str)):
        raise _damaged(file, Phrase("keras_file.no_class"))
    return _described(file, config, metadata if isinstance(metadata, dict) else {})


def refuse_file(file: Path) -> None:
    """Refuse a file where the folder of a model is expected, if it is one that another program saved.

    Raises:
        ModelError: If it is; says what it is and what to do with it.
    """
    if check_kind(file) == "keras":
        found = keras_file(file)
        raise ModelError("keras_file.load", file=file, path=file.as_posix(), contents=contents(found))


def refused_files(folder: Path | None = None) -> list[ModelError]:
    """Return an error for each file in a folder of models that another program saved, in order of names.

    Args:
        folder: Folder of models; None: the shelf (`shelves`).
    """
    found = []
    for shelf in shelves(folder):
        with contextlib.suppress(OSError):  # one that cannot be listed says so where models are listed
            found += sorted(
                file
                for file in shelf.iterdir()
                if file.suffix.lower() in KIND_OF_SUFFIX and os.path.isfile(file)
            )
    errors = []
    for file in found[:MOST_REFUSED]:
        try:
            refuse_file(file)
        except ModelError as error:
            errors.append(error)
    return errors


def contents(found: KerasFile) -> Phrase:
    """Return in short what a file of Keras says about its model."""
    layers = ", ".join(map(_layer, found.layers[:NAMED])) + (", ..." if len(found.layers) > NAMED else "")
    named = {"count": len(found.layers), "names": layers}
    return Phrase(
        "keras_file.contents",
        model=found.model_class,
        version=found.keras_version or "3",
        attention=Phrase("keras_file.attention", **named) if layers else Phrase("keras_file.no_attention"),
        own=_part("keras_file.own", found.own_classes),
        code=_part("keras_file.code", found.with_code),
    )


def _part(code, names):
    shown = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
    return Phrase(code, names=shown) if names else ""


def _layer(layer):
    numbers = zip(("num_heads", "key_dim"), layer[2:], strict=True)
    given = ", ".join(f"{name}={value}" for name, value in numbers if value)
    return f"{layer.path}: {layer.class_name}({given})"


def _texts(file) -> dict[str, bytes]:
    """Return name -> content of the two JSON files of a zip, after checking their declared sizes."""
    with disk_errors(file, "read"), file.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                if not KERAS_NAMES.issubset(archive.namelist()):
                    raise ModelError("keras_file.none", file=file)
                return {name: _content(file, archive, name) for name in LARGEST}
        except ModelError:
            raise
        except DAMAGED:
            raise _damaged(file, Phrase("zip.damaged")) from None


def _content(file, archive, name):
    entry = archive.getinfo(name)
    if entry.flag_bits & 1 or entry.compress_type not in COMPRESSIONS:
        raise _damaged(file, Phrase("zip.compression", file=name))
    with archive.open(entry) as packed:
        content = packed.read(LARGEST[name] + 1)
    size = max(entry.file_size, len(content))
    if size > LARGEST[name]:
        raise ModelError("keras_file.large", file=file, name=name, size=size, most=LARGEST[name])
    return content


def _json(file, name, content) -> Any:
    try:
        return json.loads(content)
    except RecursionError:
        raise _too_deep(file, name) from None
    except ValueError as error:
        raise _damaged(file, Phrase("keras_file.json", name=name, reason=json_reason(error))) from None


def _too_deep(file, name):
    return _damaged(file, Phrase("keras_file.json", name=name, reason="nested too deeply"))


def _damaged(file, reason):
    return ModelError("keras_file.damaged", file=file, reason=reason)


def _described(file, config, metadata) -> KerasFile:
    layers, own, code = [], {}, {}
    for path, kind, entry in _entries(file, config):
        settings = entry.get("config")
        if kind == "__lambda__":
            code[path] = None
        if name := _own_name(kind, entry):
            own[name] = None
        if not isinstance(settings, dict):
            continue
        heads, width = (_number(settings, names) for names in (_HEADS, _WIDTHS))
        if heads is not None or (kind in _ATTENTION and not name):
            layers.append(SavedAttention(path, _short(kind), heads, width))
    settings = config.get("config")
    return KerasFile(
        path=file,
        model_class=_short(config["class_name"]),
        name=_text(settings.get("name")) if isinstance(settings, dict) else "",
        keras_version=_text(metadata.get("keras_version")),
        layers=tuple(layers),
        own_classes=tuple(own),
        with_code=tuple(code),
    )


def _entries(file, config) -> Iterator[tuple[str, str, dict]]:
    """Yield path, class and entry of all that a config names by its class, in the order of the file."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), config)]
    while waiting:
        names, found = waiting.pop()
        if isinstance(found, dict):
            kind, settings = found.get("class_name"), found.get("config")
            if isinstance(kind, str):
                name = settings.get("name") if isinstance(settings, dict) else None
                if isinstance(name, str):
                    names = (*names, _short(name))
                if len(names) > DEEPEST:
                    raise _too_deep(file, "config.json")
                yield "/".join(names[1:] or names), kind, found
            found = [value for key, value in found.items() if key not in _PASSED_OVER]
        if isinstance(found, list):
            waiting += [(names, each) for each in reversed(found) if isinstance(each, dict | list)]


def _own_name(kind, entry) -> str | None:
    """Return the name of a class or function that is not one of Keras; None: it is one."""
    module, registered, content = (entry.get(key) for key in ("module", "registered_name", "config"))
    if kind.startswith("__") or not {"module", "registered_name"} & entry.keys():
        return None
    if kind == "function" and isinstance(content, str):
        return _short(content) if ">" in content else None
    is_registered = isinstance(registered, str) and registered not in (kind, "function")
    if isinstance(module, str) and module.split(".")[0] in _BUILT_IN and not is_registered:
        return None
    return _short(registered if is_registered else f"{module}.{kind}" if module else kind)


def _number(settings, names) -> int | None:
    """Return the first of several settings that is a number of heads or a size."""
    found = (settings.get(name) for name in names)
    return next((value for value in found if type(value) is int and 0 < value <= MOST_HEADS), None)


def _short(text) -> str:
    line = one_line(text)
    return line if len(line) <= LONGEST_NAME else f"{line[:LONGEST_NAME]}..."


def _text(value) -> str:
    return _short(value) if isinstance(value, str) else ""
