"""The size of a trace follows from the config: compared with traces that were made."""

import pytest
from small_models import with_random_parameters

from transformer_viz.network.trace_size import trace_bytes

TEXT = "a film of plot and music"


@pytest.mark.parametrize("name", ["explorer", "translator", "writer"])
def test_a_trace_has_the_size_that_was_foretold(request, name):
    explorer = request.getfixturevalue(name)
    trace = explorer.trace(TEXT, target="one two" if name == "translator" else None)
    assert trace_bytes(explorer.config, len(trace.token_ids), len(trace.target_ids)) == trace.nbytes


@pytest.mark.parametrize(
    "changes",
    [
        {"pooling": "max"},
        {"pooling": "attention", "padding_position": True},
        {"causal": True},
        {"window": 2},
        {"window": 2, "unlimited_layers": (1,)},
        {"window": 2, "unlimited_layers": (0,), "causal": True},
        {"norm": "sandwich", "score_cap": 2.0},
        {"norm": "sandwich", "ffn_dim": 0},
        {"ffn_dim": 0, "positions": "none", "norm": "none"},
        {"positions": "rotary", "rotary_width": 4},
        {"positions": "relative"},
        {"output": "sigmoid", "labels": ("bad", "good")},
    ],
    ids="-".join,
)
def test_every_switch_that_changes_what_is_kept_is_counted(explorer, changes):
    config = explorer.config.replace(**changes)
    changed = type(explorer)(with_random_parameters(config), explorer.tokenizer)
    trace = changed.trace(TEXT)
    assert trace_bytes(config, len(trace.token_ids)) == trace.nbytes


def test_without_lengths_the_longest_text_is_meant(translator):
    ids = [4] * translator.config.max_len
    trace = translator.trace(ids, target=[4] * (translator.config.target_max_len - 1))
    assert trace_bytes(translator.config) == trace.nbytes
