"""All that a page about a model shows belongs to one fragment.

A component that asks for another run of the page while the browser waits for the rest of the first one makes
Streamlit drop that rest, but keep what a fragment within the fragment wrote: the browser lacks its place then
("Bad delta path"), and the page stops.
"""

import pages
import pytest
from pages import again, go_to_page
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

pytestmark = pytest.mark.usefixtures("engine", "shipped")

TEXTS = "\n".join(f"{number} 1 4 1 5" for number in range(9)).encode()


@pytest.fixture
def fragments(monkeypatch):
    """Return a function that returns the ids of the fragments that the last run of a page consisted of."""
    messages, received = [], LocalScriptRunner.forward_msgs

    def receive(runner):
        messages[:] = received(runner)
        return messages

    monkeypatch.setattr(LocalScriptRunner, "forward_msgs", receive)
    return lambda: {message.delta.fragment_id for message in messages if message.HasField("delta")} - {""}


def opened(page, **state):
    app = AppTest.from_file(pages.APP, default_timeout=60)
    app.query_params["model"] = "reverse-digits"
    for key, value in state.items():
        app.session_state[key] = value
    return go_to_page(app, page)


@pytest.mark.parametrize("page", ["attention", "map", "positions", "masks", "writing", "evaluation"])
def test_a_page_is_one_fragment_also_with_what_it_is_about(fragments, page):
    opened(page, **{f"explained-{page}": True})
    assert len(fragments()) == 1


def test_a_page_is_one_fragment_also_with_what_its_head_does_over_texts(fragments):
    app = opened("attention", survey=True)
    [box] = [box for box in app.file_uploader if box.key == "survey-upload"]
    box.set_value(("mine.txt", TEXTS, "text/plain"))
    app.session_state["survey"] = True
    again(app)
    [measure] = [button for button in app.button if button.label == "Measure"]
    measure.click()
    app.session_state["survey"] = True
    again(app)
    assert [button for button in app.button if button.label == "Measure"] == []
    assert len(fragments()) == 1
