"""Sizes beyond all bounds, and invalid texts."""

import json

import numpy as np
from safetensors.numpy import save

from hostile_models.parts import COSTLY, DAMAGED, KINDS, kind


def of_config(**choices):
    """Return kinds that give a field of the config one of these values."""
    for name, (field, values) in choices.items():
        KINDS[name.replace("_", " ")] = lambda parts, rng, field=field, values=values: parts.change_config(
            **{field: rng.choice(values)}
        ).zip()


SIZES = ("max_len", "d_model", "num_layers", "num_heads", "vocab_size", "ffn_dim", "head_dim", "value_dim")
of_config(
    length_of_a_book=("max_len", [10**6, 10**9, 10**18, 2**31, 2**63]),
    length_that_only_its_square_shows=("max_len", [14_000, 16_384]),
    window_beyond_numbers=("window", [10**9, 2**64]),
    number_as_text=("num_heads", ["3", "", "1e9"]),
    number_as_truth=("num_layers", [True, False]),
    nothing=("d_model", [None, [], {}]),
    no_number=("dropout", [1.0, -0.5, 10**400, "0.1"]),
    switch_of_another_world=("norm", ["batch", "\x1b[2J", "\ud800", 5]),
    classes_without_end=("labels", [[str(i) for i in range(n)] for n in (10_001, 50_000)]),
    classes_nobody_can_write=("labels", [["\ud800", "b"], ["a" * 5_000, "b"], ["a", "a"]]),
    another_version=("format_version", [3, 0, -1, "1", 10**30]),
    unknown_field=("exec", ["import os", None]),
)


@kind()
def a_size_beyond_all_bounds(parts, rng):
    return parts.change_config(**{rng.choice(SIZES): 10 ** rng.randrange(9, 4000)}).zip()


@kind()
def a_size_below_one(parts, rng):
    return parts.change_config(**{rng.choice(SIZES): -rng.randrange(10**6)}).zip()


@kind()
def a_field_too_few(parts, rng):
    config = json.loads(parts.files["config.json"])
    del config[rng.choice([*config])]
    return parts.put("config.json", config).zip()


@kind()
def invalid_text(parts, rng):
    file = rng.choice(["config.json", "card.json", "tokenizer.json"])
    texts = [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 50_000,
        b'{"a":' * 10_000,
        b"9" * 5_000,
        bytes(99),
    ]
    return parts.put(file, rng.choice(texts)).zip()


@kind(DAMAGED)
def a_field_changed(parts, rng):
    config = json.loads(parts.files["config.json"])
    field = rng.choice([*config])
    value = rng.choice([0, 1, 2, 3, True, None, "none", "pre", 0.5, [], 7])
    return parts.change_config(**{field: value}).zip()


def resized(parts, rng, **config):
    """Return a model of another size, whole and signed, with numbers of its own."""
    from transformer_viz.network.config import TransformerConfig

    parts.change_config(head_dim=None, value_dim=None, **config)
    made = TransformerConfig.from_json(parts.files["config.json"].decode())
    parts.put("config.json", made.to_json().encode())
    normal = np.random.default_rng(rng.randrange(2**32)).normal
    arrays = {name: normal(size=shape).astype(np.float16) for name, shape in made.parameter_shapes().items()}
    return parts.put("parameters.safetensors", save(arrays)).zip()


@kind(COSTLY)
def too_slow(parts, rng):
    return resized(parts, rng, num_layers=256, max_len=rng.choice((64, 200)))


@kind(COSTLY)
def too_large(parts, rng):
    return resized(parts, rng, num_heads=1, d_model=rng.choice((2, 16)), max_len=rng.choice((12_000, 14_000)))
