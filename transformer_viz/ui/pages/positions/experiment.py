"""The experiment of the Positions page: shuffle the tokens or change the encoding, and compare."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from transformer_viz import store
from transformer_viz.analysis import in_original_order
from transformer_viz.language import joined
from transformer_viz.pictures.changes import other_positions
from transformer_viz.pictures.labels import answer_text, axis_tokens, label_of
from transformer_viz.pictures.views import MAX_CELLS, attention_change
from transformer_viz.pictures.views.change import ROUNDING
from transformer_viz.ui.pages.positions.lack import show_lack
from transformer_viz.ui.pages.positions.wording import difference_text, labels
from transformer_viz.ui.shell.address import choose_one, number_from_address, to_address
from transformer_viz.ui.shell.answers import answer
from transformer_viz.ui.shell.bars import show_bars
from transformer_viz.ui.shell.card import kind_name
from transformer_viz.ui.shell.card_facts import config_of, examples_of
from transformer_viz.ui.shell.changing import offer_comparison
from transformer_viz.ui.shell.charts import theme
from transformer_viz.ui.shell.heads import beside_heads, choose_head
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.panels import Panel, show_panels
from transformer_viz.ui.shell.reading import show_order, show_reading
from transformer_viz.ui.shell.sentence import ask_texts
from transformer_viz.values.config import TransformerConfig
from transformer_viz.values.order import permutation_of
from transformer_viz.values.request import Request
from transformer_viz.values.tensors import Attentions
from transformer_viz.values.trace import Trace

WORDS_WIDTH, BARS_WIDTH = 600, 380
"""Width of the text and of the bars, in pixels."""

LEAST = 240
"""Least width of a matrix, in pixels."""

MAX_BARS = 3
"""Maximum number of answers with probability bars."""

LAST_SEED = 999_999
"""Largest seed of a shuffle."""

UNBROKEN = "\u00a0"
"""No-break space."""


def show_experiment(model: store.ModelSummary, open_attention: Callable[[], None]) -> None:
    """Show attention and prediction before and after shuffling the tokens or changing the encoding.

    Args:
        model: The model.
        open_attention: Goes to the Attention page.
    """
    config = config_of(model)
    if config.positions == "none":
        near = config.causal or config.window is not None
        show_lack(t("positions.lacks.near" if near else "positions.lacks"), config, examples_of(model.card))
    request = Request(model.reference, ask_texts(model).text)
    before = answer(request)
    if before is None:
        return
    heads, beside = beside_heads()
    with heads:
        _, layer, head = choose_head(before, request, stack_of(before))
    with beside:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            changed = change_of(request, ask_change(config))
            offer_comparison(request, changed, open_attention)
        show_change(model, (request, changed), before, layer, head)


def show_change(
    model: store.ModelSummary, requests: tuple[Request, Request], before: Trace, layer: int, head: int
) -> None:
    """Show one head and the prediction before and after a change.

    Args:
        model: The model.
        requests: What is asked, without the change and with it.
        before: The answer without it.
        layer: Layer of the head, 1-based.
        head: Its number in the layer, 1-based.
    """
    config = config_of(model)
    request, changed = requests
    after = answer(changed)
    if after is None:
        return
    asks = "shuffle" if changed.changes.order else "none" if changed.changes.positions == "none" else "other"
    st.subheader(t(f"positions.asks.{asks}"), anchor=False, help=t(f"positions.asks.{asks}.help"))
    order = order_of(changed, before)
    if order:
        show_order(after)
    show_reading(before, model)
    show_weights(model, before, after, order, layer, head)
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        with st.container(width=WORDS_WIDTH):
            show_change_table(config, request, changed, before, after)
        with st.container(width=BARS_WIDTH):
            if before.labels:
                show_answers(before, after)


def ask_change(config: TransformerConfig) -> str:
    """Show the choice of a change; return "shuffle", "none" or the kind of encoding to use instead."""
    can = {"shuffle": True, "remove": config.positions != "none", "swap": bool(other_positions(config))}
    actions = [action for action, possible in can.items() if possible]
    action = choose_one(
        "do",
        actions,
        t("positions.do"),
        format_func=lambda do: t(f"positions.do.{do}"),
        help=t("positions.do.help"),
    )
    if action == "shuffle":
        number_from_address("seed", 0, LAST_SEED, 0)
        st.button(t("positions.again"), icon=":material/casino:", key="shuffle", on_click=shuffle_again)
        to_address("seed", str(st.session_state.seed) if st.session_state.seed else "")
        return "shuffle"
    if action == "remove":
        return "none"
    return choose_one("swap", other_positions(config), t("positions.swap"), format_func=kind_name)


def shuffle_again() -> None:
    """Use the next seed."""
    st.session_state.seed = (st.session_state.seed + 1) % LAST_SEED


def change_of(request: Request, change: str) -> Request:
    """Return the request with the change."""
    if change != "shuffle":
        return request.changed(positions=change)
    return request.changed(order=f"shuffled:{st.session_state.seed}")


def order_of(changed: Request, before: Trace) -> tuple[int, ...] | None:
    """Return the permutation of the tokens; None: they were not shuffled."""
    order = changed.changes.order
    return permutation_of(order, before.tokens) if order else None


def show_change_table(
    config: TransformerConfig, request: Request, changed: Request, before: Trace, after: Trace
) -> None:
    """Show a table of the largest change of attention, and of the predictions before and after."""
    order = order_of(changed, before)
    rows = [("own" if config.positions != "none" else "without", before, after)]
    if order and config.positions != "none":
        bare, bare_changed = (answer(each.changed(positions="none")) for each in (request, changed))
        if bare is not None and bare_changed is not None:
            rows.append(("without", bare, bare_changed))
    lines = [f"| | {t('positions.moves')} | {t('positions.answer')} |", "|---|---|---|"]
    if not before.labels:
        lines = [f"| | {t('positions.moves')} |", "|---|---|"]
    for name, one, other in rows:
        label = t(f"positions.row.{name}") if order else t("positions.row.change")
        moved = difference_text(largest_change(one, other, order))
        label, moved = (text.replace(" ", UNBROKEN) for text in (label, moved))
        answers = f" {answer_of(one)} → {answer_of(other)} |" if before.labels else ""
        lines.append(f"| {label} | **{moved}** |{answers}")
    st.container(key="moves").markdown("\n".join(lines))
    if not order:
        return
    if config.causal:
        st.caption(t("positions.causal"))
    elif config.window is not None:
        st.caption(t("positions.window"))
    elif largest_change(*rows[-1][1:], order) < ROUNDING:
        st.caption(t("positions.proved"))


def own_attention(trace: Trace) -> Attentions:
    """Return the self-attention over the text."""
    return trace.kinds()[stack_of(trace)]


def stack_of(trace: Trace) -> str:
    """Return the name of the stack that reads the text."""
    return "encoder" if trace.encoder else "decoder"


def largest_change(before: Trace, after: Trace, order: tuple[int, ...] | None) -> float:
    """Return the largest change of any weight in any layer and head, after undoing the shuffle."""
    return max(
        float(np.abs(put_back(two.weights, order) - one.weights).max())
        for one, two in zip(own_attention(before).layers, own_attention(after).layers, strict=True)
    )


def put_back(weights: np.ndarray, order: tuple[int, ...] | None) -> np.ndarray:
    """Return the weights with rows and columns in the order before the shuffle."""
    return in_original_order(weights, order) if order else weights


def answer_of(trace: Trace) -> str:
    """Return the model's answer as a short text; "" if it has none."""
    if not trace.labels:
        return ""
    if trace.encoder and trace.decoder:
        return f"“{escaped(trace.target_text) or '∅'}”"
    return f"{escaped(answer_text(trace))} {trace.answer_probs.max():.1%}"


