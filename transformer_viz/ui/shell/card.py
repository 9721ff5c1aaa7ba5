"""A model's card: metrics, learning curves, architecture and data; uploaded cards are not trusted."""

import math

import streamlit as st

from transformer_viz import store
from transformer_viz.data import tasks
from transformer_viz.network.config import TransformerConfig
from transformer_viz.pictures.figures import learning_curves
from transformer_viz.pictures.figures.learning import SHARES
from transformer_viz.ui.shell.averaging import show_averaging
from transformer_viz.ui.shell.card_facts import (
    config_of,
    count_in,
    examples_of,
    history_of,
    limits_in,
    part,
    text_in,
)
from transformer_viz.ui.shell.charts import draw, theme
from transformer_viz.ui.shell.confusion import show_confusion
from transformer_viz.ui.shell.heads import head_roles_of
from transformer_viz.ui.shell.language import escaped, t, words

TASKS = {
    "classification": "task.classification",
    "sequence to sequence": "task.sequence",
    "next token": "task.next",
    "hidden tokens": "task.hidden",
}

METRICS = {
    "accuracy": "figure.accuracy",
    "bleu_one_reference": "figure.bleu_one_reference",
    "bleu": "figure.bleu",
    "perplexity": "figure.perplexity",
    "bits_per_byte": "figure.bits_per_byte",
    "exact_match": "figure.exact_match",
    "token_accuracy": "figure.token_accuracy",
    "uniform_accuracy": "figure.uniform_accuracy",
    "headless_accuracy": "figure.headless_accuracy",
    "induction_score": "figure.induction_score",
    "previous_token_score": "figure.previous_token_score",
    "calibration_error": "figure.calibration_error",
    "loss": "figure.loss",
}
"""Metrics with a translated name, the headline metric first."""

BY_LABEL = {"precision": "figure.precision", "recall": "figure.recall", "f1": "figure.fscore"}
"""Metrics per label."""

NO_LICENCE = "None needed: made by a program"
"""Licence on the card of a model trained on a built-in task."""

MAX_FIGURES, MAX_ROWS = 20, 200
"""Most metrics of a set that are shown, and most labels with metrics of their own."""

MAX_NAMES = 50
"""Maximum number of labels and versions listed."""

MAX_NAME = 80
"""Maximum length of the name of a task or a metric, in characters."""


def show_card(model: store.ModelSummary) -> None:
    """Show the card of a usable model."""
    show_metrics(model)
    show_averaging(head_roles_of(model.reference), config_of(model))
    if limits := limits_in(model.card, words().language):
        st.markdown(escaped(limits))
    if left_out := left_out_of(model.card):
        st.caption(t("card.left_out", names=escaped(left_out)))
    show_training(model)
    left, right = st.columns(2, gap="large")
    with left:
        show_heading(t("card.architecture"))
        show_rows(architecture(config_of(model)) | longest_of(model) | calibration_of(model))
    with right:
        show_heading(t("card.data"))
        show_rows(origin(model.card))
        if examples := examples_of(model.card):
            show_heading(t("card.examples"))
            st.markdown("\n".join(f"- {escaped(example)}" for example in examples))
    show_labels(part(part(model.card, "test"), "by_label"))
    show_confusion(part(part(model.card, "test"), "confusion"))
    if command := text_in(model.card, "command"):
        show_heading(t("card.again"))
        st.code(command, language="bash", wrap_lines=True)
    if versions := part(model.card, "versions"):
        named = [*versions.items()][:MAX_NAMES]
        st.caption(escaped(" · ".join(f"{name} {version}" for name, version in named)))


def show_metrics(model: store.ModelSummary) -> None:
    """Show the metrics on the test and the validation set, and the size of the model."""
    with st.container(horizontal=True, gap="small"):
        for side in ("test", "validation"):
            measured = part(model.card, side)
            rows = t("card.rows.count", count=count_in(measured, "rows") or "?")
            for metric, value in [*metrics_of(measured, config_of(model)).items()][:MAX_FIGURES]:
                name = t(f"card.{side}", figure=escaped(metric_name(metric)))
                st.metric(name, metric_text(metric, value), rows, help=gloss_of(metric), **TILE)
        st.metric(
            t("models.parameters"), f"{config_of(model).num_parameters:,}", size_text(model.size), **TILE
        )


TILE = {"delta_color": "primary", "delta_arrow": "off", "border": True, "width": "content"}


def show_training(model: store.ModelSummary) -> None:
    """Draw loss and headline metric over the epochs, if the card has a history."""
    history = history_of(model.card)
    if not history:
        return
    best = model.card.get("best_epoch")
    metric = drawn_metric(part(model.card, "validation"), history[-1], config_of(model))
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


