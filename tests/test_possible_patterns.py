"""Which patterns a layer can have, by its model's config, and the rule that names a head."""

import numpy as np
import pytest

from transformer_viz.network.config import TransformerConfig
from transformer_viz.questions.roles.rules import SELF_PATTERNS, SHAPES, holds, name_role, patterns_of_config

CONTENT = {"itself", "same", "punctuation"}
PLACES = {"previous", "next", "first", "nearby"}


def patterns(kind, layer, **fields):
    return patterns_of_config(TransformerConfig(num_layers=3, **fields))[kind][layer] - set(SHAPES)


def test_a_layer_without_positions_has_only_patterns_of_tokens():
    for layer in range(3):
        assert patterns("encoder", layer, positions="none") == CONTENT


def test_positions_add_places_and_from_the_second_layer_on_induction():
    assert patterns("encoder", 0) == CONTENT | PLACES
    assert patterns("encoder", 1) == CONTENT | PLACES | {"after_same"}


def test_a_causal_mask_gives_places_away_from_the_second_layer_on_and_forbids_the_next_token():
    causal = {"positions": "none", "causal": True}
    assert patterns("encoder", 0, **causal) == CONTENT
    assert patterns("encoder", 1, **causal) == CONTENT | {"previous", "first", "nearby", "after_same"}
    assert patterns("encoder", 1, positions="none", window=2) == CONTENT | PLACES | {"after_same"}


def test_a_text_that_begins_with_start_has_a_first_token_without_positions():
    decoder = {"architecture": "decoder", "positions": "none"}
    assert patterns("decoder", 0, **decoder) == CONTENT | {"first"}
    assert patterns("decoder", 1, **decoder) == CONTENT | {"first", "previous", "nearby", "after_same"}


@pytest.mark.parametrize(
    ("positions", "found"), [("none", set()), ("sinusoidal", {"diagonal", "antidiagonal", "first"})]
)
def test_cross_attention_follows_the_source_only_if_its_tokens_know_their_places(positions, found):
    both = {"architecture": "encoder-decoder", "positions": positions}
    assert patterns("cross", 0, **both) == {"punctuation"} | found
    assert "next" not in patterns("decoder", 2, **both)


NAMES = (*SELF_PATTERNS, *SHAPES)


def rule(support=None, **shares):
    """Return the role of a head with these shares, where uniform attention has a fifth each."""
    share = np.array([shares.get(name, 0.1) for name in NAMES])
    rows = np.array([(support or {}).get(name, 1) for name in NAMES])
    return name_role(NAMES, share, rows, holds(NAMES, share, np.full(len(NAMES), 0.2)))


def test_the_rule_asks_for_a_share_and_for_more_than_uniform_attention_has():
    assert rule(previous=0.36) == "previous"
    assert rule(previous=0.34) == "mixed"
    assert holds(NAMES, np.full(len(NAMES), 0.5), np.full(len(NAMES), 0.34)).sum() == 0
    assert holds(NAMES, np.full(len(NAMES), np.nan), np.full(len(NAMES), np.nan)).sum() == 0


def test_nearby_tokens_need_half_of_the_weight_and_name_a_head_that_no_other_place_does():
    assert rule(nearby=0.5) == rule(nearby=0.9, focused=0.8) == "nearby"
    assert rule(nearby=0.49) == "mixed"
    assert rule(nearby=0.9, previous=0.4) == "previous"


def test_patterns_go_before_the_most_read_token_and_that_before_sharp_rows_and_evenness():
    every = {"token": 0.8, "focused": 0.8, "even": 0.95}
    assert rule(**every, first=0.4) == "first"
    assert rule(**every) == "token"
    assert rule(**every | {"token": 0.3}) == "focused"
    assert rule(even=0.95) == "even"
    assert rule(even=0.89, focused=0.49) == "mixed"


def test_of_several_patterns_the_one_with_the_most_weight_over_all_rows_is_named():
    assert rule(previous=0.5, same=0.9) == "same"
    assert rule(previous=0.5, same=0.9, support={"same": 0.5}) == "previous"
