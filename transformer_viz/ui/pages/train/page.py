"""The Train page: choose data and settings, see the estimated cost, start a run, follow it."""

import dataclasses
import os
from collections.abc import Callable
from typing import Any

import psutil
import streamlit as st

from transformer_viz.runs import (
    PRECISIONS,
    SCHEDULES,
    RunError,
    TrainingJob,
    TrainingRun,
    TrainingSettings,
    estimate,
    list_runs,
    queued_runs,
)
from transformer_viz.runs.job import LONGEST_PROBE
from transformer_viz.runs.recipes import RECIPES, Recipe, presets_for
from transformer_viz.ui.pages.train.data import ask_material, choose_task
from transformer_viz.ui.pages.train.file import WIDTH
from transformer_viz.ui.pages.train.material import Material
from transformer_viz.ui.pages.train.parent import RATE as FINE_TUNING_RATE
from transformer_viz.ui.pages.train.parent import ask_layers, ask_parent, config_from, show_fit
from transformer_viz.ui.pages.train.run import show_run
from transformer_viz.ui.shell.address import from_address, to_address
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.classroom import is_classroom, keep_visitor, own_runs, owner
from transformer_viz.ui.shell.language import t, time_of
from transformer_viz.ui.shell.problems import error_text, show_problem
from transformer_viz.ui.shell.server import shared_trainer
from transformer_viz.ui.shell.titles import titles_of
from transformer_viz.values.config import CHOICES, TransformerConfig
from transformer_viz.values.presets import PRESETS

WIDTHS = (16, 32, 64, 128, 256, 512)
RATES = (0.0001, 0.0003, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02)
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


def show(open_model: Callable[[str], None]) -> None:
    """Show the page; `open_model(name)` opens a model on the Attention page."""
    problem = trainer_problem()
    runs = {run.id: run for run in own_runs()}
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        title = st.empty()
        chosen = choose_run(runs)
    title.header(t("train.title.run" if chosen else "train.title"), anchor=False, width="content")
    for error in filter(None, (problem, st.session_state.pop("refused", None))):
        show_problem(error)
    if chosen:
        show_run(runs[chosen], open_model)
    else:
        ask_job(can_start=not problem)


def trainer_problem() -> RunError | None:
    """Start the trainer process if it is not running; return the error if that fails."""
    try:
        shared_trainer().warm()
    except RunError as error:
        return error
    return None


def choose_run(runs: dict[str, TrainingRun]) -> str:
    """Show the choice among the runs, kept in the URL; return "" for a new run."""
    if st.session_state.get("run") not in (None, "", *runs):
        st.toast(t("run.gone"), icon=":material/search_off:")
    from_address("run", ["", *runs], "")
    titles = {"": t("train.new"), **titles_of(runs)}
    titles |= {name: f"{titles[name]} · {t('run.broken')}" for name, run in runs.items() if run.problem}
    chosen = st.selectbox(
        t("train.run"),
        ["", *runs],
        format_func=titles.__getitem__,
        key="run",
        persist_state="session",
        help=t("train.run.help"),
        width=340,
        label_visibility="collapsed",
    )
    to_address("run", chosen)
    return chosen


def ask_job(can_start: bool = True) -> None:
    """Show the choices for a new run, and its estimated cost."""
    task = choose_task()
    choices, summary = st.columns([5, 3], gap="large")
    problem = None
    with choices:
        material = ask_material(task)
        try:
            job = material and ask_sizes(material)
        except ValueError as error:
            job, problem = None, error
    with summary, st.container(border=True):
        st.markdown(f"**{t('train.summary')}**")
        if problem:
            st.error(t("train.wrong", reason=error_text(problem)), icon=":material/error:")
        elif material is None or job is None:
            st.caption(t("data.wait"))
        else:
            show_cost(job, material)
            ask_start(job, can_start)


def ask_start(job: TrainingJob, can_start: bool) -> None:
    """Show the button that starts the training."""
    st.button(
        t("train.start"),
        type="primary",
        icon=":material/play_arrow:",
        width="stretch",
        on_click=start,
        args=(job,),
        disabled=not can_start,
    )
    if queued_runs() or any(run.status == "running" for run in list_runs()):
        st.caption(t("train.queued_behind"))


