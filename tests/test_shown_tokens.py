"""Tokens as people read them: without the marks of sub-words, of any kind of tokens."""

import pytest
from made_traces import encoder_trace

from transformer_viz.pictures.labels import as_shown, shown_tokens
from transformer_viz.text.shown import shown_piece


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [
        (
            ["[START]", "▁c'", "est", "▁", "est", "▁bon", "."],
            ("[START]", "c'", "-est", "␣", "-est", "bon", "."),
        ),
        (["un", "##happy", "film", "##.", "好"], ("un", "-happy", "film", ".", "好")),
        (["▁房间", "很", "。"], ("房间", "很", "。")),
        (["#", "##", "a"], ("#", "##", "a")),
        (["The", "▁film", "s"], ("The", "film", "-s")),
        (["▁a", "\n", "The", "▁b"], ("a", "␊", "The", "b")),
        (["<|im_start|>", "user", "\n", "Hi", "▁b", "s"], ("<|im_start|>", "user", "␊", "Hi", "b", "-s")),
        (["</s>", "<mask>", "s", "▁b"], ("</s>", "<mask>", "-s", "b")),
        (["▁▁▁▁", "▁x", " ", "  "], ("␣␣␣␣", "x", "␣", "␣␣")),
    ],
)
def test_tokens_are_shown_without_marks(tokens, shown):
    assert shown_tokens(tokens) == shown


def test_a_space_alone_is_a_sign_in_any_vocabulary():
    assert shown_piece("▁", spaced=True) == shown_piece("▁", spaced=False) == "␣"


def test_the_table_of_all_weights_has_shown_tokens_and_the_same_numbers():
    trace = encoder_trace(["▁un", "happy", "▁"])
    frame, raw = as_shown(trace).to_frame(), trace.to_frame()
    assert {*frame.query_token} == {*frame.key_token} == {"un", "-happy", "␣"}
    assert frame.weight.tolist() == raw.weight.tolist()
    assert {*raw.key_token} == {"▁un", "happy", "▁"}  # the trace itself stays as it was
