"""The settings of a new run: sizes of the model, training settings, probe texts."""

import dataclasses
import os
from collections.abc import Callable, Iterable
from typing import Any

import streamlit as st

from transformer_viz.language import joined
from transformer_viz.lessons.lesson import OF_ITS_TASK, Lesson
from transformer_viz.network.config import CHOICES, TransformerConfig
from transformer_viz.training.runs.job import LONGEST_PROBE, TrainingJob
from transformer_viz.training.runs.plan import Material, num_steps, plan
from transformer_viz.training.runs.recipes import RECIPES, Recipe, presets_for
from transformer_viz.training.runs.settings import PRECISIONS, SCHEDULES, TrainingSettings
from transformer_viz.ui.pages.train.parent import ask_layers, ask_parent, show_fit
from transformer_viz.ui.shell.card import kind_name
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.classroom import owner
from transformer_viz.ui.shell.language import t, words
from transformer_viz.ui.shell.upload import WIDTH

LAYERS = range(1, 7)
HEADS = (1, 2, 4, 8)
WIDTHS = (16, 32, 64, 128, 256, 512)
FFN_WIDTHS = (0, 32, 64, 128, 256, 512, 1024)
EPOCHS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30)
RATES = (0.00001, 0.00002, 0.00003, 0.00005, 0.0001, 0.0003, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02)
ROWS = (2_000, 5_000, 10_000, 20_000, 40_000, 80_000)
BATCHES = (8, 16, 32, 64, 128, 256)

MAX_PROBES = 6
"""Maximum number of probe texts."""

EXAMPLES = [
    ("A lovely film, and I could not stop smiling.", None),
    ("The plot was thin, but the acting was not bad at all.", None),
]
"""Default probes if there are no examples of the data yet."""

FRAMES = 36
"""Frames of the probes in a run, in addition to one at the end of each epoch."""

DEFINED = {
    "layers": "layer",
    "heads": "head",
    "ffn": "feed_forward",
    "positions": "position_encoding",
    "epochs": "epoch",
    "rate": "learning_rate",
    "dropout": "dropout",
    "batch": "batch",
    "warmup": "warm_up",
    "clip": "gradient_clipping",
    "smoothing": "label_smoothing",
    "average": "ema",
    "patience": "early_stopping",
}
"""Setting -> the term of the glossary that its tip begins with."""

SHARE = {"min_value": 0.0, "max_value": 0.95, "step": 0.05}
"""Limits of a share."""


class Controls:
    """Controls whose label and help are named after the setting; each choice of data and model has its own.

    Args:
        place: Part of their keys.
    """

    def __init__(self, place: str):
        self.place = place

    def slide(self, name: str, options: Iterable[Any], value: Any) -> Any:
        """Show a slider over some options and the default."""
        options = sorted({*options, value})
        return st.select_slider(options=options, value=value, format_func=plain, **self._named(name))

    def number(self, name: str, value: float, **limits: Any) -> Any:
        """Show a box for a number."""
        return st.number_input(value=value, width=WIDTH, **limits, **self._named(name))

    def pick(self, name: str, options: Iterable[str], value: str, named: Callable[[str], str] = str) -> str:
        """Show a list of options; `named` returns the name of one in the visitor's language."""
        options = list(options)
        settings = {"index": options.index(value), "format_func": named, "width": WIDTH}
        return st.selectbox(options=options, **settings, **self._named(name))

    def flag(self, name: str, *, value: bool) -> bool:
        """Show a switch."""
        return st.toggle(value=value, **self._named(name))

    def _named(self, name) -> dict[str, Any]:
        key, tips = f"{name}-{self.place}", []
        if name in DEFINED:
            tips.append(t(f"gloss.{DEFINED[name]}"))
        if words().has(f"train.{name}.help"):
            tips.append(t(f"train.{name}.help"))
        return {"label": t(f"train.{name}"), "help": joined(*tips), "key": key}


