"""The laws that hold for every kind of token, and what each kind makes of a text."""

import json
import re

import numpy as np
import pytest
import tokenizers
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from transformer_viz.store.format import check_vocabulary
from transformer_viz.text.kinds import EMOJI, TOKEN_KINDS
from transformer_viz.text.special import END, MASK, PAD, START, UNK
from transformer_viz.text.tokenizer import Tokenizer, clean_text

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))
TEXTS = [
    "The film didn't work, the (plot) worked; a worker works: 2021!",
    "一部好电影，很好看。很好 iPhone!",
] * 2
PARTS = ["the", "FILM ", "\n", "<br />", "😀", "很好", "▁", "。", "didn’t", "İ"]
SIZE = 90
BY_KIND = {kind: Tokenizer.train(TEXTS, SIZE, kind=kind) for kind in TOKEN_KINDS}
every_kind = pytest.mark.parametrize("kind", TOKEN_KINDS)


def tokens(kind, text, **options):
    return Tokenizer.train(TEXTS, SIZE, kind=kind, **options).encode(text, max_len=99).tokens


def surface(encoding):
    return [encoding.text[start:end] for start, end in encoding.offsets]


def normalised(text, *, lowercase=True):
    """What a BPE tokenizer makes of white space, apostrophes and case, in Python alone."""
    text = clean_text(text).replace("’", "'").replace("<br />", " ").replace("▁", " ")
    return " ".join((text.lower() if lowercase else text).split())


@every_kind
@given(text=ANY_TEXT)
def test_any_text_has_tokens_in_order_within_its_bounds(kind, text):
    encoding = BY_KIND[kind].encode(text, max_len=50)
    assert len(encoding.ids) == len(encoding.tokens) == len(encoding.offsets)
    flat = [place for offset in encoding.offsets for place in offset]
    assert flat == sorted(flat)
    assert not flat or (flat[0] >= 0 and flat[-1] <= len(encoding.text))
    assert (encoding.ids > 0).all()


@every_kind
@given(parts=st.lists(st.sampled_from(PARTS)))
def test_no_token_begins_or_ends_with_white_space_and_none_loses_a_character(kind, parts):
    encoding = BY_KIND[kind].encode("".join(parts), max_len=500)
    words = surface(encoding)
    assert words == [word.strip() for word in words]
    expected = "".join("".join(parts).replace("<br />", " ").split())
    skipped = "▁" if kind == "bpe" else ""  # a typed one is read as a space
    assert "".join(words).replace(skipped, "") == expected.replace(skipped, "")


@every_kind
@given(text=ANY_TEXT | st.text(alphabet="".join(TEXTS)))
def test_what_is_decoded_is_the_text_of_the_encoding_of_its_ids(kind, text):
    tokenizer = BY_KIND[kind]
    ids = [int(token_id) for token_id in tokenizer.encode(text, max_len=50).ids]
    encoding = tokenizer.encoding(ids)
    assert encoding.text == tokenizer.decode(ids)
    assert "".join(surface(encoding)) == encoding.text.replace(" ", "")


@given(st.text(alphabet="".join(sorted({*"".join(TEXTS), *"\n\t’"}))))
def test_bpe_gives_the_text_back(text):
    tokenizer = BY_KIND["bpe"]
    assert tokenizer.decode(tokenizer.encode(text, max_len=500).ids) == normalised(text)


@given(st.text(alphabet="".join(TEXTS)))
def test_bpe_with_case_gives_the_text_back_exactly_but_for_white_space(text):
    tokenizer = CASED
    assert tokenizer.decode(tokenizer.encode(text, max_len=500).ids) == normalised(text, lowercase=False)


CASED = Tokenizer.train(TEXTS, SIZE, kind="bpe", lowercase=False, split_digits=True, markers=True)


@every_kind
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("typed", [PAD, UNK, START, f"film {PAD} plot", f"{PAD}{END}"])
def test_nobody_can_type_a_special_token(kind, lowercase, typed):
    tokenizer = Tokenizer.train([*TEXTS, typed, typed], 300, kind=kind, lowercase=lowercase, markers=True)
    assert not {PAD, START, END} & set(tokenizer.encode(typed, max_len=99).tokens)


