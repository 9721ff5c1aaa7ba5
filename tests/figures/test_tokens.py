import pytest

from transformer_viz.pictures.figures import before_after_bars
from transformer_viz.pictures.figures.tokens import axis_label

NAMES = {"before": "own", "after": "causal"}


@pytest.mark.parametrize(
    ("token", "label"),
    [
        ("<b>", "&lt;b&gt;"),
        ("<br />", "&lt;br /&gt;"),
        ("$x$", "&#36;x&#36;"),
        ("a&amp;b", "a&amp;amp;b"),
        ("\x00", "␀"),
        ("\u202e", "⟨U+202E⟩"),
        ("好", "好"),
        ("", "␣"),
    ],
)
def test_no_token_is_markup_or_invisible(token, label):
    assert axis_label(token) == label
    bars = before_after_bars([token], [0.5], [0.5], labels=NAMES)
    assert bars.layout.yaxis.ticktext == (label,)
