"""Opening a page without the part of its address that breaks it.

A page that fails is run again: as it was, since an act of the visitor may have failed and not what is shown;
then without each part of its address; then without any choice. The first of these runs that succeeds stays,
and says what it left out. If all fail, everything is put back, and the error is shown.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import streamlit as st

from transformer_viz.ui.shell.address import LAST_SET
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.unexpected import note_unexpected, show_report, show_unexpected

RECOVERY = "recovery"
"""Session key of what is being tried."""

NEVER_LEFT_OUT = ("lang",)
"""Parts of the address that break no page."""

SESSION_KEYS = {"text": "sentence", "show": "shown"}
"""Part of the address -> its session key, where they differ."""

MAX_CHARS = 60
"""Most characters of a part that is named."""


@dataclass
class Recovery:
    """What is being tried after an error.

    Attributes:
        error: The first error.
        address: The address at that time.
        choices: Session key -> value of what is kept there and in the address.
        trials: Parts to leave out in this run and in the next ones; None: all choices.
    """

    error: Exception
    address: dict[str, str]
    choices: dict[str, object]
    trials: list[tuple[str, ...] | None]


def begin_run() -> None:
    """Leave out what this run is to try without."""
    recovery: Recovery | None = st.session_state.get(RECOVERY)
    if recovery is None:
        return
    st.session_state.update(recovery.choices)
    st.query_params.from_dict(recovery.address)
    left_out = recovery.trials[0] if recovery.trials else ()
    for name in [*recovery.address, *recovery.choices] if left_out is None else left_out:
        if name not in NEVER_LEFT_OUT:
            st.session_state.pop(SESSION_KEYS.get(name, name), None)
            st.query_params.pop(name, None)


@contextlib.contextmanager
def whole_run() -> Iterator[None]:
    """Run the whole page, and say above it what was left out; if it fails, run it in another way.

    Raises:
        Exception: The first error, if nothing is left to be tried.
    """
    recovery: Recovery | None = st.session_state.get(RECOVERY)
    if recovery and not recovery.trials:
        del st.session_state[RECOVERY]
        raise recovery.error
    place = st.container() if recovery else None
    with recovered():
        yield
    if recovery and place:
        del st.session_state[RECOVERY]
        with place:
            _show_left_out(recovery)


@contextlib.contextmanager
def recovered() -> Iterator[None]:
    """Run a part of the page; if it fails, run the whole in another way."""
    try:
        yield
    except Exception as error:
        recovery: Recovery | None = st.session_state.get(RECOVERY)
        if recovery is None:
            st.session_state[RECOVERY] = _begun(error)
        else:
            del recovery.trials[0]
        st.rerun()


def _begun(error):
    address, state = st.query_params.to_dict(), st.session_state
    choices = {name: state[name] for name in state.get(LAST_SET, ()) if name in state}
    parts = [(name,) for name in address if name not in NEVER_LEFT_OUT]
    return Recovery(error, address, choices, [(), *parts, None])


def _show_left_out(recovery):
    left_out = recovery.trials[0]
    if left_out == ():
        show_unexpected(recovery.error)
        return
    number = note_unexpected(recovery.error)
    said = t("recovery.all", number=number)
    if left_out is not None:
        said = t("recovery.part", part=_part(recovery, left_out[0]), number=number)
    st.warning(said, icon=":material/link_off:")
    show_report(recovery.error, number)


def _part(recovery, name):
    """Return a part of the address for people."""
    text = f"{name}={recovery.address[name]}"
    return escaped(text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…")