@every_kind
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("size", [4, 5, 9, 40, 1000])
def test_a_vocabulary_begins_with_its_special_tokens_and_is_never_larger_than_asked(kind, markers, size):
    tokenizer = Tokenizer.train(TEXTS, size, kind=kind, markers=markers)
    special = (PAD, UNK, START, END) if markers else (PAD, UNK)
    assert tokenizer.vocabulary[: len(special)] == special
    assert len(set(tokenizer.vocabulary)) == tokenizer.vocab_size <= size
    assert tokenizer.has_markers == markers
    assert (tokenizer.encode("zzz 😀 the", max_len=99).ids > 0).all()


@every_kind
@given(texts=st.lists(ANY_TEXT | st.text("a'\u0301e1한#▁ İ"), max_size=4), size=st.integers(4, 30))
def test_any_texts_make_a_vocabulary_that_reads_them(kind, texts, size):
    tokenizer = Tokenizer.train(texts, size, kind=kind, markers=True)
    assert tokenizer.vocab_size <= size
    for text in texts:
        assert not {0, 2, 3} & set(tokenizer.encode(text, max_len=99).ids.tolist())


@every_kind
def test_the_same_texts_give_the_same_tokenizer(kind):
    texts = ["zyx wvu tsr", "abc def ghi jkl", "mno pqr stu"] * 2  # every letter as often as the others
    assert len({Tokenizer.train(texts, 20, kind=kind).to_json() for _ in range(9)}) == 1


@every_kind
def test_a_stored_tokenizer_has_its_kind_and_encodes_alike(kind, tmp_path):
    tokenizer = BY_KIND[kind]
    stored = tokenizer.to_json()
    check_vocabulary(tmp_path / "tokenizer.json", stored, tokenizer.vocab_size)
    again = Tokenizer.from_json(stored)
    assert (again.kind, again.to_json()) == (kind, stored)
    for text in (*TEXTS, "zyzzyva 😀"):
        assert again.encode(text, max_len=99).tokens == tokenizer.encode(text, max_len=99).tokens
        assert again.decode(again.encode(text, max_len=99).ids)


@every_kind
def test_the_library_alone_decodes_alike(kind):
    tokenizer = BY_KIND[kind]
    ids = tokenizer.encode("the worker's plot (works) today", max_len=99).ids
    alone = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    assert alone.decode(list(ids), skip_special_tokens=False) == tokenizer.decode(ids)


@every_kind
def test_a_batch_is_encoded_as_one_by_one(kind):
    texts = [*TEXTS, "", "a " * 30, "zyzzyva İ 😀"]
    batch = BY_KIND[kind].encode_batch(texts, max_len=7)
    for text, ids in zip(texts, batch, strict=True):
        assert ids.dtype == np.int32
        assert_array_equal(ids, BY_KIND[kind].encode(text, max_len=7).ids)


@pytest.mark.quick("words", "bpe")
@every_kind
def test_a_text_of_a_million_characters_is_read_before_the_test_run_is_cut_off(kind):
    for text in ("film " * 200_000, "x" * 1_000_000, "很好" * 500_000):
        assert len(BY_KIND[kind].encode(text, max_len=3).ids) in (1, 2, 3)


def test_characters_are_tokens_and_white_space_is_none():
    assert tokens("characters", "好 电影!") == ("好", "电", "影", "!")
    assert BY_KIND["characters"].decode(BY_KIND["characters"].encode("好 电影!", max_len=9).ids) == "好电影!"


@pytest.mark.parametrize("kind", ["words", "characters"])
@pytest.mark.parametrize("digits", [False, True])
def test_an_emoji_with_its_modifiers_is_one_token(kind, digits):
    emoji = ["👍🏻", "👨‍👩‍👧", "🇨🇳", "🇫🇷", "❤️", "🏳️‍🌈", "🏴󠁧󠁢󠁿", "©"]
    tokenizer = Tokenizer.train(["".join(emoji) + "a!"], 99, kind=kind, split_digits=digits)
    found = tokenizer.encode("".join([*emoji, "!", " ", "🇨", "👍", "‍", "a"]), max_len=99)
    assert found.tokens == (*emoji, "!", *[UNK] * 3, "a")
    assert [found.text[start:end] for start, end in found.offsets] == [*emoji, "!", "🇨", "👍", "‍", "a"]


