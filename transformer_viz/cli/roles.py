"""The command that shows what each head of a model usually does, and measures it."""

from argparse import Namespace
from pathlib import Path

import pandas as pd

from transformer_viz import store
from transformer_viz.cli.arguments import columns, read_options
from transformer_viz.cli.evaluating import tell_left_out
from transformer_viz.cli.language import listed, t, words
from transformer_viz.cli.output import give, in_words, progress, remark, say, table
from transformer_viz.cli.program import program
from transformer_viz.data import (
    NAMED,
    RECOGNISED,
    DataError,
    ReadOptions,
    preview,
    read_for_decoder,
    read_labelled,
    read_pairs,
    read_texts,
)
from transformer_viz.data.tasks import TASKS
from transformer_viz.language import Problem
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.startup import import_with_keras
from transformer_viz.pictures.captions import counted_texts
from transformer_viz.questions.roles.result import HeadRoles, Role

SHOWN = 10
"""Words typical of a label that are printed."""

UNSEEN = 1
"""Seed of the texts that a task generates; trainings have 0 by default."""


def roles(arguments: Namespace) -> None:
    """Write the usual role of every head: as kept with the model, or measured over a file."""
    if arguments.data is None:
        if arguments.save:
            raise Problem("command.save_roles")
        found = store.read_head_roles(arguments.model)
        if found is None:
            command = f"{program()} roles --model {arguments.model} --data FILE --save"
            raise Problem("command.no_roles", model=arguments.model, example=command)
        _write(found)
        return
    if arguments.rows < 1:
        raise Problem("command.rows", received=arguments.rows)
    explorer = import_with_keras("store.load").load(arguments.model)
    names, options = columns(arguments.columns), read_options(arguments)
    texts = texts_of(explorer.config, arguments.data, arguments.rows, names, options)
    typical = _typical_words(explorer, arguments.data, names, options)
    measure = import_with_keras("questions.roles.measure").head_roles
    with progress(total=len(texts), unit="texts") as bar:
        found = measure(explorer, texts, words=typical, progress=lambda done: bar.update(done - bar.n))
    _write(found)
    if arguments.save:
        is_path = store.is_path(arguments.model)
        folder, name = Path(arguments.model).parent, Path(arguments.model).name
        place = store.write_head_roles(name, found, folder if is_path else None)
        remark(t("cli.wrote.size", file=place, size=place.stat().st_size / 1e3))


def texts_of(
    config: TransformerConfig,
    data: Path,
    rows: int,
    names: dict[str, str],
    options: ReadOptions = RECOGNISED,
) -> list[str] | list[tuple[str, str]]:
    """Return a random sample of the texts in a file, a data set or a task, in order.

    Args:
        config: Config of the model; an encoder-decoder gets (text, target) pairs.
        data: The file, or the name of a data set or of a task.
        rows: Most texts.
        names: Role -> column in the file.
        options: How the file is read; what is left out of it is said.
    """
    if str(data) in TASKS:
        pairs = TASKS[str(data)].pairs(rows, seed=UNSEEN)
    elif str(data) in NAMED:
        pairs = [(text, None) for text in NAMED[str(data)]()[1]["text"]]
    elif config.has_decoder:
        frame = (read_pairs if config.has_encoder else read_for_decoder)(data, names, options)
        tell_left_out(frame)
        pairs = list(zip(frame["text"], frame["target"], strict=True))
    else:
        frame = read_texts(data, names, options)
        tell_left_out(frame)
        pairs = [(text, None) for text in frame["text"]]
    if len(pairs) > rows:
        pairs = pd.Series(pairs).sample(rows, random_state=0).sort_index().tolist()
    if config.architecture == "encoder-decoder":
        return [(text, target or "") for text, target in pairs]
    joined = config.architecture == "decoder"
    return [f"{text} {target}".strip() if joined and target else text for text, target in pairs]


def _typical_words(explorer, data, names, options):
    """Return the words typical of each label; None if the texts have no labels, or not those of the model."""
    if not explorer.config.labels or str(data) in TASKS:
        return None
    if str(data) in NAMED:
        rows = NAMED[str(data)]()[1]
    elif "label" in names or preview(data, options).kind == "labels":
        rows = read_labelled(data, names, options)
    else:
        return None
    try:
        return import_with_keras("questions.roles.measure").typical_words(explorer, rows)
    except DataError:
        return None


def _write(found: HeadRoles) -> None:
    """Write the usual roles, and those in short texts; layers and heads count from 0."""
    for measured in filter(None, (found, found.short)):
        _say_table(measured)
    for label, typical in found.words.items():
        say(t("cli.roles.typical", label=label, words=listed(*typical[:SHOWN])))
    give({**_facts(found), "short": found.short and _facts(found.short), "words": found.words})


def _facts(found):
    names = ("kind", "layer", "head", "role", *Role._fields[1:])
    heads = [
        dict(zip(names, (kind, layer, head, *role), strict=True))
        for kind in found.kinds
        for layer, roles in enumerate(found.usual(kind))
        for head, role in enumerate(roles)
    ]
    return {"texts": found.texts, "tokens": found.tokens, "heads": heads}


def _say_table(found):
    frame = found.to_frame()
    has_role = frame["role"] != "mixed"
    frame["role"] = [
        t("cli.column.words") if role == "words" else t(f"role_name.{role}") for role in frame["role"]
    ]
    both = zip(frame["held"], frame["texts"], strict=True)
    held = [t("cli.roles.held", held=held, texts=texts) for held, texts in both]
    for name in ("share", "spread"):
        frame[name] = frame[name].map("{:.2f}".format).where(has_role, "")
    frame["texts"] = pd.Series(held).where(has_role, "")
    shown = ["kind", "layer", "head", "role", "share", "spread", "texts", *["words"] * bool(found.words)]
    say(table(in_words(frame[shown]), index=False))
    say(t("cli.roles.measured", texts=counted_texts(words(), f"{found.texts:,}", found.tokens)))
