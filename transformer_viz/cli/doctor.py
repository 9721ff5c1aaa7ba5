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
from transformer_viz.cli.language import localized, t, words
from transformer_viz.extras import APP, MODELS
from transformer_viz.network.startup import import_with_keras
from transformer_viz.service.engine import Engine, EngineError
from transformer_viz.store.places import command, is_installed, is_shipped
from transformer_viz.trace.request import Request
from transformer_viz.training.runs.listing import runs_folder

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
        is_missing: Whether it is a package that is not installed.
    """

    subject: str
    fact: str
    remedy: str = ""
    is_missing: bool = False


def examine() -> Iterator[Finding]:
    """Run all checks; the last one, of the engine, takes some seconds."""
    yield python()
    missing = False
    for finding in packages():
        missing = missing or finding.is_missing
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
        remedy = t("doctor.python", oldest=_dotted(oldest), newest=_dotted(newest))
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
            yield Finding(name, t("doctor.missing"), INSTALL, is_missing=True)
            continue
        remedy = "" if found == pin else t("doctor.tested", version=pin, command=INSTALL)
        yield Finding(name, found, remedy)


def packages_in_range() -> Iterator[Finding]:
    """Check each package that the installed app requires."""
    for line in metadata.requires(DISTRIBUTION) or ():
        requirement = Requirement(line)
        marker = requirement.marker
        is_asked = marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", MODELS, APP))
        if not is_asked or requirement.name == DISTRIBUTION:
            continue
        install = f'pip install "{requirement.name}{requirement.specifier}"'
        try:
            found = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            yield Finding(requirement.name, t("doctor.missing"), install, is_missing=True)
            continue
        yield Finding(requirement.name, found, "" if requirement.specifier.contains(found) else install)


def pins() -> dict[str, str]:
    """Return package -> version pinned in `requirements.in`."""
    text = REQUIREMENTS.read_text(encoding="utf-8") if REQUIREMENTS.exists() else ""
    return dict(re.findall(r"^([a-z0-9_-]+)==([^\s;\\]+)", text, re.MULTILINE))


def memory() -> Finding:
    """Check the free memory."""
    found = psutil.virtual_memory()
    fact = t("doctor.memory", free=found.available / 1e9, total=found.total / 1e9)
    remedy = t("doctor.memory.low", least=MIN_MEMORY / 1e9)
    return Finding("memory", fact, remedy if found.available < MIN_MEMORY else "")


def folder(name: str, place: Path) -> Iterator[Finding]:
    """Check that a folder can be written, and the free space on its disk."""
    variable = f"TRANSFORMER_VIZ_{name.upper()}"
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place, prefix=".tmp-doctor-"):
            pass
    except OSError as error:
        reason = words().translate(error.strerror or str(error), under="error.reason.")
        remedy = t("doctor.folder.unwritable.remedy", variable=variable)
        yield Finding(name, t("doctor.folder.unwritable", place=place, reason=reason), remedy)
        return
    free = shutil.disk_usage(place).free
    remedy = t("doctor.folder.full", variable=variable)
    fact = t("doctor.folder", place=place, free=free / 1e9)
    yield Finding(name, fact, remedy if free < MIN_DISK else "")


def broken_models() -> Iterator[Finding]:
    """Check each model on the shelf; report those that cannot be used."""
    try:
        models = store.list_models()
    except store.ModelError as error:
        yield Finding("models", localized(error), t("doctor.models.folder"))
        return
    yield Finding("models", t("doctor.models", count=sum(not model.problem for model in models)))
    for model in models:
        if model.error:
            remedy = t("doctor.models.install" if is_shipped(model.path.parent) else "doctor.models.broken")
            yield Finding(model.name, localized(model.error), remedy)


def port() -> Finding:
    """Check that the app's port is free; it may be in use by the app itself."""
    number = int(os.environ.get("STREAMLIT_SERVER_PORT") or PORT)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", number))
        except OSError:
            return Finding("port", t("doctor.port.used", number=number, command=f"{command()} --port 8502"))
    return Finding("port", t("doctor.port", number=number))


def devices() -> Finding:
    """List the devices of TensorFlow."""
    gpus = import_with_keras("explorer.explorer").gpus()
    install = (
        'pip install "transformer-viz[gpu]"' if is_installed() else "pip install -r requirements-gpu.txt"
    )
    hint = "" if gpus else t("doctor.devices", command=install)
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
        return Finding(
            "engine", t("doctor.engine.silent", reason=localized(error)), t("doctor.engine.remedy")
        )
    finally:
        started.close()
    return Finding("engine", t("doctor.engine", seconds=time.monotonic() - begin))


def _dotted(version):
    return ".".join(map(str, version))
