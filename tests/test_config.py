import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_viz.network.config import ADDED, CHOICES, FORMAT_VERSION, TransformerConfig
from transformer_viz.network.presets import PRESETS

COUNTS = {
    "attention-only": 2_609_281,
    "position-attention": 2_609_281,
    "single-block": 2_642_817,
    "six-layers-learned": 9_944_578 + 128 * 256,
    "encoder-guide": 20_000 * 128 + 4 * (4 * (128 * 128 + 128) + 2 * 128 * 512 + 512 + 128 + 4 * 128) + 258,
    "vaswani-base": 37_000 * 512 + 6 * (12 * 512**2 + 2 * (2 * 512 * 2048 + 2048 + 512) + 10 * 512),
    "vaswani-tiny": 4_000 * 64 + 2 * (12 * 64**2 + 2 * (2 * 64 * 256 + 256 + 64) + 10 * 64),
    "gpt-mini": 8_000 * 128
    + 128 * 128
    + 4 * (4 * (128 * 128 + 128) + 2 * 128 * 512 + 512 + 128 + 4 * 128)
    + 2 * 128,
}
COUNTS["bert-mini"] = COUNTS["gpt-mini"]


@pytest.mark.parametrize(("name", "count"), COUNTS.items())
def test_presets_have_the_parameters_of_the_systems_they_stand_for(name, count):
    assert PRESETS[name].num_parameters == count


def test_every_preset_is_counted():
    assert PRESETS.keys() == COUNTS.keys()


