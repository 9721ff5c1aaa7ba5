"""Random states of the app, in the harness and in a browser; `make fuzz` tries two thousand."""

import pytest
from pages import open_page
from state_drivers import AppDriver, BrowserDriver
from states import PAGES, PARTS, state_of

from transformer_viz.pictures.looks import LOOKS
from transformer_viz.service.engine import EngineError
from transformer_viz.trace.request import Request
from transformer_viz.ui import frame
from transformer_viz.ui.workbench import question

pytestmark = pytest.mark.usefixtures("shipped", "decoders")


def states(numbers, *, usual):
    """Return numbers of states, of which so many are tried each time."""
    more = [pytest.param(number, marks=pytest.mark.thorough) for number in numbers[usual:]]
    return [*numbers[:usual], *more]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("number", states(range(50), usual=30))
def test_a_state_of_the_app_opens_and_what_is_chosen_there_does_too(number):
    AppDriver().open(state_of(number))


@pytest.mark.parametrize("number", states(range(50, 70), usual=8))
def test_a_state_of_the_app_opens_in_a_browser_and_its_views_can_be_pressed(number, app, new_visitor):
    BrowserDriver(app[1], new_visitor).open(state_of(number))


def test_the_states_hold_everything_that_an_address_can():
    found = [state_of(number) for number in range(300)]
    assert {state.page for state in found} == {*PAGES}
    names = {name for state in found for name in state.address}
    assert names >= {*PARTS, "changes", "before", "lesson", "view", "value", "sort", "cell", "projector"}
    looks = {look for state in found for look in state.address.get("looks", "").split(".")}
    assert looks >= {*LOOKS}
    assert {state.dark for state in found} == {True, False}
    read = [Request.from_json(state.address["before"]) for state in found[:50] if "before" in state.address]
    assert {bool(request.changes.changed_fields) for request in read} == {True, False}
    assert found[:50] == [state_of(number) for number in range(50)]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("part", ["page", "engine"])
def test_a_state_that_breaks_a_page_is_found(part, monkeypatch):
    state = next(each for each in map(state_of, range(100)) if each.page == "attention" and not each.acts)
    AppDriver().open(state)

    def broken_page(model):
        raise KeyError(model)

    def broken_engine(request, stamp, progress):
        raise EngineError("unexpected", kind="KeyError", where="text:1")

    if part == "page":
        monkeypatch.setattr(frame.attention, "show", broken_page)
    else:
        monkeypatch.setattr(question, "cached_answer", broken_engine)
    with pytest.raises(AssertionError):
        AppDriver().open(state)
    assert open_page("lessons").header
