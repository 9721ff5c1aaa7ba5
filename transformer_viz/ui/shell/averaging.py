"""Heads that average over all tokens: which they are, what it means, and what may make them attend."""

from itertools import groupby

import streamlit as st

from transformer_viz.network.config import TransformerConfig
from transformer_viz.pictures.captions import counted_texts
from transformer_viz.questions.roles.result import HeadRoles
from transformer_viz.questions.roles.rules import MIN_AVERAGING
from transformer_viz.ui.shell.language import t, words


def show_averaging(roles: HeadRoles | None, config: TransformerConfig) -> None:
    """Show the heads of a model that average, if it has any."""
    if text := averaging_text(roles, config):
        st.info(text, icon=":material/blur_on:")


def averaging_text(roles: HeadRoles | None, config: TransformerConfig) -> str:
    """Return which heads average, what it means and what to try, a sentence each; "" if none does.

    Args:
        roles: What the heads usually do; None: unknown.
        config: Config of the model.
    """
    found = {kind: each.averaging() for kind, each in roles.kinds.items()} if roles else {}
    count = sum(map(len, found.values()))
    if roles is None or not count:
        return ""
    total = sum(each.share[..., 0].size for each in roles.kinds.values())
    places = " · ".join(_place(kind, heads, config) for kind, heads in found.items() if heads)
    counted = counted_texts(words(), f"{roles.texts:,}", roles.tokens)
    facts = {"total": total, "places": places, "counted": counted, "share": f"{MIN_AVERAGING:.0%}"}
    return "  \n".join((t("averaging.heads", count=count, **facts), t("averaging.means"), _advice(config)))


def _place(kind, heads, config):
    """Return layers and heads of one kind of attention, which is named if the model has several."""
    comma = t("list.comma")
    layers = " · ".join(
        t("averaging.layer", layer=layer + 1, heads=comma.join(str(head + 1) for _, head in of_layer))
        for layer, of_layer in groupby(heads, key=lambda place: place[0])
    )
    if len(config.stacks) == 1:
        return layers
    return t("averaging.kind", kind=t(f"kind.{kind}"), layers=layers)


def _advice(config):
    """Return what to try as a sentence, without what the model has already."""
    ways = [t("averaging.try.norm")] if not config.normalises_inputs else []
    ways += [t("averaging.try.positions")] if config.positions == "none" else []
    ways += [t(f"averaging.try.{name}") for name in ("layers", "longer", "pretrain")]
    return t("averaging.try", ways=t("list.comma").join(ways))
