"""The choice of a mask, a named or a painted one, kept in the URL."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from transformer_viz.analysis import mask_from_bits, mask_to_bits, named_mask
from transformer_viz.ui.shell.address import choose_number, choose_whether, from_address, to_address
from transformer_viz.ui.shell.language import t

MASK_CHOICES = ("own", "causal", "padding", "window", "none", "painted")

UNORDERED_CHOICES = ("own", "padding", "none", "painted")
"""Choices for cross-attention, where keys do not precede or follow queries."""

MAX_PAINTED = 32
"""Maximum number of tokens of a painted mask: its bits must fit into a URL."""

MAX_PADDING = 12
"""Maximum number of appended [PAD]."""

FIRST_PADDING = 4
"""Number of [PAD] appended when the padding mask is chosen and there are none."""


@dataclass(frozen=True)
class Choice:
    """The chosen mask and padding.

    Attributes:
        kind: One of `MASK_CHOICES`.
        reach: Radius of a window.
        causal: Whether a padding mask or a window also hides later keys.
        padding: Number of appended [PAD].
    """

    kind: str
    reach: int = 1
    causal: bool = False
    padding: int = 0

    @property
    def name(self) -> str | None:
        """Name for `analysis.named_mask`; None for the model's own and painted masks."""
        if self.kind in ("own", "painted"):
            return None
        name = f"window:{self.reach}" if self.kind == "window" else self.kind
        return f"{name}+causal" if self.causal else name


def ask_mask(size: int, room: int, *, ordered: bool) -> Choice:
    """Show the choice of mask and padding.

    Args:
        size: Number of queries or keys without padding, whichever is larger.
        room: Maximum number of [PAD] that the model can take.
        ordered: Whether queries and keys are the same tokens.
    """
    first = "causal" if ordered else "padding"
    kinds = [
        kind
        for kind in (MASK_CHOICES if ordered else UNORDERED_CHOICES)
        if kind != "painted" or size <= MAX_PAINTED
    ]
    before = st.session_state.get("mask")
    from_address("mask", kinds, first)
    limit = room = min(MAX_PADDING, room)
    if before not in (None, st.session_state.mask):
        start_padding(limit)
    if st.session_state.mask == "painted":
        limit = min(limit, MAX_PAINTED - size)
    with st.container(horizontal=True, vertical_alignment="bottom", key="mask-choice"):
        kind = st.segmented_control(
            t("masks.mask"),
            kinds,
            format_func=lambda kind: t(f"masks.kind_{kind}"),
            key="mask",
            persist_state="session",
            required=True,
            on_change=start_padding,
            args=(room,),
            help=t("masks.mask_help"),
        )
        kind = kind or first
        padding = ask_padding(limit, min(FIRST_PADDING, limit) if kind == first == "padding" else 0)
        reach = ask_reach(size) if kind == "window" else 1
        causal = (
            ordered
            and kind in ("padding", "window")
            and choose_whether("causal", t("masks.causal"), help=t("masks.causal_help"))
        )
    to_address("mask", kind if kind != first else "")
    if size > MAX_PAINTED:
        st.caption(t("masks.too_long_to_paint", most=MAX_PAINTED, size=size))
    return Choice(kind, reach, causal, padding)


def start_padding(limit: int) -> None:
    """Append [PAD] when the padding mask is chosen and there are none to mask."""
    if st.session_state.mask == "padding" and not st.session_state.get("pads"):
        st.session_state.pads = min(FIRST_PADDING, limit)


def ask_padding(limit: int, first: int) -> int:
    """Show the choice of the number of appended [PAD], by default `first`."""
    if not limit:
        return 0
    help_text = t("masks.padding_help")
    return choose_number("pads", 0, limit, t("masks.padding"), default=first, help=help_text, width=130)


def ask_reach(size: int) -> int:
    """Show the choice of the window radius."""
    limit = max(min(size - 1, 16), 1)
    if limit == 1:
        return 1
    help_text = t("masks.reach_help")
    return choose_number("reach", 0, limit, t("masks.reach"), default=1, help=help_text, width=130)


