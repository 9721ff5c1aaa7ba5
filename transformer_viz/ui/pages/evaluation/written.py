"""What a translator writes for each row of a file, and how likely each text is to a language model."""

import math
from collections.abc import Callable

import streamlit as st

from transformer_viz import store
from transformer_viz.data import (
    BadRows,
    DataError,
    ReadOptions,
    evenly_spaced,
    read_pairs,
    read_texts,
)
from transformer_viz.data.predicted import written_frame
from transformer_viz.data.written import written
from transformer_viz.questions.text_requests import WrittenRequest
from transformer_viz.training.runs.uploads import Upload
from transformer_viz.ui.pages.evaluation.table import show_rows
from transformer_viz.ui.shell.answers import written_rows
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.problems import show_problem
from transformer_viz.ui.shell.sentence import MAX_CHARS
from transformer_viz.ui.shell.upload import ask_bad_rows, ask_columns, ask_options, ask_upload, source_of

DONE = "evaluation-written"
"""Session key: (model, file, rows) -> its outputs and likelihoods."""

FIRST = {True: 100, False: 1_000}
"""Whether a model translates -> rows that are asked about first: it writes slowly."""


def show_written(model: store.ModelSummary, open_row: Callable[[str], None]) -> None:
    """Show the page for a model that writes.

    Args:
        model: The model.
        open_row: Called with the text of the row that is to be opened.
    """
    translates = config_of(model).has_encoder
    kind = "translates" if translates else "continues"
    st.markdown(t(f"evaluation.why.{kind}"))
    upload = ask_upload("evaluation", t("evaluation.file"), t("evaluation.file.help.written"))
    if upload is None:
        return
    try:
        with st.expander(t("evaluation.reading"), icon=":material/tune:"):
            options, found = ask_options(upload[0])
            columns = ask_columns(
                found, "evaluation-written", "target" if translates else "", t("evaluation.unlabelled.target")
            )
        key = f"{DONE}-{upload[0].sha256}-{model.reference}"
        most = st.session_state.setdefault(key, FIRST[translates])
        rows, total, bad = _read(upload[0], tuple(columns.items()), options, most)
    except DataError as error:
        show_problem(error.renamed(str(upload[0].path), upload[1]))
        return
    if not ask_bad_rows(bad):
        return
    frame = _said(model, (upload[0].sha256, options, most, *columns.items()), rows)
    if frame is None:
        return
    if len(rows) < total:
        _show_size(upload[1], len(rows), total, key)
    _show_figures(frame, translates)
    st.caption(t("evaluation.least_likely"))
    names = {name: t(f"evaluation.column.{name}") for name in frame}
    show_rows(frame, names, f"evaluation-written-{len(frame)}", open_row)
    st.download_button(
        t("evaluation.download"),
        lambda: written(frame, ".csv"),
        file_name=f"{model.name}-predictions.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
    )


@st.cache_resource(max_entries=4, show_spinner=False)  # large, and never changed
def _read(
    upload: Upload, columns: tuple[tuple[str, str], ...], options: ReadOptions, most: int
) -> tuple[tuple[tuple[str, str], ...], int, BadRows]:
    """Return (text, target) of at most so many rows, evenly spaced, how many there are, and bad rows.

    Raises:
        DataError: If the file cannot be used.
    """
    roles = dict(columns)
    read = read_pairs if "target" in roles else read_texts
    rows = read(source_of(upload), roles, options._replace(skip_bad_rows=True))
    chosen = evenly_spaced(rows, most)
    texts = chosen["text"].str[:MAX_CHARS]
    targets = chosen["target"].str[:MAX_CHARS] if "target" in chosen else [""] * len(chosen)
    return tuple(zip(texts, targets, strict=True)), len(rows), rows.attrs["bad_rows"]


def _said(model, file, rows):
    """Return what the model says of the rows, the least likely first; without it, show why."""
    key, done = (model.reference, store.stamp(model.reference), *file), st.session_state.get(DONE, {})
    if key not in done:
        said = written_rows(WrittenRequest(model.reference, rows))
        if said is None:
            return None
        st.session_state[DONE] = done = {key: written_frame(said)}
    return done[key]


def _show_size(name, used, total, key):
    """Show how many rows are asked about, with a button for more."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(
            t("evaluation.sampled", name=escaped(name), used=f"{used:,}", total=f"{total:,}"), width="content"
        )
        more = min(total, WrittenRequest.most, 10 * used)
        if used < more:
            label = t("evaluation.more", count=f"{more:,}")
            st.button(label, key="evaluation-more", type="tertiary", on_click=_ask_for, args=(key, more))


def _ask_for(key, more):
    st.session_state[key] = more


def _show_figures(frame, translates):
    """Show the perplexity of a language model, or how many outputs equal their target."""
    if not translates:
        nats = -(frame["log_likelihood"] * frame["tokens"]).sum() / max(frame["tokens"].sum(), 1)
        st.markdown(t("evaluation.perplexity", number=f"{math.exp(nats):.1f}", rows=f"{len(frame):,}"))
    elif "target" in frame:
        same = (frame["output"].str.strip() == frame["target"].str.strip()).mean()
        st.markdown(t("evaluation.exact", share=f"{same:.1%}", rows=f"{len(frame):,}"))
