"""The commands that list, run and evaluate models."""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from transformer_viz import store
from transformer_viz.cli.arguments import columns, read_options
from transformer_viz.cli.language import known, listed, localized, t
from transformer_viz.cli.output import aligned, give, in_words, is_quiet, remark, say, table
from transformer_viz.cli.program import example
from transformer_viz.data import NAMED, read_for_decoder, read_labelled, read_pairs
from transformer_viz.language import Phrase, Problem
from transformer_viz.network.startup import load_upper_floor
from transformer_viz.values.no_answer import why_no_answer
from transformer_viz.values.trace import Trace

LIKELIEST = 5
"""Number of classes or tokens that `trace` prints."""

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

COUNTS = ("rows", "texts", "tokens", "hidden_tokens")
"""Figures of `evaluate` that are whole numbers."""

CONTROLS = ("uniform_accuracy", "headless_accuracy")
"""Those with other attention, which stand below the accuracy that they are compared with."""

SAVED_AS: dict[str, Callable[[Trace, Path], None]] = {
    ".npz": Trace.save,
    ".csv": lambda trace, path: trace.to_frame().to_csv(path, index=False),
}
"""Suffix of a file -> function that writes a trace to it: all tensors, or a row for each weight."""


def list_models(arguments: Namespace) -> None:
    """Write name, task, size and test metrics of every model, and what files beside them are."""
    models = store.list_models()
    if models:
        columns = ["name", "task", "parameters", "size", "test"]
        say(table(in_words(pd.DataFrame([*map(_row_of, models)], columns=pd.Index(columns))), index=False))
    else:
        say(t("cli.models.none", folder=store.models_folder(), example=example("train")))
    give([*map(_facts_of, models)])
    for error in store.refused_files():
        remark(localized(error))


def _row_of(model):
    """Return a model as a row of a table."""
    task = model.card.get("task", "")
    name = known(f"cli.task.{task.replace(' ', '_')}", task)
    return (
        model.name,
        localized(Phrase("command.damaged", reason=model.error)) if model.error else name,
        f"{model.config.num_parameters:,}" if model.config else "",
        f"{model.size / 1e6:.1f} MB",
        metrics_text(model.card.get("test", {})) or t("cli.models.unmeasured"),
    )


def _facts_of(model):
    """Return the facts of a model for scripts."""
    return {
        "name": model.name,
        "folder": str(model.path),
        "task": model.card.get("task"),
        "parameters": model.config and model.config.num_parameters,
        "bytes": model.size,
        "test": headline_metrics(model.card.get("test", {})),
        "error": model.error and localized(model.error),
    }


def predict(arguments: Namespace) -> None:
    """Write label and probability of each text, or the likeliest tokens behind each [MASK]."""
    explorer = _load(arguments.model)
    if explorer.config.fills_in:
        frames = [explorer.fill_in(text) for text in arguments.text]
        for frame in frames:
            say(table(in_words(frame), index=False, float_format="{:.4f}".format))
        both = zip(arguments.text, frames, strict=True)
        give([{"text": text, "tokens": frame.to_dict("records")} for text, frame in both])
        return
    rows = explorer.predict(arguments.text).to_dict("records")
    for row in rows:
        say(f"{row['label']}  {row['prob_' + row['label']]:.4f}  {row['text']}")
    labels = explorer.config.labels
    give(
        [
            {
                "text": row["text"],
                "label": row["label"],
                "probabilities": {label: row[f"prob_{label}"] for label in labels},
            }
            for row in rows
        ]
    )


def generate(arguments: Namespace) -> None:
    """Write the text that a decoder generates for each text; sampled ones are drawn independently."""
    explorer, results = _load(arguments.model), []
    for number, text in enumerate(arguments.text):
        written = explorer.generate(
            text,
            beam_size=arguments.beam_size,
            temperature=arguments.temperature,
            top_k=arguments.top_k,
            top_p=arguments.top_p,
            seed=arguments.seed + number,
            max_new=arguments.max_new,
            keep=None,
        )
        say(f"{text} -> {written.text}{'' if written.finished else ' ...'}")
        results.append({"text": text, "generated": written.text, "finished": written.finished})
    give(results)


def trace(arguments: Namespace) -> None:
    """Write a trace; print the tokens and the likeliest classes or tokens."""
    if not arguments.out.parent.is_dir():
        raise Problem("command.no_folder", folder=arguments.out.parent, file=arguments.out.name)
    if arguments.out.suffix not in SAVED_AS:
        raise Problem("command.trace_suffix", file=arguments.out.name)
    explorer = _load(arguments.model)
    result = explorer.trace(arguments.text, target=arguments.target)
    try:
        SAVED_AS[arguments.out.suffix](result, arguments.out)
    except OSError as error:
        raise Problem("command.unwritable", file=arguments.out, reason=error.strerror) from None
    say(" ".join(result.tokens))
    if result.target_tokens:
        say(" ".join(result.target_tokens))
    if result.num_dropped:
        read = len(result.tokens)
        remark(t("cli.trace.read", read=read, total=read + result.num_dropped))
    if result.labels:
        probs = result.answer_probs
        likeliest = probs.argsort()[::-1][:LIKELIEST]
        say(listed(*(f"{result.labels[i]} {probs[i]:.4f}" for i in likeliest)))
    else:
        say(localized(why_no_answer(explorer.card)))
    remark(t("cli.wrote.size", file=arguments.out, size=arguments.out.stat().st_size / 1e3))


def evaluate(arguments: Namespace) -> None:
    """Write the metrics of a model on a data set."""
    explorer = _load(arguments.model)
    if explorer.config.has_decoder:
        read = read_pairs if explorer.config.has_encoder else read_for_decoder
        rows = _read(read, arguments)
        perplexity = load_upper_floor("inspection.perplexity")
        is_text = not any(rows["target"]) or perplexity.is_packed(explorer)
        if not explorer.config.has_encoder and is_text:
            texts = (rows["text"] + " " + rows["target"]).str.strip()
            result = perplexity.evaluate_texts(explorer, texts, progress=not is_quiet())
            figures = result._asdict()
            _write(figures | {"bytes": figures.pop("num_bytes")})
            return
        result = load_upper_floor("inspection.evaluation").evaluate_generation(explorer, rows)
        _write(result._asdict())
        return
    if explorer.config.fills_in:
        rows = _read(read_for_decoder, arguments)
        measure = load_upper_floor("inspection.perplexity").evaluate_masked_tokens
        found = measure(explorer, rows["text"], progress=not is_quiet())._asdict()
        counts = {"texts": found.pop("texts"), "hidden_tokens": found.pop("tokens")}
        del found["places"]
        _write(counts | found)
        return
    name = str(arguments.data)
    rows = NAMED[name]()[1] if name in NAMED else _read(read_labelled, arguments)
    measure = load_upper_floor("inspection.evaluation").evaluate
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


def _load(model):
    return load_upper_floor("inspection.explorer").load(model)
