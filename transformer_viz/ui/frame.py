"""The frame of all pages: header, navigation, errors of the shelf."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer_viz import store
from transformer_viz.ui.pages.attention import page as attention
from transformer_viz.ui.pages.evaluation import page as evaluation
from transformer_viz.ui.pages.lessons import page as lessons
from transformer_viz.ui.pages.map import page as map_page
from transformer_viz.ui.pages.masks import page as masks
from transformer_viz.ui.pages.models import page as models
from transformer_viz.ui.pages.positions import page as positions
from transformer_viz.ui.pages.teacher import page as teacher
from transformer_viz.ui.pages.train import page as train
from transformer_viz.ui.pages.writing import page as writing
from transformer_viz.ui.shell.address import follow_history
from transformer_viz.ui.shell.classroom import is_classroom, is_teacher, owner, record_visit, short_name
from transformer_viz.ui.shell.header import choose_model, show_brand, show_header, show_pages
from transformer_viz.ui.shell.journal import timed
from transformer_viz.ui.shell.language import t
from transformer_viz.ui.shell.lesson_strip import show_room
from transformer_viz.ui.shell.lessons import LESSON, TO_OPEN, begin, begin_from_address, open_lesson
from transformer_viz.ui.shell.login import admitted, show_logout
from transformer_viz.ui.shell.problems import error_text
from transformer_viz.ui.shell.recovering import begin_run, recovered, whole_run
from transformer_viz.ui.shell.session import is_fragment_run, is_history_navigation
from transformer_viz.ui.shell.shelf import show_no_model, shown_model
from transformer_viz.ui.workbench.mount import show_workbench, take_shown

ICON = Path(__file__).parent / "icon.svg"


def show() -> None:
    """Show the chosen page; if it fails, without what breaks it."""
    begin_page()
    header = show_header()
    if not let_in(header.visitor):
        return

    chosen: list[store.ModelSummary] = []  # one, on a page about a model

    # Keys of buttons that call these begin with "leave-": history.js adds no entry for the page they leave.
    def open_model(name):
        st.session_state.model = name
        st.switch_page(attention_page, query_params={"model": name})

    def start_lesson(lesson):
        begin(lesson)
        st.switch_page(with_lessons[lesson.page], query_params={"lesson": lesson.name})

    def with_model(name, icon, show_page, *args, **settings):
        return page_of(lambda: show_below_header(name, chosen[0], show_page, *args), name, icon, **settings)

    def without_model(name, icon, show_page, *args):
        return page_of(lambda: show_timed(name, show_page, *args), name, icon)

    attention_page = with_model("attention", "visibility", attention.show, default=True)
    open_attention = functools.partial(st.switch_page, attention_page)
    steps_page = with_model("map", "account_tree", map_page.show)
    positions_page = with_model("positions", "format_list_numbered", positions.show)
    masks_page = with_model("masks", "grid_off", masks.show)
    writing_page = with_model("writing", "edit_note", writing.show, open_attention)
    evaluation_page = with_model("evaluation", "fact_check", evaluation.show, open_attention)
    train_page = without_model("train", "school", train.show, open_model)
    models_page = without_model("models", "inventory_2", models.show, open_model)
    lessons_page = without_model("lessons", "menu_book", lessons.show, start_lesson)
    with_lessons = {"attention": attention_page, "map": steps_page, "train": train_page}
    about_model = [attention_page, steps_page, positions_page, masks_page, writing_page, evaluation_page]
    pages = [*about_model, train_page, models_page, lessons_page]
    if is_teacher():
        pages.append(without_model("teacher", "co_present", teacher.show))
    page = st.navigation(pages, position="hidden")
    with header.pages:
        show_pages(pages, page)
    if page in with_lessons.values():
        begin_from_address()
    to_open = with_lessons.get(st.session_state.pop(TO_OPEN, ""), page)
    if to_open is not page and not is_history_navigation():  # a step back would lead forward again
        lesson = st.session_state.get(LESSON)
        st.switch_page(to_open, query_params={"lesson": lesson} if lesson else {})
    if page is not models_page:
        models.leave()
    if page in about_model:
        model = show_choice(header.model, page is writing_page)
        if model is None:
            return
        chosen.append(model)
    else:
        show_brand(header.model)
    show_room(open_lesson()[0] if page in with_lessons.values() else None)
    if page in (attention_page, steps_page, masks_page) or (
        page is positions_page and positions.is_experiment()
    ):
        show_workbench(page.url_path or "attention", chosen[0])
    with whole_run():
        page.run()


def begin_page() -> None:
    """Begin a run of the script, before any widget: with what address, history and workbench say."""
    st.set_page_config(page_title="Transformer Viz", page_icon=ICON, layout="wide")
    begin_run()
    follow_history()
    take_shown()


def let_in(place: DeltaGenerator) -> bool:
    """Record the visit and show who the visitor is; return False for one who has to log in first."""
    with place:
        show_logout()
    if not admitted():
        return False
    record_visit()
    if is_classroom():
        show_name(place)
    return True


def show_choice(place: DeltaGenerator, is_for_writing: bool) -> store.ModelSummary | None:
    """Show the menu of models in the header and return the chosen one; None: there is none, as the page says.

    The frame calls it, not the page: Streamlit removes what a page has drawn when another page is opened.
    """
    try:
        model = choose_model(place, lambda config: config.has_decoder or not is_for_writing)
    except store.ModelError as error:
        st.error(error_text(error), icon=":material/folder_off:")
        return None
    if model is None:
        show_no_model()
    return model


@st.fragment
def show_below_header(
    name: str, model: store.ModelSummary, show_page: Callable[..., None], *args: Any
) -> None:
    """Show a page about a model.

    Its widgets rerun only this fragment; if the header has to change, it reruns the whole script.
    Nothing in it is a fragment of its own: a run that a component asks for before the browser has all of the
    former one makes Streamlit drop the rest of this fragment, but not what one within it wrote, whose place
    the browser then lacks.
    """
    if is_fragment_run() and changes_header(model):
        st.rerun()
    with recovered(), timed(name), st.container(key="page"):
        show_page(model, *args)


def changes_header(model: store.ModelSummary) -> bool:
    """Return whether another model or page is to be opened than is shown, or the model is not as it was."""
    is_other = st.session_state.get("model") != model.name or TO_OPEN in st.session_state
    return is_other or shown_model(model.reference) != model


def show_timed(name: str, show_page: Callable[..., None], *args: Any) -> None:
    """Show a page about no model, and log how long that takes."""
    with timed(name):
        show_page(*args)


def show_name(place: DeltaGenerator) -> None:
    """Show under which name the visitor is in the class."""
    name = t("classroom.you", name=short_name(owner()))
    place.caption(name, help=t("classroom.you.help"))


def page_of(show_page: Callable[[], None], name: str, icon: str, **settings: Any) -> st.Page:
    """Return a page whose URL path is its name."""
    return st.Page(show_page, title=t(f"{name}.nav"), icon=f":material/{icon}:", url_path=name, **settings)