def drawn_metric(validation: dict, epoch: dict, config: TransformerConfig) -> str | None:
    """Return the metric whose curve is drawn; None if an epoch has no other than the loss.

    It is one of both sets: BLEU is that of the validation set alone, and where it is measured, whole texts
    are rarely exact.
    """
    names = [*metrics_of(validation, config), *METRICS]
    drawn = [name for name in names if name != "loss" and {name, f"val_{name}"} <= epoch.keys()]
    if "val_bleu" in epoch and "token_accuracy" in drawn:
        return "token_accuracy"
    return drawn[0] if drawn else None


def kind_name(kind: str) -> str:
    """Return the translated name of a kind of position encoding."""
    return t(f"positions.kind.{kind.replace('-', '_')}")


def positions_name(config: TransformerConfig) -> str:
    """Return the translated name of a model's position encoding, and of the bias beside it."""
    kinds = [config.positions, *(["relative"] if config.relative_bias else [])]
    return " + ".join(map(kind_name, dict.fromkeys(kinds)))


def show_labels(by_label: dict) -> None:
    """Show the test metrics of each label, if the card has them."""
    found = [(label, figures) for label, figures in by_label.items() if isinstance(figures, dict)]
    labels = {escaped(label): figures for label, figures in found[:MAX_ROWS]}
    if not labels:
        return
    show_heading(t("card.by_label"))
    table = {t("card.label"): list(labels)}
    for metric, key in BY_LABEL.items():
        numbers = [found.get(metric) for found in labels.values()]
        table[t(key)] = [f"{value:.1%}" if isinstance(value, float) else "" for value in numbers]
    table[t("card.rows")] = [count_in(found, "rows") for found in labels.values()]
    st.table(table, border="horizontal", hide_index=True)


def show_heading(text: str) -> None:
    """Show a heading on the card."""
    st.markdown(f"#### {text}")


def show_rows(rows: dict[str, str]) -> None:
    """Show a table of names and values."""
    table = {"name": list(map(escaped, rows)), "value": list(map(escaped, rows.values()))}
    st.table(table, border="horizontal", hide_index=True, hide_header=True)


def architecture(config: TransformerConfig) -> dict[str, str]:
    """Return the architecture as name -> value."""
    layers = " + ".join(t(f"card.layers.{stack}", count=count) for stack, count in config.stacks.items())
    vocabulary, longest = f"{config.vocab_size:,}", f"{config.max_len:,}"
    if config.architecture == "encoder-decoder":
        vocabulary += f" → {config.target_vocab_size:,}"
        longest += f" → {config.target_max_len:,}"
    positions, norm = positions_name(config), t(f"card.norm.{config.norm}")
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
    if config.predicts_tokens or config.output == "none":
        return rows
    pooling = t(f"card.pooling.{config.pooling}")
    names = config.labels or ()
    labels = t("list.comma").join([*names[:MAX_NAMES], *["…"] * (len(names) > MAX_NAMES)])
    return rows | {t("config.pooling"): pooling, t("config.labels"): labels}


def longest_of(model: store.ModelSummary) -> dict[str, str]:
    """Return of how many tokens the longest text is, as name -> value, if a model could read longer ones."""
    longest = count_in(model.card, "longest")
    here = f"{config_of(model).max_len:,}"
    return {t("config.longest"): t("card.longest", here=here, longest=longest)} if longest else {}


def left_out_of(card: dict) -> str:
    """Return the layers of heads that are in a folder of the hub and are not read; "" if there are none."""
    names = card.get("left_out")
    listed = names if isinstance(names, list) else []
    layers = (name.removesuffix(".weight").removesuffix(".bias") for name in listed if isinstance(name, str))
    return t("list.comma").join(dict.fromkeys(layers))


def calibration_of(model: store.ModelSummary) -> dict[str, str]:
    """Return the temperature of a classifier and its calibration error before and after, as name -> value.

    If it was measured in whole texts and in their sentences, the errors of both.
    """
    if config_of(model).predicts_tokens or config_of(model).output == "none":
        return {}
    temperature, facts = f"{config_of(model).temperature:.3g}", part(model.card, "calibration")
    whole, short = _calibration_errors(facts), _calibration_errors(part(facts, "sentences"))
    if not whole:
        return {t("card.temperature"): t("card.temperature.none") if temperature == "1" else temperature}
    if not short:
        return {t("card.temperature"): t("card.temperature.fitted", temperature=temperature, **whole)}
    both = {f"short_{name}": fact for name, fact in short.items()}
    return {t("card.temperature"): t("card.temperature.both", temperature=temperature, **whole, **both)}


