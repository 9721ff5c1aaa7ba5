"""The parser of the command line."""

import argparse
import dataclasses
from pathlib import Path

from transformer_viz.cli import app, comparing, explaining, fetching, models, roles, training
from transformer_viz.cli.program import example, program, program_name
from transformer_viz.data import NAMED
from transformer_viz.data.columns import MAX_LABELS, MOST_LABELS
from transformer_viz.data.encodings import ENCODINGS
from transformer_viz.data.tasks import TASKS
from transformer_viz.runs import TrainingSettings
from transformer_viz.runs.recipes import Recipe
from transformer_viz.text.kinds import TOKEN_KINDS
from transformer_viz.values.presets import PRESETS
from transformer_viz.values.version import __version__

FILES = (
    "CSV, TSV, JSON or an Excel workbook, optionally gzipped, with the columns text,label for an encoder or "
    "text,target for a decoder; fastText's form; for a decoder-only model also plain text"
)

SETTINGS_HELP = {
    "epochs": "maximum number of epochs",
    "batch_size": "texts per training step",
    "learning_rate": "peak learning rate",
    "schedule": "learning rate schedule after the warm-up: cosine, paper (1 / sqrt(step)) or constant",
    "warmup": "warm-up, as a share of all steps; 1 or more = number of steps",
    "beta_2": "Adam's beta_2, the decay rate of the second moment",
    "weight_decay": "decoupled weight decay (AdamW); 0 = plain Adam",
    "clip_norm": "gradient-norm clip (global norm); 0 = off",
    "label_smoothing": "share of the target probability spread evenly over all classes",
    "word_dropout": "share of tokens replaced by [UNK] during training",
    "crop": "share of training texts cropped to a random part",
    "average": "decay of the exponential moving average (EMA) of the parameters; 0 = off",
    "pack": "pack texts into rows of max_len tokens without padding (language modelling)",
    "precision": "float32, or, on GPUs that support it, bfloat16 or float16",
    "patience": "early stopping patience: epochs without improvement on the validation set",
    "validation": "share of rows for the validation set, which selects the best epoch",
    "test_share": "share of rows for the test set, evaluated once, after training",
    "same_token_heads": "heads of each layer but the last that begin by attending to the same token",
    "seed": "random seed of the split, the initial parameters, the order of rows and dropout",
}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(prog=program(), description="Open the app, or run a command.")
    parser.add_argument("--version", action="version", version=f"Transformer Viz {__version__}")
    parser.add_argument("--no-browser", action="store_true", help="serve the app, but open no window")
    parser.add_argument("--port", type=int, help="port to serve the app on (default 8501, or the next free)")
    parser.set_defaults(command=app.open_app, name=program_name())
    commands = parser.add_subparsers(metavar="COMMAND")

    def add(name, command, text):
        sub = commands.add_parser(name, help=text, description=text, epilog=f"example: {example(name)}")
        sub.set_defaults(command=command, name=f"{program_name()} {name}")
        return sub

    _add_model_commands(add)
    _add_train_arguments(add("train", training.train, "Train a model and save it."))
    add("runs", training.list_all_runs, "List training runs with status, progress and best result.")
    for name, command, text in (
        ("resume", training.resume, "Resume a training run from its last checkpoint."),
        ("stop", training.stop, "Stop a training run; the best model so far is kept."),
    ):
        add(name, command, text).add_argument("run", help="run id, as listed by `runs`")
    return parser


def _add_generate(sub):
    sub.add_argument("--model", required=True, help="a name on the shelf, or a folder")
    sub.add_argument("--text", required=True, nargs="+", help="one or more texts, each in quotes")
    sub.add_argument("--beam-size", type=int, default=1, help="beam width; 1 = greedy decoding")
    text = "sample each token, from softmax(logits / T); 0 = no sampling (default 0)"
    sub.add_argument("--temperature", type=float, default=0.0, metavar="T", help=text)
    sub.add_argument("--top-k", type=int, metavar="K", help="sample only among the K likeliest tokens")
    text = "sample only among the likeliest tokens that together reach this probability (default 1: all)"
    sub.add_argument("--top-p", type=float, default=1.0, metavar="P", help=text)
    sub.add_argument("--seed", type=int, default=0, help="random seed of the sampling (default 0)")
    sub.add_argument("--max-new", type=int, help="most tokens to generate (default: as many as fit)")


