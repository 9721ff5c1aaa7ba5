"""The training that the arguments of `train` ask for."""

import dataclasses
import shlex
from argparse import Namespace
from pathlib import Path
from typing import Any, NamedTuple

from transformer_viz import store
from transformer_viz.cli.arguments import assignment, columns, label_name, read_options, translation
from transformer_viz.cli.program import program
from transformer_viz.data import NAMED, Preview, preview
from transformer_viz.data.tasks import TASKS
from transformer_viz.language import Problem
from transformer_viz.store.hugging_face import PREFIX, with_hub
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.plan import plan
from transformer_viz.training.runs.recipes import RECIPES, Reading, Recipe, likely_reading, recipe_name
from transformer_viz.training.runs.settings import TrainingSettings


class Planned(NamedTuple):
    """A training that a command asks for.

    Attributes:
        job: The training.
        found: Preview of the first file; None: the data are no file.
    """

    job: TrainingJob
    found: Preview | None


def planned(arguments: Namespace) -> Planned:
    """Return the training that the arguments of `train` describe; what they leave out is as on the page."""
    data, options = arguments.data[0], read_options(arguments)
    found = None if str(data) in (*NAMED, *TASKS) else preview(data, options)
    parent = _place_of(arguments.parent) if arguments.parent else ""
    recipe, reading = _recipe(arguments, found)
    begun = plan(
        recipe,
        preset=arguments.preset or "",
        reading=reading,
        changes=_changes(arguments),
        settings={"test_share": 0.0} if arguments.test else {},
        **(_parent(arguments, parent, found) if parent else {}),
    )
    given = {field.name: getattr(arguments, field.name) for field in dataclasses.fields(TrainingSettings)}
    given = {name: value for name, value in given.items() if value is not None}
    job = TrainingJob(
        config=begun.config,
        settings=dataclasses.replace(begun.settings, **given),
        data=data,
        more_data=arguments.data[1:],
        train_only=arguments.train_only,
        rows=recipe.rows if arguments.rows is None else arguments.rows,
        keep_case=arguments.keep_case,
        test=arguments.test or "",
        label_names=dict(map(label_name, arguments.label_names)),
        probes=tuple(arguments.probes),
        parent=parent,
        trainable_layers=arguments.trainable_layers,
        card={
            **({"preset": begun.preset} if begun.preset else {}),
            "command": _command_of(arguments, parent),
            "source": arguments.source,
            "licence": arguments.licence,
            **_translated(purpose=arguments.purpose, limits=arguments.limits),
            "examples": arguments.examples,
        },
        out=str(_output_folder(arguments.out)),
        overwrite=arguments.overwrite,
        columns=columns(arguments.columns),
        options=options,
    )
    return Planned(dataclasses.replace(job, **_tokens(arguments, job, found)), found)


def _place_of(parent: str) -> str:
    """Return the name or the folder of the model to start from; one of the hub is fetched into its cache."""
    if parent.startswith(PREFIX):
        from transformer_viz.store.hugging_face import hub  # noqa: PLC0415  loads what speaks to the network

        return str(hub.cached_folder(parent))
    try:
        store.read_config(parent)
    except store.ModelError as error:
        raise with_hub(error, parent) from None
    return parent


def _recipe(arguments, found) -> tuple[Recipe, Reading | None]:
    """Return the recipe for the data, as on the page, and how the texts of a file are read; with a preset,
    that alone.
    """
    if arguments.preset:
        return Recipe(arguments.preset), None
    named = columns(arguments.columns)
    kind = recipe_name(arguments.data[0], named, found)
    if found is None:
        return RECIPES[kind], None
    recipe = RECIPES[kind] if arguments.data[1:] else RECIPES[kind].for_rows(found.num_rows)
    return recipe, likely_reading(kind, found, named)


def _changes(arguments):
    """Return the fields of the config that are given; a target with tokens of its own has its own
    vocabulary.
    """
    untied = {"tie_embeddings": False} if arguments.target_tokens and not arguments.parent else {}
    return untied | dict(map(assignment, arguments.set))


def _parent(arguments, parent, found) -> dict[str, Any]:
    """Return what the plan is told of the model to fine-tune."""
    if arguments.tokens or arguments.target_tokens or arguments.keep_case:
        raise Problem("command.tokens")
    config = store.read_config(parent)
    return {"parent": config, "classifies": _classifies(config, arguments, found)}


def _tokens(arguments, job, found):
    """Return the kinds of tokens and whether case is distinguished; for a file, not given, as on the page."""
    given = {"tokens": arguments.tokens, "target_tokens": arguments.target_tokens}
    given = {name: tokens for name, tokens in given.items() if tokens}
    if arguments.tokens or job.parent or found is None:
        return given
    reading = likely_reading(kind_of_rows(job.config), found, job.columns)
    if job.config.tie_embeddings:
        reading = reading.in_one_vocabulary()
    return reading.of_job | ({"keep_case": True} if job.keep_case else {}) | given


def kind_of_rows(config):
    """Return the kind of rows that a model with that config is trained on."""
    if config.predicts_tokens:
        return "pairs" if config.architecture == "encoder-decoder" else "texts"
    return "labels"


def _classifies(parent, arguments, found):
    """Return whether the new model is a classifier: a language model becomes one on labelled data."""
    if not parent.is_foreign and not (parent.reads_start and parent.predicts_tokens):
        return not parent.predicts_tokens
    recipe = recipe_name(arguments.data[0], columns(arguments.columns), found)
    fills_in = parent.fills_in and not parent.is_foreign
    return not arguments.pack and (fills_in or RECIPES[recipe].classifies)


def _output_folder(out):
    """Return the path of the folder to write; a bare name is one on the shelf, as for `--model`."""
    return Path(out) if store.is_path(out) else store.models_folder() / out


def _translated(**given):
    """Return field of the card -> language -> text, for those that are given."""
    return {name: dict(map(translation, texts)) for name, texts in given.items() if texts}


def _command_of(arguments, parent):
    """Return the typed command, with bare file names and the model's folder in `models/`."""
    paths = {
        str(path): path.name for path in (*arguments.data, *arguments.train_only, arguments.test) if path
    }
    for folder in filter(store.is_path, filter(None, (parent, arguments.out))):
        paths[folder] = f"models/{Path(folder).name}"
    return f"{program()} {shlex.join(paths.get(part, part) for part in arguments.argv)}"
