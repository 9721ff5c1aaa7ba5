"""No tokenizer file makes a text explode, hangs or panics: it is refused, or it reads any text."""

import base64
import contextlib
import copy
import json
import multiprocessing
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import normalizers

from transformer_viz.text import check as token_check
from transformer_viz.text.kinds import TOKEN_KINDS
from transformer_viz.text.rules import KNOWN_PATTERNS, PARTS
from transformer_viz.text.special import PAD, UNK
from transformer_viz.text.tokenizer import Tokenizer

WAY_OUT = "Use a tokenizer that was trained here, or a usual one."
TRAINED = json.loads(Tokenizer.train(["a film", "b plot"], 20).to_json())
GPT_2 = next(pattern for pattern in KNOWN_PATTERNS if pattern.startswith("'s|'t") and "{N}+" in pattern)
LLAMA = next(pattern for pattern in KNOWN_PATTERNS if r"\p{N}{1,3}|" in pattern)
BYTES = {"add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def changed(**parts):
    return json.dumps(TRAINED | {"added_tokens": []} | parts)


def sequence(kind, *steps):
    return {"type": "Sequence", token_check.SEQUENCE_FIELDS[kind]: list(steps)}


def replace(pattern, content):
    return {"type": "Replace", "pattern": {"String": pattern}, "content": content}


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def charsmap(units, strings):
    """Return a map of characters: a double array of the Darts library, and the texts it points to."""
    trie = struct.pack("<512I", *[units.get(place, 0) for place in range(512)])
    return base64.b64encode(struct.pack("<I", len(trie)) + trie + strings).decode()


def mapped(text, offset=96):
    """Return a step that makes `text` of each "a"; with another offset it points to nowhere."""
    units = {97: 97 | 1 << 8 | offset << 10, 1: 1 << 31}
    return {"type": "Precompiled", "precompiled_charsmap": charsmap(units, text.encode() + b"\0")}


def refused(text):
    with pytest.raises(ValueError, match=r"^tokenizer\.json ") as error:
        Tokenizer.from_json(text)
    assert len(str(error.value)) < 500
    return str(error.value)


def test_eight_rules_that_multiply_are_refused_unread():
    steps = [replace(a, b * 16) for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    assert refused(changed(normalizer=sequence("normalizer", *steps))) == (
        "tokenizer.json cannot be used: it may make a text 4,294,967,296 times as long; at most 1,000 times "
        f"is read. {WAY_OUT}"
    )
    thirty = sequence("normalizer", *[replace("a", "a" * 30)] * 8)
    assert refused(changed(normalizer=thirty)) == (
        "tokenizer.json cannot be used: `content` of its normalizer Replace must be a text of 0 to 16 "
        f"characters. Received: '{'a' * 30}'. {WAY_OUT}"
    )


def test_a_regular_expression_that_takes_for_ever_is_refused_unread():
    assert refused(changed(pre_tokenizer=split("(a+)+$"))) == (
        "tokenizer.json cannot be used: `pattern` of its pre_tokenizer Split must be a text, or a regular "
        "expression that is known to take no longer than the text. Received: {'Regex': '(a+)+$'}. " + WAY_OUT
    )


USUAL = {
    "BERT": {
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "unk_token": UNK,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {PAD: 0, UNK: 1, "a": 2, "##b": 3},
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "a", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [
                {"Sequence": {"id": "A", "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 1}},
            ],
            "special_tokens": {"a": {"id": "a", "ids": [2], "tokens": ["a"]}},
        },
    },
    "GPT-2": {
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel"} | BYTES,
        "decoder": {"type": "ByteLevel"} | BYTES,
        "post_processor": {"type": "ByteLevel"} | BYTES,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": UNK,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "vocab": {PAD: 0, UNK: 1, "a": 2, "b": 3, "ab": 4},
            "merges": ["a b"],
        },
    },
    "Llama 3": {
        "pre_tokenizer": sequence(
            "pre_tokenizer", split(LLAMA), {"type": "ByteLevel"} | BYTES | {"use_regex": False}
        ),
        "post_processor": sequence("post_processor", {"type": "ByteLevel"} | BYTES),
        "normalizer": {"type": "NFC"},
    },
    "Unigram": {
        "normalizer": sequence(
            "normalizer",
            mapped("b"),
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
            {"type": "Strip", "strip_left": False, "strip_right": True},
        ),
        "pre_tokenizer": sequence(
            "pre_tokenizer",
            {"type": "WhitespaceSplit"},
            {"type": "Punctuation", "behavior": "Isolated"},
            {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": True},
        ),
        "decoder": sequence("decoder", {"type": "ByteFallback"}, {"type": "Fuse"}),
        "model": {
            "type": "Unigram",
            "unk_id": 1,
            "vocab": [[PAD, 0.0], [UNK, 0.0], ["▁b", -1.5], ["b", -2.0]],
            "byte_fallback": False,
        },
    },
}


@pytest.mark.parametrize("family", USUAL)
def test_the_usual_tokenizers_are_read(family):
    tokenizer = Tokenizer.from_json(changed(**USUAL[family]))
    assert len(tokenizer.encode("ab a b", max_len=9).ids)
    again = Tokenizer.from_json(tokenizer.to_json())
    assert again.encode("ab a b", max_len=9).tokens == tokenizer.encode("ab a b", max_len=9).tokens


UNFIT = {
    "type": ("its normalizer is of type 'Execute'", {"normalizer": {"type": "Execute"}}),
    "no type": ("its normalizer is of type None", {"normalizer": {}}),
    "no part": ("its pre_tokenizer is of type None", {"pre_tokenizer": [1]}),
    "no sequence": (
        "its normalizer is no sequence as the library writes it",
        {"normalizer": {"type": "Sequence", "normalizers": 3}},
    ),
    "unknown field": (
        "its normalizer NFC has an unknown field 'more'",
        {"normalizer": {"type": "NFC", "more": 1}},
    ),
    "missing field": (
        "its normalizer Replace has no field 'content'",
        {"normalizer": {"type": "Replace", "pattern": {"String": "a"}}},
    ),
    "pattern that is no text": (
        "`pattern` of its normalizer Replace must be",
        {"normalizer": {"type": "Replace", "pattern": {"String": 1}, "content": "b"}},
    ),
    "bytes of bytes": (
        "it may make a text 8,192 times as long",
        {"pre_tokenizer": sequence("pre_tokenizer", *[{"type": "ByteLevel"} | BYTES] * 6)},
    ),
    "dropout": (
        "`dropout` of its model BPE must be null",
        {"model": USUAL["GPT-2"]["model"] | {"dropout": 0.5}},
    ),
    "gap": (
        "must number its tokens from 0 on, without a gap",
        {"model": TRAINED["model"] | {"vocab": {PAD: 0, UNK: 1, "a": 3}}},
    ),
    "same id": (
        "must number its tokens from 0 on, without a gap",
        {"model": TRAINED["model"] | {"vocab": {PAD: 0, UNK: 1, "a": 2, "b": 2}}},
    ),
    "copies": (
        "`single` of its post_processor TemplateProcessing must be at most 32 pieces, each text among",
        {
            "post_processor": USUAL["BERT"]["post_processor"]
            | {"single": [{"Sequence": {"id": "A", "type_id": 0}}] * 3}
        },
    ),
    "tokens without ids": (
        "must be at most 32 special tokens, each with as many ids as tokens",
        {
            "post_processor": USUAL["BERT"]["post_processor"]
            | {"special_tokens": {"a": {"id": "a", "ids": [2], "tokens": []}}}
        },
    ),
    "unknown id": (
        "must number its tokens from 0 on, without a gap",
        {"post_processor": {"type": "BertProcessing", "sep": ["a", 999], "cls": ["b", 2]}},
    ),
    "cut off map": (
        "`precompiled_charsmap` of its normalizer Precompiled must be a map",
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap({}, b"")[:-40]}},
    ),
    "map of no text": (
        "`precompiled_charsmap` of its normalizer Precompiled must be a map",
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap({}, b"\xff\0")}},
    ),
    "large map": (
        "`precompiled_charsmap` of its normalizer Precompiled must be a map",
        {"normalizer": mapped("b" * 2**21)},
    ),
    "map and ligatures": (
        "it may make a text 1,080 times as long",
        {"normalizer": sequence("normalizer", mapped("b" * 60), {"type": "NFKD"})},
    ),
}
"""What is wrong -> what is said of it, and the parts of a file that have it."""


