"""From Positions and Masks to the comparison on Attention, run by Streamlit's own test harness."""

import json

import pages
import pytest
from pages import again, press

from transformer_viz.values.request import Request

pytestmark = pytest.mark.usefixtures("engine", "shipped")

TEXT = "This film was not good at all"


def compared(app):
    """Return the URL's (A, changes of B) once the Attention page is shown."""
    again(app)
    before = Request.from_json(app.query_params["before"])
    return before, json.loads(app.query_params.get("changes", "{}"))


@pytest.mark.parametrize(
    ("address", "changes"),
    [
        ({"do": "shuffle", "seed": "3"}, {"order": "shuffled:3"}),
        ({"do": "remove"}, {"positions": "none"}),
        ({"do": "swap", "swap": "sinusoidal-halves"}, {"positions": "sinusoidal-halves"}),
    ],
)
def test_a_change_of_the_positions_is_compared_head_by_head(address, changes):
    app = pages.open_page("positions", model="hotel-zh", text="房间很干净。", **address)
    before, found = compared(press(app, "Compare on Attention"))
    assert before == Request(before.model, "房间很干净。")
    assert found == changes
    assert not app.error


@pytest.mark.parametrize(
    ("address", "former", "changes"),
    [
        ({"mask": "causal"}, {}, {"attention_mask": "causal"}),
        (
            {"mask": "window", "reach": "2", "pads": "3"},
            {"padding": 3},
            {"attention_mask": "window:2", "padding": 3},
        ),
    ],
)
def test_a_mask_is_compared_head_by_head(address, former, changes):
    app = pages.open_page("masks", model="attention-only", text=TEXT, **address)
    before, found = compared(press(app, "Compare on Attention"))
    assert before == Request.of(before.model, TEXT, **former)
    assert found == changes
    assert not app.error


def test_a_painted_mask_has_its_comparison_on_its_own_page():
    app = pages.open_page("masks", model="attention-only", text="a dull film", mask="painted")
    assert app.session_state["mask"] == "painted"
    assert not app.error
    assert "Compare on Attention" not in [button.label for button in app.button]
