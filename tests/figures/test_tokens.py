import pytest

from transformer_viz.pictures.figures.tokens import axis_label


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
