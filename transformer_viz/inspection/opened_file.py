"""What the process does that opens a `.keras` file, as asked for on standard input."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from transformer_viz.language import Problem
from transformer_viz.network.startup import load_upper_floor
from transformer_viz.values.nested_arrays import put_together
from transformer_viz.values.recorded_attention import NoAttentionError

_UNKNOWN_CLASS = re.compile(r"Could not locate (class|function) |parent module \S+ cannot be imported")
_BOLD = re.compile(r"\x1b\[\d*m")


def main() -> None:
    """Write the attention weights that a request asks for, or why there are none, into its folder."""
    request = json.loads(sys.stdin.buffer.read())
    folder = Path(request["folder"])
    with np.load(folder / "inputs.npz") as stored:
        arrays = [stored[name] for name in stored.files]
    inputs, options = put_together(request["inputs"], arrays)
    answer, weights = _answer(request["file"], inputs, options | {"layers": request["layers"]})
    np.savez(folder / "weights.npz", *weights)
    (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")


def _answer(file, inputs, options) -> tuple[dict[str, Any], list[np.ndarray]]:
    recording = load_upper_floor("inspection.attention_of")
    try:
        model = recording.keras.saving.load_model(file, compile=False, safe_mode=False)
    except Exception as error:
        return _failed("class" if _UNKNOWN_CLASS.search(str(error)) else "open", error), []
    try:
        found = recording.attention_of(model, *inputs, **options)
    except NoAttentionError as problem:
        return {"failed": "none", "problem": problem.to_json()}, []
    except Problem as problem:
        return {"failed": "layers", "problem": problem.to_json()}, []
    except Exception as error:
        return _failed("call", error), []
    left_out = {name: reason.to_json() for name, reason in found.left_out.items()}
    return {"names": list(found), "left_out": left_out}, list(found.values())


def _failed(how, error):
    return {"failed": how, "reason": f"{type(error).__name__}: {_BOLD.sub('', str(error))}"}
