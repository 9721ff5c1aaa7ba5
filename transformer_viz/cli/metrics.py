"""Metrics of model cards and training runs, in words."""

from typing import Any

from transformer_viz.cli.language import known, listed, t

HEADLINES = (
    "accuracy",
    "bleu_one_reference",
    "bleu",
    "perplexity",
    "bits_per_byte",
    "exact_match",
    "token_accuracy",
    "induction_score",
)
"""The metrics of a card that are named first."""


def headline_metrics(measured: dict[str, Any]) -> dict[str, float]:
    """Return the headline metrics among those of a model card."""
    return {name: measured[name] for name in HEADLINES if name in measured}


def metrics_text(measured: dict[str, Any]) -> str:
    """Return the headline metrics of a model card with their names."""
    return listed(*(f"{figure_name(name)} {value:.4f}" for name, value in headline_metrics(measured).items()))


def figure_name(name: str) -> str:
    """Return the name of a metric in words; "val_" before it says that it is of the validation set."""
    if name.startswith("val_"):
        return t("cli.validation", figure=figure_name(name.removeprefix("val_")))
    return known(f"figure.{name}", name.replace("_", " "))
