"""Checks of the installation: versions, memory, disk, folders and engine, with remedies."""

import os
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import psutil
from packaging.requirements import Requirement

from transformer_viz import store
from transformer_viz.network.startup import load_upper_floor
from transformer_viz.runs import runs_folder
from transformer_viz.service.engine import Engine, EngineError
from transformer_viz.store.places import command, is_installed, is_shipped
from transformer_viz.values.request import Request

PYTHONS = ((3, 11), (3, 13))
"""Oldest and newest Python tested with the pinned packages."""

DISTRIBUTION = "transformer-viz"
REQUIREMENTS = Path(__file__).parents[2] / "requirements.in"
INSTALL = "pip install -r requirements.txt"

MIN_MEMORY = 2e9
"""Bytes needed by the server, its engine and a small training."""

MIN_DISK = 1e9
"""Bytes needed by a few trainings and models."""

PORT = 8501
"""Streamlit's default port."""


class Finding(NamedTuple):
    """The result of one check.

    Attributes:
        subject: Subject of the check: "tensorflow", "memory".
        fact: Its state.
        remedy: How to fix it; "" if all is well.
    """

    subject: str
    fact: str
    remedy: str = ""


def examine() -> Iterator[Finding]:
    """Run all checks; the last one, of the engine, takes some seconds."""
    yield python()
    missing = False
    for finding in packages():
        missing = missing or finding.fact == "missing"
        yield finding
    yield memory()
    yield from folder("models", store.models_folder())
    yield from broken_models()
    yield from folder("runs", runs_folder())
    yield port()
    if not missing:
        yield devices()
        yield engine()


def python() -> Finding:
    """Check the version of Python."""
    found, (oldest, newest) = sys.version_info[:2], PYTHONS
    remedy = ""
    if not oldest <= found <= newest:
        remedy = (
            f"Use Python {_dotted(oldest)} to {_dotted(newest)}: the pinned packages have no other builds."
        )
    return Finding("python", sys.version.split()[0], remedy)


def packages() -> Iterator[Finding]:
    """Check each required package: against its pin in a checkout, against a range in an installation."""
    if is_installed():
        yield from packages_in_range()
        return
    for name, pin in pins().items():
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield Finding(name, "missing", INSTALL)
            continue
        remedy = "" if found == pin else f"{pin} is what the app was tested with: {INSTALL}"
        yield Finding(name, found, remedy)


def packages_in_range() -> Iterator[Finding]:
    """Check each package that the installed app requires."""
    for line in metadata.requires(DISTRIBUTION) or ():
        requirement = Requirement(line)
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        install = f'pip install "{requirement.name}{requirement.specifier}"'
        try:
            found = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            yield Finding(requirement.name, "missing", install)
            continue
        yield Finding(requirement.name, found, "" if requirement.specifier.contains(found) else install)


def pins() -> dict[str, str]:
    """Return package -> version pinned in `requirements.in`."""
    text = REQUIREMENTS.read_text(encoding="utf-8") if REQUIREMENTS.exists() else ""
    return dict(re.findall(r"^([a-z0-9_-]+)==([^\s;\\]+)", text, re.MULTILINE))


def memory() -> Finding:
    """Check the free memory."""
    found = psutil.virtual_memory()
    fact = f"{found.available / 1e9:.1f} of {found.total / 1e9:.1f} GB free"
    remedy = f"Close other programs: the app needs about {MIN_MEMORY / 1e9:.0f} GB."
    return Finding("memory", fact, remedy if found.available < MIN_MEMORY else "")


def folder(name: str, place: Path) -> Iterator[Finding]:
    """Check that a folder can be written, and the free space on its disk."""
    variable = f"TRANSFORMER_VIZ_{name.upper()}"
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place, prefix=".tmp-doctor-"):
            pass
    except OSError as error:
        remedy = f"Make it writable for this user, or set {variable} to another folder."
        yield Finding(name, f"{place} cannot be written: {error.strerror}", remedy)
        return
    free = shutil.disk_usage(place).free
    remedy = f"Make space, or set {variable} to a folder on another disk."
    fact = f"{place}, {free / 1e9:.1f} GB free"
    yield Finding(name, fact, remedy if free < MIN_DISK else "")


def broken_models() -> Iterator[Finding]:
    """Check each model on the shelf; report those that cannot be used."""
    try:
        models = store.list_models()
    except store.ModelError as error:
        yield Finding("models", str(error), "Set TRANSFORMER_VIZ_MODELS to another folder.")
        return
    yield Finding("models", f"{sum(not model.problem for model in models)} can be opened")
    for model in models:
        if model.problem:
            remedy = "Delete it on the Models page, or copy it here again."
            if is_shipped(model.path.parent):
                remedy = "Install Transformer Viz again."
            yield Finding(model.name, model.problem, remedy)


def port() -> Finding:
    """Check that the app's port is free; it may be in use by the app itself."""
    number = int(os.environ.get("STREAMLIT_SERVER_PORT") or PORT)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", number))
        except OSError:
            return Finding("port", f"{number} is in use; if not by this app: {command()} --port 8502")
    return Finding("port", f"{number} is free")


def devices() -> Finding:
    """List the devices of TensorFlow."""
    gpus = load_upper_floor("inspection.explorer").gpus()
    install = (
        'pip install "transformer-viz[gpu]"' if is_installed() else "pip install -r requirements-gpu.txt"
    )
    hint = "" if gpus else f" (no GPU found; for NVIDIA on Linux: {install})"
    return Finding("devices", ", ".join(["CPU", *gpus]) + hint)


def engine() -> Finding:
    """Start the engine as the app does, and let it answer a request to the first model."""
    model = next((model for model in store.list_models() if not model.problem), None)
    started, begin = Engine(), time.monotonic()
    try:
        if model is None:
            started.check()
        else:
            started.answer(Request(model.name, "1 2 3"))
    except (EngineError, ValueError) as error:
        remedy = "See whether memory is left and all packages are installed; then start the app again."
        return Finding("engine", f"does not answer: {error}", remedy)
    finally:
        started.close()
    return Finding("engine", f"answers {time.monotonic() - begin:.1f} s after its start")


def _dotted(version):
    return ".".join(map(str, version))
