"""One training run on the page: how far it is, how its heads form, what can be done with it."""

import datetime
import re
from collections import Counter
from typing import NamedTuple

import numpy as np
import streamlit as st

from transformer_viz import store
from transformer_viz.analysis import entropy
from transformer_viz.figures import heads_grid, learning_curves, time_lapse
from transformer_viz.runs import RunError, stamp_of
from transformer_viz.trace import Trace
from transformer_viz.ui.card import count_in, figure_name, figures_of, part, written
from transformer_viz.ui.language import plain, t
from transformer_viz.ui.problems import said, show_problem
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
    "broken": ":material/broken_image:",
}


def show_run(run, open_model) -> None:
    """Show a run; as long as somebody works on it, it is looked at again and again."""
    stage = stage_of(run, run.state())
    show_actions(run, stage.status)
    if stage.status == "broken":
        st.error(t("run.broken.said", reason=said(run.problem)), icon=ICONS["broken"])
        ask_name(run, open_model)
        return
    at_work = stage.status in AT_WORK
    st.fragment(show_progress, run_every=(EVERY if stage.learns else SOON) if at_work else None)(run, stage)
    if not at_work:
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
    return Stage(state.status, bool(state.steps), bool(first_pictures(run)))


def show_actions(run, status) -> None:
    """Show what can be done with the run as it stands, and why it could not be done."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"{ICONS[status]} **{plain(title_of(run.id))}** · {t(f'run.{status}')}", width="content")
        show_buttons(run, status)
    if "refused" in st.session_state:
        show_problem(st.session_state.pop("refused"))


def show_buttons(run, status) -> None:
    """Show the buttons that stop the run, or go on with it, or delete it."""
    if status in AT_WORK:
        st.button(
            t("run.cancel"),
            icon=":material/stop:",
            on_click=stop,
            args=(run,),
            help=t("run.cancel.help"),
            key="stop",
        )
        return
    if status not in ("finished", "broken"):
        begin = "anew" if run.has_damaged_checkpoint else "resume"
        st.button(
            t(f"run.{begin}"),
            icon=":material/play_arrow:",
            type="primary",
            on_click=begin_anew if begin == "anew" else resume,
            args=(run,),
            help=t(f"run.{begin}.help"),
            key=begin,
        )
    with st.popover(t("run.delete"), icon=":material/delete:", help=t("run.delete.help")):
        st.button(t("run.delete.sure"), type="primary", on_click=delete, args=(run,), key="delete")


def show_progress(run, stage) -> None:
    """Show how far the run is, its curves and its answers."""
    state = run.state()
    if stage_of(run, state) != stage:
        st.rerun(scope="app")
    if state.status == "failed":
        show_problem(state.message)
    if state.status not in (*AT_WORK, "finished") and run.has_damaged_checkpoint:
        st.warning(t("run.checkpoint.damaged"), icon=ICONS["broken"])
    elif state.status == "interrupted":
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
    if not state.is_whole:
        st.caption(t("run.thinned"))
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
        if state.best and (value := state.best.get(f"val_{figure}")) is not None:
            best = t("run.best", figure=figure_name(figure), value=f"{value:.1%}", epoch=state.best["epoch"])
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
    if (loss := state.steps[-1].get("loss")) is not None:
        yield t("run.loss_now", loss=f"{loss:.3g}")
    if state.status == "running":
        if state.step >= total:
            yield t("run.measuring")
            return
        if state.seconds_left is not None:
            yield t("run.left", time=datetime.timedelta(seconds=round(state.seconds_left)))
    if speed := state.steps[-1].get("tokens_per_second"):
        yield t("run.speed", tokens=f"{speed:,.0f}")
    yield t("run.device", device=state.device)


def choose_heads(run):
    """Show the choice of a probe, an attention and a layer, and return it."""
    firsts = first_pictures(run)
    probes = {number: picture.text for number, picture in firsts.items()}
    trace = firsts[min(firsts)]
    kinds = trace.kinds()
    running = run.status in AT_WORK
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
    at_work = status in AT_WORK
    frames = [(step, path) for step, number, path in run.frames() if number == probe]
    frames = frames[-1:] if at_work else frames[:: -(-len(frames) // MOST_FRAMES)][:-1] + frames[-1:]
    found = [(step, picture) for step, path in frames if (picture := attention_of(read(path), kind, layer))]
    pictures = [(step, picture) for step, picture in found if picture[0].shape == found[-1][1][0].shape]
    if left_out := len(frames) - len(pictures):
        st.caption(t("run.pictures.damaged", count=left_out))
    if not pictures:
        return
    words = {
        name: t(f"lapse.{name}") for name in ("head", "weight", "reads", "step", "entropy", "play", "pause")
    }
    theme = st.context.theme.type or "light"
    weights, queries, keys = pictures[-1][1]
    if at_work:
        st.plotly_chart(
            heads_grid(weights, queries, keys, labels=words, theme=theme),
            key="forming",
            config={"displaylogo": False},
        )
        return
    weights = np.stack([weights for _, (weights, _, _) in pictures])
    figure, epochs = run.job.figure, run.state().epochs
    good = [epoch["step"] for epoch in epochs], [epoch.get(f"val_{figure}") for epoch in epochs]
    st.plotly_chart(
        time_lapse(
            weights,
            [step for step, _ in pictures],
            queries,
            keys,
            entropies=entropy(weights),
            figure=good,
            labels=words | {"figure": figure_name(figure)},
            theme=theme,
        ),
        key="lapse",
        config={"displaylogo": False},
    )


def first_pictures(run) -> dict[int, Trace]:
    """Return probe -> the first picture of it that can be read."""
    found = {}
    for _, probe, path in run.frames():
        if probe not in found and (picture := read(path)):
            found[probe] = picture
    return dict(sorted(found.items()))


def attention_of(trace, kind, layer):
    """Return the weights (head, query, key) of a layer in a picture, and the tokens of both sides, if any."""
    found = trace and trace.kinds().get(kind)
    if not found or layer >= len(found.layers):
        return None
    return found.layers[layer].weights, found.query_tokens, found.key_tokens


def read(path) -> Trace | None:
    """Return a picture, None if it is damaged."""
    return read_once(path, stamp_of(path))


@st.cache_resource(max_entries=512, show_spinner=False)
def read_once(path, stamp) -> Trace | None:
    """Return the picture in a file with this stamp, which nobody changes; None if it is damaged."""
    try:
        return Trace.load(path)
    except (ValueError, MemoryError):
        return None


def ask_name(run, open_model) -> None:
    """Show the figures of the best model, if there is one, and the box that saves it under a name."""
    if not run.model.exists():
        return
    try:
        config, card = best_of(run.model, store.stamp(run.model))
    except store.ModelError as error:
        show_problem(error)
        return
    test = part(card, "test")
    if rows := count_in(test, "rows"):
        measured = figures_of(test, config).items()
        figures = ", ".join(f"{plain(figure_name(name))} {written(name, value)}" for name, value in measured)
        st.markdown(t("run.test", rows=rows, figures=figures))
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
                show_problem(error)
        saved_run, saved = st.session_state.get("saved", (None, None))
        if saved_run == run.id:
            st.markdown(t("run.saved", name=plain(saved)), width="content")
            if st.button(t("run.open"), icon=":material/visibility:", key="open"):
                open_model(saved)


@st.cache_data(max_entries=16, show_spinner=False)
def best_of(path, stamp):
    """Return config and card of the best model of a run."""
    best = store.read_model(path)
    return best.config, best.card


def shortened(text) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= 48 else text[:47] + "…"


def title_of(run_id) -> str:
    """Return what a run is called on the page: what it learns, and when it began."""
    match = re.fullmatch(r"(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)\d*-(?:(.+)-)?[0-9a-f]+", run_id)
    if not match:
        return run_id
    year, month, day, hour, minute, name = match.groups()
    return f"{name or ''} · {year}-{month}-{day} {hour}:{minute}"


def titles_of(run_ids) -> dict[str, str]:
    """Return id -> title of several runs, no two alike: by its title, a choice among them is made."""
    titles = {name: title_of(name) for name in run_ids}
    often = Counter(titles.values())
    return {
        name: title if often[title] == 1 else f"{title} · {name.rpartition('-')[2]}"
        for name, title in titles.items()
    }


def resume(run) -> None:
    """Put the run into the queue again."""
    try:
        shared_trainer().resume(run)
    except RunError as error:
        st.session_state.refused = error


def begin_anew(run) -> None:
    """Put the run into the queue again, to be worked on from its beginning."""
    try:
        shared_trainer().resume(run, anew=True)
    except RunError as error:
        st.session_state.refused = error


def stop(run) -> None:
    """Ask the run to stop."""
    try:
        run.stop()
    except RunError as error:
        st.session_state.refused = error


def delete(run) -> None:
    """Remove the run, and show the form for a new one."""
    try:
        run.delete()
        st.session_state.run = ""
    except RunError as error:
        st.session_state.refused = error
