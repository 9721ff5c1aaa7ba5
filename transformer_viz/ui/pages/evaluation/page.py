"""The Evaluation page: what a classifier says of each row of a file, and where it is wrong."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from transformer_viz import store
from transformer_viz.data import (
    BadRows,
    DataError,
    ReadOptions,
    evenly_spaced,
    read_labelled,
    read_texts,
)
from transformer_viz.data.labels import numbered_labels
from transformer_viz.data.predicted import (
    ALL,
    CHANGED,
    UNSURE,
    WRONG,
    chosen_rows,
    predicted_rows,
    with_probabilities,
)
from transformer_viz.data.written import written
from transformer_viz.language import joined
from transformer_viz.pictures.figures.reliability import reliability_diagram
from transformer_viz.questions.evaluation.calibration import calibration_error, reliability
from transformer_viz.questions.evaluation.naive_bayes import bag_of_words_accuracy
from transformer_viz.questions.evaluation.scores import confusion, label_scores, share_interval
from transformer_viz.questions.text_requests import FIRST_TEXTS, ClassesRequest
from transformer_viz.training.runs.uploads import Upload
from transformer_viz.ui.pages.evaluation.table import show_rows
from transformer_viz.ui.pages.evaluation.words import show_words
from transformer_viz.ui.pages.evaluation.written import show_written
from transformer_viz.ui.shell.address import from_address, to_address
from transformer_viz.ui.shell.answers import classes
from transformer_viz.ui.shell.card import show_heading, show_labels
from transformer_viz.ui.shell.card_facts import config_of, part
from transformer_viz.ui.shell.charts import draw, theme
from transformer_viz.ui.shell.classroom import is_classroom
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.problems import show_problem
from transformer_viz.ui.shell.sentence import MAX_CHARS
from transformer_viz.ui.shell.shelf import offer_models, shown_models
from transformer_viz.ui.shell.upload import ask_bad_rows, ask_columns, ask_options, ask_upload, source_of

DONE, OPENED, EVERY = "evaluation-done", "evaluation-opened", "evaluation-every"
"""Session keys: key -> probabilities, whether a row is to be opened on Attention, and beginning of those of
whether all rows of a file are predicted.
"""

ROWS_KEY, CELL_KEY, VERSUS_KEY = "evaluated", "confused", "beside"
"""Session and URL keys of what the table shows, of the chosen cell of the confusion matrix, and of the other
model.
"""

KEPT = 2
"""Results kept in a session."""

MENU, CELL = 220, 160
"""Widths of a menu, and of a cell of the confusion matrix, in pixels."""

FEW_LABELS = 8
"""Most labels of a confusion matrix whose cells are buttons."""

BINS = 10
"""Points of the reliability diagram."""

FILTERS = (WRONG, UNSURE, ALL)
"""What the table can show of one model."""

MOST_COUNTED = 5_000
"""Most rows from which a bag of words learns."""


class Rows(NamedTuple):
    """The rows of a file that are predicted.

    Attributes:
        texts: Their texts.
        truth: Numbers of their labels, int (row,); None: the file has none.
        total: Number of all rows of the file.
        bad_rows: Rows that cannot be used.
    """

    texts: tuple[str, ...]
    truth: np.ndarray | None
    total: int
    bad_rows: BadRows


class Other(NamedTuple):
    """Another model beside which this one is looked at.

    Attributes:
        name: Its name.
        labels: Numbers of the labels that it predicts, int (row,).
    """

    name: str
    labels: np.ndarray


def show(model: store.ModelSummary, open_attention: Callable[[], None]) -> None:
    """Show the page for one model.

    Args:
        model: The model.
        open_attention: Goes to the Attention page.
    """
    if st.session_state.pop(OPENED, False):
        open_attention()
    st.header(t("evaluation.title"), anchor=False)
    labels = config_of(model).labels
    if config_of(model).has_decoder:
        show_written(model, _open)
        return
    if not labels:
        _offer_classifiers(model)
        return
    st.markdown(t("evaluation.why", labels=escaped(t("list.comma").join(labels[:6]))))
    upload = ask_upload("evaluation", t("evaluation.file"), t("evaluation.file.help"))
    if upload is None:
        return
    try:
        with st.expander(t("evaluation.reading"), icon=":material/tune:"):
            options, found = ask_options(upload[0])
            columns = ask_columns(found, "evaluation", "label", t("evaluation.unlabelled"))
        key = f"{EVERY}-{upload[0].sha256}"
        most = ClassesRequest.most if st.session_state.get(key) and not is_classroom() else FIRST_TEXTS
        rows = _read(upload[0], tuple(columns.items()), options, labels, _values(model), model.name, most)
    except DataError as error:
        show_problem(error.renamed(str(upload[0].path), upload[1]))
        return
    if not ask_bad_rows(rows.bad_rows):
        return
    file = (upload[0].sha256, options, most, *columns.items())
    probs = _probs_of(model, file, rows.texts)
    if probs is None:
        return
    _show_size(upload[1], rows, key)
    _show_result(model, labels, rows, probs, file, _ask_other(model, file, rows.texts))


def _offer_classifiers(model):
    st.info(t("evaluation.none", model=escaped(model.name)), icon=":material/fact_check:")
    offer_models(t("evaluation.others"), lambda config: bool(config.labels))


def _ask_other(model, file, texts) -> Other | None:
    """Show the choice of another model with the same labels, if there is one; return its predictions."""
    labels = config_of(model).labels
    usable = [each for each in shown_models() if each.config and not each.problem and each.name != model.name]
    others = {each.name: each for each in usable if {*config_of(each).labels} == {*labels}}
    if not others:
        return None
    from_address(VERSUS_KEY, ["", *others], "")
    chosen = st.selectbox(
        t("evaluation.versus"),
        ["", *others],
        format_func=lambda name: name or t("evaluation.versus.none"),
        key=VERSUS_KEY,
        help=t("evaluation.versus.help"),
        width=MENU,
    )
    to_address(VERSUS_KEY, chosen)
    if not chosen or (probs := _probs_of(others[chosen], file, texts)) is None:
        return None
    named = config_of(others[chosen]).labels
    return Other(chosen, probs[:, [named.index(label) for label in labels]].argmax(axis=1))


def _values(model):
    """Return the pairs of label and value in the file that the model was trained on, as its card has them."""
    return tuple((name, str(value)) for name, value in part(model.card, "label_values").items())


@st.cache_resource(max_entries=4, show_spinner=False)  # large, and never changed
def _read(
    upload: Upload,
    columns: tuple[tuple[str, str], ...],
    options: ReadOptions,
    labels: tuple[str, ...],
    values: tuple[tuple[str, str], ...],
    model: str,
    most: int,
) -> Rows:
    """Return at most so many rows of an upload, evenly spaced over the file.

    Raises:
        DataError: If it cannot be used, or has a label that is none of the model's.
    """
    roles = dict(columns)
    read = read_labelled if "label" in roles else read_texts
    rows = read(source_of(upload), roles, options._replace(skip_bad_rows=True))
    chosen = evenly_spaced(rows, most)
    truth = numbered_labels(chosen, labels, dict(values), model) if "label" in roles else None
    return Rows(tuple(chosen["text"].str[:MAX_CHARS]), truth, len(rows), rows.attrs["bad_rows"])


def _show_size(name, rows, key):
    """Show how many rows of the file are predicted if these are not all, with a button for more."""
    used, total = len(rows.texts), rows.total
    if used == total:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        facts = {"used": f"{used:,}", "total": f"{total:,}"}
        st.caption(t("evaluation.sampled", name=escaped(name), **facts), width="content")
        if used < ClassesRequest.most and not is_classroom():
            more = t("evaluation.more", count=f"{min(total, ClassesRequest.most):,}")
            st.button(more, key="evaluation-more", type="tertiary", on_click=_ask_for_all, args=(key,))


def _ask_for_all(key):
    st.session_state[key] = True


def _probs_of(model, file, texts) -> np.ndarray | None:
    """Return the probabilities of a file's rows, kept in the session; without them, show why."""
    key = (model.reference, store.stamp(model.reference), *file)
    done = st.session_state.setdefault(DONE, {})
    if key not in done:
        probs = classes(ClassesRequest(model.reference, texts))
        if probs is None:
            return None
        done[key] = probs
        for oldest in list(done)[:-KEPT]:
            del done[oldest]
    return done[key]


