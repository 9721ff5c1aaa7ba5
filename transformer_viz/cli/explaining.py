"""The command that says which words and heads speak for an answer, and how good its estimates are."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pandas as pd

from transformer_viz import store
from transformer_viz.cli.arguments import columns, read_options
from transformer_viz.cli.language import t
from transformer_viz.cli.output import give, in_words, progress, remark, say, table
from transformer_viz.cli.roles import texts_of
from transformer_viz.cli.width import padded, width
from transformer_viz.language import Problem
from transformer_viz.network.startup import import_with_keras
from transformer_viz.pictures.effects import signed
from transformer_viz.questions.effects.result import Effects

MOST = 10
"""Heads that are printed, those that do most."""

WIDTH = 20
"""Characters of the longest bar to either side."""

BLOCK = "█"


def explain(arguments: Namespace) -> None:
    """Write the effect of each word and of the strongest heads on an answer; to a file that of each cell."""
    if arguments.measure:
        measure(arguments)
        return
    out = arguments.out
    if out is not None and not out.parent.is_dir():
        raise Problem("command.no_folder", folder=out.parent, file=out.name)
    explorer = import_with_keras("store.load").load(arguments.model)
    found = import_with_keras("questions.effects.measure").effects(
        explorer,
        arguments.text,
        answer=_label(explorer, arguments.answer),
        versus=_label(explorer, arguments.versus),
        position=arguments.position,
        target=arguments.target,
    )
    heads = strongest(found)
    say(answered(found) + "\n")
    say(t("cli.explain.replaced", token=found.stand_in) if found.stand_in else t("cli.explain.deleted"))
    say(bars(found))
    say("\n" + t("cli.explain.heads"))
    say(table(in_words(heads.head(MOST)), index=False, float_format="{:+.2f}".format))
    give(
        {
            "labels": found.labels,
            "versus": found.versus or None,
            **found.certainty._asdict(),
            "stand_in": found.stand_in or None,
            "words": found.words.drop(columns="by").to_dict("records"),
            "heads": heads.to_dict("records"),
        }
    )
    if out is not None:
        try:
            found.to_frame().to_csv(out, index=False)
        except OSError as error:
            raise Problem("command.unwritable", file=out, reason=error.strerror) from None
        remark(t("cli.wrote.file", file=out))


def measure(arguments: Namespace) -> None:
    """Write how well the estimated effects of a model agree with the measured ones over some texts."""
    if arguments.data is None:
        raise Problem("command.measure_data")
    if arguments.rows < 1:
        raise Problem("command.rows", received=arguments.rows)
    explorer = import_with_keras("store.load").load(arguments.model)
    names, options = columns(arguments.columns), read_options(arguments)
    texts: Any = texts_of(explorer.config, arguments.data, arguments.rows, names, options)
    if explorer.config.architecture == "encoder-decoder":
        texts = [pair if pair[1] else pair[0] for pair in texts]
    else:
        texts = import_with_keras("questions.roles.measure").short_texts(explorer, texts) or texts
    measured = import_with_keras("questions.effects.quality")
    found = measured.quality(explorer, progress(texts, unit="texts"))
    shown = found.assign(what=[t(f"cli.what.{what}") for what in found["what"]])
    say(table(in_words(shown), index=False, float_format="{:.2f}".format))
    say(t("cli.explain.measured", texts=len(texts)))
    give({"texts": len(texts), "measured": found.to_dict("records")})
    if arguments.save:
        is_path = store.is_path(arguments.model)
        folder, name = Path(arguments.model).parent, Path(arguments.model).name
        store.write_in_card(name, measured.card_facts(found, len(texts)), folder if is_path else None)
        remark(t("cli.explain.kept", name=name))


def answered(found: Effects) -> str:
    """Return the answer with its probability and log-odds."""
    return t(
        "cli.explain.rather" if found.versus else "cli.explain.answer",
        answer=" ".join(found.labels),
        versus=found.versus,
        probability=f"{found.certainty.probability:.4f}",
        log_odds=signed(found.certainty.log_odds),
    )


def bars(found: Effects) -> str:
    """Return a line for each word: its effect, and a bar to the left if it speaks against the answer."""
    largest = max(found.words["value"].abs().max(), 1e-9)
    widest = max(map(width, found.words["word"]), default=0)
    lines = []
    for row in found.words.to_dict("records"):
        word, value = padded(row["word"], widest), row["value"]
        if pd.isna(value):
            lines.append(f"{word}  " + t("cli.explain.unmeasured"))
            continue
        bar = BLOCK * round(WIDTH * abs(value) / largest)
        bars = f"{bar if value < 0 else '':>{WIDTH}}|{bar if value > 0 else ''}"
        lines.append(f"{word}  {round(value, 2) + 0.0:+7.2f}  {bars}".rstrip())
    return "\n".join(lines)


def strongest(found: Effects) -> pd.DataFrame:
    """Return the heads, those that do most first: columns kind, layer, head (0-based), effect (estimated)."""
    rows: list[tuple[Any, ...]] = [
        (kind, layer, head, float(effect))
        for kind, heads in found.heads.items()
        for layer, effects in enumerate(heads)
        for head, effect in enumerate(effects)
    ]
    frame = pd.DataFrame(rows, columns=pd.Index(["kind", "layer", "head", "effect"]))
    return frame.sort_values("effect", key=abs, ascending=False, kind="stable")


def _label(explorer, typed):
    """Return a number that is no label's name as such."""
    if typed is not None and typed.isdecimal() and typed not in explorer.labels:
        return int(typed)
    return typed
