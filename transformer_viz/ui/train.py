"""The Train page: choose what is learned and by what, see what it will cost, start, watch."""

import streamlit as st

from transformer_viz.config import CHOICES
from transformer_viz.presets import PRESETS
from transformer_viz.runs import PRECISIONS, SCHEDULES, RunError, TrainingJob, list_runs, queued_runs
from transformer_viz.runs.recipes import RECIPES, presets_for
from transformer_viz.tasks import TASKS
from transformer_viz.text import Tokenizer
from transformer_viz.ui.language import plain, t
from transformer_viz.ui.run import show_run, title_of
from transformer_viz.ui.server import shared_trainer

WIDTHS = (16, 32, 64, 128, 256, 512)
RATES = (0.0001, 0.0003, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02)
ROWS = (2_000, 5_000, 10_000, 20_000, 40_000, 80_000)
BATCHES = (8, 16, 32, 64, 128, 256)

FRAMES = 36
"""Pictures of the probes that a run takes, beside those at the end of each epoch."""


def show(open_model) -> None:
    """Show the page; `open_model(name)` leaves it to look into a model."""
    trainer = shared_trainer()
    trainer.warm()
    runs = {run.id: run for run in list_runs()}
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.header(t("train.title"), anchor=False, width="content")
        chosen = choose_run(runs)
    if chosen:
        show_run(runs[chosen], open_model)
    else:
        ask_job()


def choose_run(runs) -> str:
    """Show the choice among the runs, kept in the URL; "" for a new one."""
    if st.session_state.get("run") not in (None, "", *runs):
        st.session_state.run = ""
        st.toast(t("run.gone"), icon=":material/search_off:")
    return st.selectbox(
        t("train.run"),
        ["", *runs],
        format_func=lambda name: title_of(name) if name else t("train.new"),
        key="run",
        bind="query-params",
        help=t("train.run.help"),
        width=340,
        label_visibility="collapsed",
    )


def ask_job() -> None:
    """Show what can be chosen, and beside it what it comes to."""
    choices, summary = st.columns([5, 3], gap="large")
    with choices:
        task = choose_task()
        try:
            job = ask_sizes(task)
        except ValueError as error:
            job, problem = None, str(error)
    with summary, st.container(border=True):
        st.markdown(f"**{t('train.summary')}**")
        if job is None:
            st.error(t("train.wrong", reason=plain(problem)), icon=":material/error:")
            return
        show_cost(job, task)
        st.button(
            t("train.start"),
            type="primary",
            icon=":material/play_arrow:",
            width="stretch",
            on_click=start,
            args=(job,),
        )
        if "refused" in st.session_state:
            st.error(plain(st.session_state.pop("refused")), icon=":material/error:")
        if queued_runs() or any(run.state().status == "running" for run in list_runs()[:5]):
            st.caption(t("train.queued_behind"))


def choose_task() -> str:
    """Show the built-in tasks; return the name of one."""
    task = st.pills(
        t("train.task"),
        list(TASKS),
        default="reverse",
        format_func=lambda name: t(f"task.{name}"),
        key="task",
        bind="query-params",
        required=True,
    )
    text, target = examples(task)[0]
    st.markdown(t(f"task.{task}.teaches"))
    key = "train.example" if target else "train.example.text"
    st.caption(t(key, text=plain(text), target=plain(target or "")))
    return task


@st.cache_data(max_entries=16, show_spinner=False)
def examples(task) -> list[tuple[str, str | None]]:
    """Return a few hundred texts of a task."""
    return TASKS[task].pairs(300, seed=1)


