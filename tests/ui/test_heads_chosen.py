"""The heads as thumbnails on the pages whose pictures the server draws."""

import pages
import pytest
from made_traces import unpack
from numpy.testing import assert_allclose
from pages import again

from transformer_viz.ui.shell.answers import answer
from transformer_viz.values.request import Request

SHIPPED = ("attention-only", "induction", "reverse-digits")

pytestmark = pytest.mark.usefixtures("engine", "shipped")


def thumbnails(app):
    """Return what the thumbnails are drawn from: the header, and kind of attention -> its arrays."""
    [found] = [each for each in app.get("bidi_component") if each.proto.component_name.endswith("choice")]
    return unpack(found.proto.bytes)


@pytest.mark.parametrize("page", ["masks", "positions"])
@pytest.mark.parametrize("model", SHIPPED)
def test_the_heads_of_the_text_are_shown_with_the_one_that_is_drawn_marked(page, model):
    app = pages.open_page(page, model=model, layer="1", head="2")
    header, arrays = thumbnails(app)
    assert header["model"] == model
    assert (header["chosen"]["layer"], header["chosen"]["head"]) == (0, 1)
    model_path, text = app.session_state["model"], app.session_state["sentence"]
    kinds = shown_kinds(header)
    found = answer(Request(model_path, text)).kinds()
    assert kinds == (list(found) if page == "masks" else list(found)[:1])
    for kind in kinds:
        weights = [layer.weights for layer in found[kind].layers]
        assert_allclose(arrays[kind]["weights"], weights, atol=1e-3)
        assert set(arrays[kind]) == {"weights", "mask"}  # no more than a thumbnail needs


def test_without_a_choice_the_head_with_the_strongest_evidence_is_marked():
    for page in ("masks", "positions"):
        header, _ = thumbnails(pages.open_page(page, model="induction"))
        assert header["chosen"] == {"kind": "decoder", "layer": 1, "head": 0, "projected": False}
    header, _ = thumbnails(pages.open_page("masks", model="reverse-digits"))
    assert header["chosen"]["kind"] == "cross"


def test_a_head_that_the_model_lacks_is_replaced_by_one_it_has():
    app = pages.open_page("masks", model="reverse-digits", kind="decoder", layer="1", head="4")
    assert thumbnails(app)[0]["chosen"] == {"kind": "decoder", "layer": 0, "head": 3, "projected": False}
    app.session_state["head"] = 40
    app.session_state["kind"] = "sideways"
    app = again(app)
    chosen = thumbnails(app)[0]["chosen"]
    assert chosen["kind"] == "cross"
    assert chosen["head"] < 4


def shown_kinds(header):
    return [found["kind"] for found in header["attentions"]]