def _show_result(
    model: store.ModelSummary,
    labels: Sequence[str],
    rows: Rows,
    probs: np.ndarray,
    file: tuple,
    other: Other | None,
) -> None:
    """Show the figures, the confusion matrix, the words that speak for each label, and the rows."""
    frame = predicted_rows(rows.texts, labels, probs, rows.truth, other and other.labels)
    cell = None
    if rows.truth is not None:
        figures, matrix = st.columns(2, gap="medium")
        with figures:
            _show_figures(labels, rows.truth, probs)
            st.caption(_baseline_text(file, frame))
        with matrix:
            cell = _show_confusion(labels, confusion(rows.truth, probs.argmax(axis=1), len(labels)))
        _show_trust(labels, rows.truth, probs)
    if other is not None:
        st.markdown(_difference_text(model.name, other, rows.truth, probs.argmax(axis=1)))
    word = show_words(model, labels, rows.texts, file)
    _show_rows(frame, cell, word, other)
    st.download_button(
        t("evaluation.download"),
        lambda: written(with_probabilities(frame, labels, probs), ".csv"),
        file_name=f"{model.name}-predictions.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
    )


def _show_figures(labels, truth, probs):
    """Show the accuracy with its interval, beside always saying the most frequent label."""
    found = share_interval(int((truth == probs.argmax(axis=1)).sum()), len(truth))
    counts = np.bincount(truth, minlength=len(labels))
    most = int(counts.argmax())
    st.markdown(
        t(
            "evaluation.accuracy",
            share=f"{found.share:.1%}",
            low=f"{found.low:.1%}",
            high=f"{found.high:.1%}",
            rows=f"{len(truth):,}",
            label=escaped(labels[most]),
            majority=f"{counts[most] / len(truth):.1%}",
        )
    )
    error = calibration_error(probs, truth)
    st.caption(t("evaluation.calibration", error=f"{error:.1%}"))


