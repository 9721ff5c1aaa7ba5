"""A model's card in words, figures and a curve; a card may come from anybody, so nothing in it is trusted."""

import math

import streamlit as st

from transformer_viz import store
from transformer_viz.data import tasks
from transformer_viz.pictures.figures import learning_curves
from transformer_viz.pictures.figures.learning import SHARES
from transformer_viz.ui.shell.card_facts import count_in, examples_of, history_of, part, text_in
from transformer_viz.ui.shell.charts import draw, theme
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.values.config import TransformerConfig

TASKS = {
    "classification": "task.classification",
    "sequence to sequence": "task.sequence",
    "next token": "task.next",
    "hidden tokens": "task.hidden",
}

METRICS = {
    "accuracy": "figure.accuracy",
    "bleu": "figure.bleu",
    "perplexity": "figure.perplexity",
    "bits_per_byte": "figure.bits_per_byte",
    "exact_match": "figure.exact_match",
    "token_accuracy": "figure.token_accuracy",
    "induction_score": "figure.induction_score",
    "previous_token_score": "figure.previous_token_score",
    "loss": "figure.loss",
}
"""Figures with a name in every language, the one to show first in front."""

BY_LABEL = {"precision": "figure.precision", "recall": "figure.recall", "f1": "figure.fscore"}
"""Figures of each label."""

NO_LICENCE = "None needed: made by a program"
"""What the card of a model says that learned a task of the app."""

MAX_NAMES = 50
"""Labels and versions that are named."""

MAX_NAME = 80
"""Characters of the name of a task or a figure."""


def show_card(model: store.ModelSummary) -> None:
    """Show everything that is known of a model that can be used."""
    st.html(READABLE)
    show_metrics(model)
    show_training(model)
    left, right = st.columns(2, gap="large")
    with left:
        show_heading(t("card.architecture"))
        show_rows(architecture(model.config))
    with right:
        show_heading(t("card.data"))
        show_rows(origin(model.card))
        if examples := examples_of(model.card):
            show_heading(t("card.examples"))
            st.markdown("\n".join(f"- {escaped(example)}" for example in examples))
    show_labels(part(part(model.card, "test"), "by_label"))
    if command := text_in(model.card, "command"):
        show_heading(t("card.again"))
        st.code(command, language="bash", wrap_lines=True)
    if versions := part(model.card, "versions"):
        named = [*versions.items()][:MAX_NAMES]
        st.caption(escaped(" · ".join(f"{name} {version}" for name, version in named)))


def show_metrics(model: store.ModelSummary) -> None:
    """Show what was measured on the test and the validation rows, and the size of the model."""
    with st.container(horizontal=True, gap="small"):
        for side in ("test", "validation"):
            measured = part(model.card, side)
            rows = t("card.rows.count", count=count_in(measured, "rows") or "?")
            for metric, value in metrics_of(measured, model.config).items():
                name = t(f"card.{side}", figure=escaped(metric_name(metric)))
                st.metric(name, metric_text(metric, value), rows, **TILE)
        st.metric(t("models.parameters"), f"{model.config.num_parameters:,}", size_text(model.size), **TILE)


TILE = {"delta_color": "primary", "delta_arrow": "off", "border": True, "width": "content"}

READABLE = "<style>[data-testid=stMetricDelta] { color: inherit }</style>"
"""The small words of a metric are written in the colour of text: their own is too pale in the dark."""


def show_training(model: store.ModelSummary) -> None:
    """Draw loss and headline metric over the epochs, where the card holds them."""
    history = history_of(model.card)
    if not history:
        return
    best = model.card.get("best_epoch")
    names = [*metrics_of(part(model.card, "validation"), model.config), *METRICS]
    metric = next((name for name in names if name != "loss" and f"val_{name}" in history[-1]), None)
    last = history[-1]["epoch"]
    show_heading(t("card.training"))
    draw(
        learning_curves(
            history,
            history,
            over="epoch",
            metric=metric,
            labels={
                "epoch": t("curve.epoch"),
                "loss": t("figure.loss"),
                "metric": metric and metric_name(metric),
                "train": t("curve.train"),
                "validation": t("curve.validation"),
                "best": t("curve.best"),
            },
            last=last,
            best=best if type(best) is int and 1 <= best <= last else None,
            theme=theme(),
        ),
        "curves",
        alt=t("curve.alt", model=model.name),
        toolbar=False,
    )


def kind_name(kind) -> str:
    """Return the name of a kind of position table."""
    return t(f"positions.kind.{kind.replace('-', '_')}")


def show_labels(by_label: dict) -> None:
    """Show the figures of each label on the test, where the card holds them."""
    labels = {escaped(label): found for label, found in by_label.items() if isinstance(found, dict)}
    if not labels:
        return
    show_heading(t("card.by_label"))
    table = {t("card.label"): list(labels)}
    for metric, key in BY_LABEL.items():
        numbers = [found.get(metric) for found in labels.values()]
        table[t(key)] = [f"{value:.1%}" if isinstance(value, float) else "" for value in numbers]
    table[t("card.rows")] = [count_in(found, "rows") for found in labels.values()]
    st.table(table, border="horizontal", hide_index=True)


