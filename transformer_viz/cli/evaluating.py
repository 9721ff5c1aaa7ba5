"""The command that measures a model on a data set."""

from argparse import Namespace

import pandas as pd

from transformer_viz.cli.arguments import columns, read_options
from transformer_viz.cli.language import known, localized, t
from transformer_viz.cli.metrics import figure_name
from transformer_viz.cli.output import aligned, give, in_words, is_quiet, remark, say, table
from transformer_viz.data import NAMED, read_for_decoder, read_labelled, read_pairs
from transformer_viz.network.startup import import_with_keras

COUNTS = ("rows", "texts", "tokens", "hidden_tokens")
"""Figures of `evaluate` that are whole numbers."""

CONTROLS = ("uniform_accuracy", "headless_accuracy")
"""Those with other attention, which stand below the accuracy that they are compared with."""


def evaluate(arguments: Namespace) -> None:
    """Write the metrics of a model on a data set."""
    explorer = import_with_keras("store.load").load(arguments.model)
    if explorer.config.has_decoder:
        read = read_pairs if explorer.config.has_encoder else read_for_decoder
        rows = _read(read, arguments)
        perplexity = import_with_keras("questions.evaluation.perplexity")
        is_text = not any(rows["target"]) or perplexity.is_packed(explorer)
        if not explorer.config.has_encoder and is_text:
            texts = (rows["text"] + " " + rows["target"]).str.strip()
            figures = perplexity.evaluate_texts(explorer, texts, progress=not is_quiet())._asdict()
            figures["bytes"] = figures.pop("num_bytes")
            _write(figures)
            return
        result = import_with_keras("questions.evaluation.measure").evaluate_generation(explorer, rows)
        _write(result._asdict())
        return
    if explorer.config.fills_in:
        rows = _read(read_for_decoder, arguments)
        measure = import_with_keras("questions.evaluation.perplexity").evaluate_masked_tokens
        figures = measure(explorer, rows["text"], progress=not is_quiet())._asdict()
        counts = {"texts": figures.pop("texts"), "hidden_tokens": figures.pop("tokens")}
        del figures["places"]
        _write(counts | figures)
        return
    name = str(arguments.data)
    rows = NAMED[name]()[1] if name in NAMED else _read(read_labelled, arguments)
    measure = import_with_keras("questions.evaluation.measure").evaluate
    _write_classes(measure(explorer, rows, progress=not is_quiet()), explorer.config.temperature)


def _read(read, arguments):
    """Return the rows of a data set, and say what was left out."""
    rows = read(arguments.data, columns(arguments.columns), read_options(arguments))
    tell_left_out(rows)
    return rows


def tell_left_out(rows: pd.DataFrame) -> None:
    """Say what was left out of the file of some rows."""
    for sentence in rows.attrs["bad_rows"].said():
        remark(localized(sentence))


def _write(figures):
    """Write figures of a model that predicts tokens."""
    say(aligned(_named(name, value) for name, value in figures.items() if name != "bytes"))
    give(figures)


def _write_classes(result, temperature):
    """Write figures of a classifier."""
    error, best, best_error = result.calibration
    figures = {name: getattr(result, name) for name in ("rows", "accuracy", *CONTROLS)}
    lines = [_named(name, value) for name, value in figures.items()]
    lines.append((figure_name("calibration_error"), _at(error, f"{temperature:g}")))
    if best is not None:
        lines.append(("  " + t("cli.evaluate.best"), _at(best_error, f"{best:.4g}")))
    say(aligned(lines))
    say("\n" + table(in_words(result.by_label), float_format="{:.4f}".format))
    confusion = result.confusion.rename_axis(index=t("cli.column.true"), columns=t("cli.column.predicted"))
    say("\n" + table(confusion))
    say(t("cli.evaluate.confusion"))
    calibration = {"temperature": temperature, **result.calibration._asdict()}
    tables = {"by_label": result.by_label.to_dict("index"), "confusion": result.confusion.to_dict("index")}
    give(figures | {"calibration": calibration} | tables)


def _named(name, value):
    """Return the name of a figure in words, those of controls indented, and its value as text."""
    text = known(f"cli.evaluate.{name}", figure_name(name))
    return "  " * (name in CONTROLS) + text, f"{value:,}" if name in COUNTS else f"{value:.4f}"


def _at(error, temperature):
    return t("cli.evaluate.at", error=f"{error:.4f}", temperature=temperature)