def _add_explain(sub):
    sub.add_argument("--model", required=True, help="a name on the shelf, or a folder")
    asked = sub.add_mutually_exclusive_group(required=True)
    asked.add_argument("--text", help="the text, in quotes")
    text = "instead: how well the estimates agree with what is measured, over the texts of --data"
    asked.add_argument("--measure", action="store_true", help=text)
    sub.add_argument("--answer", help="the class or token to explain (default: the prediction)")
    sub.add_argument("--versus", help="another one: why the answer rather than this")
    text = "position of the token that answers; -1 is the next token (default: the whole answer)"
    sub.add_argument("--position", type=int, help=text)
    sub.add_argument("--target", help="target of an encoder-decoder; default: the generated text")
    sub.add_argument("--out", type=Path, help="a .csv file to write: a row for each cell")
    sub.add_argument("--data", type=Path, help=f"texts to measure over: {FILES}; or {', '.join(NAMED)}")
    sub.add_argument("--rows", type=int, default=50, help="most texts, chosen at random (default 50)")
    sub.add_argument("--save", action="store_true", help="keep the result in the model's card, for its pages")
    _add_reading(sub)


def _add_compare(sub):
    sub.add_argument("--model", required=True, help="a name on the shelf, or a folder")
    sub.add_argument("--text", required=True, help="the text of A, in quotes")
    sub.add_argument("--with-text", metavar="TEXT", help="the text of B (default: that of A)")
    sub.add_argument("--with-model", metavar="MODEL", help="the model of B (default: that of A)")
    text = "heads to switch off in B: 1.3 is layer 1, head 3, from 0; cross.1.3 in cross-attention"
    sub.add_argument("--ablate", nargs="+", default=[], metavar="HEAD", help=text)
    text = "replace the output of these heads by their mean over the text instead of zero"
    sub.add_argument("--mean", action="store_true", help=text)
    text = "edges to cut in B: 1.3.5.2 is from query 5 to key 2 in layer 1, head 3"
    sub.add_argument("--cut", nargs="+", default=[], metavar="EDGE", help=text)
    sub.add_argument("--positions", help="position encoding of B: none, sinusoidal, ...")
    sub.add_argument("--order", help="order in which B reads the tokens: reversed, shuffled, shuffled:7, ...")
    sub.add_argument("--mask", help="mask over the text of B: none, causal, window:1, ...")
    sub.add_argument("--unscaled", action="store_true", help="do not divide the scores of B by √d_k")
    sub.add_argument("--no-residual", action="store_true", help="remove the residual connections of B")


def _add_model_commands(add):
    add("models", models.list_models, "List the available models.")
    text = "Check versions, devices, memory, disk, folders and engine, and suggest fixes."
    add("doctor", app.examine, text)

    sub = add("predict", models.predict, "Classify texts, or fill in each [MASK].")
    sub.add_argument("--model", required=True, help="a name on the shelf, or a folder")
    sub.add_argument("--text", required=True, nargs="+", help="one or more texts, each in quotes")

    text = "Generate text with a decoder: translate a text, or continue it."
    _add_generate(add("generate", models.generate, text))

    sub = add(
        "trace",
        models.trace,
        "Save every tensor of a forward pass to an .npz file, or its weights to a .csv.",
    )
    sub.add_argument("--model", required=True, help="a name on the shelf, or a folder")
    sub.add_argument("--text", required=True, help="the text, in quotes")
    sub.add_argument("--target", help="decoder input of an encoder-decoder; default: the generated text")
    sub.add_argument(
        "--out",
        required=True,
        type=Path,
        help="the file to write: .npz, all tensors; .csv, a row for each weight",
    )

    text = "Say which words and which heads speak for an answer, and which against it."
    _add_explain(add("explain", explaining.explain, text))

    text = "Compare two runs: their answers, and the weight that moved in each head."
    _add_compare(add("compare", comparing.compare, text))

    text = (
        "Fetch a model of the Hugging Face hub: config, parameters and tokenizer, nothing that is executed."
    )
    sub = add("fetch", fetching.fetch, text)
    sub.add_argument("model", metavar="NAME", help="its name on the hub: google-bert/bert-base-uncased")

    text = "Evaluate a model on a data set, also with uniform attention and with all heads set to zero."
    sub = add("evaluate", models.evaluate, text)
    sub.add_argument("--model", required=True, help="a name on the shelf, or a folder")
    sub.add_argument("--data", required=True, type=Path, help=f"{FILES}; or {', '.join(NAMED)}")
    _add_reading(sub)

    text = "Show what each head usually does, from what is kept with the model, or measured over many texts."
    sub = add("roles", roles.roles, text)
    sub.add_argument("--model", required=True, help="a name on the shelf, or a folder")
    tasks = ", ".join(TASKS)
    text = f"texts to measure it over: {FILES}; or {', '.join(NAMED)}; or a task: {tasks}; their labels tell "
    text += "which words are typical of each"
    sub.add_argument("--data", type=Path, help=text)
    sub.add_argument("--rows", type=int, default=500, help="most texts, chosen at random (default 500)")
    sub.add_argument("--save", action="store_true", help="keep the result with the model, for its captions")
    _add_reading(sub)