@st.composite
def valid_configs(draw):
    """Draw a small config of any architecture, every switch among those that go with it."""
    architecture = draw(st.sampled_from(CHOICES["architecture"]))
    sizes = st.integers(1, 4)
    num_heads, num_layers, segments = draw(sizes), draw(st.integers(1, 3)), draw(st.integers(0, 2))
    values = {
        "architecture": architecture,
        "d_model": 2 * draw(st.integers(5, 9)) * num_heads,
        "num_heads": num_heads,
        "num_layers": num_layers,
        "head_dim": draw(st.none() | sizes),
        "ffn_dim": draw(st.integers(0, 9)),
        "vocab_size": draw(st.integers(9, 40)),
        "max_len": draw(st.integers(5, 9)),
        "dropout": draw(st.floats(0, 0.99)),
        "window": draw(st.none() | st.integers(0, 3)),
        "truncation": draw(st.sampled_from(CHOICES["truncation"])),
        **{
            name: draw(st.sampled_from(CHOICES[name]))
            for name in ("positions", "norm", "norm_kind", "activation")
        },
        **{
            name: draw(st.booleans())
            for name in (
                *("attention_bias", "mask_padding", "residual", "final_norm"),
                *("padding_position", "scale_embedding", "embedding_norm", "parallel", "qk_norm"),
                *("gated_ffn", "ffn_bias", "output_bias", "scale_output"),
            )
        },
        "num_kv_heads": draw(st.sampled_from([n for n in range(1, num_heads + 1) if num_heads % n == 0])),
        "norm_epsilon": draw(st.sampled_from([1e-12, 1e-5])),
        "rotary_base": draw(st.sampled_from([100.0, 10_000.0])),
        "window_rotary_base": draw(st.sampled_from([None, 10.0])),
        "score_cap": draw(st.sampled_from([None, 2.0])),
        "segments": segments,
        "separator": draw(st.sampled_from([(), (3,), (1, 2)] if segments == 2 else [()])),
        "embedding_projection": architecture == "encoder" and draw(st.booleans()),
    }
    if values["positions"] == "rotary":
        values["head_dim"] = draw(st.sampled_from([2, 4, 6]))
        values["rotary_width"] = 2 * draw(st.integers(1, values["head_dim"] // 2))
        factors = st.tuples(*[st.sampled_from([1, 2.5, 8.0])] * (values["rotary_width"] // 2))
        values["rotary_scaling"] = draw(st.just(()) | factors)
        values["window_rotary_scaling"] = draw(st.none() | st.just(()) | factors)
    if values["norm"] in ("pre", "sandwich"):
        values["first_norm"] = draw(st.booleans())
    if values["window"] is not None and architecture != "encoder-decoder":
        layers = draw(st.sets(st.integers(0, num_layers - 1), max_size=num_layers - 1))
        values["unlimited_layers"] = tuple(sorted(layers))
    values["relative_bias"] = draw(st.booleans())
    if values["positions"] == "relative" or values["relative_bias"]:
        values["relative_buckets"] = draw(st.integers(4, 9))
        values["relative_reach"] = draw(st.integers(values["relative_buckets"] // 2 + 1, 12))
    if values["head_dim"] is None:
        values["output_projection"] = draw(st.booleans())
    else:
        values["value_dim"] = draw(sizes)
    if architecture == "encoder":
        names = st.lists(st.text(min_size=1).filter(str.strip), min_size=2, max_size=5, unique=True)
        values |= {"labels": tuple(draw(names)), "causal": draw(st.booleans())}
        values["reads_start"] = draw(st.booleans())
        values["pooling"] = draw(st.sampled_from(CHOICES["pooling"]))
        values["pooled_activation"] = draw(st.sampled_from(CHOICES["pooled_activation"]))
        values["pooled_norm"] = draw(st.booleans())
    else:
        for name in ("tie_embeddings", "output_transform", "vocabulary_bias"):
            values[name] = draw(st.booleans())
        values["logit_cap"] = draw(st.sampled_from([None, 3.0]))
    if values.get("output_transform", True) or not values.get("tie_embeddings"):
        values["embedding_dim"] = draw(st.none() | st.sampled_from([10, 14, 18]))
    if architecture == "encoder-decoder":
        values |= {"num_decoder_layers": draw(st.integers(1, 3)), "target_max_len": draw(st.integers(5, 9))}
        if not values["tie_embeddings"]:
            values["target_vocab_size"] = draw(st.integers(9, 40))
    return TransformerConfig(**values)


@given(valid_configs())
def test_json_round_trip_is_exact(config):
    assert TransformerConfig.from_json(config.to_json()) == config


def test_replace_recomputes_head_widths_that_followed_from_the_sizes():
    changed = PRESETS["single-block"].replace(d_model=64, num_heads=4)
    assert (changed.head_dim, changed.value_dim) == (16, 16)


def test_replace_keeps_head_widths_that_were_chosen():
    changed = PRESETS["six-layers-learned"].replace(num_heads=4)
    assert (changed.head_dim, changed.value_dim) == (128, 128)


def test_configs_are_hashable_cache_keys():
    assert len({PRESETS["single-block"], PRESETS["single-block"].replace()}) == 1


ERRORS = {
    "`num_heads` must be a whole number. Received: True.": {"num_heads": True},
    "`num_heads` must be a whole number. Received: '4'.": {"num_heads": "4"},
    "`num_layers` must be at least 1. Received: 0.": {"num_layers": 0},
    "`ffn_dim` must be at least 0. Received: -1.": {"ffn_dim": -1},
    "`dropout` must be a finite number. Received: nan.": {"dropout": float("nan")},
    "`dropout` must be at least 0 and below 1. Received: 1.0.": {"dropout": 1.0},
    "`residual` must be True or False. Received: 1.": {"residual": 1},
    "`num_decoder_layers` belongs to architecture 'encoder-decoder'. Leave it out for 'encoder'.": {
        "num_decoder_layers": 2
    },
    "`causal` = False would show a 'decoder' the token it is to predict. Leave it out, or use architecture "
    "'encoder'.": {"architecture": "decoder", "causal": False},
    "`output` = 'sigmoid' belongs to architecture 'encoder': 'decoder' chooses among all tokens. Use "
    "`output` = 'softmax'.": {"architecture": "decoder", "output": "sigmoid"},
    "`tie_embeddings` needs an output over the vocabulary; architecture 'encoder' has one over `labels`. Set "
    "it to False.": {"tie_embeddings": True},
    "`tie_embeddings` needs one vocabulary for both sides: `target_vocab_size` = 7 must equal `vocab_size` = "
    "20000.": {"architecture": "encoder-decoder", "tie_embeddings": True, "target_vocab_size": 7},
    "`labels` must be empty for architecture 'decoder'. Received: ('a', 'b').": {
        "architecture": "decoder",
        "labels": ("a", "b"),
    },
    "`reads_start` may be chosen only for a classifier of architecture 'encoder'. Received: False. Leave it "
    "out.": {"output": "tokens", "reads_start": False},
    "`reads_start` may be chosen only for a classifier of architecture 'encoder'. Received: True. Leave it "
    "out.": {"architecture": "encoder-decoder", "reads_start": True},
    "`window` must be at least 0. Received: -1.": {"window": -1},
    "`temperature` must be from 0.01 to 100.0. Received: 0.": {"temperature": 0},
    "`temperature` must be from 0.01 to 100.0. Received: 101.0.": {"temperature": 101.0},
    "`temperature` calibrates the probabilities of classes; a model that predicts tokens has none. Leave it "
    "at 1. Received: 2.0.": {"architecture": "decoder", "temperature": 2.0},
    "`norm` must be one of 'none', 'post', 'pre', 'sandwich'. Received: 'mid'.": {"norm": "mid"},
    "`first_norm` = False needs `norm` = 'pre' or 'sandwich'. Received: 'post'.": {"first_norm": False},
    "`score_cap` must be at least 0.01. Received: 0.": {"score_cap": 0},
    "`logit_cap` must be a finite number. Received: '30'.": {"logit_cap": "30"},
    "`window_rotary_base` must be at least 1. Received: 0.5.": {"window_rotary_base": 0.5},
    "`rotary_scaling` must be a list of numbers greater than 0. Received: (1.0, 0).": {
        "rotary_scaling": (1.0, 0)
    },
    "`rotary_scaling` has 2 scaling factors. Give none, or one for each pair of numbers that "
    '"rotary" positions rotate: 1.': {
        "positions": "rotary",
        "rotary_width": 2,
        "rotary_scaling": (1.0, 2.0),
    },
    "`window_rotary_scaling` has 1 scaling factors. Give none, or one for each pair of numbers that "
    '"rotary" positions rotate: 0.': {"window_rotary_scaling": (2.0,)},
    "`unlimited_layers` must be a list of whole numbers from 0. Received: (-1,).": {
        "unlimited_layers": (-1,)
    },
    "`unlimited_layers` = (0,) needs a `window` for the other layers, and one stack. Architecture: "
    "'encoder'.": {"num_layers": 2, "unlimited_layers": (0,)},
    "`unlimited_layers` = (0,) needs a `window` for the other layers, and one stack. Architecture: "
    "'encoder-decoder'.": {
        "architecture": "encoder-decoder",
        "num_layers": 2,
        "window": 3,
        "unlimited_layers": (0,),
    },
    **{
        f"`unlimited_layers` = {layers} must be numbers of layers from 0 to below 2, in ascending order, and "
        "leave out at least one.": {"num_layers": 2, "window": 3, "unlimited_layers": layers}
        for layers in ((0, 1), (2,), (0, 0))
    },
    "`labels` must be a list of two or more different, non-empty names. Received: ('a', 'a').": {
        "labels": ("a", "a")
    },
    "`labels` must be a list of two or more different, non-empty names. Received: ('\\ud800', 'a').": {
        "labels": ("\ud800", "a")
    },
    "`d_model` = 10 cannot be shared out among `num_heads` = 3. Choose a multiple of 3, or set `head_dim`.": {
        "d_model": 10,
        "num_heads": 3,
    },
    "`output` = 'sigmoid' tells two `labels` apart. Received 3 labels: use `output` = 'softmax'.": {
        "output": "sigmoid",
        "labels": ("a", "b", "c"),
    },
    "Without `output_projection`, `num_heads` * `value_dim` = 35 must equal `d_model` = 14. Set "
    "`output_projection` to True, or change a size.": {
        "output_projection": False,
        "d_model": 14,
        "num_heads": 7,
        "value_dim": 5,
    },
    "`positions` = 'sinusoidal' needs an even `d_model`. Received: 7.": {"d_model": 7, "num_heads": 7},
    "`relative_buckets` = 8 must be at least 4, and `relative_reach` = 4 more than half of it: half of the "
    "buckets hold one distance each. Change one of them.": {
        "positions": "relative",
        "relative_buckets": 8,
        "relative_reach": 4,
    },
    "`target_start` must be a list of one or more token ids. Received: ().": {
        "architecture": "encoder-decoder",
        "target_start": (),
    },
    "`target_start` = (2, 9) names a token that the target's vocabulary of 9 does not have. Give ids below "
    "9.": {
        "architecture": "encoder-decoder",
        "target_start": (2, 9),
        "target_vocab_size": 9,
    },
    "`positions` = 'one-hot' gives each position a dimension of its own: 9 positions must not exceed "
    "`d_model` = 8. Lower `max_len`.": {"positions": "one-hot", "max_len": 9, "d_model": 8},
}


@pytest.mark.parametrize(("message", "values"), ERRORS.items(), ids=lambda v: str(v)[:40])
def test_error_names_the_field_the_value_and_the_way_out(message, values):
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole message is compared
        TransformerConfig(**values)
    assert str(error.value) == message


def test_replace_names_a_field_that_does_not_exist():
    with pytest.raises(ValueError, match="A config has no field 'heads'"):
        PRESETS["single-block"].replace(heads=3)


def stored(**changes):
    values = json.loads(PRESETS["single-block"].to_json()) | changes
    return json.dumps({name: value for name, value in values.items() if value is not ...})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "config.json is not JSON"),
        ("[" * 100_000, "config.json is not JSON"),
        ("[]", "config.json must hold one JSON object."),
        (stored(format_version=...), "config.json has no whole number as `format_version`."),
        (stored(format_version=True), "config.json has no whole number as `format_version`."),
        (stored(format_version=FORMAT_VERSION + 1), "made by a newer version of Transformer Viz"),
        (stored(format_version=1), "Missing: none; unknown: 'embedding_dim', 'embedding_norm', "),
        (stored(temperature=...), "Missing: 'temperature'; unknown: none."),
        (stored(dropout=10**400), "`dropout` must be a finite number. Received: 1000"),
        (stored(norm=...), "Missing: 'norm'; unknown: none."),
        (stored(extra=1), "Missing: none; unknown: 'extra'."),
        (stored(labels="ab"), "`labels` must be a list"),
        (stored(norm=["post"]), "`norm` must be one of"),
    ],
    ids=lambda text: text[:20],
)
def test_a_file_that_is_no_config_is_refused_with_a_sentence(text, message):
    with pytest.raises(ValueError, match=message.replace("[", r"\[")):
        TransformerConfig.from_json(text)


@pytest.mark.parametrize("name", PRESETS)
def test_a_config_of_an_older_version_has_what_was_then_no_choice(name):
    fields = json.loads(PRESETS[name].to_json())
    for version in range(FORMAT_VERSION, 2, -1):
        for field in (name for name, first in ADDED.items() if first == version):
            del fields[field]
        assert (
            TransformerConfig.from_json(json.dumps(fields | {"format_version": version - 1})) == PRESETS[name]
        )
    assert fields.pop("temperature") == 1
    assert fields.pop("reads_start") == (name in ("gpt-mini", "bert-mini"))
    assert TransformerConfig.from_json(json.dumps(fields | {"format_version": 1})) == PRESETS[name]


def test_a_config_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PRESETS["single-block"].d_model = 3