def ask_sizes(material: Material) -> TrainingJob:
    """Show the sizes of the model and the training settings; return the job.

    Raises:
        ValueError: If they are incompatible.
    """
    recipe = RECIPES[material.recipe]
    parent = ask_parent(material, recipe)
    if parent:
        start_from, origin = config_from(config_of(parent), material, recipe), {}
        place = f"{material.recipe}-from-{parent.name}"
        show_fit(parent, material)
        trainable = ask_layers(start_from, place)
    else:
        trainable = None
        start_from, origin = ask_preset(material, recipe)
        place = f"{material.recipe}-{origin['preset']}"

    def slide(name, options, value, **settings):
        options = sorted({*options, value})
        return st.select_slider(
            t(f"train.{name}"),
            options,
            value,
            key=f"{name}-{place}",
            help=t(f"train.{name}.help"),
            **settings,
        )

    with st.container(horizontal=True, gap="small"):
        changes = {}
        if not parent:
            changes = {
                "num_layers": slide("layers", range(1, 7), start_from.num_layers),
                "num_heads": slide("heads", (1, 2, 4, 8), start_from.num_heads),
                "d_model": slide("width", WIDTHS, start_from.d_model),
            }
        epochs = slide("epochs", (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30), recipe.training().epochs)
        rate = slide("rate", RATES, FINE_TUNING_RATE if parent else recipe.training().learning_rate)
        rows = slide("rows", ROWS, recipe.rows) if material.rows is None else material.rows
    settings = {"epochs": epochs, "learning_rate": rate, "pack": start_from.fills_in}
    with st.expander(t("train.more"), icon=":material/tune:"):
        more, others = ask_more(slide, place, start_from, recipe.training(), is_new=not parent)
    config = start_from.replace(**changes | more)
    probes = ask_probes(material, config.architecture == "encoder-decoder")
    job = TrainingJob(
        config=config,
        settings=recipe.training(**settings | others),
        data=material.data,
        rows=rows,
        probes=probes,
        owner=owner(),
        parent=parent.reference if parent else "",
        trainable_layers=trainable,
        card=origin
        | {
            "source": title_of_data(material.data),
            "examples": [probe if isinstance(probe, str) else probe[0] for probe in probes],
        },
        **material.job,
    )
    return dataclasses.replace(job, frame_steps=max(1, steps_of(job) // FRAMES))


def ask_preset(material: Material, recipe: Recipe) -> tuple[TransformerConfig, dict[str, str]]:
    """Show the choice among the presets; return the config to start from, and its origin for the card."""
    preset = st.selectbox(
        t("train.preset"), presets_for(recipe), key=f"preset-{material.recipe}", help=t("train.preset.help")
    )
    start_from = recipe.config() if preset == recipe.preset else PRESETS[preset]
    return start_from.replace(**material.changes), {"preset": preset}


def steps_of(job: TrainingJob) -> int:
    """Return the number of training steps, estimated before the data are read."""
    return job.settings.total_steps(int(job.rows * (1 - job.settings.validation)))


def ask_more(
    slide: Callable[..., Any],
    place: str,
    config: TransformerConfig,
    settings: TrainingSettings,
    *,
    is_new: bool,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Show the advanced settings; return fields of the config and of the training settings.

    Only those of a new model include sizes.
    """
    sizes: dict[str, Any] = {}

    def number(name, value, **limits):
        return st.number_input(
            t(f"train.{name}"),
            value=value,
            key=f"{name}-{place}",
            help=t(f"train.{name}.help"),
            width=WIDTH,
            **limits,
        )

    def pick(name, options, value):
        options = list(options)
        return st.selectbox(
            t(f"train.{name}"),
            options,
            options.index(value),
            key=f"{name}-{place}",
            help=t(f"train.{name}.help"),
            width=WIDTH,
        )

    share = {"min_value": 0.0, "max_value": 0.95, "step": 0.05}
    with st.container(horizontal=True, gap="small"):
        if is_new:
            sizes["ffn_dim"] = slide("ffn", (0, 32, 64, 128, 256, 512, 1024), config.ffn_dim)
            sizes["positions"] = pick("positions", CHOICES["positions"], config.positions)
        dropout = number("dropout", config.dropout, **share)
        hide = number("hide", settings.word_dropout, **share)
        batch = slide("batch", BATCHES, settings.batch_size)
        schedule = pick("schedule", SCHEDULES, settings.schedule)
        warmup = number("warmup", settings.warmup, min_value=0.0, max_value=0.9, step=0.05)
        clip = number("clip", settings.clip_norm, min_value=0.0, step=0.5)
        smoothing = number("smoothing", settings.label_smoothing, **share)
        average = number(
            "average", settings.average, min_value=0.0, max_value=0.9999, step=0.001, format="%.4f"
        )
        patience = number("patience", settings.patience, min_value=1, step=1)
        precision = pick("precision", PRECISIONS, settings.precision)
        seed = number("seed", settings.seed, min_value=0, step=1)
    return sizes | {"dropout": dropout}, {
        "word_dropout": hide,
        "batch_size": batch,
        "schedule": schedule,
        "warmup": warmup,
        "label_smoothing": smoothing,
        "precision": precision,
        "clip_norm": clip,
        "average": average,
        "patience": patience,
        "seed": seed,
    }


def show_cost(job: TrainingJob, material: Material) -> None:
    """Show the estimated cost: parameters, steps, time and memory."""
    config = job.config
    if not job.parent:
        config = config.replace(vocab_size=min(config.vocab_size, material.vocab))
    rows = int(job.rows * (1 - job.settings.validation))
    tokens = min(material.tokens, config.max_len)
    target = tokens if config.architecture == "encoder-decoder" else 0
    cost = estimate(config, job.settings, rows, tokens, target, job.trainable_layers)
    cost_texts = {
        "parameters": f"{cost.parameters:,}",
        "steps": f"{steps_of(job):,}",
        "time": time_of(max(1, cost.seconds_per_epoch)),
        "memory": f"{cost.memory / 1e9:.1f} GB",
    }
    lines = "  \n".join(t(f"train.{name}", value=value) for name, value in cost_texts.items())
    st.markdown(lines, help=t("train.estimated"))
    problem = cost.problem(psutil.virtual_memory().available)
    if problem:
        st.warning(error_text(problem), icon=":material/memory:")


def ask_probes(material: Material, in_pairs: bool) -> tuple[str, ...] | tuple[tuple[str, str], ...]:
    """Show the box of the probe texts; return them, with targets for an encoder-decoder."""
    own = material.examples[1:4] or EXAMPLES
    own = [(text, target) for text, target in own if len(text) + len(target or "") < LONGEST_PROBE // 4]
    filled = "\n".join(f"{text} => {target}" if in_pairs else text for text, target in own)
    typed = st.text_area(
        t("train.probes"),
        filled,
        key=f"probes-{title_of_data(material.data)}-{in_pairs}",
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


def start(job: TrainingJob) -> None:
    """Start a run and show it."""
    keep_visitor()
    try:
        st.session_state.run = shared_trainer().start(job, one_at_a_time=is_classroom()).id
    except RunError as error:
        st.session_state.refused = error