def name_of(choice: Choice, own: np.ndarray, key_ids: np.ndarray, *, ordered: bool) -> str | None:
    """Return the name of the chosen mask; None for the model's own.

    Args:
        choice: The chosen mask.
        own: bool (query, key), the model's own mask.
        key_ids: int (key,).
        ordered: Whether queries and keys are the same tokens.
    """
    if choice.kind != "painted":
        st.session_state.mask_before = choice.name
        st.query_params.pop("bits", None)
        return choice.name
    return "painted:" + painted(own, key_ids, ordered=ordered)


def painted(own: np.ndarray, key_ids: np.ndarray, *, ordered: bool) -> str:
    """Return the bits of the painted mask, initially those in the URL or the previously chosen mask."""
    state = st.session_state.get("painted")
    if state is None or state["shape"] != own.shape:
        applied = state["applied"] if state else 0
        before = st.session_state.get("mask_before", "causal") if ordered else None
        bits = first_bits(own, key_ids, before)
        state = {"shape": own.shape, "history": [bits], "applied": applied}
        st.session_state.painted = state
    bits = state["history"][-1]
    to_address("bits", bits)
    return bits


def first_bits(own: np.ndarray, key_ids: np.ndarray, before: str | None) -> str:
    """Return the initial bits of a painted mask: from the URL, or of the mask `before`; None: `own`."""
    bits = st.query_params.get("bits", "")
    try:
        mask_from_bits(bits, own.shape)
    except ValueError:
        return mask_to_bits(own if before is None else named_mask(before, len(own), key_ids))
    return bits


def paint(change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Push a changed mask onto the history.

    Args:
        change: Maps the mask, bool (query, key), to the changed one.
    """
    state = st.session_state.painted
    state["history"].append(mask_to_bits(change(mask_from_bits(state["history"][-1], state["shape"]))))


def take_strokes(strokes: Iterable[tuple[int, Sequence[int], bool]]) -> None:
    """Apply the strokes that are not in the mask yet; the browser resends each until the mask contains it.

    Args:
        strokes: [number, [row, column, last row, last column], whether these cells may be attended to] each,
            in order.
    """
    state = st.session_state.painted
    for number, box, may in strokes:
        if number > state["applied"]:
            paint(lambda mask, box=box, may=may: stroked(mask, box, may=may))
            state["applied"] = number


def stroked(mask: np.ndarray, box: Sequence[int], *, may: bool) -> np.ndarray:
    """Return a mask with all cells of a box, (row, column, last row, last column), set to `may`."""
    row, column, last_row, last_column = box
    mask = np.array(mask)
    mask[row : last_row + 1, column : last_column + 1] = may
    return mask


def undo() -> None:
    """Undo the last change of the painted mask."""
    history = st.session_state.painted["history"]
    if len(history) > 1:
        history.pop()


def show_brushes() -> None:
    """Show the buttons that change a painted mask as a whole."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.button(
            t("masks.undo"),
            key="paint-undo",
            icon=":material/undo:",
            on_click=undo,
            disabled=len(st.session_state.painted["history"]) < 2,
        )
        for name, icon, change in (
            ("invert", ":material/invert_colors:", np.logical_not),
            ("clear", ":material/grid_on:", np.ones_like),
        ):
            st.button(
                t(f"masks.{name}"),
                key=f"paint-{name}",
                icon=icon,
                on_click=paint,
                args=(change,),
                help=t(f"masks.{name}_help"),
            )
        st.caption(t("masks.paint_hint"), width="content")


def offer_painting() -> None:
    """Show a button that leads to the view in which the mask is painted."""
    st.button(t("masks.paint_elsewhere"), key="paint-here", icon=":material/brush:", on_click=go_to_steps)


def go_to_steps() -> None:
    """Switch to the view in which the mask is painted."""
    st.session_state.mask_view = "steps"
