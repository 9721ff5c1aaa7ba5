"""The attention weights of a `.keras` file, which another process opens.

The process is started as a program, with files between the two: `multiprocessing` would run the caller's own
script again, and would unpickle here what the code of the file may have sent.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from transformer_viz import store
from transformer_viz.language import Phrase, Problem
from transformer_viz.store.format import one_line
from transformer_viz.store.keras_file import contents
from transformer_viz.store.places import PACKAGE
from transformer_viz.values.keras_file import KerasFile
from transformer_viz.values.nested_arrays import taken_apart
from transformer_viz.values.recorded_attention import NoAttentionError, RecordedAttention
from transformer_viz.values.zips import read_arrays

PROGRAM = "from transformer_viz.inspection import opened_file; opened_file.main()"

LONGEST_ANSWER = 2**24
"""Most bytes of the names of layers, or of a reason."""

NAMED = 5
"""Most classes that a sentence names."""


class NotTrustedError(Problem):
    """A `.keras` file has not been opened, as nobody has said that it is trusted.

    Attributes:
        file: What the file says about its model.
    """

    def __init__(self, file: KerasFile):
        facts = {"file": file.path, "path": file.path.as_posix(), "contents": contents(file)}
        super().__init__("keras_file.trust", **facts)
        self.file = file


class OpeningError(Problem):
    """A `.keras` file could not be opened, or its model could not be called."""


def attention_in_file(
    path: str | os.PathLike[str],
    inputs: Sequence[Any],
    options: Mapping[str, Any],
    *,
    layers: Sequence[str] | None,
    trusted: bool,
) -> RecordedAttention:
    """Return the attention weights of the model in a `.keras` file; arguments as for `attention_of`.

    Raises:
        NoAttentionError: If the model used none.
        NotTrustedError: If `trusted` is not True.
        OpeningError: If the file cannot be opened, or its model cannot be called on these inputs.
        ValueError: If it is no file of Keras, the inputs are no arrays, or a layer is unknown.
    """
    found = store.keras_file(path)
    if trusted is not True:
        raise NotTrustedError(found)
    structure, arrays = taken_apart((list(inputs), dict(options)))
    with tempfile.TemporaryDirectory(prefix="transformer-viz-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        np.savez(folder / "inputs.npz", *arrays)
        request = {"folder": place, "file": os.path.abspath(found.path), "inputs": structure}
        request["layers"] = None if layers is None else list(layers)
        return _answer(found, folder, _run(request, folder))


def _run(request, folder) -> int:
    """Run the process until it ends; return its exit status."""
    paths = [*(path or os.getcwd() for path in sys.path), str(PACKAGE.parent)]
    environment = {"PYTHONPATH": os.pathsep.join(paths), "KERAS_BACKEND": keras.backend.backend()}
    with (folder / "messages").open("wb") as messages:
        return subprocess.run(  # noqa: S603  this program and this request
            [sys.executable, "-P", "-c", PROGRAM],
            input=json.dumps(request).encode(),
            stdout=subprocess.DEVNULL,
            stderr=messages,
            env=os.environ | environment,
            check=False,
        ).returncode


def _answer(found, folder, status) -> RecordedAttention:
    """Return the weights that the process has written; nothing of its answer is taken on trust."""
    try:
        if (folder / "answer.json").stat().st_size > LONGEST_ANSWER:
            raise ValueError("too long")
        answer = json.loads((folder / "answer.json").read_bytes())
        result = _failure(found, answer) if "failed" in answer else _weights(folder, answer)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise OpeningError("keras_file.ended", file=found.path, how=_end(folder, status)) from None
    if isinstance(result, Problem):
        raise result
    return result


def _weights(folder, answer) -> RecordedAttention | Problem:
    arrays = read_arrays(folder / "weights.npz")
    weights = {str(name): arrays[f"arr_{place}"] for place, name in enumerate(answer["names"])}
    if any(each.dtype != np.float32 or each.ndim != 4 for each in weights.values()):
        raise ValueError("no weights")
    left_out = {str(name): Phrase.from_json(reason) for name, reason in answer["left_out"].items()}
    return RecordedAttention(weights, left_out) if weights else NoAttentionError("attention_of.none")


def _failure(found, answer) -> Problem:
    how = answer["failed"]
    if how in ("none", "layers"):
        return (NoAttentionError if how == "none" else Problem).from_json(answer["problem"])
    if how == "class" and found.own_classes:
        names = ", ".join(found.own_classes[:NAMED]) + (", ..." if len(found.own_classes) > NAMED else "")
        return OpeningError("keras_file.class", file=found.path, names=names)
    code, reason = "keras_file.call" if how == "call" else "keras_file.open", one_line(answer["reason"])
    return OpeningError(code, file=found.path, reason=reason)


def _end(folder, status) -> Phrase:
    """Return how the process has ended; of an error, with the last line that it wrote."""
    if status < 0:
        return Phrase("check.signal", number=-status)
    lines = (folder / "messages").read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((one_line(line.strip()) for line in reversed(lines) if line.strip()), "")
    how = Phrase("check.exit", number=status)
    return Phrase("keras_file.last_line", how=how, line=last) if status and last else how