def show_answers(before: Trace, after: Trace) -> None:
    """Show the probabilities of the likeliest answers before and after the change."""
    one, other = (answer_probs(trace) for trace in (before, after))
    likeliest = np.argsort(-np.maximum(one, other), kind="stable")[:MAX_BARS]
    likeliest = sorted(likeliest, key=lambda i: (-one[i], i))
    key = "class" if before.probs.ndim == 1 else "next"
    if before.encoder and before.probs.ndim == 2:
        key = "first" if before.decoder else "gap" if len(before.gaps) else "last"
    st.caption(t(f"positions.bars.{key}"))
    show_bars(
        [label_of(before, i) for i in likeliest],
        one[likeliest],
        other[likeliest],
        labels=labels("before", "after"),
        alt=t("positions.bars.alt"),
        key="answers",
    )


def answer_probs(trace: Trace) -> np.ndarray:
    """Return the probabilities of the classes, or of the first generated, next or first masked token."""
    return trace.probs[0] if trace.encoder and trace.decoder else trace.answer_probs


def show_weights(
    model: store.ModelSummary,
    before: Trace,
    after: Trace,
    order: tuple[int, ...] | None,
    layer: int,
    head: int,
) -> None:
    """Draw the weights of a head before and after the change, and their difference."""
    one, other = (own_attention(trace).layers[layer - 1].weights[head - 1] for trace in (before, after))
    kind = t(f"kind.{stack_of(before)}")
    sentences = [t("positions.shown", kind=kind, layer=layer, head=head)]
    sentences.append(t("positions.panels.shuffle" if order else "positions.panels"))
    if len(before.tokens) > MAX_CELLS:
        sentences.append(t("positions.panels.blocks"))
    st.caption(joined(*sentences))
    drawn = attention_change(
        one,
        put_back(other, order),
        axis_tokens(before, before.tokens),
        labels={name: t(f"heatmap.{name}") for name in ("weight", "reads", "query")} | {"key": t("lens.key")},
        masks=masks_of(before, layer - 1, order),
        theme=theme(),
    )
    panels = []
    for (name, matrix), title in zip(drawn.items(), labels(*drawn).values(), strict=True):
        alt = t("positions.panels.alt", kind=kind, layer=layer, head=head, panel=title)
        panels.append(Panel(matrix, title, title, alt, f"{model.name}-{name}"))
    show_panels(panels, LEAST)


def masks_of(trace: Trace, layer: int, order: tuple[int, ...] | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the masks of a layer before and after the change, in the order before: bool (query, key)."""
    mask = np.broadcast_to(own_attention(trace).mask_of(layer)[0], (len(trace.tokens),) * 2)
    return mask, put_back(mask, order)
