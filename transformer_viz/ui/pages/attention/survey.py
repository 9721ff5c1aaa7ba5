"""What the selected head does over texts that the visitor brings."""

from typing import NamedTuple

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
from transformer_viz.questions.roles.survey import MAX_SURVEY_TEXTS, HeadSurvey, SurveyRequest, Text
from transformer_viz.training.runs.uploads import Upload
from transformer_viz.ui.pages.attention.sheet import show_sheet
from transformer_viz.ui.shell.answers import head_survey
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.problems import show_problem
from transformer_viz.ui.shell.sentence import MAX_CHARS
from transformer_viz.ui.shell.upload import (
    ask_bad_rows,
    ask_columns,
    ask_options,
    ask_upload,
    file_key,
    source_of,
)
from transformer_viz.ui.workbench.mount import shown_trace

KEPT = 3
"""Surveys kept in a session."""

ASKED, DONE = "survey-asked", "survey-done"
"""Session keys: the survey asked for, and key -> survey."""


class Texts(NamedTuple):
    """The texts of a file.

    Attributes:
        used: Those that are measured.
        total: Number of all.
        bad_rows: Rows that cannot be used.
    """

    used: tuple[Text, ...]
    total: int
    bad_rows: BadRows


def show_survey(model: store.ModelSummary) -> None:
    """Show the upload, and what the selected head does over its texts, once a visitor opens them.

    Last on its page: the measurement takes a while. A visitor who comes back with a file finds them open.
    """
    st.session_state.setdefault("survey", file_key("survey") in st.session_state)
    box = st.expander(t("survey.title"), icon=":material/library_books:", key="survey", on_change="rerun")
    if not box.open:
        return
    with box:
        st.markdown(t("survey.why"))
        upload = ask_upload("survey", t("survey.file"), t("survey.file.help"))
        if upload is None:
            return
        path = str(upload[0].path)
        try:
            options, found = ask_options(upload[0])
            other = "target" if config_of(model).architecture == "encoder-decoder" else ""
            columns = ask_columns(found, "survey", other, t("survey.generated"))
            texts = _read(upload[0], tuple(columns.items()), options)
        except DataError as error:
            show_problem(error.renamed(path, upload[1]))
            return
        if not ask_bad_rows(texts.bad_rows):
            return
        _show_size(upload[1], texts)
        survey = _survey_of(model, (upload[0].sha256, options, *columns.items()), texts)
        if survey is not None and (trace := shown_trace(model)) is not None:
            show_sheet(model, survey, trace)


@st.cache_data(max_entries=8, show_spinner=False)
def _read(upload: Upload, columns: tuple[tuple[str, str], ...], options: ReadOptions) -> Texts:
    """Return the texts of an upload that are measured, evenly spaced over the file.

    Raises:
        DataError: If it cannot be used; names the place and the reason.
    """
    roles = dict(columns)
    read = read_pairs if "target" in roles else read_texts
    rows = read(source_of(upload), roles, options._replace(skip_bad_rows=True))
    chosen = evenly_spaced(rows, MAX_SURVEY_TEXTS)
    used = chosen["text"].str[:MAX_CHARS]
    if "target" in roles:
        used = zip(used, chosen["target"].str[:MAX_CHARS], strict=True)
    return Texts(tuple(used), len(rows), rows.attrs["bad_rows"])


def _show_size(name, texts):
    used, total = f"{len(texts.used):,}", f"{texts.total:,}"
    if len(texts.used) < texts.total:
        st.caption(t("survey.sampled", name=escaped(name), used=used, total=total))
    else:
        st.caption(t("survey.size", name=escaped(name), count=used))


def _survey_of(model, file, texts) -> HeadSurvey | None:
    """Return the survey of a file, kept in the session; without one, show the button that asks for it."""
    key = (model.reference, store.stamp(model.reference), *file)
    done = st.session_state.setdefault(DONE, {})
    if key in done:
        return done[key]
    if st.session_state.get(ASKED) != key:
        st.button(
            t("survey.measure"),
            type="primary",
            icon=":material/query_stats:",
            on_click=_ask,
            args=(key,),
            key="survey-measure",
        )
        return None
    survey = head_survey(SurveyRequest(model.reference, texts.used))
    if survey is not None:
        done[key] = survey
        for oldest in list(done)[:-KEPT]:
            del done[oldest]
    return survey


def _ask(key):
    st.session_state[ASKED] = key
