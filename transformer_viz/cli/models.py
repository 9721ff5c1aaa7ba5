"""The commands that list models and run them."""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from transformer_viz import store
from transformer_viz.cli.arguments import columns, read_options
from transformer_viz.cli.evaluating import tell_left_out
from transformer_viz.cli.language import known, listed, localized, t
from transformer_viz.cli.metrics import figure_name, headline_metrics, metrics_text
from transformer_viz.cli.output import aligned, give, in_words, is_quiet, remark, say, table
from transformer_viz.cli.program import example
from transformer_viz.explorer.no_answer import why_no_answer
from transformer_viz.language import Phrase, Problem
from transformer_viz.network.startup import import_with_keras
from transformer_viz.trace.trace import Trace

LIKELIEST = 5
"""Number of classes or tokens that `trace` writes."""

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
    if (arguments.data is None) != (arguments.out is None):
        raise Problem("command.data_and_out")
    explorer = _load(arguments.model)
    if arguments.data is not None:
        _predict_file(explorer, arguments)
        return
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


def _predict_file(explorer, arguments):
    """Write what a model says of each row of a file to another file."""
    predict_file = import_with_keras("questions.evaluation.predictions").predict_file
    chosen = columns(arguments.columns), read_options(arguments)
    found = predict_file(explorer, arguments.data, arguments.out, *chosen, progress=not is_quiet())
    tell_left_out(found.source)
    if found.resumed:
        remark(t("cli.predict.resumed", rows=f"{found.resumed:,}"))
    say(t("cli.predict.wrote", path=arguments.out, rows=f"{found.rows:,}"))
    if found.accuracy is not None:
        say(aligned([(figure_name("accuracy"), f"{found.accuracy:.4f}")]))
    give({"out": str(arguments.out)} | found._asdict() | {"source": str(arguments.data)})


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
    """Write a trace to a file, and the tokens and the likeliest classes or tokens."""
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


def _load(model):
    return import_with_keras("store.load").load(model)