@pytest.mark.parametrize("text", ["می\u200cخواهم", "क्\u200dष", "न्\u200d"])
def test_a_joiner_belongs_to_its_word(text):
    for kind in ("words", "bpe", "wordpiece"):
        for digits in (False, True):
            tokenizer = Tokenizer.train([f"{text} {text}"] * 9, 99, kind=kind, split_digits=digits)
            [token] = tokenizer.encode(text, max_len=9).tokens
            assert token.removeprefix("▁") == text
    letters = Tokenizer.train([text], 99, kind="characters").encode(text, max_len=9)
    assert "".join(letters.tokens) == text
    assert all(letter[0] not in "\u200c\u200d" for letter in letters.tokens)


def test_a_tokenizer_that_cuts_an_emoji_in_two_is_still_read():
    content = json.loads(BY_KIND["characters"].to_json())
    content["pre_tokenizer"]["pattern"] = {"Regex": r"\S\p{M}*"}
    former = Tokenizer.from_json(json.dumps(content))
    assert former.kind == "characters"
    assert len(former.encode("👍🏻", max_len=9).ids) == 2


FORMER = {
    ("words", False): r"\w+(?:'\w+)*|{EMOJI}|[^\w\s]",
    ("words", True): r"\d|[^\W\d]+(?:'[^\W\d]+)*|{EMOJI}|[^\w\s]",
    ("characters", False): r"{EMOJI}|\S\p{M}*",
    ("bpe", False): r"▁?(?:\w+(?:'\w+)*|[^\w▁])|▁",
    ("wordpiece", True): r"\p{Han}|\d|[[^\W\d]&&[^\p{Han}]]+(?:'[[^\W\d]&&[^\p{Han}]]+)*|[^\w\s]",
}


@pytest.mark.parametrize(("kind", "digits"), FORMER)
def test_a_tokenizer_that_takes_a_joiner_for_a_token_reads_texts_as_it_did(kind, digits):
    tokenizer = Tokenizer.train(["می خواهم \u200c"] * 9, 99, kind=kind, split_digits=digits)
    content = json.loads(tokenizer.to_json())
    [*_, splitter] = content["pre_tokenizer"].get("pretokenizers", [content["pre_tokenizer"]])
    splitter["pattern"] = {"Regex": FORMER[kind, digits].replace("{EMOJI}", EMOJI)}
    former = Tokenizer.from_json(json.dumps(content)).encode("می\u200cخواهم", max_len=19)
    assert "\u200c" in [former.text[start:end] for start, end in former.offsets]


def test_bpe_marks_where_a_word_begins_and_knows_its_parts():
    found = tokens("bpe", "the works, workx")
    assert found[0] == "▁the"
    assert found[-3:] == (",", "▁work", UNK)
    assert "".join(found[1:-3]) == "▁works"


def test_wordpiece_marks_what_goes_on_and_an_unknown_character_makes_its_word_unknown():
    found = tokens("wordpiece", "the works, workx")
    assert (found[0], found[-2:]) == ("the", (",", UNK))
    assert "".join(found[1:-2]).replace("##", "") == "works"
    assert all(token.startswith("##") for token in found[2:-2])


def test_wordpiece_takes_a_chinese_character_for_a_word_and_writes_no_space_beside_it():
    tokenizer = BY_KIND["wordpiece"]
    encoding = tokenizer.encode("很好看。 the film (很好) works", max_len=99)
    assert encoding.tokens[:4] == ("很", "好", "看", "。")
    assert tokenizer.decode(encoding.ids) == "很好看。the film (很好) works"


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_split_digits_never_become_a_number(kind):
    tokenizer = Tokenizer.train(["in 2021, 2021 2021"] * 9, 99, kind=kind, split_digits=True)
    words = surface(tokenizer.encode("2021, in 2021", max_len=99))
    assert [word for word in words if word] == [*"2021", ",", "in", *"2021"]


