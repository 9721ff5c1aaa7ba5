"""Long work on a page in a real browser: its progress, the way to stop it, other visitors meanwhile."""

import contextlib

import psutil
import pytest
from playwright.sync_api import expect
from running_app import running
from small_models import write, write_endless


@pytest.fixture(scope="module")
def app(explorer, translator, tmp_path_factory):
    """The process of the app, and its address."""
    folder = tmp_path_factory.mktemp("models")
    write(explorer, folder)
    write_endless(translator, folder)
    with running(TRANSFORMER_VIZ_MODELS=folder) as app:
        yield app


@pytest.fixture
def visitor(new_visitor, app):
    """Return a function that opens an address in a browser of its own."""

    def visit(query):
        page = new_visitor()
        page.goto(f"{app[1]}/?{query}")
        return page

    return visit


@contextlib.contextmanager
def long_work_suspended(server):
    """Let writing outlast the block, however fast the machine is."""
    child = slow_child(server)
    child.suspend()
    try:
        yield
    finally:
        child.resume()


def slow_child(server):
    """Return the child for long work: the one with the highest niceness."""
    child = max(psutil.Process(server.pid).children(recursive=True), key=psutil.Process.nice)
    assert child.nice() > 0
    return child


def test_writing_shows_its_progress_can_be_stopped_and_started_again(visitor, app):
    page = visitor("model=endless")
    page.get_by_text("tokens so far").wait_for()
    with long_work_suspended(app[0]):
        page.get_by_role("button", name="Stop", exact=True).last.click()
        expect(page.get_by_text("Stopped.")).to_be_visible()
        expect(page.get_by_text("tokens so far")).to_have_count(0)
    page.get_by_role("button", name="Start again").click()
    page.get_by_text("tokens so far").wait_for()


def test_another_visitor_sees_attention_while_models_write_without_end(visitor, app):
    page = visitor("model=small&text=A%20dull%20film.")
    page.locator(".table summary").click()
    expect(page.locator(".table tbody th")).to_have_text(["a", "dull", "film", "."])
    rude = [visitor(f"model=endless&text=Film%20{number}") for number in range(4)]
    rude[-1].get_by_text("tokens so far").wait_for()
    with long_work_suspended(app[0]):
        page.get_by_label("Sentence").fill("A clever plot.")
        page.get_by_role("button", name="Show attention").click()
        expect(page.locator(".table tbody th")).to_have_text(["a", "clever", "plot", "."])
        expect(rude[-1].get_by_role("progressbar")).to_be_visible()


def test_another_sentence_takes_the_place_of_one_that_is_being_answered(visitor, app):
    page = visitor("model=endless&text=A%20film%20again")
    page.get_by_text("tokens so far").wait_for()
    with long_work_suspended(app[0]):
        page.get_by_label("Sentence").fill("")
        page.get_by_role("button", name="Show attention").click()
        expect(page.get_by_text("Type a sentence above")).to_be_visible()
        expect(page.get_by_text("tokens so far")).to_have_count(0)
