"""What is written so far and which step of it is shown: kept in the URL, with the steps before for "Undo"."""

from typing import Any, NamedTuple, Self

import streamlit as st

from transformer_viz.ui.shell.address import keep, to_address
from transformer_viz.ui.shell.session import is_history_navigation
from transformer_viz.values.config import END_ID, TransformerConfig, never_written

KEY = "written"
"""Name in the URL and in the session."""

WRITTEN_FOR, BEFORE = "written-for", "written-before"
"""Session keys: the model and the text that are continued, and what was written before, the latest last."""

MAX_BEFORE = 200
"""Most steps that can be undone."""


class Steps(NamedTuple):
    """The token ids written so far, and the number of the one that is being chosen.

    Attributes:
        ids: [END] only as the last.
        step: At most the number of ids; one less if the last is [END].
        end_id: Id of [END].
    """

    ids: tuple[int, ...] = ()
    step: int = 0
    end_id: int = END_ID

    @classmethod
    def read(cls, text: str, config: TransformerConfig, most: int) -> Self:
        """Read the result of `text`; no steps if it is none.

        Args:
            text: Any text.
            config: Of the model that writes.
            most: Most tokens that can be written.
        """
        size, end_id = config.num_outputs, config.end_id
        nothing, never = cls(end_id=end_id), never_written(config)
        before, mark, after = text.partition("-")
        try:
            ids = tuple(map(int, before.split("."))) if before else ()
            step = int(after) if mark else len(ids)
        except ValueError:
            return nothing
        are_possible = all(0 <= token < size and token not in never for token in ids)
        if not are_possible or end_id in ids[:-1] or len(ids) > most:
            return nothing
        steps = cls(ids, step, end_id)
        return steps._replace(step=min(max(step, 0), steps.last(most)))

    def text(self) -> str:
        """Return the steps for the URL: the ids, and the number of the step if it is not the next one."""
        ids = ".".join(map(str, self.ids))
        return ids if self.step == len(self.ids) else f"{ids}-{self.step}"

    @property
    def has_ended(self) -> bool:
        """Whether [END] was written."""
        return self.ids[-1:] == (self.end_id,)

    def last(self, most: int) -> int:
        """Return the number of the last step, if at most so many tokens can be written."""
        return len(self.ids) - (self.has_ended or len(self.ids) == most)

    def before(self) -> Self:
        """Return the steps without the token of the one that is shown, and those behind it."""
        return self._replace(ids=self.ids[: self.step])

    def with_token(self, token: int) -> Self:
        """Return the steps after a token was chosen: what follows another one than before is cut."""
        ids, step = self.ids, self.step
        if ids[step : step + 1] != (token,):
            ids = (*ids[:step], token)
        return self._replace(ids=ids, step=step + 1)


def kept_steps(continued: tuple[str, str], config: TransformerConfig, most: int) -> Steps:
    """Return the steps of the session or the URL; those of another model or text are dropped.

    Args:
        continued: Model and text.
        config: Of the model.
        most: Most tokens that can be written.
    """
    if st.session_state.setdefault(WRITTEN_FOR, continued) != continued and not is_history_navigation():
        st.session_state[KEY] = ""
        st.session_state[BEFORE] = []
    st.session_state[WRITTEN_FOR] = continued
    keep(KEY, st.query_params.get(KEY, ""))
    steps = Steps.read(st.session_state[KEY], config, most)
    st.session_state[KEY] = steps.text()  # as it is told to the view, also if a link has it in another form
    to_address(KEY, steps.text())
    return steps


def can_undo() -> bool:
    """Return whether there is a step to take back."""
    return bool(st.session_state.get(BEFORE))


def act(acted: dict[str, Any], config: TransformerConfig, most: int) -> None:
    """Do what the visitor asks of the view, unless something else is written by now.

    Args:
        acted: "do": "write" (a "token" "at" a step), "take" (several
            "ids"), "step" (go to one), "undo" or "restart"; "of": what was
            written when it was asked.
        config: Of the model.
        most: Most tokens that can be written.
    """
    if acted["of"] != st.session_state[KEY]:
        return
    steps = Steps.read(st.session_state[KEY], config, most)
    before = st.session_state.setdefault(BEFORE, [])
    match acted["do"]:
        case "undo":
            if before:
                st.session_state[KEY] = before.pop()
            return
        case "write":
            wanted = steps.with_token(int(acted["token"]))
        case "take":
            ids = (*steps.ids[: steps.step], *map(int, acted["ids"]))
            wanted = steps._replace(ids=ids, step=len(ids))
        case "step":
            wanted = steps._replace(step=int(acted["step"]))
        case _:
            wanted = Steps()
    wanted = Steps.read(wanted.text(), config, most)
    if acted["do"] != "step":
        st.session_state[BEFORE] = [*before, st.session_state[KEY]][-MAX_BEFORE:]
    st.session_state[KEY] = wanted.text()
