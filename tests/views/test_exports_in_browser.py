"""What a saved picture holds and says, in a real browser."""

import json

import pytest
from lens_page import SVG, choose, drawing, saved
from made_traces import TOKENS, encoder_trace, masked_trace, packed

from transformer_viz.language import Words
from transformer_viz.pictures.compared import compared_payload
from transformer_viz.trace.comparison import compare

CHIPS = ["Layer 1, head 1 off", "no positions"]
ANSWER = {"a": "negative 98.9%", "b": "positive 61.2%"}


def told(payload, **facts):
    """Return a payload that says more of its run."""
    length = int.from_bytes(payload[:8], "little")
    header = json.loads(payload[8 : 8 + length]) | facts
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + payload[8 + length :]


def acts(*chips):
    return {
        **{"title": "", "this_head": "", "heads": [], "edges": [], "no_edge": "", "groups": []},
        "chips": [{"text": text, "act": {"do": "nothing"}} for text in chips],
        "compare": {"label": "", "act": {"do": "compare"}},
    }


@pytest.fixture(scope="module")
def comparison():
    return compared_payload(compare(masked_trace(), encoder_trace(TOKENS, seed=11)), Words("en"))


def lines(svg):
    """Return the texts of a picture, from the top to the bottom."""
    return [text.text for text in svg.iter(f"{SVG}text")]


def test_the_picture_of_a_comparison_is_both_runs_and_their_difference_side_by_side(show, comparison):
    page = show(told(comparison, acts=acts(*CHIPS), answer=ANSWER), start={"layer": 0, "head": 0})
    assert saved(page, "SVG")[0].endswith("-compared.svg")
    assert saved(page, "PNG")[1].startswith(b"\x89PNG")
    svg = drawing(page)
    said = lines(svg)
    assert said[0].endswith("Layer 1, head 1 · weight")
    assert said[1] == "Changed: Layer 1, head 1 off · no positions"
    assert said[2] == "The model's answer: A negative 98.9%, B positive 61.2%"
    assert [said.count(side) for side in ("A", "B", "B − A in points: blue gained, red lost")] == [1, 1, 1]
    assert said.count("key (attended to)") == 3
    rights = [float(rect.get("x") or 0) + float(rect.get("width")) for rect in svg.iter(f"{SVG}rect")]
    assert max(rights) <= float(svg.get("width"))


def test_the_picture_of_one_run_says_what_was_changed_and_answered(show):
    page = show(told(packed(masked_trace()), acts=acts(*CHIPS), answer={"b": "positive 61.2%"}))
    for option in ("Matrix", "Lines", "All heads"):
        choose(page, "View", option)
        said = lines(drawing(page))
        assert said[1] == "Changed: Layer 1, head 1 off · no positions"
        assert said[2] == "The model's answer: positive 61.2%"


def test_what_is_unchanged_and_unknown_is_not_said(show):
    said = lines(drawing(show(packed(masked_trace()), start={"view": "matrix"})))
    assert not any(text.startswith(("Changed", "The model's answer")) for text in said)
