"""Long work on a page in a real browser: its progress, the way to stop it, other visitors meanwhile."""

import contextlib

import psutil
import pytest
from playwright.sync_api import expect
from running_app import free_port, start_app
from small_models import write, write_endless


@pytest.fixture(scope="module")
def app(explorer, translator, tmp_path_factory):
    """The process of the app, and its address."""
    folder = tmp_path_factory.mktemp("models")
    write(explorer, folder)
    write_endless(translator, folder)
    port = free_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSFORMER_VIZ_MODELS", str(folder))
        app = start_app(port)
    yield app, f"http://localhost:{port}"
    app.kill()
    app.wait()


@pytest.fixture
def visitor(browser, app):
    """Return a function that opens an address in a browser of its own."""
    contexts, address = [], app[1]

    def visit(query):
        contexts.append(browser.new_context())
        page = contexts[-1].new_page()
        page.set_default_timeout(60_000)
        page.goto(f"{address}/?{query}")
        return page

    yield visit
    for context in contexts:
        context.close()


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