def ask_sizes(task) -> TrainingJob:
    """Show the sizes of the model and the settings of the training; return what is asked for.

    Raises:
        ValueError: If they do not go together.
    """
    recipe = RECIPES[task]
    preset = st.selectbox(
        t("train.preset"), presets_for(recipe), key=f"preset-{task}", help=t("train.preset.help")
    )
    start_from = recipe.config() if preset == recipe.preset else PRESETS[preset]
    place = f"{task}-{preset}"

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

    left, middle, right = st.columns(3, gap="medium")
    with left:
        layers = slide("layers", range(1, 7), start_from.num_layers)
        epochs = slide("epochs", (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30), recipe.training().epochs)
    with middle:
        heads = slide("heads", (1, 2, 4, 8), start_from.num_heads)
        rate = slide("rate", RATES, recipe.training().learning_rate)
    with right:
        width = slide("width", WIDTHS, start_from.d_model)
        rows = slide("rows", ROWS, recipe.rows)
    changes = {"num_layers": layers, "num_heads": heads, "d_model": width}
    settings = {"epochs": epochs, "learning_rate": rate}
    with st.expander(t("train.more"), icon=":material/tune:"):
        more, others = ask_more(slide, place, start_from, recipe.training())
    config = start_from.replace(**changes | more)
    settings = recipe.training(**settings | others)
    steps = settings.total_steps(int(rows * (1 - settings.validation)))
    probes = ask_probes(task, config.architecture == "encoder-decoder")
    return TrainingJob(
        config=config,
        settings=settings,
        data=task,
        rows=rows,
        probes=probes,
        frame_steps=max(1, steps // FRAMES),
        card={
            "preset": preset,
            "source": f"Made by the task {task}",
            "licence": "None needed: made by a program",
            "examples": [probe if isinstance(probe, str) else probe[0] for probe in probes],
        },
    )


def ask_more(slide, place, config, settings):
    """Show the settings few people change; return those of the config and those of the training."""

    def number(name, value, **limits):
        return st.number_input(
            t(f"train.{name}"), value=value, key=f"{name}-{place}", help=t(f"train.{name}.help"), **limits
        )

    def pick(name, options, value):
        options = list(options)
        return st.selectbox(
            t(f"train.{name}"),
            options,
            options.index(value),
            key=f"{name}-{place}",
            help=t(f"train.{name}.help"),
        )

    share = {"min_value": 0.0, "max_value": 0.95, "step": 0.05}
    left, middle, right = st.columns(3, gap="medium")
    with left:
        ffn = slide("ffn", (0, 32, 64, 128, 256, 512, 1024), config.ffn_dim)
        positions = pick("positions", CHOICES["positions"], config.positions)
        dropout = number("dropout", config.dropout, **share)
        hide = number("hide", settings.word_dropout, **share)
    with middle:
        batch = slide("batch", BATCHES, settings.batch_size)
        schedule = pick("schedule", SCHEDULES, settings.schedule)
        warmup = number("warmup", settings.warmup, min_value=0.0, max_value=0.9, step=0.05)
        smoothing = number("smoothing", settings.label_smoothing, **share)
        precision = pick("precision", PRECISIONS, settings.precision)
    with right:
        clip = number("clip", settings.clip_norm, min_value=0.0, step=0.5)
        average = number(
            "average", settings.average, min_value=0.0, max_value=0.9999, step=0.001, format="%.4f"
        )
        patience = number("patience", settings.patience, min_value=1, step=1)
        seed = number("seed", settings.seed, min_value=0, step=1)
    return {"ffn_dim": ffn, "positions": positions, "dropout": dropout}, {
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


def show_cost(job, task) -> None:
    """Show what a training comes to: parameters, steps, time and memory."""
    config = job.config.replace(vocab_size=min(job.config.vocab_size, sizes(task)))
    steps = job.settings.total_steps(int(job.rows * (1 - job.settings.validation)))
    with st.container(horizontal=True):
        st.metric(t("train.parameters"), f"{config.num_parameters:,}", help=t("train.parameters.help"))
        st.metric(t("train.steps"), f"{steps:,}")


@st.cache_data(max_entries=16, show_spinner=False)
def sizes(task) -> int:
    """Return how many tokens there are in the texts of a task."""
    texts = [side for pair in examples(task) for side in pair if side]
    return Tokenizer.train(texts, 1000, markers=True, split_digits=True).vocab_size


def ask_probes(task, in_pairs):
    """Show the box of the texts to watch; return them, with their targets where the model writes one."""
    own = examples(task)[1:4]
    filled = "\n".join(f"{text} => {target}" if in_pairs else text for text, target in own)
    typed = st.text_area(
        t("train.probes"), filled, key=f"probes-{task}-{in_pairs}", help=t("train.probes.help"), height=100
    )
    lines = [line.strip() for line in typed.splitlines() if line.strip()][:6]
    if not in_pairs:
        return tuple(lines)
    pairs = (line.partition("=>") for line in lines)
    return tuple((text.strip(), target.strip()) for text, _, target in pairs)


def start(job) -> None:
    """Start a training and show it."""
    try:
        st.session_state.run = shared_trainer().start(job).id
    except RunError as error:
        st.session_state.refused = str(error)
