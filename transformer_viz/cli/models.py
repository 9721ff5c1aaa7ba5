"""The commands that list, run and evaluate models."""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from transformer_viz import store
from transformer_viz.cli.arguments import columns, read_options
from transformer_viz.cli.language import localized
from transformer_viz.cli.program import example
from transformer_viz.data import NAMED, read_for_decoder, read_labelled, read_pairs
from transformer_viz.language import Phrase, Problem
from transformer_viz.network.startup import load_upper_floor
from transformer_viz.values.no_answer import why_no_answer
from transformer_viz.values.trace import Trace

LIKELIEST = 5
"""Number of classes or tokens that `trace` prints."""

SAVED_AS: dict[str, Callable[[Trace, Path], None]] = {
    ".npz": Trace.save,
    ".csv": lambda trace, path: trace.to_frame().to_csv(path, index=False),
}
"""Suffix of a file -> function that writes a trace to it: all tensors, or a row for each weight."""


def list_models(arguments: Namespace) -> None:
    """Print name, task, size and test metrics of every model, and what files beside them are."""
    _list(store.list_models())
    for error in store.refused_files():
        print(localized(error))


def _list(models):
    if not models:
        print(f"There are no models in {store.models_folder()}. Train one: {example('train')}")
        return
    rows = []
    for model in models:
        figures = headline_metrics(model.card.get("test", {})).items()
        parameters = f"{model.config.num_parameters:,}" if model.config else ""
        damage = Phrase("command.damaged", reason=model.error)
        task = localized(damage) if model.error else model.card.get("task", "")
        test = " ".join(f"{name} {value:.4f}" for name, value in figures) or "not measured"
        rows.append((model.name, task, parameters, f"{model.size / 1e6:.1f} MB", test))
    print(pd.DataFrame(rows, columns=["name", "task", "parameters", "size", "test"]).to_string(index=False))


def predict(arguments: Namespace) -> None:
    """Print label and probability of each text, or the likeliest tokens behind each [MASK]."""
    explorer = _load(arguments.model)
    if explorer.config.fills_in:
        for text in arguments.text:
            print(explorer.fill_in(text).to_string(index=False, float_format="{:.4f}".format))
        return
    frame = explorer.predict(arguments.text)
    for row in frame.to_dict("records"):
        print(f"{row['label']}  {row['prob_' + row['label']]:.4f}  {row['text']}")


def generate(arguments: Namespace) -> None:
    """Print the text that a decoder generates for each text; sampled ones are drawn independently."""
    explorer = _load(arguments.model)
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
        print(f"{text} -> {written.text}{'' if written.finished else ' ...'}")


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
    print(" ".join(result.tokens))
    if result.target_tokens:
        print(" ".join(result.target_tokens))
    if result.num_dropped:
        print(f"{len(result.tokens)} of {len(result.tokens) + result.num_dropped} tokens were read.")
    if result.labels:
        probs = result.answer_probs
        likeliest = probs.argsort()[::-1][:LIKELIEST]
        print(", ".join(f"{result.labels[i]} {probs[i]:.4f}" for i in likeliest))
    else:
        print(localized(why_no_answer(explorer.card)))
    print(f"Wrote {arguments.out} ({arguments.out.stat().st_size / 1e3:,.0f} kB).")


def evaluate(arguments: Namespace) -> None:
    """Print the metrics of a model on a data set."""
    explorer = _load(arguments.model)
    if explorer.config.has_decoder:
        read = read_pairs if explorer.config.has_encoder else read_for_decoder
        rows = _read(read, arguments)
        perplexity = load_upper_floor("inspection.perplexity")
        is_text = not any(rows["target"]) or perplexity.is_packed(explorer)
        if not explorer.config.has_encoder and is_text:
            _evaluate_texts(explorer, (rows["text"] + " " + rows["target"]).str.strip())
            return
        result = load_upper_floor("inspection.evaluation").evaluate_generation(explorer, rows)
        print(f"rows            {result.rows:,}\nexact match     {result.exact_match:.4f}")
        print(f"perplexity      {result.perplexity:.4f}")
        _print_accuracies(result)
        return
    if explorer.config.fills_in:
        rows = _read(read_for_decoder, arguments)
        result = load_upper_floor("inspection.perplexity").evaluate_masked_tokens(
            explorer, rows["text"], progress=True
        )
        print(f"texts           {result.texts:,}\nhidden tokens   {result.tokens:,}")
        print(f"perplexity      {result.perplexity:.4f}")
        _print_accuracies(result)
        return
    name = str(arguments.data)
    rows = NAMED[name]()[1] if name in NAMED else _read(read_labelled, arguments)
    result = load_upper_floor("inspection.evaluation").evaluate(explorer, rows, progress=True)
    print(f"rows               {result.rows:,}\naccuracy           {result.accuracy:.4f}")
    print(f"  uniform attention  {result.uniform_accuracy:.4f}")
    print(f"  heads set to zero  {result.headless_accuracy:.4f}")
    error, best, best_error = result.calibration
    print(f"calibration error  {error:.4f} at temperature {explorer.config.temperature:g}")
    if best is not None:
        print(f"  at the best        {best_error:.4f} at temperature {best:.4g}")
    print()
    print(result.by_label.to_string(float_format="{:.4f}".format))
    print(f"\n{result.confusion.to_string()}\n(rows: true label; columns: predicted)")


def _read(read, arguments):
    """Return the rows of a data set, and print what was left out."""
    rows = read(arguments.data, columns(arguments.columns), read_options(arguments))
    print_left_out(rows)
    return rows


def print_left_out(rows: pd.DataFrame) -> None:
    """Print what was left out of the file of some rows."""
    for sentence in rows.attrs["bad_rows"].said():
        print(localized(sentence))


def _evaluate_texts(explorer, texts):
    result = load_upper_floor("inspection.perplexity").evaluate_texts(explorer, texts, progress=True)
    print(f"texts           {result.texts:,}\ntokens          {result.tokens:,}")
    print(f"perplexity      {result.perplexity:.4f}\nbits per byte   {result.bits_per_byte:.4f}")
    _print_accuracies(result)


def _print_accuracies(result):
    """Print the token accuracy, with attention as it is, uniform, and without heads."""
    print(f"token accuracy  {result.token_accuracy:.4f}")
    print(f"  uniform attention   {result.uniform_accuracy:.4f}")
    print(f"  heads set to zero   {result.headless_accuracy:.4f}")


def headline_metrics(measured: dict[str, Any]) -> dict[str, float]:
    """Return the headline metrics among those of a model card."""
    return {
        name.replace("_", " "): measured[name]
        for name in (
            "accuracy",
            "bleu_one_reference",
            "bleu",
            "perplexity",
            "bits_per_byte",
            "exact_match",
            "token_accuracy",
            "induction_score",
        )
        if name in measured
    }


def _load(model):
    return load_upper_floor("inspection.explorer").load(model)