def _calibration_errors(facts):
    """Return the errors before and after, and how many tokens the texts have; empty if they are unknown."""
    errors = [facts.get(name) for name in ("calibration_error_before", "calibration_error")]
    if not all(isinstance(error, float) for error in errors):
        return {}
    before, after = (f"{error:.1%}" for error in errors)
    return {"before": before, "after": after, "tokens": count_in(facts, "tokens") or "?"}


def origin(card: dict) -> dict[str, str]:
    """Return the origin of the training data as name -> value."""
    data, licence = part(card, "data"), text_in(card, "licence")
    found = {
        t("card.parent"): parent_of(card),
        t("card.trained"): trained_layers_of(card),
        t("card.state"): epoch_of(card),
        t("card.source"): source_of(card),
        t("card.revision"): text_in(card, "revision")[:MAX_NAME],
        t("card.file"): text_in(data, "file") or files_of(data),
        t("card.rows"): count_in(data, "rows"),
        "sha256": text_in(data, "sha256")[:16],
        t("models.licence"): t("card.made.licence") if licence == NO_LICENCE else licence,
        t("models.created"): text_in(card, "created")[:10],
    }
    return {name: value for name, value in found.items() if value}


def parent_of(card: dict) -> str:
    """Return the model that this one was fine-tuned from, and the beginning of its parameters' SHA-256."""
    parent = part(card, "parent")
    known = text_in(parent, "name")[:MAX_NAME], text_in(parent, "sha256")[:16]
    return " · ".join(filter(None, known))


def trained_layers_of(card: dict) -> str:
    """Return which layers of a fine-tuned model were trained; "" if all were."""
    layers = part(card, "parent").get("trainable_layers")
    if type(layers) is not int or layers < 0:
        return ""
    return t("train.trainable.last", count=layers) if layers else t("train.trainable.output")


def epoch_of(card: dict) -> str:
    """Return after which epoch its training was left off; "" for the best model of a run."""
    epoch = card.get("epoch")
    return t("run.epoch.some" if epoch else "run.epoch.none", epoch=epoch) if type(epoch) is int else ""


def files_of(data: dict) -> str:
    """Return the names of the training files, if there are several."""
    files = data.get("files")
    names = (
        (text_in(file, "file") for file in files if isinstance(file, dict)) if isinstance(files, list) else ()
    )
    return t("list.comma").join(filter(None, names))


def source_of(card: dict) -> str:
    """Return the source of the data: a built-in task in the visitor's language, others as written."""
    source, task = text_in(card, "source"), text_in(part(card, "data"), "task")
    made = task in tasks.TASKS and source in ("", task, f"Made by the task {task}")
    return t("card.made", task=t(f"task.{task}")) if made else source


def headline(model: store.ModelSummary) -> str:
    """Return the headline test metric as text; "" if there is none."""
    for metric, value in metrics_of(part(model.card, "test"), config_of(model)).items():
        return f"{metric_name(metric)} {metric_text(metric, value)}"
    return ""


def task_of(card: dict) -> str:
    """Return the task of a model, translated if known."""
    task = text_in(card, "task")
    return t(TASKS[task]) if task in TASKS else task[:MAX_NAME]


def metrics_of(measured: dict, config: TransformerConfig) -> dict[str, float]:
    """Return metrics as name -> value, the headline first.

    Omits the share of held-out rows, and exact match of a decoder-only model, which cannot predict the
    beginning of a text.
    """
    numbers = {name: value for name, value in measured.items() if isinstance(value, float)}
    numbers.pop("share_held_out", None)
    if config.architecture == "decoder":
        numbers.pop("exact_match", None)
    known = {name: numbers[name] for name in METRICS if name in numbers}
    return {name: value for name, value in (known | numbers).items() if math.isfinite(value)}


def metric_name(metric: str) -> str:
    """Return the name of a metric, translated if known."""
    return t(METRICS[metric]) if metric in METRICS else metric[:MAX_NAME].replace("_", " ")


def gloss_of(metric: str) -> str | None:
    """Return what a metric is, in a sentence; None if it is unknown."""
    return t(f"gloss.{metric}") if metric in METRICS else None


def metric_text(metric: str, value: float) -> str:
    """Return a metric's value as text: shares as percentages, others with three digits at least."""
    if metric in SHARES and 0 <= value <= 1:
        return f"{value:.1%}"
    return f"{value:#.3g}".rstrip(".") if abs(value) < 999.5 else f"{value:,.0f}"


def size_text(size: int) -> str:
    """Return a size in bytes with a unit."""
    if size >= 1e9:
        return f"{size / 1e9:.1f} GB"
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
