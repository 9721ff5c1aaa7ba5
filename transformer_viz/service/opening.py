"""The answers that the app opens with, and why, kept on disk: both stand while a new server loads Keras.

It holds only as long as neither the model nor the code of this package has changed. For the first
start of all, they are shipped beside the models; a test compares them with what these compute.
"""

import contextlib
import functools
import hashlib
import os
from pathlib import Path

from transformer_viz import store
from transformer_viz.questions.effects.request import EffectsRequest
from transformer_viz.questions.effects.result import Effects
from transformer_viz.store.folders import new_file
from transformer_viz.store.places import PACKAGE, app_folder, cache_folder
from transformer_viz.trace.request import Request
from transformer_viz.trace.top_tokens import is_whole
from transformer_viz.trace.trace import Trace
from transformer_viz.version import __version__

MAX_BYTES = 32 * 2**20
"""Size of a trace in bytes from which on it is not kept."""

NAMES = {Request: "opening", EffectsRequest: "effects"}
"""What is asked -> how the names of its files begin; only the last answer to each of a model is kept."""


def kept_answer(request: Request | EffectsRequest) -> Trace | Effects | None:
    """Return the answer that an earlier server kept, or the shipped one; None: there is none that holds."""
    kind = Trace if isinstance(request, Request) else Effects
    for path in (_path, shipped_path):
        with contextlib.suppress(OSError, ValueError):
            return kind.load(path(request))
    return None


def keep_answer(request: Request | EffectsRequest, answer: Trace | Effects) -> None:
    """Keep an answer for later servers, in place of the former one; a folder that cannot be written to keeps
    none.
    """
    if answer.nbytes > MAX_BYTES or (isinstance(answer, Trace) and not is_whole(answer)):
        return
    with contextlib.suppress(OSError):
        path = _path(request)
        path.parent.mkdir(parents=True, exist_ok=True)
        former = {*path.parent.glob(f"{name_of(request)}-*.npz")} - {path}
        with new_file(path) as temporary:
            answer.save(temporary)
        for each in former:
            each.unlink(missing_ok=True)


def shipped_path(request: Request | EffectsRequest) -> Path:
    """Return the file beside the shipped models of a request to a model of these parameters.

    Raises:
        ModelError: If there is no such model.
    """
    facts = store.read_hash(request.model), request.of_model("").to_json()
    name = f"{name_of(request)}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:12]}.npz"
    return app_folder() / "models" / name


def name_of(request: Request | EffectsRequest) -> str:
    """Return how the names of files with answers to what is asked of a model begin."""
    return f"{NAMES[type(request)]}-{os.path.basename(request.model)}"


def _path(request: Request | EffectsRequest) -> Path:
    """Return the file of a request to this model, as computed by this code."""
    facts = (request.to_json(), store.stamp(request.model), __version__, _code())
    return cache_folder() / f"{name_of(request)}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:32]}.npz"


@functools.cache
def _code():
    """Return when the code of this package was last changed, in nanoseconds."""
    return max(path.stat().st_mtime_ns for path in PACKAGE.rglob("*.py"))
