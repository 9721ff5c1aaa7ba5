"""Tokenizers that make a text explode, hang or panic."""

import base64
import json
import struct

from hostile_models.parts import DAMAGED, kind


def steps(kind_of_steps, *inner):
    names = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers"}
    return {kind_of_steps: {"type": "Sequence", names[kind_of_steps]: list(inner)}}


def rule(pattern, content, how="String"):
    return {"type": "Replace", "pattern": {how: pattern}, "content": content}


@kind()
def rules_that_multiply(parts, rng):
    letter, times = rng.choice("aeo "), rng.choice((3, 16, 30))
    rules = [rule(letter, letter * times)] * rng.choice((8, 20))
    return parts.change_tokenizer(**steps("normalizer", *rules)).zip()


@kind()
def pattern_that_takes_for_ever(parts, rng):
    pattern = {"Regex": rng.choice(["(a+)+$", "(\\w*)*!", "(?:a|a)*$", "(.*)*x", "\\s*\\s*\\s*$"])}
    splits = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    changes = rng.choice([{"pre_tokenizer": splits}, {"normalizer": rule(pattern["Regex"], "", "Regex")}])
    return parts.change_tokenizer(**changes).zip()


@kind()
def map_of_characters(parts, rng):
    trie = struct.pack("<512I", *[rng.randrange(2**32) for _ in range(512)])
    unreadable = struct.pack("<I", 2048) + trie + b"\xff\0"
    data = rng.choice([b"", bytes(9), b"\xff" * 4, struct.pack("<I", 2**31) + trie, unreadable])
    text = rng.choice([base64.b64encode(data).decode(), "AAAA", "!!!", "", "A" * 2**21])
    return parts.change_tokenizer(normalizer={"type": "Precompiled", "precompiled_charsmap": text}).zip()


@kind()
def bytes_of_bytes(parts, rng):
    step = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}
    return parts.change_tokenizer(**steps("pre_tokenizer", *[step] * rng.randrange(6, 40))).zip()


@kind()
def part_of_an_unknown_type(parts, rng):
    part = rng.choice(["normalizer", "pre_tokenizer", "post_processor", "decoder"])
    return parts.change_tokenizer(**{part: {"type": rng.choice(["Execute", "", None, 5, "\ud800"])}}).zip()


@kind()
def word_prepended_without_end(parts, rng):
    step = {"type": "Prepend", "prepend": "a" * 10 ** rng.randrange(2, 6)}
    return parts.change_tokenizer(normalizer=step).zip()


@kind()
def text_read_many_times(parts, rng):
    copies = [{"Sequence": {"id": "A", "type_id": 0}}] * rng.randrange(2, 5_000)
    template = {"type": "TemplateProcessing", "single": copies, "pair": copies, "special_tokens": {}}
    return parts.change_tokenizer(post_processor=template).zip()


@kind()
def token_that_has_no_row(parts, rng):
    sep = ["[PAD]", rng.choice([0, 999, 2**31])]
    return parts.change_tokenizer(post_processor={"type": "BertProcessing", "sep": sep, "cls": sep}).zip()


@kind()
def vocabulary_that_does_not_fit(parts, rng):
    model = json.loads(parts.files["tokenizer.json"])["model"]
    first, *_, last = model["vocab"]
    more = {"more": len(model["vocab"])}
    change = rng.choice([{last: 10**6}, {last: 0}, more, {first: -1}, {first: "0"}])
    return parts.change_tokenizer(model=model | {"vocab": model["vocab"] | change}).zip()


@kind()
def tokens_by_chance(parts, rng):
    vocab = json.loads(parts.files["tokenizer.json"])["model"]["vocab"]
    model = {"type": "BPE", "vocab": vocab, "merges": [], "unk_token": "[UNK]", "dropout": rng.random()}
    return parts.change_tokenizer(model=model).zip()


@kind()
def tokens_looked_for_without_end(parts, rng):
    size = len(json.loads(parts.files["tokenizer.json"])["model"]["vocab"])
    token = rng.choice([{"content": "a" * 10**5}, {"content": ""}, {"content": 5}, {}])
    return parts.change_tokenizer(added_tokens=[{"id": size - 1, "special": False} | token]).zip()


@kind(DAMAGED)
def padding_of_a_billion(parts, rng):
    padding = {
        "strategy": {"Fixed": rng.choice((10**6, 10**9))},
        "direction": "Right",
        "pad_to_multiple_of": 0,
    }
    padding |= {"pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    return parts.change_tokenizer(padding=padding).zip()
