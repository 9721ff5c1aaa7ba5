import numpy as np
import pytest
from numpy.testing import assert_allclose

from transformer_viz.pictures.figures import heads_grid, time_lapse

FRAMES, HEADS, QUERY, KEY = 3, 5, 2, 7
WEIGHTS = np.random.default_rng(1).dirichlet(np.ones(KEY), (FRAMES, HEADS, QUERY)).astype(np.float32)
QUERIES, KEYS = ["a", "the"], ["the", "the", "<b>", "$x$", "d", "e", "f"]
GRID = {"head": "Head", "weight": "weight", "reads": "reads"}
LAPSE = GRID | {"step": "Step", "entropy": "entropy", "figure": "accuracy", "play": "Play", "pause": "Pause"}


def lapse():
    return time_lapse(
        WEIGHTS,
        [1, 50, 100],
        QUERIES,
        KEYS,
        entropies=np.ones((FRAMES, HEADS)),
        figure=([50, 100], [0.4, 0.9]),
        labels=LAPSE,
    )


@pytest.mark.parametrize("draw", [lambda: heads_grid(WEIGHTS[-1], QUERIES, KEYS, labels=GRID), lapse])
def test_every_head_is_a_panel_of_its_own_on_one_scale(draw):
    figure = draw()
    panels = [trace for trace in figure.data if trace.type == "heatmap"]
    assert len(panels) == HEADS
    for head, panel in enumerate(panels):
        assert_allclose(panel.z, WEIGHTS[-1][head] * 100, atol=0.5)
        assert (panel.zmin, panel.zmax) == (0, 100)
    assert len({(panel.xaxis, panel.yaxis) for panel in panels}) == HEADS
    assert figure.layout.xaxis3.ticktext == ("the", "the", "&lt;b&gt;", "&#36;x&#36;", "d", "e", "f")
    assert figure.layout.yaxis3.ticktext == tuple(QUERIES)
    assert figure.layout.yaxis.autorange == "reversed"


def test_the_panels_do_not_overlap():
    layout = heads_grid(WEIGHTS[-1], QUERIES, KEYS, labels=GRID).layout
    numbers = ["", *range(2, HEADS + 1)]
    places = [(layout[f"xaxis{n}"].domain, layout[f"yaxis{n}"].domain) for n in numbers]
    for i, (across, up) in enumerate(places):
        for other_across, other_up in places[:i]:
            assert across[0] >= other_across[1] or up[1] <= other_up[0]


def test_every_frame_changes_the_panels_and_the_marks():
    figure = lapse()
    assert [frame.name for frame in figure.frames] == ["1", "50", "100"]
    for step, frame, weights in zip((1, 50, 100), figure.frames, WEIGHTS, strict=True):
        *panels, first, second = frame.data
        for panel, head in zip(panels, weights, strict=True):
            assert_allclose(panel.z, head * 100, atol=0.5)
        assert tuple(first.x) == tuple(second.x) == (step, step)
        changed = [figure.data[i] for i in frame.traces]
        assert [trace.type for trace in changed] == ["heatmap"] * HEADS + ["scatter"] * 2
        assert all(trace.hoverinfo == "skip" for trace in changed[-2:])
    assert [step.label for step in figure.layout.sliders[0].steps] == ["1", "50", "100"]
    assert figure.layout.sliders[0].active == 2


def test_many_tokens_are_not_written():
    weights = np.full((2, 30, 30), 1 / 30)
    layout = heads_grid(weights, ["a"] * 30, ["b"] * 30, labels=GRID).layout
    assert not layout.xaxis.showticklabels
    assert len(layout.xaxis.ticktext) == 30  # hovering names them