def _show_trust(labels, truth, probs):
    """Show precision and recall of each label, and how often the model is right when it is how sure."""
    with st.expander(t("evaluation.details"), icon=":material/rule:"):
        table, curve = st.columns(2, gap="medium")
        scores = label_scores(confusion(truth, probs.argmax(axis=1), len(labels)))
        with table:
            show_labels(
                {
                    label: {name: values[number].item() for name, values in scores.items()}
                    for number, label in enumerate(labels)
                }
            )
        with curve:
            show_heading(t("evaluation.reliability"))
            names = {name: t(f"evaluation.reliability.{name}") for name in ("confidence", "accuracy", "rows")}
            draw(
                reliability_diagram(reliability(probs, truth, BINS), names, theme()),
                "reliability",
                alt=t("evaluation.reliability.alt"),
                file_name="calibration",
            )
            st.caption(t("evaluation.reliability.how"))


def _baseline_text(file, frame):
    """Return how often a bag of words is right, as a sentence; "" of too few rows."""
    share = _baseline(file, frame)
    return "" if share is None else t("evaluation.baseline", share=f"{share:.1%}")


@st.cache_data(max_entries=8, show_spinner=False)
def _baseline(file: tuple, _frame: Any) -> float | None:
    """Return how often a bag of words is right; `file` identifies texts and labels."""
    rows = evenly_spaced(_frame, MOST_COUNTED)
    return bag_of_words_accuracy(rows["text"].tolist(), np.unique(rows["label"], return_inverse=True)[1])


def _difference_text(name, other, truth, predicted):
    """Return how often two models differ and which of them is right then, as a sentence."""
    facts = {"model": escaped(name), "other": escaped(other.name)}
    differs = predicted != other.labels
    facts["count"] = f"{differs.sum():,}"
    if truth is None:
        return t("evaluation.differ.unlabelled", total=f"{len(predicted):,}", **facts)
    right = [f"{(differs & (each == truth)).sum():,}" for each in (predicted, other.labels)]
    share = f"{(other.labels == truth).mean():.1%}"
    return t("evaluation.differ", share=share, first=right[0], second=right[1], **facts)


def _show_confusion(labels, counts) -> tuple[str, str] | None:
    """Show the confusion matrix, each of its cells a button that filters the rows; return the chosen cell."""
    places = [f"{row}-{column}" for row in range(len(labels)) for column in range(len(labels))]
    from_address(CELL_KEY, places, "")
    chosen = st.session_state.get(CELL_KEY, "")
    title = t("evaluation.confusion")
    st.markdown(f"**{title}**")
    if len(labels) > FEW_LABELS:
        st.caption(t("evaluation.many"))
        return None
    widths, width = [1.4, *[1] * len(labels)], CELL * (len(labels) + 1)
    _, *others = st.columns(widths, width=width)
    for column, label in zip(others, labels, strict=True):
        column.caption(t("card.predicted", label=escaped(label)))
    for row, label in enumerate(labels):
        head, *cells = st.columns(widths, width=width, vertical_alignment="center")
        head.caption(t("evaluation.true", label=escaped(label)))
        for column, cell in enumerate(cells):
            place = f"{row}-{column}"
            cell.button(
                f"{counts[row, column]:,}",
                key=f"cell-{place}",
                type="primary" if place == chosen else "secondary",
                on_click=_choose,
                args=("" if place == chosen else place,),
                disabled=not counts[row, column],
                width="stretch",
            )
    to_address(CELL_KEY, chosen)
    if not chosen:
        return None
    row, column = map(int, chosen.split("-"))
    return labels[row], labels[column]


def _choose(place):
    st.session_state[CELL_KEY] = place


def _show_rows(frame, cell, word, other):
    """Show the rows that are chosen, with a button that opens one of them on Attention."""
    options = [*(FILTERS if "label" in frame else FILTERS[1:]), *[CHANGED] * (other is not None)]
    from_address(ROWS_KEY, options, options[0])
    names = {name: t(f"evaluation.rows.{name}") for name in options}
    kind = st.segmented_control(
        t("evaluation.rows"), options, format_func=names.__getitem__, key=ROWS_KEY, required=True
    )
    to_address(ROWS_KEY, kind if kind != options[0] else "")
    shown = chosen_rows(frame, kind or options[0], cell, word)
    count = t("evaluation.count", count=f"{len(shown):,}", total=f"{len(frame):,}")
    st.caption(joined(t("evaluation.rows.word", word=escaped(word)), count) if word else count)
    if shown.empty:
        return
    names = {name: t(f"evaluation.column.{name}", model=other.name if other else "") for name in shown}
    show_rows(shown, names, f"evaluation-table-{kind}-{cell}-{word}", _open)


def _open(text):
    st.session_state.sentence = text
    st.session_state[OPENED] = True
