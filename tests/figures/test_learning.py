import pytest

from transformer_viz.pictures.figures import learning_curves

LABELS = {
    "epoch": "epoch",
    "step": "step",
    "loss": "loss",
    "metric": "accuracy",
    "train": "trained on",
    "validation": "held out",
    "best": "kept",
}
HISTORY = [
    {"loss": 0.9, "val_loss": 0.8, "accuracy": 0.5, "val_accuracy": 0.6},
    {"loss": 0.5, "val_loss": 0.7, "accuracy": 0.7, "val_accuracy": 0.75},
    {"loss": 0.3, "val_loss": 0.9, "accuracy": 0.9, "val_accuracy": 0.7},
]


def draw(history=HISTORY, metric="accuracy", **options):
    rows = [{"epoch": number, **row} for number, row in enumerate(history, start=1)]
    return learning_curves(rows, rows, over="epoch", metric=metric, labels=LABELS, last=len(rows), **options)


def test_each_curve_stands_over_its_epochs_in_the_panel_of_its_axis():
    traces = draw().data
    assert [trace.y for trace in traces] == [
        (0.9, 0.5, 0.3),
        (0.8, 0.7, 0.9),
        (0.5, 0.7, 0.9),
        (0.6, 0.75, 0.7),
    ]
    assert {trace.x for trace in traces} == {(1, 2, 3)}
    assert [trace.yaxis for trace in traces] == ["y", "y", "y2", "y2"]
    assert [trace.name for trace in traces] == ["trained on", "held out"] * 2


def test_each_axis_is_named_and_each_side_stands_in_the_legend_once():
    figure = draw()
    assert [words.text for words in figure.layout.annotations] == ["loss", "accuracy"]
    assert figure.layout.xaxis.title.text == figure.layout.xaxis2.title.text == "epoch"
    assert [trace.showlegend for trace in figure.data] == [True, True, False, False]
    assert len({trace.line.color for trace in figure.data}) == 2


def test_without_a_figure_the_loss_has_the_whole_width():
    figure = draw(metric=None)
    assert len(figure.data) == 2
    assert figure.layout.xaxis.domain == (0, 1)


def test_the_epoch_that_was_kept_is_marked_in_both_panels():
    figure = draw(best=2)
    assert [(mark.x0, mark.x1, mark.xref) for mark in figure.layout.shapes] == [(2, 2, "x"), (2, 2, "x2")]
    assert [words.text for words in figure.layout.annotations] == ["loss", "kept", "accuracy", "kept"]
    assert draw().layout.shapes == ()


@pytest.mark.parametrize("best", [1, 2, 3])
def test_the_word_for_the_epoch_that_was_kept_covers_no_curve_and_no_title(best):
    layout = draw(best=best).layout
    titles, marks = layout.annotations[::2], layout.annotations[1::2]
    for title, mark in zip(titles, marks, strict=True):
        assert mark.x == best
        assert (mark.y, mark.yref, mark.yanchor) == (1, "paper", "bottom")  # above the plot
        assert title.yshift - mark.yshift >= mark.font.size
    assert layout.margin.t - draw().layout.margin.t == layout.height - draw().layout.height > 0


@pytest.mark.parametrize("value", [None, "0.5", float("nan"), float("inf"), True, [1]])
def test_what_is_no_number_is_a_gap(value):
    figure = draw([*HISTORY, {"loss": value}])
    assert figure.data[0].y[3] is None
    assert figure.data[3].y[3] is None


def test_one_epoch_is_a_point_and_a_hundred_keep_their_ticks_apart():
    assert draw(HISTORY[:1]).layout.xaxis.range == (0.5, 1.5)
    assert draw(HISTORY * 33 + HISTORY[:1]).layout.xaxis.dtick == 10


def test_steps_and_what_was_held_out_stand_on_axes_that_stand_still():
    steps = [{"step": 1, "loss": 2.0, "accuracy": 0.5}, {"step": 9, "loss": 1.0, "accuracy": 0.7}]
    epochs = [{"step": 10, "val_loss": 0.8, "val_accuracy": 0.75}]
    figure = learning_curves(steps, epochs, over="step", metric="accuracy", last=40, labels=LABELS)
    assert [(tuple(trace.x), tuple(trace.y)) for trace in figure.data] == [
        ((1, 9), (2.0, 1.0)),
        ((10,), (0.8,)),
        ((1, 9), (0.5, 0.7)),
        ((10,), (0.75,)),
    ]
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range == (0, 40)
    assert figure.layout.yaxis2.range == (0, 1.02)


def test_a_single_step_is_a_dot():
    rows = [{"step": 0, "loss": 2.0, "accuracy": 0.5}]
    [loss, *_] = learning_curves(rows, [], over="step", metric="accuracy", last=40, labels=LABELS).data
    assert loss.mode == "lines+markers"


def test_before_anything_is_known_the_axes_stand_without_numbers():
    figure = learning_curves([], [], over="step", metric="accuracy", labels=LABELS)
    assert [trace.x for trace in figure.data] == [()] * 4
    assert not figure.layout.xaxis.showticklabels
    assert draw().layout.xaxis.showticklabels