def _add_train_arguments(sub):
    sub.epilog = f"{sub.epilog}; to fine-tune a model: {example('train --from')}"
    text = "the architecture to start from; without it and --from, model and settings are chosen for the data"
    start = sub.add_mutually_exclusive_group()
    start.add_argument("--preset", choices=PRESETS, help=text)
    start.add_argument(
        "--from",
        dest="parent",
        metavar="MODEL",
        help="the model to fine-tune, a name on the shelf or a folder: its tokenizer, sizes and parameters "
        "are kept; on labelled data, a language model becomes a classifier, and with --set output=tokens a "
        "decoder becomes a masked language model",
    )
    sub.add_argument(
        "--trainable-layers",
        type=int,
        metavar="N",
        help="with --from: train only the last N layers and the output layer, and freeze the others",
    )
    sub.add_argument(
        "--data",
        required=True,
        nargs="+",
        type=Path,
        help=f"one or more files ({FILES}); or a data set: {', '.join(NAMED)}; or a task that generates its "
        f"data: {', '.join(TASKS)}",
    )
    _add_reading(sub)
    sub.add_argument("--tokens", choices=TOKEN_KINDS, help="tokenisation (default: chosen for the data)")
    text = "tokenisation of the target, with a vocabulary of its own (default: chosen for the data)"
    sub.add_argument("--target-tokens", choices=TOKEN_KINDS, help=text)
    sub.add_argument("--keep-case", action="store_true", help="case-sensitive tokens")
    sub.add_argument("--rows", type=int, help=f"examples that a task generates (default {Recipe.rows})")
    sub.add_argument("--out", required=True, help="a name for the model on the shelf, or a folder to write")
    sub.add_argument("--test", type=Path, help="test set: a file, evaluated once, after training")
    text = "files of further rows that are only trained on, never used for validation: guessed labels, say"
    sub.add_argument("--train-only", nargs="+", default=[], type=Path, metavar="FILE", help=text)
    sub.add_argument("--overwrite", action="store_true", help="replace an existing model of that name")
    text = (
        "override preset fields: d_model=64; with --from, those that the parameters leave open: dropout=0.2"
    )
    sub.add_argument("--set", nargs="+", default=[], metavar="FIELD=VALUE", help=text)
    text = "names of labels: 0=negative"
    sub.add_argument("--label-names", nargs="+", default=[], metavar="LABEL=NAME", help=text)
    sub.add_argument("--source", default="", help="source of the data, for the model card")
    sub.add_argument("--licence", default="", help="licence of the data, for the model card")
    text = "what the model does in a few words, for the choice of models: en=... zh=..."
    sub.add_argument("--purpose", nargs="+", default=[], metavar="LANGUAGE=TEXT", help=text)
    text = "what the model is not to be trusted with, for the model card: en=... zh=..."
    sub.add_argument("--limits", nargs="+", default=[], metavar="LANGUAGE=TEXT", help=text)
    sub.add_argument("--examples", nargs="+", default=[], help="example texts for the app, best first")
    sub.add_argument(
        "--probes",
        nargs="+",
        default=[],
        help="texts whose attention is recorded during training, in the run's folder",
    )
    _add_settings(sub.add_argument_group("training"))


def _add_settings(group):
    for field in dataclasses.fields(TrainingSettings):
        name = f"--{field.name.replace('_', '-')}"
        if field.type is bool:
            group.add_argument(name, action="store_true", default=None, help=SETTINGS_HELP[field.name])
            continue
        text = f"{SETTINGS_HELP[field.name]} (default {field.default})"
        group.add_argument(name, type=field.type, help=text)


def _add_reading(sub):
    sub.add_argument(
        "--columns",
        nargs="+",
        default=[],
        metavar="ROLE=NAME",
        help="columns of the text, label, target or group, if they cannot be inferred: text=review",
    )
    text = f"encoding of the files (default: recognised): {', '.join(ENCODINGS)}"
    sub.add_argument("--encoding", metavar="NAME", help=text)
    text = "the first row is data: the columns are named 'column 1', 'column 2', ..."
    sub.add_argument("--no-header", action="store_true", help=text)
    text = (
        "leave out rows that cannot be used, and say how many; otherwise they are named and nothing is done"
    )
    sub.add_argument("--skip-bad-rows", action="store_true", help=text)
    text = f"accept more than {MAX_LABELS} different labels, up to {MOST_LABELS:,}"
    sub.add_argument("--many-labels", action="store_true", help=text)