def test_case_is_kept_where_it_is_asked_for():
    for kind in TOKEN_KINDS:
        tokenizer = Tokenizer.train(["The the Film film"] * 3, 60, kind=kind, lowercase=False)
        assert tokenizer.decode(tokenizer.encode("The film", max_len=9).ids).startswith("The")
        assert BY_KIND[kind].decode(BY_KIND[kind].encode("The film", max_len=9).ids).startswith("the")


def test_the_rarest_characters_of_many_are_unknown():
    characters = [chr(0x4E00 + i) for i in range(1000)]
    texts = ["".join(characters[:600]) * 3, "".join(characters)]
    tokenizer = Tokenizer.train(texts, 800, kind="bpe")
    assert UNK not in tokenizer.encode("".join(characters[:300]), max_len=999).tokens
    assert UNK in tokenizer.encode(characters[999], max_len=9).tokens
    assert any(len(token.strip("▁")) > 1 for token in tokenizer.vocabulary[2:])


def test_an_unknown_kind_is_refused_with_the_list():
    with pytest.raises(ValueError, match="kind") as error:
        Tokenizer.train(["a"], 9, kind="letters")
    assert str(error.value) == "`kind` must be one of words, characters, bpe, wordpiece. Received: 'letters'."


@every_kind
def test_too_small_a_vocabulary_is_refused(kind):
    with pytest.raises(ValueError, match=r"`vocab_size` must be at least 4, for \[PAD\], .* Received: 3\."):
        Tokenizer.train(["a"], 3, kind=kind, markers=True)


def test_the_decoder_is_stored_so_that_the_file_is_complete():
    decoders = {kind: json.loads(BY_KIND[kind].to_json())["decoder"] for kind in TOKEN_KINDS}
    assert decoders["words"] is None
    assert {kind: each["type"] for kind, each in decoders.items() if each} == {
        "characters": "Fuse",
        "bpe": "Metaspace",
        "wordpiece": "WordPiece",
    }


APPENDED = {
    "words": [("The film ", "worked", "The film worked"), ("很好", "!", "很好 !")],
    "characters": [("很好", "看", "很好看"), ("电影 ", "，", "电影，")],
    "bpe": [("The film", "▁the", "The film the"), ("The film", "s", "The films"), ("很", "好", "很好")],
    "wordpiece": [
        ("The film", "the", "The film the"),
        ("The film", "##s", "The films"),
        ("很", "好", "很好"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "text", "token", "longer"), [(k, *case) for k in APPENDED for case in APPENDED[k]]
)
def test_a_token_is_appended_as_the_kind_writes_it(kind, text, token, longer):
    assert BY_KIND[kind].append(text, token) == longer


@every_kind
@given(text=st.text(alphabet="".join(TEXTS), min_size=1), number=st.integers(4, SIZE - 1))
def test_a_text_is_kept_where_a_token_is_appended(kind, text, number):
    tokenizer = BY_KIND[kind]
    token = tokenizer.vocabulary[number % len(tokenizer.vocabulary)]
    assume(len(tokenizer.encode(text, max_len=99).tokens) and token not in (PAD, UNK))
    longer = tokenizer.append(text, token)
    assert longer.startswith(text.rstrip())
    assert longer.endswith(token.removeprefix("▁").removeprefix("##"))


@every_kind
def test_a_mask_that_is_added_moves_the_ids_behind_it_and_changes_no_token(kind):
    plain = Tokenizer.train(TEXTS, SIZE, kind=kind, markers=True)
    masked = plain.with_mask()
    assert masked.has_mask
    assert masked.vocabulary == (*plain.vocabulary[:4], MASK, *plain.vocabulary[4:])
    for text in TEXTS:
        before, after = (tokenizer.encode(text, max_len=99) for tokenizer in (plain, masked))
        assert (before.tokens, before.offsets) == (after.tokens, after.offsets)
    assert MASK in masked.encode(f"the {MASK} worked", max_len=9).tokens
    trained = Tokenizer.train(TEXTS, SIZE + 1, kind=kind, mask=True)
    assert json.loads(masked.to_json())["added_tokens"] == json.loads(trained.to_json())["added_tokens"]


def test_a_mask_is_added_only_beside_the_other_special_tokens():
    with pytest.raises(ValueError, match=re.escape("A [MASK] cannot be added to this tokenizer.")):
        BY_KIND["words"].with_mask()
