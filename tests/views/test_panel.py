import base64
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from transformer_viz.pictures.views.panel import BLANK, MAX_LARGE, MAX_RULED, Scale, panel

from transformer_viz.pictures.theme import DIVERGING, GAP, HEADS, SEQUENTIAL

VALUES = np.array([[0.1, np.nan, 0.7], [0.5, 0.25, 0.25]], np.float32)
TOKENS = ("the", "<b>"), ("the", "dog", "the")
SAYS = ("{row} attends to {column}", None)


def made(values=VALUES, tokens=TOKENS, **options):
    """Return a panel as the browser reads it."""
    return json.loads(json.dumps(panel(values, tokens, says=SAYS, **options)))


def numbers(drawn):
    return np.frombuffer(base64.b64decode(drawn["values"]), np.float32)


def test_a_panel_holds_its_values_with_gaps_and_its_tokens_as_text():
    drawn = made(scale=Scale(0.7))
    assert_array_equal(numbers(drawn).reshape(2, 3), VALUES)
    assert (drawn["rows"], drawn["columns"]) == (["the", "<b>"], ["the", "dog", "the"])
    assert (drawn["limit"], drawn["signed"], drawn["ticks"]) == (0.7, False, ["0", "0.7"])
    assert drawn["colours"] == SEQUENTIAL["light"]
    assert drawn["says"] == list(SAYS)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_signed_values_are_centred_on_zero(theme):
    drawn = made(scale=Scale(2.5, signed=True), theme=theme)
    assert drawn["ticks"] == ["-2.5", "0", "2.5"]
    assert drawn["colours"] == DIVERGING[theme]
    assert drawn["back"] == GAP[theme]


def test_many_tokens_are_written_smaller_and_more_stand_without_lines_between_them():
    facts = []
    for size in (MAX_LARGE, MAX_LARGE + 1, MAX_RULED, MAX_RULED + 1):
        tokens = [f"t{number}" for number in range(size)]
        drawn = made(np.zeros((size, size)), (tokens, tokens))
        facts.append((drawn["pixels"], drawn["lines"]))
    assert facts == [(12, True), (10, True), (10, True), (10, False)]


def test_nothing_in_a_token_is_invisible():
    assert made(tokens=(("\x00", ""), TOKENS[1]))["rows"] == ["␀", BLANK]


def test_sums_of_one_have_a_colour_of_their_own():
    drawn = made(sums=("row sum", [0.5, 0.9999]), theme="dark")
    assert drawn["sums"]["title"] == "row sum"
    assert drawn["sums"]["colours"] == [HEADS["dark"][1], HEADS["dark"][0]]
    assert drawn["sums"]["values"] == [0.5, 0.9999]


def test_a_panel_without_a_scale_has_no_numbers_below_it():
    assert made(scale=Scale(drawn=False))["ticks"] == []


def test_values_that_do_not_fit_the_tokens_are_refused():
    with pytest.raises(ValueError, match=r"must be \(query, key\) = \(3, 2\).* Received shape \(2, 3\)"):
        made(tokens=TOKENS[::-1])
