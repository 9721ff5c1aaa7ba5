import json
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from transformer_viz.network.config import CHOICES, MASK_ID
from transformer_viz.text import unicode
from transformer_viz.text import vocabulary as module
from transformer_viz.text.sentences import passages_of, sentences_of, some_passages
from transformer_viz.text.special import PAD, UNK
from transformer_viz.text.tokenizer import TOKEN_KINDS, Tokenizer, clean_text
from transformer_viz.text.unicode import visible

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


def test_some_sentences_of_a_text_are_drawn_and_of_what_is_not_divided_passages_of_20_words():
    random = np.random.default_rng(3)
    text = 'One "good." Two<br />Three! 3.5 (four?) ... 五。“六！”'
    sentences = ['One "good."', "Two", "Three!", "3.5 (four?)", "五。", "“六！”"]
    assert sentences_of(text) == sentences
    assert passages_of(text) == sentences
    drawn = [some_passages(text, 2, random) for _ in range(99)]
    assert {passage for pair in drawn for passage in pair} == set(sentences)
    assert all(sentences.index(first) < sentences.index(second) for first, second in drawn)
    assert some_passages(text, 9, random) == sentences
    words = [f"word{number}" for number in range(50)]
    assert passages_of(" ".join(words)) == [" ".join(words[:20]), " ".join(words[20:40])]
    assert passages_of("好" * 30) == ["好" * 20]
    for whole in ("Just this.", "", "...", "好" * 19):
        assert passages_of(whole) == [whole]


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


def test_the_beginning_is_cut():
    encoding = TOKENIZER.encode("a the film plot work", max_len=2, truncation="beginning")
    assert (encoding.tokens, encoding.num_dropped, encoding.cut_at) == (("plot", "work"), 3, 0)


def test_a_text_that_fits_is_not_cut():
    encoding = TOKENIZER.encode("a the film", max_len=3, truncation="middle")
    assert (encoding.num_dropped, encoding.cut_at) == (0, None)


@pytest.mark.parametrize("truncation", ["end", "middle", "beginning"])
def test_a_batch_is_encoded_as_one_by_one(truncation):
    texts = ["The film.", "", "a " * 30, "zyzzyva İ 😀"]
    batch = TOKENIZER.encode_batch(texts, max_len=7, truncation=truncation)
    for text, ids in zip(texts, batch, strict=True):
        assert ids.dtype == np.int32
        assert_array_equal(ids, TOKENIZER.encode(text, max_len=7, truncation=truncation).ids)


@pytest.mark.parametrize("truncation", CHOICES["truncation"])
def test_start_is_one_of_the_tokens_kept_and_never_cut(truncation):
    tokenizer = Tokenizer.train(["a b c d e f g h"], 20, markers=True)
    plain = tokenizer.encode("a b c d e f g h", max_len=4, truncation=truncation)
    found = tokenizer.encode("a b c d e f g h", max_len=5, truncation=truncation, start=True)
    assert found.tokens == ("[START]", *plain.tokens)
    assert found.offsets == ((0, 0), *plain.offsets)
    assert (found.num_dropped, found.cut_at) == (4, plain.cut_at + 1)
    [ids] = tokenizer.encode_batch(["a b c d e f g h"], max_len=5, truncation=truncation, start=True)
    assert_array_equal(ids, found.ids)


def test_a_batch_longer_than_one_portion_keeps_its_order(monkeypatch):
    monkeypatch.setattr(module, "BATCH", 2)
    words = ["the", "film", "plot", "work", "a"]
    rows = TOKENIZER.encode_batch(iter(words), max_len=7)
    assert [TOKENIZER.token(*row) for row in rows] == words


def test_split_digits_are_tokens_of_their_own():
    tokenizer = Tokenizer.train(["March 3, 2021 isn't B2B"], 30, split_digits=True)
    encoding = tokenizer.encode("March 3, 2021 isn't B2B", max_len=30)
    assert encoding.tokens == ("march", "3", ",", "2", "0", "2", "1", "isn't", "b", "2", "b")
    assert encoding.offsets[3] == (9, 10)


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


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"model": {"type": "WordLevel", "vocab": {PAD: 0, UNK: 1}, "unk_token": "<unk>"}},
            r"cannot read every text: WordLevel error: Missing \[UNK\] token from the vocabulary\.$",
        ),
        (
            {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
            r"cannot be used: `precompiled_charsmap` of its normalizer Precompiled must be a map of ",
        ),
        (
            {"normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}},
            r"cannot read every text: a typed \[PAD\] becomes padding\.$",
        ),
    ],
    ids=["no unknown word", "panics", "padding can be typed"],
)
def test_a_tokenizer_that_cannot_read_any_text_is_refused(change, problem):
    content = json.loads(TOKENIZER.to_json()) | change
    with pytest.raises(ValueError, match=rf"^tokenizer\.json {problem}"):
        Tokenizer.from_json(json.dumps(content))


