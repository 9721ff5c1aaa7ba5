"""The words of Chinese texts."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_viz.text.segmentation import CHINESE, chinese_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("房间很干净，服务员态度好。", ["房间", "很", "干净", "服务员", "态度", "好"]),
        ("I paid 3.14 for 一件T恤, it's 好看", ["一件", "T恤", "好看"]),
        ("𠮷祥", ["𠮷", "祥"]),
        ("the film was not good 3.14", []),
        ("日本語の文章です", []),
        ("", []),
    ],
)
def test_words_with_chinese_characters_are_found_by_the_dictionary(text, words):
    assert [text[start:end] for start, end in chinese_words(text)] == words


@given(st.text(st.sampled_from("我们在北京大学a1 ,.，。\n\t😀🏻\u0301\u200d𠮷\ufffd\x00")))
def test_words_are_disjoint_in_order_and_hold_every_chinese_character(text):
    found = chinese_words(text)
    places = [place for start, end in found for place in range(start, end)]
    assert places == sorted(set(places))
    assert {match.start() for match in CHINESE.finditer(text)} <= set(places)


def test_the_dictionary_is_not_loaded_for_other_texts():
    code = """if 1:
        import sys
        from transformer_viz.text.segmentation import chinese_words
        chinese_words("a film"), print("rjieba" in sys.modules)
        chinese_words("很好"), print("rjieba" in sys.modules)
    """
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "True"]
