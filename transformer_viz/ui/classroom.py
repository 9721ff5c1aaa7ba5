"""Classroom mode: a shelf that stays as it is, and a place of their own for each visitor.

It is switched on by the environment: TRANSFORMER_VIZ_CLASSROOM=1. A visitor is told from others by a cookie
that the server sets, or by a login if one is set up. TRANSFORMER_VIZ_TEACHER opens the teacher's page.
"""

import functools
import hashlib
import os
import secrets
from http.cookies import SimpleCookie
from pathlib import Path

import streamlit as st

from transformer_viz.runs import runs_folder
from transformer_viz.ui.login import account

COOKIE = "transformer-viz-visitor"
"""Holds a random word, new for each browser."""

DAYS = 180
"""For which a browser keeps it."""

TEACHER = "teacher"
"""Parameter of the address that holds the teacher's word."""

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


def own_models(owner: str) -> Path:
    """Return the folder of models of one visitor."""
    return runs_folder() / "visitors" / owner / "models"


def is_teacher() -> bool:
    """Return whether the visitor has shown the teacher's word, which is then taken out of the address."""
    if not is_classroom():
        return False
    shown = st.query_params.get(TEACHER, "")
    if shown:
        del st.query_params[TEACHER]
        if secrets.compare_digest(shown.encode(), teacher_word().encode()):
            _teachers.add(owner())
    return owner() in _teachers


@functools.cache
def teacher_word() -> str:
    """Return the word that opens the teacher's page: TRANSFORMER_VIZ_TEACHER, or a new one for each start."""
    return os.environ.get("TRANSFORMER_VIZ_TEACHER") or secrets.token_hex(16)


def set_cookie(request_headers, secure: bool) -> str | None:
    """Return the header that gives a browser its cookie; None if it has one."""
    if COOKIE in SimpleCookie(request_headers.get("cookie", "")):
        return None
    cookie = SimpleCookie({COOKIE: secrets.token_hex(16)})
    cookie[COOKIE] |= {"path": "/", "httponly": True, "samesite": "Lax", "max-age": DAYS * 24 * 60 * 60}
    if secure:
        cookie[COOKIE]["secure"] = True
    return cookie.output(header="").strip()