def ask_settings(material: Material, lesson: Lesson | None = None) -> TrainingJob:
    """Show the sizes of the model and the training settings; return the job.

    Args:
        material: The data.
        lesson: A lesson, with whose settings its task begins; None: none.

    Raises:
        ValueError: If they are incompatible.
    """
    recipe = RECIPES[material.recipe]
    if material.rows is not None:
        recipe = recipe.for_rows(material.rows)
    own = lesson if lesson and lesson.task == material.data else None
    training = own.training if own else OF_ITS_TASK
    parent = ask_parent(material, recipe)
    begun = plan(
        recipe,
        preset="" if parent else ask_preset(material, recipe),
        parent=config_of(parent) if parent else None,
        reading=material.reading,
        changes={"num_layers": training.layers} if training.layers and not parent else {},
        settings={"test_share": material.test_share} | training.settings(),
    )
    sizes, settings, trainable = {}, begun.settings, None
    if parent:
        controls = Controls(f"{material.recipe}-from-{parent.name}")
        show_fit(parent, material)
        trainable = ask_layers(begun.config, controls.place)
    else:
        controls = Controls(f"{material.recipe}-{begun.preset}{own.name if own else ''}")
    with st.container(horizontal=True, gap="small"):
        if not parent:
            sizes = ask_sizes(controls, begun.config)
        main = ask_main(controls, settings)
        rows = material.rows
        if rows is None:
            rows = controls.slide("rows", ROWS, training.rows or recipe.rows)
    with st.expander(t("train.more"), icon=":material/tune:"), st.container(horizontal=True, gap="small"):
        if not parent:
            sizes |= ask_more_sizes(controls, begun.config)
        sizes["dropout"] = controls.number("dropout", begun.config.dropout, **SHARE)
        more = ask_more(controls, settings)
        if parent:
            more["layer_decay"] = controls.number("layer_decay", settings.layer_decay, **SHARE)
        if recipe.classifies:
            more["class_weights"] = controls.flag("class_weights", value=settings.class_weights)
    config = begun.config.replace(**sizes)
    probes = ask_probes(material, config.architecture == "encoder-decoder", own)
    job = TrainingJob(
        config=config,
        settings=dataclasses.replace(settings, **main, **more),
        data=material.data,
        rows=rows,
        probes=probes,
        owner=owner(),
        parent=parent.reference if parent else "",
        trainable_layers=trainable,
        card={
            **({"preset": begun.preset} if begun.preset else {}),
            "source": title_of_data(material.data),
            "examples": [probe if isinstance(probe, str) else probe[0] for probe in probes],
        },
        **material.job,
    )
    return dataclasses.replace(job, frame_steps=max(1, num_steps(job) // FRAMES))


def ask_preset(material: Material, recipe: Recipe) -> str:
    """Show the choice among the presets that can learn the task; return it."""
    preset = st.selectbox(
        t("train.preset"), presets_for(recipe), key=f"preset-{material.recipe}", help=t("train.preset.help")
    )
    st.caption(t(f"train.presets.{preset.replace('-', '_')}"))
    return preset


def ask_sizes(controls: Controls, config: TransformerConfig) -> dict[str, Any]:
    """Show layers, heads and width of a new model; return them as fields of the config."""
    return {
        "num_layers": controls.slide("layers", LAYERS, config.num_layers),
        "num_heads": controls.slide("heads", HEADS, config.num_heads),
        "d_model": controls.slide("width", WIDTHS, config.d_model),
    }


def ask_more_sizes(controls: Controls, config: TransformerConfig) -> dict[str, Any]:
    """Show the other sizes of a new model; return them as fields of the config."""
    return {
        "ffn_dim": controls.slide("ffn", FFN_WIDTHS, config.ffn_dim),
        "positions": controls.pick("positions", CHOICES["positions"], config.positions, kind_name),
    }


def ask_main(controls: Controls, settings: TrainingSettings) -> dict[str, Any]:
    """Show the training settings that matter most; return them by name."""
    return {
        "epochs": controls.slide("epochs", EPOCHS, settings.epochs),
        "learning_rate": controls.slide("rate", RATES, settings.learning_rate),
    }


def ask_more(controls: Controls, settings: TrainingSettings) -> dict[str, Any]:
    """Show the other training settings; return them by name."""
    number, average = controls.number, {"min_value": 0.0, "max_value": 0.9999, "step": 0.001}
    return {
        "word_dropout": number("hide", settings.word_dropout, **SHARE),
        "batch_size": controls.slide("batch", BATCHES, settings.batch_size),
        "schedule": controls.pick("schedule", SCHEDULES, settings.schedule, schedule_name),
        "warmup": number("warmup", settings.warmup, min_value=0.0, max_value=0.9, step=0.05),
        "clip_norm": number("clip", settings.clip_norm, min_value=0.0, step=0.5),
        "label_smoothing": number("smoothing", settings.label_smoothing, **SHARE),
        "average": number("average", settings.average, **average, format="%.4f"),
        "patience": number("patience", settings.patience, min_value=1, step=1),
        "precision": controls.pick("precision", PRECISIONS, settings.precision),
        "seed": number("seed", settings.seed, min_value=0, step=1),
    }


def plain(number: float) -> str:
    """Return a number without an exponent.

    >>> plain(0.00002), plain(30)
    ('0.00002', '30')
    """
    return f"{number:.5f}".rstrip("0") if isinstance(number, float) else str(number)


def schedule_name(schedule: str) -> str:
    """Return the name of a learning rate schedule in the visitor's language."""
    return t(f"train.schedule.{schedule}")


def ask_probes(
    material: Material, in_pairs: bool, lesson: Lesson | None = None
) -> tuple[str, ...] | tuple[tuple[str, str], ...]:
    """Show the box of the probe texts; return them, with targets for an encoder-decoder.

    Args:
        material: The data.
        in_pairs: Whether the model is an encoder-decoder.
        lesson: A lesson about these data, whose own text comes first; None: none.
    """
    own = material.examples or ([] if in_pairs else EXAMPLES)
    if lesson and bool(lesson.target) == in_pairs:
        own = [(lesson.text, lesson.target), *own]
    own = [(text, target) for text, target in own if len(text) + len(target or "") < LONGEST_PROBE // 4]
    filled = "\n".join(f"{text} => {target}" if in_pairs else text for text, target in own)
    typed = st.text_area(
        t("train.probes"),
        filled,
        key=f"probes-{title_of_data(material.data)}-{in_pairs}{lesson.name if lesson else ''}",
        help=t("train.probes.help"),
        height=100,
        max_chars=LONGEST_PROBE,
    )
    lines = [line.strip() for line in typed.splitlines() if line.strip()][:MAX_PROBES]
    if not in_pairs:
        return tuple(lines)
    pairs = (line.partition("=>") for line in lines)
    return tuple((text.strip(), target.strip()) for text, _, target in pairs)


def title_of_data(data: str) -> str:
    """Return the name of the data: of a task, or of a file without extensions."""
    return os.path.basename(data).split(".")[0]
