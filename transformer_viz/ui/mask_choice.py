"""The choice of a mask: one of a kind, or one painted by hand; kept in the address."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from transformer_viz.analysis import named_mask, pack, unpack
from transformer_viz.ui.address import choose_number, choose_whether, from_address, to_address
from transformer_viz.ui.language import t

KINDS = ("own", "causal", "padding", "window", "none", "painted")

BRUSHES = ("cell", "box")
"""Ways to paint: a click on one cell, or a box over several."""

MAX_PAINTED = 32
"""Most tokens of a mask that can be painted: its bits must fit into an address."""

MAX_PADDING = 12
"""Most [PAD] that can be appended."""

FIRST_PADDING = 4
"""How many are appended when the padding mask is chosen and there are none."""


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Attributes:
        kind: One of `KINDS`.
        reach: Of a window.
        causal: Whether a padding mask or a window hides the future too.
        padding: How many [PAD] are appended.
    """

    kind: str
    reach: int = 1
    causal: bool = False
    padding: int = 0

    @property
    def name(self) -> str | None:
        """The mask's name as `analysis.named_mask` reads it; None for the model's own and painted ones."""
        if self.kind in ("own", "painted"):
            return None
        name = f"window:{self.reach}" if self.kind == "window" else self.kind
        return f"{name}+causal" if self.causal else name


def ask_mask(size, room) -> Choice:
    """Show the choice of a mask and of the padding.

    Args:
        size: Most tokens on one side of the mask, without padding.
        room: How many [PAD] the model has room for.
    """
    kinds = [kind for kind in KINDS if kind != "painted" or size <= MAX_PAINTED]
    from_address("mask", kinds, "causal")
    most = min(MAX_PADDING, room)
    if st.session_state.mask == "painted":
        most = min(most, MAX_PAINTED - size)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.segmented_control(
            t("masks.mask"),
            kinds,
            format_func=lambda kind: t(f"masks.kind_{kind}"),
            key="mask",
            persist_state="session",
            required=True,
            on_change=start_padding,
            args=(most,),
            help=t("masks.mask_help"),
        )
        padding = ask_padding(most)
        reach = ask_reach(size) if kind == "window" else 1
        causal = kind in ("padding", "window") and choose_whether(
            "causal", t("masks.causal"), help=t("masks.causal_help")
        )
    to_address("mask", kind if kind != "causal" else "")
    if size > MAX_PAINTED:
        st.caption(t("masks.too_long_to_paint", most=MAX_PAINTED, size=size))
    return Choice(kind, reach, causal, padding)


def start_padding(most) -> None:
    """Append some [PAD] when the padding mask is chosen and there are none to mask."""
    if st.session_state.mask == "padding" and not st.session_state.get("pads"):
        st.session_state.pads = min(FIRST_PADDING, most)


def ask_padding(most) -> int:
    """Show how many [PAD] are appended."""
    if not most:
        return 0
    return choose_number("pads", 0, most, t("masks.padding"), help=t("masks.padding_help"), width=130)


def ask_reach(size) -> int:
    """Show how far a window reaches."""
    most = max(min(size - 1, 16), 1)
    if most == 1:
        return 1
    said = t("masks.reach_help")
    return choose_number("reach", 0, most, t("masks.reach"), default=1, help=said, width=130)


def name_of(choice, own, key_ids) -> str | None:
    """Return the name of the mask that was chosen; None for the model's own.

    Args:
        choice: `Choice`.
        own: bool (query, key), the model's own mask.
        key_ids: int (key,).
    """
    if choice.kind != "painted":
        st.session_state.mask_before = choice.name
        st.query_params.pop("bits", None)
        return choice.name
    return "painted:" + painted(own, key_ids)


def painted(own, key_ids) -> str:
    """Return the bits of the painted mask; it begins as the address says, or as the mask chosen before."""
    state = st.session_state.get("painted")
    if state is None or state["shape"] != own.shape:
        state = {"shape": own.shape, "history": [first_bits(own, key_ids)], "revision": 0}
        st.session_state.painted = state
    bits = state["history"][-1]
    to_address("bits", bits)
    return bits


def first_bits(own, key_ids) -> str:
    """Return the bits a painted mask begins with."""
    bits = st.query_params.get("bits", "")
    try:
        unpack(bits, own.shape)
    except ValueError:
        before = st.session_state.get("mask_before", "causal")
        return pack(own if before is None else named_mask(before, len(own), key_ids))
    return bits


def marked(mask, cells) -> np.ndarray:
    """Return a mask after some of its cells were clicked: all masked if any may attend, or else all free.

    Args:
        mask: bool (query, key).
        cells: (query, key) pairs.
    """
    rows, columns = np.array(cells, int).T
    mask = np.array(mask)
    mask[rows, columns] = not mask[rows, columns].any()
    return mask


def paint(change) -> None:
    """Put a changed mask on top of the history.

    Args:
        change: Function of the mask, bool (query, key), that returns another.
    """
    state = st.session_state.painted
    mask = unpack(state["history"][-1], state["shape"])
    state["history"].append(pack(change(mask)))
    state["revision"] += 1


def click(key) -> None:
    """Paint what was selected in the chart of that key."""
    points = st.session_state[key].selection.points
    if points:
        paint(lambda mask: marked(mask, [(point["y"], point["x"]) for point in points]))


def undo() -> None:
    """Take the last change of the painted mask back."""
    state = st.session_state.painted
    state["history"].pop()
    state["revision"] += 1


def show_brushes() -> None:
    """Show the buttons that change a painted mask as a whole."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.segmented_control(
            t("masks.brush"),
            BRUSHES,
            format_func=lambda brush: t(f"masks.brush_{brush}"),
            key="brush",
            required=True,
            label_visibility="collapsed",
        )
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
        st.caption(t(f"masks.paint_{st.session_state.brush}"), width="content")
