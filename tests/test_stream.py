"""The residual stream: its places, and what the output layer reads there."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from running_app import ROOT
from shelf import shelved

import transformer_viz as tv
from transformer_viz import PRESETS
from transformer_viz.network.tensors import flatten
from transformer_viz.questions.logit_lens import read_out, reading_of
from transformer_viz.trace.stream import settled_at, stream_steps

SHIPPED = sorted(path.parent.name for path in (ROOT / "models").glob("*/config.json"))
TEXTS = {
    "reviews-zh": "房间不太干净。",
    "reviews-zh-masked": "房间不太[MASK]净。",
    "poems-zh": "床前明月光，",
    "dates": "March 3, 2021",
    "reverse-digits": "3 1 4 1",
}


@pytest.fixture(scope="module", params=SHIPPED)
def traced(request):
    explorer = shelved(request.param)
    return explorer, explorer.trace(TEXTS.get(request.param, "The film was not good, but I loved it."))


@pytest.mark.quick("attention-only", "imdb-sentiment", "reverse-digits", "reviews-masked")
def test_the_places_are_the_steps_of_the_computation(traced):
    explorer, trace = traced
    config, arrays, before = explorer.config, flatten(trace.values), None
    for place in stream_steps(config):
        stream, made = arrays[place.stream], {name: arrays[path] for name, path in place.made}
        if place.part == "embedding":
            before = 0
        if place.part.endswith("_norm"):
            assert_array_equal(made["before"], before)
            assert_array_equal(made["after"], stream)
        elif "added" in made:
            assert_allclose(before + made["added"], stream, atol=1e-5)
        else:
            assert_array_equal(made["replaces"], stream)
        before = stream
    assert_array_equal(before, (trace.decoder or trace.encoder)[-1].resid_post)


def test_behind_the_last_block_the_output_layer_reads_the_answer(traced):
    explorer, trace = traced
    config, last = explorer.config, stream_steps(explorer.config)[-1]
    found = tv.logit_lens(explorer, trace)
    final = found[len(found) - len(trace.target_tokens or trace.tokens) :]
    if config.predicts_tokens:
        assert [*final.answer] == [trace.labels[number] for number in trace.probs.argmax(axis=-1)]
        assert_allclose(final.probability, trace.probs.max(axis=-1), atol=2e-5)
        return
    stream = flatten(trace.values)[last.stream]
    if not config.final_norm:  # the classifier is linear: of the mean of all positions it reads the answer
        mean = (stream * trace.values.pooling_weights[:, None]).sum(axis=0, keepdims=True)
        assert_allclose(read_out(explorer, mean)[0], trace.probs, atol=2e-5)
    alone = read_out(explorer, stream)
    assert [trace.labels[number] for number in alone.argmax(axis=-1)] == [*final.answer]


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_the_places_of_its_layers(preset):
    config = PRESETS[preset]
    parts = {
        stack: [place.part for place in stream_steps(config) if place.stack == stack]
        for stack in config.stacks
    }
    for stack, layers in config.stacks.items():
        assert parts[stack].count("self") == layers
        assert parts[stack].count("cross") == (layers if stack == "decoder" and config.has_encoder else 0)
        assert parts[stack].count("ffn") == (layers if config.ffn_dim else 0)
        norms = sum(part.endswith("_norm") for part in parts[stack])
        sublayers = sum(part in ("self", "cross", "ffn") for part in parts[stack])
        assert norms == (sublayers if config.norm == "post" else 0)
        assert ("positions" in parts[stack]) == (config.positions != "none")


def test_the_lens_reads_every_place_and_position(traced):
    explorer, trace = traced
    found, stack = tv.logit_lens(explorer, trace), [*explorer.config.stacks][-1]
    places = [place for place in stream_steps(explorer.config) if place.stack == stack]
    tokens = trace.target_tokens or trace.tokens
    assert [*found.part] == [place.part for place in places for _ in tokens]
    assert [*found.token] == [*tokens] * len(places)
    assert found.probability.between(1 / len(trace.labels), 1 + 1e-6).all()
    lengths = [np.linalg.norm(flatten(trace.values)[place.stream], axis=-1) for place in places]
    assert_allclose(found.length, np.concatenate(lengths))
    reading = reading_of(explorer, trace)
    assert_array_equal(reading.probs.ravel(), found.probability)
    assert [trace.labels[label] for label in reading.labels.ravel()] == [*found.answer]


def test_a_position_settles_where_its_last_change_is():
    answers = np.array([[1, 1, 1, 2], [1, 2, 3, 2], [1, 3, 1, 2], [1, 3, 4, 3]])
    assert settled_at(answers).tolist() == [0, 2, 3, 3]
