import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from transformer_viz.text import PAD, UNK, Tokenizer, clean_text, visible

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))
TOKENIZER = Tokenizer.train(["The film didn't work.", "The plot! The film.", "a straße"], 100)


def surface(encoding):
    return [encoding.text[start:end] for start, end in encoding.offsets]


def test_words_are_lower_case_contractions_stay_whole_and_marks_stand_alone():
    encoding = TOKENIZER.encode("The FILM didn't work!!", max_len=9)
    assert encoding.tokens == ("the", "film", "didn't", "work", "!", "!")
    assert surface(encoding) == ["The", "FILM", "didn't", "work", "!", "!"]


def test_a_typographic_apostrophe_is_an_apostrophe():
    assert TOKENIZER.encode("didn’t", max_len=9).tokens == ("didn't",)


@pytest.mark.parametrize("mark", ["<br />", "<br>", "<BR/>", "<br /><br />"])
def test_html_line_breaks_are_white_space(mark):
    encoding = TOKENIZER.encode(f"film{mark}plot", max_len=9)
    assert encoding.tokens == ("film", "plot")
    assert surface(encoding) == ["film", "plot"]


def test_ids_begin_with_padding_and_unknown_and_follow_frequency():
    assert [TOKENIZER.token(i) for i in range(3)] == [PAD, UNK, "the"]


@pytest.mark.parametrize("typed", [PAD, UNK, f"film {PAD} plot"])
def test_nobody_can_type_padding(typed):
    encoding = TOKENIZER.encode(typed, max_len=9)
    assert 0 not in encoding.ids
    assert PAD not in encoding.tokens


def test_the_vocabulary_holds_the_most_frequent_words():
    small = Tokenizer.train(["b b b a a c"], 4)
    assert [small.token(i) for i in range(small.vocab_size)] == [PAD, UNK, "b", "a"]


def test_the_same_texts_give_the_same_tokenizer():
    texts = ["one two three two", "three four five five"]
    assert Tokenizer.train(texts, 9).to_json() == Tokenizer.train(texts, 9).to_json()


def test_the_end_is_cut_and_counted():
    encoding = TOKENIZER.encode("a the film plot work", max_len=3)
    assert (encoding.tokens, encoding.num_dropped, encoding.cut_at) == (("a", "the", "film"), 2, 3)


def test_the_middle_is_cut_after_a_quarter():
    encoding = TOKENIZER.encode("a the film plot work . !", max_len=4, truncation="middle")
    assert (encoding.tokens, encoding.num_dropped, encoding.cut_at) == (("a", "work", ".", "!"), 3, 1)
    assert surface(encoding) == list(encoding.tokens)


def test_a_text_that_fits_is_not_cut():
    encoding = TOKENIZER.encode("a the film", max_len=3, truncation="middle")
    assert (encoding.num_dropped, encoding.cut_at) == (0, None)


@pytest.mark.parametrize("truncation", ["end", "middle"])
def test_a_batch_is_encoded_as_one_by_one(truncation):
    texts = ["The film.", "", "a " * 30, "zyzzyva İ 😀"]
    batch = TOKENIZER.encode_batch(texts, max_len=7, truncation=truncation)
    for text, ids in zip(texts, batch, strict=True):
        assert ids.dtype == np.int32
        assert_array_equal(ids, TOKENIZER.encode(text, max_len=7, truncation=truncation).ids)


@given(ANY_TEXT)
def test_any_text_has_tokens_in_order_within_its_bounds(text):
    encoding = TOKENIZER.encode(text, max_len=50)
    assert len(encoding.ids) == len(encoding.tokens) == len(encoding.offsets)
    flat = [place for offset in encoding.offsets for place in offset]
    assert flat == sorted(flat)
    assert not flat or (flat[0] >= 0 and flat[-1] <= len(encoding.text))
    assert (encoding.ids > 0).all()


@given(
    st.lists(st.sampled_from(["the", "FILM", "😀", "İ", "e\u0301", "didn't", "<br />", "一", "\u202e", "."]))
)
def test_offsets_count_characters_not_bytes(parts):
    encoding = TOKENIZER.encode(" ".join(parts), max_len=500)
    for token, word in zip(encoding.tokens, surface(encoding), strict=True):
        assert token in (UNK, word.lower())
    assert "".join(surface(encoding)) == "".join(clean_text(p) for p in parts if p != "<br />")


def test_a_text_of_a_million_characters_is_counted_whole():
    assert TOKENIZER.encode("film " * 200_000, max_len=3).num_dropped == 199_997
    assert TOKENIZER.encode("x" * 1_000_000, max_len=3).tokens == (UNK,)


def test_json_round_trip_encodes_alike():
    again = Tokenizer.from_json(TOKENIZER.to_json())
    assert (
        again.encode("The plot didn't!", max_len=9).tokens
        == TOKENIZER.encode("The plot didn't!", max_len=9).tokens
    )
    assert PAD not in again.encode(PAD, max_len=9).tokens


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"model": {}}'])
def test_what_is_no_tokenizer_is_refused_with_a_sentence(text):
    with pytest.raises(ValueError, match=r"tokenizer\.json is not a tokenizer"):
        Tokenizer.from_json(text)


def test_a_tokenizer_with_other_first_tokens_is_refused():
    content = json.loads(TOKENIZER.to_json())
    vocabulary = content["model"]["vocab"]
    vocabulary[PAD], vocabulary["the"] = vocabulary["the"], vocabulary[PAD]
    content["added_tokens"] = []
    with pytest.raises(ValueError, match=r"must have \[PAD\] as token 0 and \[UNK\] as token 1"):
        Tokenizer.from_json(json.dumps(content))


@given(ANY_TEXT)
def test_cleaned_text_is_composed_and_can_be_written(text):
    cleaned = clean_text(text)
    cleaned.encode("utf-8")
    assert clean_text(cleaned) == cleaned


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("film", "film"),
        ("a\x00b", "a␀b"),
        ("\t", "␉"),
        ("\u202e", "⟨U+202E⟩"),
        ("\u200b", "⟨U+200B⟩"),
        ("👩\u200d👧", "👩\u200d👧"),
        ("مرحبا", "مرحبا"),
        ("e" + "\u0301" * 9, "e" + "\u0301" * 4 + "…"),
        ("x" * 30, "x" * 23 + "…"),
    ],
)
def test_a_token_is_shown_without_anything_invisible(token, shown):
    assert visible(token) == shown
