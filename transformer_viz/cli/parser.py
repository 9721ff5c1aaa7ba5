"""The parser of the command line; the help of an option is the sentence under its name."""

import argparse
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformer_viz.cli import app, comparing, evaluating, explaining, fetching, models, roles, training
from transformer_viz.cli.help import Parser
from transformer_viz.cli.language import t, words
from transformer_viz.cli.program import example, program, program_name
from transformer_viz.data import NAMED
from transformer_viz.data.columns import MAX_LABELS, MOST_LABELS
from transformer_viz.data.encodings import ENCODINGS
from transformer_viz.data.tasks import TASKS
from transformer_viz.language import LANGUAGES
from transformer_viz.network.presets import PRESETS
from transformer_viz.text.kinds import TOKEN_KINDS
from transformer_viz.training.runs.recipes import Recipe
from transformer_viz.training.runs.settings import TrainingSettings
from transformer_viz.version import __version__

FACTS = {
    "data_sets": ", ".join(NAMED),
    "tasks": ", ".join(TASKS),
    "encodings": ", ".join(ENCODINGS),
    "usual_labels": MAX_LABELS,
    "most_labels": MOST_LABELS,
}
"""What sentences of the help name."""


AS_JSON = ("models", "doctor", "predict", "generate", "explain", "compare", "evaluate", "roles", "runs")
"""Commands that write their result as JSON, too."""

REMARKING = ("models", "predict", "trace", "explain", "fetch", "evaluate", "roles", "train", "resume")
"""Commands that write more than their result."""


class Options:
    """The options of a command, each added with its help.

    Args:
        command: Name of the command; "app" is the program without one.
        place: The parser, or a group of it.
    """

    def __init__(self, command: str, place: Any):
        self.command, self.place = command, place

    def __call__(self, *names: str, shown: object = None, **settings: Any) -> None:
        """Add an option.

        Args:
            *names: As for `add_argument`, the full name last.
            shown: Default that the help states if it is not the one of the parser.
            **settings: As for `add_argument`.
        """
        text = help_of(self.command, names[-1].lstrip("-").replace("-", "_"))
        default = settings.get("default") if shown is None else shown
        if default not in (None, "", [], argparse.SUPPRESS):
            said = default if isinstance(default, str) else f"{default:,}".removesuffix(".0")
            text = t("cli.default", text=text, default=said)
        self.place.add_argument(*names, help=text.replace("%", "%%"), **settings)


def help_of(command: str, name: str) -> str:
    """Return the help of an option: the sentence of the command, else the one that commands share."""
    known = words()
    if known.has(f"cli.help.{command}.{name}"):
        return known(f"cli.help.{command}.{name}", files=t("cli.files"), **FACTS)
    return known(f"cli.help.{name}", **FACTS)


def build_parser() -> Parser:
    """Return the parser of all commands, in the language that is spoken."""
    parser = Parser(prog=program(), description=t("cli.about.app"), epilog=_example("predict"))
    parser.set_defaults(command=app.open_app, name=program_name(), lang=None, as_json=False, quiet=False)
    add = Options("app", parser)
    add("-h", "--help", action="help")
    add("--version", action="version", version=f"Transformer Viz {__version__}")
    add("--no-browser", action="store_true")
    add("--port", type=int)
    _add_language(add)
    commands = parser.add_subparsers(title=t("cli.commands"), metavar="COMMAND")

    def command(name: str, function: Callable[[argparse.Namespace], int | None]) -> Options:
        text = t(f"cli.about.{name}")
        sub = commands.add_parser(name, help=text, description=text, epilog=_example(name))
        sub.set_defaults(command=function, name=f"{program_name()} {name}")
        add = Options(name, sub)
        add("-h", "--help", action="help")
        _add_language(add)
        if name in AS_JSON:
            add("--json", action="store_true", dest="as_json")
        if name in REMARKING:
            add("-q", "--quiet", action="store_true")
        return add

    command("models", models.list_models)
    command("doctor", app.examine)
    _add_predict(command("predict", models.predict))
    _add_generate(command("generate", models.generate))
    _add_trace(command("trace", models.trace))
    _add_explain(command("explain", explaining.explain))
    _add_compare(command("compare", comparing.compare))
    command("fetch", fetching.fetch)("model", metavar="NAME")
    _add_evaluate(command("evaluate", evaluating.evaluate))
    _add_roles(command("roles", roles.roles))
    _add_train(command("train", training.train))
    command("runs", training.list_all_runs)
    command("resume", training.resume)("run")
    command("stop", training.stop)("run")
    return parser


