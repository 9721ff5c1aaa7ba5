"""One training run on the page: how far it is, how its heads form, what can be done with it."""

import datetime
from typing import NamedTuple

import numpy as np
import streamlit as st

from transformer_viz import store
from transformer_viz.analysis import entropy
from transformer_viz.figures import heads_grid, learning_curves, time_lapse
from transformer_viz.runs import RunError
from transformer_viz.trace import Trace
from transformer_viz.ui.card import figure_name, figures_of, written
from transformer_viz.ui.language import plain, t
from transformer_viz.ui.server import shared_trainer

EVERY = 1
"""Seconds between two looks at a run that is at work."""

SOON = 0.25
"""The same before its first loss: somebody has pressed a button and waits."""

MOST_FRAMES = 48
"""Pictures that a time-lapse plays; of more, every n-th."""

AT_WORK = ("queued", "running")

ICONS = {
    "queued": ":material/hourglass_empty:",
    "running": ":material/play_arrow:",
    "finished": ":material/check_circle:",
    "stopped": ":material/stop_circle:",
    "failed": ":material/error:",
    "interrupted": ":material/power_off:",
}


def show_run(run, open_model) -> None:
    """Show a run; as long as somebody works on it, it is looked at again and again."""
    stage = stage_of(run, run.state())
    show_actions(run, stage.status)
    at_work = stage.status in AT_WORK
    st.fragment(show_progress, run_every=(EVERY if stage.learns else SOON) if at_work else None)(run, stage)
    if not at_work and run.model.exists():
        ask_name(run, open_model)
    if stage.has_pictures:
        choice = choose_heads(run)
        st.fragment(show_heads, run_every=EVERY if at_work else None)(run, stage.status, *choice)


class Stage(NamedTuple):
    """What decides which parts the page has; if it changes, the whole page is drawn anew."""

    status: str
    learns: bool
    has_pictures: bool


def stage_of(run, state) -> Stage:
    """Return the stage of a run from its state."""
    return Stage(state.status, bool(state.steps), bool(run.frames()))


def show_actions(run, status) -> None:
    """Show what can be done with the run as it stands."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"{ICONS[status]} **{plain(title_of(run.id))}** · {t(f'run.{status}')}", width="content")
        if status in AT_WORK:
            st.button(
                t("run.cancel"),
                icon=":material/stop:",
                on_click=run.stop,
                help=t("run.cancel.help"),
                key="stop",
            )
            return
        if status != "finished":
            st.button(
                t("run.resume"),
                icon=":material/play_arrow:",
                type="primary",
                on_click=resume,
                args=(run,),
                help=t("run.resume.help"),
                key="resume",
            )
        with st.popover(t("run.delete"), icon=":material/delete:", help=t("run.delete.help")):
            st.button(t("run.delete.sure"), type="primary", on_click=delete, args=(run,), key="delete")
    if "refused" in st.session_state:
        st.error(plain(st.session_state.pop("refused")), icon=":material/error:")


def show_progress(run, stage) -> None:
    """Show how far the run is, its curves and its answers."""
    state = run.state()
    if stage_of(run, state) != stage:
        st.rerun(scope="app")
    if state.status == "failed":
        st.error(plain(state.message), icon=":material/error:")
    if state.status == "interrupted":
        st.warning(t("run.interrupted.said"), icon=":material/power_off:")
    total = state.facts.get("total_steps")
    if total and state.steps:
        st.progress(min(1.0, state.step / total), text=" · ".join(said_of(state, total)))
    elif state.status in AT_WORK:
        st.progress(0, text=t("run.waiting" if state.status == "queued" else "run.starting"))
    else:
        return
    if note := state.facts.get("note"):
        st.caption(plain(note))
    figure = run.job.figure
    curves, samples = st.columns([3, 2], gap="medium")
    with curves:
        words = {"figure": figure_name(figure), "step": t("run.steps")}
        words |= {name: t(f"run.{name}") for name in ("loss", "train", "validation")}
        st.plotly_chart(
            learning_curves(
                state.steps,
                state.epochs,
                over="step",
                figure=figure,
                labels=words,
                last=total,
                theme=st.context.theme.type or "light",
            ),
            key="curves",
            config={"displaylogo": False},
        )
    with samples:
        if state.best:
            value = written(figure, state.best[f"val_{figure}"])
            best = t("run.best", figure=figure_name(figure), value=value, epoch=state.best["epoch"])
            st.markdown(best)
        if state.samples:
            st.caption(t("run.samples"), help=t("run.samples.help"))
            st.markdown("\n\n".join(map(said_of_sample, state.samples)))


def said_of_sample(sample) -> str:
    """Return a text and what is written after it, green if it is what it should be, red if not."""
    said = plain(shortened(sample["written"])) or "∅"
    if sample["expected"]:
        colour = "green" if sample["written"] == sample["expected"] else "red"
        said = f":{colour}[{said}]"
    return f"{plain(shortened(sample['text']))} → {said}"


def said_of(state, total):
    """Yield what there is to say of a run's progress."""
    yield t("run.step", step=f"{state.step:,}", total=f"{total:,}")
    yield t("run.loss_now", loss=f"{state.steps[-1]['loss']:.3g}")
    if state.status == "running":
        if state.step >= total:
            yield t("run.measuring")
            return
        if state.seconds_left is not None:
            yield t("run.left", time=datetime.timedelta(seconds=round(state.seconds_left)))
    if speed := state.steps[-1]["tokens_per_second"]:
        yield t("run.speed", tokens=f"{speed:,.0f}")
    yield t("run.device", device=state.device)