@pytest.mark.parametrize(("phrase", "parts"), UNFIT.values(), ids=UNFIT)
def test_what_is_not_known_to_be_safe_is_refused_in_a_sentence(phrase, parts):
    assert phrase in refused(changed(**parts))


def added(number, letter="x"):
    """Return tokens beside the vocabulary, as many and as long as asked for."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    first = len(TRAINED["model"]["vocab"])
    return [{"id": first + i, "content": f"{letter}{i}"} | flags for i in range(number)]


LIMITS = {
    "steps": (
        32,
        "its normalizer has 33 steps; at most 32 are read",
        lambda number: {"normalizer": sequence("normalizer", *[{"type": "Nmt"}] * number)},
    ),
    "long words": (
        200,
        "`max_input_chars_per_word` of its model WordPiece must be a whole number from 1 to 200. ",
        lambda number: {"model": USUAL["BERT"]["model"] | {"max_input_chars_per_word": number}},
    ),
    "long piece": (
        128,
        "`vocab` of its model Unigram must be at most 300,000 tokens of at most 128 characters",
        lambda number: {
            "model": USUAL["Unigram"]["model"] | {"vocab": [[PAD, 0], [UNK, 0], ["a" * number, 0]]}
        },
    ),
    "many words": (
        300_000,
        "`vocab` of its model WordLevel must be at most 300,000 tokens and their ids",
        lambda number: {
            "model": TRAINED["model"] | {"vocab": {PAD: 0, UNK: 1} | {str(i): i for i in range(2, number)}}
        },
    ),
    "added": (
        2_000,
        "`added_tokens` must hold at most 2,000",
        lambda number: {"added_tokens": added(number)},
    ),
    "long added": (
        256,
        "`added_tokens` must hold at most 2,000, each a text of 1 to 256 characters",
        lambda number: {"added_tokens": added(1, letter="x" * (number - 1))},
    ),
}
"""What is limited -> the highest number, what is said of one more, and the parts of a file with a number."""


@pytest.mark.parametrize(("most", "phrase", "parts"), LIMITS.values(), ids=LIMITS)
def test_a_number_is_read_up_to_its_limit_and_refused_beyond(most, phrase, parts):
    assert len(Tokenizer.from_json(changed(**parts(most))).encode("a film", max_len=9).ids)
    assert phrase in refused(changed(**parts(most + 1)))


def test_a_second_part_of_the_same_name_is_never_read():
    text = json.dumps(TRAINED)
    hostile = json.dumps(split("(a+)+$"))
    refused(text[:-1] + f', "pre_tokenizer": {hostile}}}')
    safe = text.replace('"pre_tokenizer"', f'"pre_tokenizer": {hostile}, "pre_tokenizer"', 1)
    assert "(a+)+$" not in Tokenizer.from_json(safe).to_json()


def test_a_panic_of_the_library_is_a_sentence():
    tokenizer = Tokenizer.from_json(changed(normalizer=mapped("b", offset=2**20)))
    for read in (tokenizer.encode, lambda text, max_len: tokenizer.encode_batch([text], max_len=max_len)):
        with pytest.raises(ValueError, match=r"^The tokenizer of this model cannot read the text"):
            read("a", max_len=9)
        read("x", max_len=9)


def test_a_text_that_would_become_much_longer_is_refused_others_are_read():
    tokenizer = Tokenizer.from_json(changed(normalizer=mapped("b" * 64)))
    assert tokenizer.encode("a film", max_len=9).tokens[-1] == "film"
    with pytest.raises(ValueError, match="makes more than 20 characters of each one of this text"):
        tokenizer.encode("a" * 20_000, max_len=9)
    with pytest.raises(ValueError, match="makes more than 20 characters of each one of this text"):
        tokenizer.encode_batch(["film", "a" * 20_000], max_len=9)
    assert len(tokenizer.encode("film " * 20_000, max_len=9).ids) == 9


FIELDS = {"BertNormalizer": USUAL["BERT"]["normalizer"]}


@pytest.mark.parametrize(
    "kind", [kind for kind, part in PARTS["normalizer"].items() if not part.fields or kind in FIELDS]
)
def test_no_character_of_unicode_becomes_longer_than_the_table_says(kind):
    step = FIELDS.get(kind, {"type": kind})
    normalizer = getattr(normalizers, kind)(**{name: step[name] for name in step.keys() - {"type"}})
    growth = PARTS["normalizer"][kind].growth
    characters = (chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    assert max(len(normalizer.normalize_str(character)) for character in characters) <= growth


UNITS = ["a", "A", "1", " ", "\n", " \n", "'", "'s", "!", "中", "\u0301", "a ", " !", "<br ", "  1", "▁a"]
UNITS += ["🇨", "👍🏻\u200d"]


def read_long_runs(pattern):
    splitter = Tokenizer.from_json(changed(pre_tokenizer=split(pattern)))
    replacer = {"type": "Replace", "pattern": {"Regex": pattern}, "content": "y"}
    for tokenizer in (splitter, Tokenizer.from_json(changed(normalizer=replacer))):
        for unit in UNITS:
            tokenizer.encode(unit * (100_000 // len(unit)) + "x", max_len=3)


@pytest.fixture(scope="module")
def reader():
    """A process of its own: nothing else can end a call of the library."""
    pool = multiprocessing.get_context("spawn").Pool(1)
    yield pool
    pool.terminate()
    pool.join()


@pytest.mark.thorough
@pytest.mark.parametrize("pattern", sorted(KNOWN_PATTERNS))
def test_every_known_pattern_reads_long_runs_within_a_minute(reader, pattern):
    reading = reader.apply_async(read_long_runs, (pattern,))
    reading.wait(60)
    if not reading.ready():
        reader.terminate()  # for the patterns that follow
    assert reading.ready()
    reading.get()


@pytest.mark.parametrize("kind", TOKEN_KINDS)
def test_what_was_trained_here_is_never_refused(kind):
    for digits in (False, True):
        trained = Tokenizer.train(
            ["The film, 2021. 很好"] * 2, 60, kind=kind, split_digits=digits, markers=digits
        )
        assert Tokenizer.from_json(trained.to_json()).to_json() == trained.to_json()


@pytest.mark.parametrize(
    "ids",
    [
        [2**31],
        [-1],
        [2**80],
        [1.0],
        ["2"],
        [None],
        [True],
        [[2, 3]],
        [np.nan],
        5,
        None,
        np.array([[2]]),
        {"a": 1},
    ],
    ids=repr,
)
def test_token_ids_that_are_none_are_refused_in_a_sentence(ids):
    tokenizer = Tokenizer.from_json(json.dumps(TRAINED))
    with pytest.raises(ValueError, match=r"^Token ids must be whole numbers from 0 to \d+\. Received: "):
        tokenizer.encoding(ids)


def test_of_many_token_ids_the_first_are_named():
    with pytest.raises(ValueError, match="Token ids") as error:
        Tokenizer.from_json(json.dumps(TRAINED)).encoding([-1] * 10**6)
    assert str(error.value).endswith(f"Received: {', '.join(['-1'] * 20)}, ....")


def test_token_ids_of_numpy_are_read():
    tokenizer = Tokenizer.from_json(json.dumps(TRAINED))
    assert tokenizer.encoding(np.array([2, 3], np.int64)).ids.tolist() == [2, 3]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))
SEEDS = [TRAINED, *(json.loads(changed(**parts)) for parts in USUAL.values())]


def places(content, path=()):
    """Return the path of everything in a parsed file."""
    inner = content.items() if isinstance(content, dict) else enumerate(content)
    found = []
    for key, value in inner:
        found.append((*path, key))
        if isinstance(value, dict | list):
            found += places(value, (*path, key))
    return found


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(SEEDS),
    st.randoms(use_true_random=False),
    JSON,
    st.text(alphabet=st.characters(exclude_categories=())),
)
def test_any_change_of_a_tokenizer_is_refused_or_reads_any_text(seed, rng, value, text):
    content = copy.deepcopy(seed)
    *path, key = rng.choice(places(content))
    inner = content
    for step in path:
        inner = inner[step]
    inner[key] = value
    with contextlib.suppress(ValueError):
        tokenizer = Tokenizer.from_json(json.dumps(content))
        assert (tokenizer.encode(text, max_len=50).ids < tokenizer.vocab_size).all()
