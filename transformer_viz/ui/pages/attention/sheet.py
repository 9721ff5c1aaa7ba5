"""What the selected head does over many texts: evidence, histograms, and texts to open."""

import unicodedata
from pathlib import Path

import streamlit as st

from transformer_viz import store
from transformer_viz.pictures.captions import measure_name
from transformer_viz.pictures.evidence import meaning_of
from transformer_viz.pictures.figures import shares_histogram
from transformer_viz.pictures.sheet import distance_names, evidence_sheet, patterns_of_sheet, sheet_text
from transformer_viz.questions.roles.survey import ENTROPY_BINS, HeadSurvey
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.charts import draw, theme
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.heads import SURVEY_HEAD, opening_of
from transformer_viz.ui.shell.language import escaped, t, words
from transformer_viz.ui.shell.sentence import use_example
from transformer_viz.ui.shell.tables import csv_for_excel

WIDTH = 64
"""Width of a listed text, in Latin letters; a Chinese character is as wide as two."""

MENU = 260
"""Width of a menu, in pixels."""

PLACE = "survey-place"
"""Session key of the component that follows the views."""


def show_sheet(model: store.ModelSummary, survey: HeadSurvey, trace: Trace) -> None:
    """Show what the selected head does: evidence, histograms and texts."""
    kind, layer, head = place = _place(model, survey)
    left = len(survey.texts) - survey.roles.texts
    if left:
        st.caption(t("survey.left_out", count=left))
    if survey.cut.any():
        st.caption(t("survey.cut", count=int(survey.cut.sum())))
    title = t("heads.title", layer=layer + 1, head=head + 1)
    if len(survey.roles.kinds) > 1:
        title += " · " + t(f"kind.{kind}")
    said = escaped(sheet_text(words(), survey, trace, place))
    st.markdown(f"**{title}**" + t("lens.stop") + said)
    with st.container(key="survey-charts"):
        with st.container():
            component("sheet", "lens")(
                data=evidence_sheet(words(), survey, trace, place), key=PLACE, on_chosen_change=_follow
            )
        if kind in survey.distances:
            _draw_distances(survey, *place)
        _draw_entropies(survey, *place)
    _show_texts(model, survey, place)
    _offer_downloads(survey, trace.model)


def _follow():
    st.session_state[SURVEY_HEAD] = st.session_state[PLACE].chosen


def _place(model, survey):
    """Return the head selected in the views, or in the URL, or shown first: kind, layer, head."""
    asked = st.session_state.get(SURVEY_HEAD) or {
        "kind": st.query_params.get("kind"),
        **{name: _number(st.query_params.get(name)) for name in ("layer", "head")},
    }
    kinds = list(survey.shares)
    kind = asked["kind"] if asked["kind"] in kinds else kinds[-1]
    sizes, opening = survey.shares[kind].shape[1:3], opening_of(model.reference, kind)
    layer, head = (
        first if asked[name] is None else min(asked[name], size - 1)
        for name, size, first in zip(("layer", "head"), sizes, opening, strict=True)
    )
    return kind, layer, head


def _number(text):
    """Return a 1-based number of the URL as a 0-based one; None if it is none."""
    return int(text) - 1 if text and text.isdecimal() and len(text) < 6 and int(text) else None


def _draw_distances(survey, kind, layer, head):
    figure = shares_histogram(
        distance_names(),
        survey.distances[kind][layer, head],
        survey.even_distances[kind],
        labels={
            "bins": t("survey.distance"),
            "shares": t("survey.weight"),
            "head": t("survey.this_head"),
            "even": words().under("lens")["uniform"],
        },
        theme=theme(),
    )
    draw(figure, "survey-distance", alt=t("survey.distance.alt"), toolbar=False)


def _draw_entropies(survey, kind, layer, head):
    step = 100 // ENTROPY_BINS
    figure = shares_histogram(
        [f"{low}–{low + step}%" for low in range(0, 100, step)],
        survey.entropies[kind][layer, head],
        labels={
            "bins": t("survey.entropy"),
            "shares": t("survey.queries"),
            "head": t("survey.this_head"),
        },
        theme=theme(),
    )
    draw(figure, "survey-entropy", alt=t("survey.entropy.alt"), toolbar=False)


def _show_texts(model, survey, place):
    """Show the texts in which a head gives a pattern the most weight, beside random ones."""
    names = patterns_of_sheet(survey, place)
    if not names:
        return
    measure = st.selectbox(
        t("survey.pattern"),
        names,
        format_func=lambda name: measure_name(words(), name),
        key="survey-pattern-{}-{}-{}".format(*place),
        width=MENU,
    )
    st.caption(escaped(meaning_of(words(), measure, survey.roles.words)))
    shares = survey.shares_of(*place, measure)
    listed = (
        ("top", t("survey.top"), survey.top_texts(*place, measure)),
        ("some", t("survey.random"), survey.random_texts()),
    )
    with st.container(key="survey-texts"):
        for name, title, numbers in listed:
            with st.container(gap=None):
                st.markdown(f"**{title}**")
                for rank, number in enumerate(numbers):
                    _show_text(model, survey.texts[number], shares[number], f"survey-{name}-{rank}")


def _show_text(model, text, share, key):
    """Show a text with its share as a button that opens it on the page."""
    source, target = (text, "") if isinstance(text, str) else text
    percent = "—" if share != share else f"{share:.0%}"  # noqa: PLR0124  NaN: the text cannot show it
    if st.button(
        f"{percent} · {escaped(shortened(source))}",
        key=key,
        on_click=_open,
        args=(source, target if config_of(model).architecture == "encoder-decoder" else None),
        type="tertiary",
        help=escaped(shortened(source, 10 * WIDTH)),
    ):
        st.rerun()  # the whole page, not only this part of it


def _open(source, target):
    use_example(source)
    if target is not None:
        st.session_state.target = target


def _offer_downloads(survey, name):
    stem = Path(name).name
    with st.container(horizontal=True, gap="small"):
        for kind, mime, make in (
            ("csv", "text/csv", lambda: csv_for_excel(survey.to_frame().to_csv(index=False))),
            ("json", "application/json", survey.to_json),
        ):
            st.download_button(
                t("survey.csv") if kind == "csv" else t("survey.json"),
                make,
                file_name=f"{stem}-heads.{kind}",
                mime=mime,
                icon=":material/download:",
                type="tertiary",
                on_click="ignore",
                key=f"survey-download-{kind}",
            )


def shortened(text: str, width: int = WIDTH) -> str:
    """Return the beginning of a text on one line, with an ellipsis if something is left out.

    >>> shortened("A film  that never ends", 12), shortened("一部永远不会结束的电影", 12)
    ('A film that …', '一部永远不会 …')
    """
    line, used = " ".join(text.split()), 0
    for number, letter in enumerate(line):
        used += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if used > width:
            begin = line[:number] if letter == " " else line[:number].rpartition(" ")[0]
            return f"{begin if 2 * len(begin) > number else line[:number].rstrip()} …"
    return line