def choose_heads(run):
    """Show the choice of a probe, an attention and a layer, and return it."""
    frames = run.frames()
    trace = read_frame(frames[0][2])
    probes = {number: read_frame(path).text for step, number, path in frames if step == frames[0][0]}
    kinds = trace.kinds()
    running = run.state().status in AT_WORK
    st.subheader(t("run.forming" if running else "run.lapse"), anchor=False, help=t("run.lapse.help"))
    with st.container(horizontal=True, gap="medium"):
        probe = st.selectbox(
            t("run.probe"),
            list(probes),
            format_func=lambda number: shortened(probes[number]),
            key=f"probe-{run.id}",
            width=340,
        )
        kind = "cross" if "cross" in kinds else next(iter(kinds))
        if len(kinds) > 1:
            kind = st.segmented_control(
                t("kind.label"),
                list(kinds),
                default=kind,
                format_func=lambda name: t(f"kind.{name}"),
                key=f"kind-{run.id}",
                required=True,
            )
        layers = list(range(1, len(kinds[kind].layers) + 1))
        layer = layers[-1]
        if len(layers) > 1:
            layer = st.segmented_control(
                t("layer.label"), layers, default=layer, key=f"layer-{run.id}-{kind}", required=True
            )
    return probe, kind, layer - 1


def show_heads(run, status, probe, kind, layer) -> None:
    """Show the heads of a layer: as they are now, or, of a run that is over, as they formed."""
    frames = [(step, path) for step, number, path in run.frames() if number == probe]
    words = {
        name: t(f"lapse.{name}") for name in ("head", "weight", "reads", "step", "entropy", "play", "pause")
    }
    theme = st.context.theme.type or "light"
    if status in AT_WORK:
        weights, queries, keys = attention_of(frames[-1][1], kind, layer)
        st.plotly_chart(
            heads_grid(weights, queries, keys, labels=words, theme=theme),
            key="forming",
            config={"displaylogo": False},
        )
        return
    frames = frames[:: -(-len(frames) // MOST_FRAMES)][:-1] + frames[-1:]
    pictures = [attention_of(path, kind, layer) for _, path in frames]
    weights = np.stack([weights for weights, _, _ in pictures])
    state = run.state()
    figure = run.job.figure
    good = [epoch["step"] for epoch in state.epochs], [epoch[f"val_{figure}"] for epoch in state.epochs]
    st.plotly_chart(
        time_lapse(
            weights,
            [step for step, _ in frames],
            *pictures[-1][1:],
            entropies=entropy(weights),
            figure=good,
            labels=words | {"figure": figure_name(figure)},
            theme=theme,
        ),
        key="lapse",
        config={"displaylogo": False},
    )


def attention_of(path, kind, layer):
    """Return the weights (head, query, key) of one layer in a picture, and the tokens of both sides."""
    found = read_frame(path).kinds()[kind]
    return found.layers[layer].weights, found.query_tokens, found.key_tokens


@st.cache_resource(max_entries=512, show_spinner=False)
def read_frame(path) -> Trace:
    """Return a picture; none is ever written twice, and nobody changes it."""
    return Trace.load(path)


def ask_name(run, open_model) -> None:
    """Show the box that saves the best model under a name."""
    card = store.read_model(run.model).card
    if "test" in card:
        measured = figures_of(card["test"], run.job.config).items()
        figures = ", ".join(f"{figure_name(name)} {written(name, value)}" for name, value in measured)
        st.markdown(t("run.test", rows=f"{card['test']['rows']:,}", figures=figures))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        slug = title_of(run.id).split(" · ")[0]
        name = st.text_input(
            t("run.name"), f"my-{slug}", key=f"name-{run.id}", help=t("run.name.help"), width=280
        )
        if st.button(t("run.save"), icon=":material/save:", type="primary", key="save"):
            try:
                run.save(name)
                st.session_state.saved = (run.id, name)
            except store.ModelError as error:
                st.error(plain(str(error)), icon=":material/error:")
        saved_run, saved = st.session_state.get("saved", (None, None))
        if saved_run == run.id:
            st.markdown(t("run.saved", name=plain(saved)), width="content")
            if st.button(t("run.open"), icon=":material/visibility:", key="open"):
                open_model(saved)


def shortened(text) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= 48 else text[:47] + "…"


def title_of(run_id) -> str:
    """Return what a run is called on the page: what it learns, and when it began."""
    day, time, *slug, _ = run_id.split("-")
    return f"{'-'.join(slug)} · {day[:4]}-{day[4:6]}-{day[6:]} {time[:2]}:{time[2:4]}"


def resume(run) -> None:
    """Put the run into the queue again."""
    try:
        shared_trainer().resume(run)
    except RunError as error:
        st.session_state.refused = str(error)


def delete(run) -> None:
    """Remove the run, and show the form for a new one."""
    try:
        run.delete()
        st.session_state.run = ""
    except RunError as error:
        st.session_state.refused = str(error)