def show_heading(text) -> None:
    """Show the heading of a part of the card."""
    st.markdown(f"##### {text}")


def show_rows(rows: dict[str, str]) -> None:
    """Show names and what they stand for, one under the other."""
    table = {"name": list(map(escaped, rows)), "value": list(map(escaped, rows.values()))}
    st.table(table, border="horizontal", hide_index=True, hide_header=True)


def architecture(config: TransformerConfig) -> dict[str, str]:
    """Return what a network is built of, in words."""
    layers = " + ".join(t(f"card.layers.{stack}", count=count) for stack, count in config.stacks.items())
    vocabulary, longest = f"{config.vocab_size:,}", f"{config.max_len:,}"
    if config.architecture == "encoder-decoder":
        vocabulary += f" → {config.target_vocab_size:,}"
        longest += f" → {config.target_max_len:,}"
    positions, norm = kind_name(config.positions), t(f"card.norm.{config.norm}")
    rows = {
        t("config.layers"): layers,
        t("config.heads"): f"{config.num_heads} × {config.head_dim}",
        t("config.d_model"): f"{config.d_model:,}",
        t("config.ffn"): f"{config.ffn_dim:,} ({config.activation})" if config.ffn_dim else t("config.none"),
        t("config.vocabulary"): vocabulary,
        t("config.longest"): longest,
        t("config.positions"): positions,
        t("config.norm"): norm,
    }
    if config.predicts_tokens:
        return rows
    pooling = t(f"card.pooling.{config.pooling}")
    labels = ", ".join(config.labels[:MAX_NAMES]) + ", …" * (len(config.labels) > MAX_NAMES)
    return rows | {t("config.pooling"): pooling, t("config.labels"): labels}


def origin(card: dict) -> dict[str, str]:
    """Return where the rows came from that a model was trained on."""
    data, licence = part(card, "data"), text_in(card, "licence")
    found = {
        t("card.source"): source_of(card),
        t("card.file"): text_in(data, "file") or files_of(data),
        t("card.rows"): count_in(data, "rows"),
        "sha256": text_in(data, "sha256")[:16],
        t("models.licence"): t("card.made.licence") if licence == NO_LICENCE else licence,
        t("models.created"): text_in(card, "created")[:10],
    }
    return {name: value for name, value in found.items() if value}


def files_of(data: dict) -> str:
    """Return the names of the files that rows were read from, where there are several."""
    files = data.get("files")
    names = (
        (text_in(file, "file") for file in files if isinstance(file, dict)) if isinstance(files, list) else ()
    )
    return ", ".join(filter(None, names))


def source_of(card: dict) -> str:
    """Return where the rows came from: of a task of the app in the visitor's language, else as written."""
    source, task = text_in(card, "source"), text_in(part(card, "data"), "task")
    made = task in tasks.TASKS and source in ("", task, f"Made by the task {task}")
    return t("card.made", task=t(f"task.{task}")) if made else source


def headline(model: store.ModelSummary) -> str:
    """Return the first metric of the test in words; "" if nothing was measured."""
    for metric, value in metrics_of(part(model.card, "test"), model.config).items():
        return f"{metric_name(metric)} {metric_text(metric, value)}"
    return ""


def task_of(card: dict) -> str:
    """Return what a model does, in the visitor's language where it is known."""
    task = text_in(card, "task")
    return t(TASKS[task]) if task in TASKS else task[:MAX_NAME]


def metrics_of(measured: dict, config: TransformerConfig) -> dict[str, float]:
    """Return name -> value of what was measured, the headline first.

    A decoder alone cannot know how a text begins, so whether it has a whole text right says nothing. How much
    was held out is no figure.
    """
    numbers = {name: value for name, value in measured.items() if isinstance(value, float)}
    numbers.pop("share_held_out", None)
    if config.architecture == "decoder":
        numbers.pop("exact_match", None)
    known = {name: numbers[name] for name in METRICS if name in numbers}
    return {name: value for name, value in (known | numbers).items() if math.isfinite(value)}


def metric_name(metric: str) -> str:
    """Return the name of a metric in the visitor's language where there is one."""
    return t(METRICS[metric]) if metric in METRICS else metric[:MAX_NAME].replace("_", " ")


def metric_text(metric: str, value: float) -> str:
    """Return a metric as it is read: shares as percentages."""
    return f"{value:.1%}" if metric in SHARES and 0 <= value <= 1 else f"{value:.3g}"


def size_text(size: int) -> str:
    """Return a size on disk as it is read."""
    if size >= 1e9:
        return f"{size / 1e9:.1f} GB"
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
