from numpy.testing import assert_allclose

from transformer_viz.pictures.figures import before_after_bars


def test_bars_stand_before_and_after():
    names = {"before": "own", "after": "causal"}
    before, after = before_after_bars(["bad", "$x"], [0.75, 0.25], [0.5, 0.5], labels=names).data
    assert (before.name, after.name) == ("own", "causal")
    assert_allclose([before.x, after.x], [[0.75, 0.25], [0.5, 0.5]])
    assert before.text == ("75.0%", "25.0%")
