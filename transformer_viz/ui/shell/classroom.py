"""Classroom mode: a read-only shelf, and a folder for each visitor.

TRANSFORMER_VIZ_CLASSROOM=1 turns it on. Visitors are identified by a cookie, or by a login if one is set up.
TRANSFORMER_VIZ_TEACHER is the secret that opens the teacher's page.
"""

import contextlib
import functools
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Mapping
from http.cookies import SimpleCookie
from pathlib import Path

import streamlit as st

from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.listing import list_runs, runs_folder
from transformer_viz.ui.shell.login import account

COOKIE = "transformer-viz-visitor"
"""Cookie with a random token, one per browser."""

DAYS = 180
"""Lifetime of the cookie after each visit, in days."""

KEPT_DAYS = 30
"""Days without a visit after which a visitor's training runs and models are put away, and days after which
they are then removed.
"""

RUNS = "runs"
"""Folder within a visitor's that has been put away: the visitor's training runs."""

SHORT = 4
"""Characters of the id that pages show for a visitor."""

TEACHER = "teacher"
"""URL parameter with the teacher's secret."""

_AWAY = re.compile(r"\.away-([0-9a-f]+)-(\d+)")

_TOKEN = re.compile("[0-9a-f]{32}")
"""A cookie value that the server has set."""

_teachers: set[str] = set()
"""Visitors who have presented the teacher's secret since the server started."""


def is_classroom() -> bool:
    """Return whether classroom mode is on."""
    return os.environ.get("TRANSFORMER_VIZ_CLASSROOM", "0") not in ("", "0")


def owner() -> str:
    """Return the visitor's opaque id; "" outside classroom mode, where everything is shared.

    A browser without cookies gets a new id with each reload.
    """
    if not is_classroom():
        return ""
    token = (
        account()
        or st.context.cookies.get(COOKIE)
        or st.session_state.setdefault(COOKIE, secrets.token_hex(16))
    )
    return owner_of(token)


def is_known() -> bool:
    """Return whether the visitor can be told from others: by a login, or a cookie that came back.

    A program that keeps no cookie would be a new visitor with each session.
    """
    if not is_classroom():
        return True
    return bool(account() or _TOKEN.fullmatch(st.context.cookies.get(COOKIE) or ""))


def owner_of(token: str) -> str:
    """Return the opaque id of a cookie or an account, which reveals neither; it names folders."""
    return hashlib.sha256(token.encode()).hexdigest()[:16]


def short_name(owner: str) -> str:
    """Return the id that pages show for a visitor; "" for no owner."""
    return owner[:SHORT]


def own_runs() -> list[TrainingRun]:
    """Return the training runs that the visitor may see, stop and delete, newest first."""
    return list_runs(owner=owner() if is_classroom() else None)


def visitors_folder() -> Path:
    """Return the folder of the visitors' folders."""
    return Path(os.path.abspath(runs_folder())) / "visitors"


def own_models(owner: str) -> Path:
    """Return the models folder of a visitor."""
    return visitors_folder() / owner / "models"


def keep_visitor() -> None:
    """Create the visitor's folder, whose modification time is that of the last visit; only in classroom mode.

    Ignores errors: they are reported when something is saved in it.
    """
    if is_classroom():
        with contextlib.suppress(OSError):
            (visitors_folder() / owner()).mkdir(parents=True, exist_ok=True)


def record_visit() -> None:
    """At the start of a session, record the visit, and put the things of absent visitors away."""
    if not is_classroom() or "greeted" in st.session_state:
        return
    st.session_state.greeted = True
    bring_back(owner())
    with contextlib.suppress(OSError):
        os.utime(visitors_folder() / owner())
    sweep_visitors()


def sweep_visitors() -> None:
    """Put away the training runs and models of visitors absent for `KEPT_DAYS`; raises nothing.

    They are removed after another `KEPT_DAYS`: a clock that runs ahead once must not cost anybody anything.
    """
    places = []
    with contextlib.suppress(OSError):
        places = list(visitors_folder().iterdir())
    now, kept = time.time(), KEPT_DAYS * 24 * 60 * 60
    for place in places:
        with contextlib.suppress(OSError):
            if away := _AWAY.fullmatch(place.name):
                if now - int(away[2]) >= kept:
                    shutil.rmtree(place, ignore_errors=True)
            elif now - place.stat().st_mtime >= kept:
                put_away(place)


def put_away(place: Path) -> None:
    """Move the training runs of a visitor into the visitor's folder, and that one into the trash beside it.

    A visitor whose training is at work is left alone.

    Raises:
        OSError: If something cannot be moved; the next sweep goes on with it.
    """
    runs = list_runs(owner=place.name)
    if any(run.status == "running" for run in runs):
        return
    (place / RUNS).mkdir(exist_ok=True)
    for run in runs:
        os.rename(run.path, place / RUNS / run.id)
    os.rename(place, place.with_name(f".away-{place.name}-{int(time.time())}"))


def bring_back(owner: str) -> None:
    """Move what was put away of a visitor back to where it was, as far as possible; raises nothing."""
    home = visitors_folder() / owner
    with contextlib.suppress(OSError):
        for place in sorted(visitors_folder().glob(f".away-{owner}-*")):
            _move_into(place, home, depth=1)
        _move_into(home / RUNS, Path(runs_folder()))


def _move_into(place, folder, depth=0):
    """Move what is in a folder into another, and remove the folder if nothing is left in it.

    What has the name of something there stays; of folders in the first `depth` levels, the content is moved.
    """
    folder.mkdir(exist_ok=True)
    for each in sorted(place.iterdir()):
        target = folder / each.name
        if not target.exists():
            os.rename(each, target)
        elif depth:
            _move_into(each, target, depth - 1)
    with contextlib.suppress(OSError):
        place.rmdir()


def is_teacher() -> bool:
    """Return whether the visitor has presented the teacher's secret; remove it from the URL."""
    if not is_classroom():
        return False
    if TEACHER in st.query_params:
        shown = st.query_params[TEACHER]
        del st.query_params[TEACHER]
        if secrets.compare_digest(shown.encode(), teacher_secret().encode()):
            _teachers.add(owner())
    return owner() in _teachers


@functools.cache
def teacher_secret() -> str:
    """Return the teacher's secret: TRANSFORMER_VIZ_TEACHER, or a random one per server start."""
    return os.environ.get("TRANSFORMER_VIZ_TEACHER") or secrets.token_hex(16)


def set_cookie(request_headers: Mapping[str, str], secure: bool) -> str | None:
    """Return the Set-Cookie header that sets the visitor's cookie or renews it.

    None if the browser sent an invalid value.
    """
    sent = (cookie.strip().partition("=") for cookie in request_headers.get("cookie", "").split(";"))
    tokens = [token for name, _, token in sent if name == COOKIE and token]
    token = tokens[0] if tokens else secrets.token_hex(16)
    if not _TOKEN.fullmatch(token):
        return None
    cookie = SimpleCookie({COOKIE: token})
    cookie[COOKIE] |= {"path": "/", "httponly": True, "samesite": "Lax", "max-age": DAYS * 24 * 60 * 60}
    if secure:
        cookie[COOKIE]["secure"] = True
    return cookie.output(header="").strip()
