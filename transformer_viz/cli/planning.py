"""The training that the arguments of `train` ask for."""

import dataclasses
import shlex
from argparse import Namespace
from pathlib import Path
from typing import Any

from transformer_viz import store
from transformer_viz.cli.arguments import assignment, columns, label_name, read_options, translation
from transformer_viz.cli.program import program
from transformer_viz.data import NAMED, Preview, preview
from transformer_viz.data.tasks import TASKS
from transformer_viz.language import Problem
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.fine_tuning import child_config, longest_text
from transformer_viz.network.presets import PRESETS
from transformer_viz.store.hugging_face import PREFIX, with_hub
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.recipes import RECIPES, Recipe, file_defaults, fine_tuning, recipe_name
from transformer_viz.training.runs.settings import TrainingSettings


def job_of(arguments: Namespace) -> TrainingJob:
    """Return the training that the arguments of `train` describe."""
    if arguments.parent:
        arguments.parent = _place_of(arguments.parent)
    config = config_of(arguments)
    recipe = recipe_of(arguments)
    preset = arguments.preset or (recipe.preset if recipe and not arguments.parent else None)
    job = TrainingJob(
        config=config,
        settings=settings_of(arguments, config),
        data=arguments.data[0],
        more_data=arguments.data[1:],
        train_only=arguments.train_only,
        rows=(recipe or Recipe).rows if arguments.rows is None else arguments.rows,
        keep_case=arguments.keep_case,
        test=arguments.test or "",
        label_names=dict(map(label_name, arguments.label_names)),
        probes=tuple(arguments.probes),
        parent=arguments.parent or "",
        trainable_layers=arguments.trainable_layers,
        card={
            **({"preset": preset} if preset else {}),
            "command": _command_of(arguments),
            "source": arguments.source,
            "licence": arguments.licence,
            **_translated(purpose=arguments.purpose, limits=arguments.limits),
            "examples": arguments.examples,
        },
        out=str(_output_folder(arguments.out)),
        overwrite=arguments.overwrite,
        columns=columns(arguments.columns),
        options=read_options(arguments),
    )
    return dataclasses.replace(job, **_tokens(arguments, job))


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


def first_look(arguments: Namespace) -> Preview | None:
    """Return the preview of the first file, which is read once; None of a task or a data set."""
    if not hasattr(arguments, "first_look"):
        data = arguments.data[0]
        arguments.first_look = preview(data, read_options(arguments)) if _is_file(data) else None
    return arguments.first_look


def recipe_of(arguments: Namespace) -> Recipe | None:
    """Return the recipe for the data, as on the Train page; None if a preset is given."""
    if arguments.preset:
        return None
    found = first_look(arguments)
    name = recipe_name(arguments.data[0], columns(arguments.columns), found)
    if not found:
        return RECIPES[name]
    defaults = file_defaults(name, found, columns(arguments.columns))
    changes: dict[str, Any] = {"max_len": defaults.max_len}
    if defaults.target_tokens:
        changes["tie_embeddings"] = False
    recipe = RECIPES[name] if arguments.data[1:] else RECIPES[name].for_rows(found.num_rows)
    return dataclasses.replace(recipe, changes=recipe.changes | changes)


def settings_of(arguments: Namespace, config: TransformerConfig) -> TrainingSettings:
    """Return the training settings: those given, else those of the recipe, else the defaults."""
    recipe = recipe_of(arguments)
    given = {field.name: getattr(arguments, field.name) for field in dataclasses.fields(TrainingSettings)}
    chosen: dict[str, Any] = {"test_share": 0.0} if arguments.test else {}
    if arguments.parent:
        chosen |= {**fine_tuning(config), "pack": config.fills_in}
    chosen |= {name: value for name, value in given.items() if value is not None}
    return recipe.training(**chosen) if recipe else TrainingSettings(**chosen)


def config_of(arguments: Namespace) -> TransformerConfig:
    """Return the config: of a preset, of a recipe, or of a model fine-tuned from another."""
    changes = dict(map(assignment, arguments.set))
    if arguments.parent:
        return _child(arguments, changes)
    recipe = recipe_of(arguments)
    start_from = PRESETS[arguments.preset] if recipe is None else recipe.config()
    return start_from.replace(**_untied(arguments) | changes)


def _child(arguments, changes):
    """Return the config of a model fine-tuned from another; on a file, for texts as long as on the page."""
    if arguments.tokens or arguments.target_tokens or arguments.keep_case:
        raise Problem("command.tokens")
    parent = store.read_config(arguments.parent)
    child = child_config(parent, classifies=_classifies(parent, arguments), **changes)
    recipe = recipe_of(arguments)
    longest = recipe.changes.get("max_len") if recipe else None
    if longest is None or "max_len" in changes or not _is_file(arguments.data[0]):
        return child
    return child.replace(max_len=longest_text(parent, longest))


def _untied(arguments):
    """Return the changes of a config by which a target with tokens of its own has its own vocabulary."""
    return {"tie_embeddings": False} if arguments.target_tokens else {}


def _tokens(arguments, job):
    """Return the kinds of tokens and whether case is distinguished; for a file, not given, as on the page."""
    given = {"tokens": arguments.tokens, "target_tokens": arguments.target_tokens}
    given = {name: tokens for name, tokens in given.items() if tokens}
    if arguments.tokens or job.parent or not (found := first_look(arguments)):
        return given
    defaults = file_defaults(kind_of_rows(job.config), found, job.columns)
    if job.config.tie_embeddings:
        defaults = defaults.in_one_vocabulary()
    tokens = {"tokens": defaults.tokens, "target_tokens": defaults.target_tokens}
    return tokens | {"keep_case": job.keep_case or defaults.keep_case} | given


def kind_of_rows(config):
    """Return the kind of rows that a model with that config is trained on."""
    if config.predicts_tokens:
        return "pairs" if config.architecture == "encoder-decoder" else "texts"
    return "labels"


def _is_file(data):
    return str(data) not in NAMED and str(data) not in TASKS


def _classifies(parent, arguments):
    """Return whether the new model is a classifier: a language model becomes one on labelled data."""
    if not parent.is_foreign and not (parent.reads_start and parent.predicts_tokens):
        return not parent.predicts_tokens
    recipe = recipe_name(arguments.data[0], columns(arguments.columns), first_look(arguments))
    fills_in = parent.fills_in and not parent.is_foreign
    return not arguments.pack and (fills_in or RECIPES[recipe].classifies)


def _output_folder(out):
    """Return the path of the folder to write; a bare name is one on the shelf, as for `--model`."""
    return Path(out) if store.is_path(out) else store.models_folder() / out


def _translated(**given):
    """Return field of the card -> language -> text, for those that are given."""
    return {name: dict(map(translation, texts)) for name, texts in given.items() if texts}


def _command_of(arguments):
    """Return the typed command, with bare file names and the model's folder in `models/`."""
    paths = {
        str(path): path.name for path in (*arguments.data, *arguments.train_only, arguments.test) if path
    }
    for folder in filter(store.is_path, filter(None, (arguments.parent, arguments.out))):
        paths[folder] = f"models/{Path(folder).name}"
    return f"{program()} {shlex.join(paths.get(part, part) for part in arguments.argv)}"
