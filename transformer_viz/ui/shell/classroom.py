"""Classroom mode: a shelf that stays as it is, and a place of their own for each visitor.

It is switched on by the environment: TRANSFORMER_VIZ_CLASSROOM=1. A visitor is told from others by a cookie
that the server sets, or by a login if one is set up. TRANSFORMER_VIZ_TEACHER opens the teacher's page.
"""

import contextlib
import functools
import hashlib
import os
import re
import secrets
import shutil
import time
from http.cookies import SimpleCookie
from pathlib import Path

import streamlit as st

from transformer_viz.runs import RunError, TrainingRun, list_runs, runs_folder
from transformer_viz.ui.shell.login import account

COOKIE = "transformer-viz-visitor"
"""Holds a random word, new for each browser."""

DAYS = 180
"""For which a browser keeps it after each visit."""

KEPT_DAYS = 30
"""After which the trainings and models of a visitor who has not come again are removed."""

SHORT = 4
"""Letters of the opaque word by which a visitor and the teacher speak of one."""

TEACHER = "teacher"
"""Parameter of the address that holds the teacher's word."""

_WORD = re.compile("[0-9a-f]{32}")
"""What the server gives as a cookie."""

_teachers: set[str] = set()
"""Visitors who have shown the teacher's word since the server started."""


def is_classroom() -> bool:
    """Return whether classroom mode is on."""
    return os.environ.get("TRANSFORMER_VIZ_CLASSROOM", "0") not in ("", "0")


def owner() -> str:
    """Return who the visitor is, as an opaque word; "" outside of classroom mode, where all share all.

    A browser without cookies is somebody else after each reload.
    """
    if not is_classroom():
        return ""
    word = (
        account()
        or st.context.cookies.get(COOKIE)
        or st.session_state.setdefault(COOKIE, secrets.token_hex(16))
    )
    return owner_of(word)


def owner_of(word: str) -> str:
    """Return the opaque word for a cookie or an account: it names folders, and does not give either away."""
    return hashlib.sha256(word.encode()).hexdigest()[:16]


def short_name(owner: str) -> str:
    """Return what a visitor is called on pages; "" for nobody in particular."""
    return owner[:SHORT]


def own_runs() -> list[TrainingRun]:
    """Return the trainings that the visitor may see, stop and delete, the newest first."""
    return list_runs(owner=owner() if is_classroom() else None)


def visitors_folder() -> Path:
    """Return the folder that holds a folder for each visitor who has trained or kept something."""
    return Path(os.path.abspath(runs_folder())) / "visitors"


def own_models(owner: str) -> Path:
    """Return the folder of models of one visitor."""
    return visitors_folder() / owner / "models"


def keep_visitor() -> None:
    """Make the visitor's folder, whose time says when they were here the last time; outside of a class none.

    What cannot be written is said where it matters: when something is to be kept in it.
    """
    if is_classroom():
        with contextlib.suppress(OSError):
            (visitors_folder() / owner()).mkdir(parents=True, exist_ok=True)


def greet() -> None:
    """At the beginning of a session, note that the visitor has come again, and see who has not."""
    if not is_classroom() or "greeted" in st.session_state:
        return
    st.session_state.greeted = True
    with contextlib.suppress(OSError):
        os.utime(visitors_folder() / owner())
    sweep_visitors()


def sweep_visitors() -> None:
    """Remove the trainings and models of visitors who have not come for so many days; raises nothing."""
    places = []
    with contextlib.suppress(OSError):
        places = list(visitors_folder().iterdir())
    for place in places:
        with contextlib.suppress(OSError):
            if time.time() - place.stat().st_mtime >= KEPT_DAYS * 24 * 60 * 60:
                remove_visitor(place)


def remove_visitor(place: Path) -> None:
    """Remove the trainings of a visitor and, once none is left, the visitor's folder."""
    for run in list_runs(owner=place.name):
        with contextlib.suppress(RunError):
            run.delete()
    if not list_runs(owner=place.name):
        shutil.rmtree(place, ignore_errors=True)


def is_teacher() -> bool:
    """Return whether the visitor has shown the teacher's word, which is then taken out of the address."""
    if not is_classroom():
        return False
    if TEACHER in st.query_params:
        shown = st.query_params[TEACHER]
        del st.query_params[TEACHER]
        if secrets.compare_digest(shown.encode(), teacher_word().encode()):
            _teachers.add(owner())
    return owner() in _teachers


@functools.cache
def teacher_word() -> str:
    """Return the word that opens the teacher's page: TRANSFORMER_VIZ_TEACHER, or a new one for each start."""
    return os.environ.get("TRANSFORMER_VIZ_TEACHER") or secrets.token_hex(16)


def set_cookie(request_headers, secure: bool) -> str | None:
    """Return the header that gives a browser its cookie, or lets it keep that for as long again.

    None if it sends something else under that name.
    """
    sent = (cookie.strip().partition("=") for cookie in request_headers.get("cookie", "").split(";"))
    words = [word for name, _, word in sent if name == COOKIE and word]
    word = words[0] if words else secrets.token_hex(16)
    if not _WORD.fullmatch(word):
        return None
    cookie = SimpleCookie({COOKIE: word})
    cookie[COOKIE] |= {"path": "/", "httponly": True, "samesite": "Lax", "max-age": DAYS * 24 * 60 * 60}
    if secure:
        cookie[COOKIE]["secure"] = True
    return cookie.output(header="").strip()