def test_a_file_cannot_make_a_tokenizer_pad_or_cut():
    content = json.loads(TOKENIZER.to_json())
    content["padding"] = {"strategy": {"Fixed": 6}, "direction": "Right", "pad_to_multiple_of": None}
    content["padding"] |= {"pad_id": 0, "pad_type_id": 0, "pad_token": PAD}
    content["truncation"] = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    again = Tokenizer.from_json(json.dumps(content))
    assert again.encode("the film plot", max_len=9).tokens == ("the", "film", "plot")
    assert again.encode("the", max_len=9).tokens == ("the",)


@given(ANY_TEXT)
def test_cleaned_text_is_composed_and_can_be_written(text):
    cleaned = clean_text(text)
    cleaned.encode("utf-8")
    assert clean_text(cleaned) == cleaned


@given(
    st.lists(st.sampled_from("e\u0301\u0316\u0344\u0f73\u0f71한ᄒ\u1161電\u034f "), max_size=40).map("".join)
)
def test_long_runs_are_composed_as_unicode_says(text):
    assert unicode._in_canonical_order(text) == unicodedata.normalize("NFD", text)
    long = text * 60
    assert clean_text(long) == unicodedata.normalize("NFC", long)


def test_a_megabyte_of_combining_marks_is_cleaned_before_the_test_run_is_cut_off():
    assert clean_text("a" + "\u0316\u0301" * 250_000) == "á" + "\u0316" * 250_000 + "\u0301" * 249_999


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("film", "film"),
        ("a\x00b", "a␀b"),
        ("\t", "␉"),
        ("\u202e", "⟨U+202E⟩"),
        ("\u200b", "⟨U+200B⟩"),
        ("\u061c", "⟨U+061C⟩"),
        ("fi\xadlm", "fi⟨U+00AD⟩lm"),
        ("\ufff9", "⟨U+FFF9⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("\u3164", "⟨U+3164⟩"),
        ("\U000e0041", "⟨U+E0041⟩"),
        ("👩\u200d👧", "👩\u200d👧"),
        ("\u200d", "⟨U+200D⟩"),
        ("fi\u200dlm", "fi⟨U+200D⟩lm"),
        ("fi\u200clm", "fi⟨U+200C⟩lm"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("می\u200c", "می\u200c"),
        ("\u200cخواهم", "\u200cخواهم"),
        ("क्\u200dष", "क्\u200dष"),
        ("ی\u200c\u200cب", "ی\u200c⟨U+200C⟩ب"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("电影", "电影"),
        ("مرحبا", "مرحبا"),
        ("e" + "\u0301" * 9, "e" + "\u0301" * 4 + "…"),
        ("e" + "\u20dd" * 9, "e" + "\u20dd" * 4 + "…"),
        ("ก" + "\u0e49" * 5 + "า", "ก" + "\u0e49" * 4 + "…า"),
        ("x" * 24, "x" * 24),
        ("x" * 30, "x" * 23 + "…"),
    ],
)
def test_a_token_is_shown_without_anything_invisible(token, shown):
    assert visible(token) == shown


@given(ANY_TEXT)
def test_whatever_is_shown_fits_one_line_and_can_be_written(token):
    shown = visible(token)
    shown.encode("utf-8")
    assert len(shown) <= unicode.MAX_SHOWN
    assert len(shown.splitlines()) <= 1
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(shown) & set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@pytest.mark.parametrize("kind", TOKEN_KINDS)
def test_a_typed_mask_is_one_token_and_the_rest_is_read_as_without_it(kind):
    texts = ["the film was not good, it was bad."] * 3 + ["unusual films"] * 3
    tokenizer = Tokenizer.train(texts, 60, kind=kind, mask=True)
    for word, text in (("good", "the film was not [MASK], it was bad."), ("the", "[MASK] film was not good")):
        whole = tokenizer.encode(text.replace("[MASK]", word), max_len=99)
        found = tokenizer.encode(text, max_len=99)
        place = found.tokens.index("[MASK]")
        assert found.ids[place] == MASK_ID
        after = len(found.tokens) - place - 1
        assert found.tokens[:place] == whole.tokens[:place]
        assert found.tokens[place + 1 :] == whole.tokens[len(whole.tokens) - after :]
        words = [text[start:end] for start, end in found.offsets]
        assert words[place] == "[MASK]"
        assert "".join(words).replace(" ", "") == text.replace(" ", "")
    start = tokenizer.encode("[MASK][MASK]", max_len=99, start=True)
    assert start.tokens == ("[START]", "[MASK]", "[MASK]")
    assert "[MASK]" in tokenizer.decode(start.ids)


def test_a_tokenizer_without_a_mask_reads_one_as_words():
    tokenizer = Tokenizer.train(["a mask [ ]"], 20, markers=True)
    assert not tokenizer.has_mask
    assert tokenizer.encode("[MASK]", max_len=9).tokens == ("[", "mask", "]")
    masked = Tokenizer.from_json(Tokenizer.train(["a film"], 20, mask=True).to_json())
    assert masked.has_mask
    assert masked.has_markers