def _example(name):
    return t("cli.example") + f"\n  {example(name)}"


def _add_language(add):
    add("--lang", choices=LANGUAGES, default=argparse.SUPPRESS)


def _add_predict(add):
    add("--model", required=True)
    asked = Options(add.command, add.place.add_mutually_exclusive_group(required=True))
    asked("--text", nargs="+")
    asked("--data", type=Path)
    add("--out", type=Path)
    _add_reading(add)


def _add_generate(add):
    add("--model", required=True)
    add("--text", required=True, nargs="+")
    add("--beam-size", type=int, default=1)
    add("--temperature", type=float, default=0.0, metavar="T")
    add("--top-k", type=int, metavar="K")
    add("--top-p", type=float, default=1.0, metavar="P")
    add("--seed", type=int, default=0)
    add("--max-new", type=int)


def _add_trace(add):
    add("--model", required=True)
    add("--text", required=True)
    add("--target")
    add("--out", required=True, type=Path)


def _add_explain(add):
    add("--model", required=True)
    asked = Options(add.command, add.place.add_mutually_exclusive_group(required=True))
    asked("--text")
    asked("--measure", action="store_true")
    add("--answer")
    add("--versus")
    add("--position", type=int)
    add("--target")
    add("--out", type=Path)
    add("--data", type=Path)
    add("--rows", type=int, default=50)
    add("--save", action="store_true")
    _add_reading(add)


def _add_compare(add):
    add("--model", required=True)
    add("--text", required=True)
    add("--with-text", metavar="TEXT")
    add("--with-model", metavar="MODEL")
    add("--ablate", nargs="+", default=[], metavar="HEAD")
    add("--mean", action="store_true")
    add("--ablate-ffn", nargs="+", default=[], metavar="LAYER")
    add("--cut", nargs="+", default=[], metavar="EDGE")
    add("--positions")
    add("--order")
    add("--mask")
    add("--unscaled", action="store_true")
    add("--no-residual", action="store_true")


def _add_evaluate(add):
    add("--model", required=True)
    add("--data", required=True, type=Path)
    _add_reading(add)


def _add_roles(add):
    add("--model", required=True)
    add("--data", type=Path)
    add("--rows", type=int, default=500)
    add("--save", action="store_true")
    _add_reading(add)


def _add_train(add):
    start = Options(add.command, add.place.add_mutually_exclusive_group())
    start("--preset", choices=PRESETS)
    start("--from", dest="parent", metavar="MODEL")
    add("--trainable-layers", type=int, metavar="N")
    add("--data", required=True, nargs="+", type=Path)
    _add_reading(add)
    add("--tokens", choices=TOKEN_KINDS)
    add("--target-tokens", choices=TOKEN_KINDS)
    add("--keep-case", action="store_true")
    add("--rows", type=int, shown=Recipe.rows)
    add("--out", required=True)
    add("--test", type=Path)
    add("--train-only", nargs="+", default=[], type=Path, metavar="FILE")
    add("--overwrite", action="store_true")
    add("--set", nargs="+", default=[], metavar="FIELD=VALUE")
    add("--label-names", nargs="+", default=[], metavar="LABEL=NAME")
    add("--source", default="")
    add("--licence", default="")
    add("--purpose", nargs="+", default=[], metavar="LANGUAGE=TEXT")
    add("--limits", nargs="+", default=[], metavar="LANGUAGE=TEXT")
    add("--examples", nargs="+", default=[])
    add("--probes", nargs="+", default=[])
    setting = Options(add.command, add.place.add_argument_group(t("cli.training")))
    for field in dataclasses.fields(TrainingSettings):
        name = f"--{field.name.replace('_', '-')}"
        if field.type is bool:
            setting(name, action="store_true", default=None)
        else:
            setting(name, type=field.type, shown=field.default)


def _add_reading(add):
    add("--columns", nargs="+", default=[], metavar="ROLE=NAME")
    add("--encoding", metavar="NAME")
    add("--no-header", action="store_true")
    add("--skip-bad-rows", action="store_true")
    add("--many-labels", action="store_true")
