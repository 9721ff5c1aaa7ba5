"""What a model writes while its computation is changed, against a loop over traces with the same changes."""

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal
from shelf import shelved

from transformer_viz.explorer.decode import continue_generation, generate
from transformer_viz.explorer.gradients import gradients
from transformer_viz.explorer.growing import sized, up_to
from transformer_viz.explorer.writing import Writing
from transformer_viz.network.config import END_ID, PAD_ID, START_ID
from transformer_viz.questions.effects.heads import head_effects, joint_effect
from transformer_viz.trace.interventions import ActivationPatch
from transformer_viz.trace.request import Changes, Request

DIGITS, TEXT = "1 2 3 4 5", "a lovely film"

CROSS = tuple(("cross", 0, head) for head in range(4))
"""All heads between the two texts, in the shipped models with one layer of four heads."""


@pytest.fixture(scope="module")
def reverser():
    """A shipped encoder-decoder that writes digits backwards."""
    return shelved("reverse-digits")


@pytest.fixture(scope="module")
def dater():
    """A shipped encoder-decoder that writes dates as 2021-03-03."""
    return shelved("dates")


def likeliest(probs):
    """Return the likeliest token, neither [PAD] nor [START]."""
    return int(np.where(np.isin(np.arange(len(probs)), [PAD_ID, START_ID]), 0, probs).argmax())


def written_step_by_step(explorer, text, changes, most=20):
    """Return the target of a plain loop over traces: the likeliest token of each behind those before.

    Args:
        explorer: `Explorer` of an encoder-decoder.
        text: The text.
        changes: Target so far -> arguments of `trace`.
        most: Most tokens.
    """
    target = []
    while len(target) < most:
        trace = explorer.trace(text, target=target, **changes(target))
        token = likeliest(trace.probs[len(target)])
        if token == END_ID:
            break
        target.append(token)
    return target


@pytest.mark.parametrize(
    ("model", "text", "changes"),
    [
        ("reverser", DIGITS, {"ablate": CROSS}),
        ("dater", "March 3, 2021", {"ablate": CROSS}),
        ("dater", "March 3, 2021", {"ablate": CROSS[:1]}),
        ("reverser", DIGITS, {"ablate": CROSS, "reference": "own"}),
        ("reverser", DIGITS, {"ablate": CROSS, "reference": [("1 2", "2 1"), "3 4"]}),
        ("reverser", DIGITS, {"attention_mask": "window:1"}),
        ("dater", "March 3, 2021", {"target_attention_mask": "window:1+causal"}),
        ("reverser", DIGITS, {"cross_attention_mask": "causal"}),
        ("reverser", DIGITS, {"cross_attention_mask": np.arange(5)[None] != 0}),
        ("reverser", DIGITS, {"patterns": dict.fromkeys(CROSS, "uniform")}),
        ("reverser", DIGITS, {"positions": "none"}),
        ("dater", "March 3, 2021", {"scaling": False}),
        ("dater", "March 3, 2021", {"residual": False}),
        ("reverser", DIGITS, {"ablate_ffn": [0]}),
        ("reverser", DIGITS, {"position_ids": (0, 1, 2, 4, 3)}),
        ("dater", "March 3, 2021", {"shift": 7}),
        ("reverser", DIGITS, {"order": (1, 0, 2, 3, 4)}),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else None,
)
def test_a_target_is_written_under_every_change(request, model, text, changes):
    explorer = request.getfixturevalue(model)
    trace = explorer.trace(text, **changes)
    most = explorer.config.target_max_len - 1
    expected = written_step_by_step(explorer, text, lambda target: changes, most)
    assert trace.target_ids[1:].tolist() == expected
    assert trace == explorer.trace(text, target=expected, **changes)
    assert trace.target_text != explorer.trace(text).target_text


def test_padding_stands_behind_what_is_written(reverser):
    changes = {"padding": 3, "target_padding": 4, "ablate": CROSS, "target_attention_mask": "none"}
    trace = reverser.trace(DIGITS, **changes)
    expected = written_step_by_step(reverser, DIGITS, lambda target: changes)
    assert trace.target_ids.tolist() == [START_ID, *expected, *[PAD_ID] * 4]
    assert expected != written_step_by_step(reverser, DIGITS, lambda target: {"ablate": CROSS})


def test_an_edge_is_cut_as_soon_as_the_text_has_it(reverser):
    """Without the digits to read, both tokens are others; the edges of the second wait for it."""
    edges = [(*head, query, key) for head in CROSS for query in (0, 2) for key in (2, 3, 4)]
    for name in ("cut", "mute"):
        trace = reverser.trace(DIGITS, **{name: edges})
        expected = written_step_by_step(
            reverser,
            DIGITS,
            lambda target, name=name: {name: [edge for edge in edges if edge[3] <= len(target)]},
        )
        assert trace.target_ids[1:].tolist() == expected
        assert not trace.decoder[0].cross_attention.weights[:, 0, 2:].any()
        assert trace.target_text != reverser.trace(DIGITS).target_text


def test_an_activation_is_patched_as_soon_as_the_text_has_its_position(reverser):
    other = reverser.trace("6 7 8 9 0")
    patch = ActivationPatch(other, "decoder.0.resid_cross", positions=(0, 1))
    trace = reverser.trace(DIGITS, patches=[patch])
    assert trace.target_text.split()[:2] == other.target_text.split()[:2] == ["0", "9"]
    source = ActivationPatch(other, "encoder.0.resid_post")
    assert reverser.trace(DIGITS, patches=[source]).target_text == other.target_text


def test_a_change_that_no_written_text_can_have_is_refused(reverser):
    with pytest.raises(ValueError, match="There is no edge"):
        reverser.trace(DIGITS, cut=[(*CROSS[0], 64, 0)])
    with pytest.raises(ValueError, match="There is no head"):
        reverser.trace(DIGITS, ablate=[("cross", 1, 0)])
    with pytest.raises(ValueError, match=r"There is room for 0 to 63 \[PAD\]"):
        reverser.trace(DIGITS, target_padding=64)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("target_attention_mask", np.tri(6, dtype=bool)),
        ("target_attention_mask", "causal+painted:9b8"),
        ("target_attention_mask", np.ones((1, 6), bool)),
        ("cross_attention_mask", np.ones((6, 1), bool)),
        ("patterns", {CROSS[0]: np.ones((6, 5))}),
        ("patches", "decoder.0.resid_mid"),
        ("patches", "cross.0.context.1"),
    ],
)
def test_a_change_of_the_size_of_the_target_needs_one(reverser, name, value):
    if name == "patches":
        value = [ActivationPatch(reverser.trace(DIGITS), value)]
    with pytest.raises(ValueError, match=f"`{name}` has the size of a text, .* Give a `target`"):
        reverser.trace(DIGITS, **{name: value})
    if not isinstance(value, str):
        assert len(reverser.trace(DIGITS, target="5 4 3 2 1", **{name: value}).target_tokens) == 6


def test_a_target_that_is_given_stays(reverser):
    for changes in ({"ablate": CROSS}, {"cross_attention_mask": "causal"}, {"positions": "none"}):
        assert reverser.trace(DIGITS, target="5 4", **changes).target_text == "5 4"
        assert reverser.trace(DIGITS, target="", **changes).target_tokens == ("[START]",)


def test_without_changes_a_model_writes_as_it_is(reverser):
    """To rounding: the sums of a plain call of the model have another order."""
    ids, written = reverser.trace(DIGITS).token_ids[None], [START_ID, *reverser.trace(DIGITS).target_ids[1:3]]
    step = tf.function(lambda sides: tf.nn.log_softmax(reverser.model(sides)[:, -1]), autograph=False)
    expected = step([tf.constant(ids), tf.constant([written])]).numpy()[0]
    [found] = Writing(reverser, reverser.request(DIGITS)).log_probs([written[1:]])
    possible = ~np.isin(np.arange(len(found)), [PAD_ID, START_ID])
    assert_allclose(found[possible], expected[possible], rtol=1e-6)
    assert not np.isfinite(found[~possible]).any()
    assert reverser.trace(DIGITS).target_text == "5 4 3 2 1"


def test_a_trace_without_a_target_is_of_what_the_model_writes(translator):
    written = generate(translator, TEXT, keep=None).token_ids[:16].tolist()
    assert translator.trace(TEXT) == translator.trace(TEXT, target=written)
    assert translator.run(Request("translator", TEXT)) == translator.trace(TEXT)


@pytest.mark.parametrize("settings", [{}, {"beam_size": 3}, {"temperature": 1.5, "seed": 4}])
def test_a_prompt_is_continued_under_every_change(writer, settings):
    changes = {
        "ablate": [(0, 1), (1, 2)],
        "attention_mask": "window:1+causal",
        "cut": [(1, 0, 2, 1), (1, 0, 5, 4)],
        "padding": 2,
    }
    found = generate(writer, TEXT, max_new=4, **settings, **changes)
    prompt = writer.trace(TEXT).token_ids[1:].tolist()
    total = 0.0
    for length, token in enumerate([*found.token_ids, END_ID][: len(found.steps)]):
        present = changes | {"cut": [edge for edge in changes["cut"] if edge[2] <= 3 + length]}
        trace = writer.trace([*prompt, *found.token_ids[:length]], **present)
        assert trace == found.steps[length]
        total += np.log(trace.probs[3 + length, token])
        if not settings:
            assert token == likeliest(trace.probs[3 + length])
    assert_allclose(found.score * ((5 + len(found.steps)) / 6) ** 0.6, total, rtol=1e-4)
    assert abs(found.score - generate(writer, TEXT, max_new=4, **settings).score) > 0.1


def test_a_prompt_is_continued_without_scaling(writer):
    found = generate(writer, TEXT, max_new=4, scaling=False)
    prompt = writer.trace(TEXT).token_ids[1:].tolist()
    for length, step in enumerate(found.steps):
        assert step == writer.trace([*prompt, *found.token_ids[:length]], scaling=False)
        assert step != writer.trace([*prompt, *found.token_ids[:length]])


def test_a_prompt_with_padding_behind_it_ends_where_the_positions_end(writer):
    found = generate(writer, TEXT, padding=17, keep="logits")
    assert len(found.steps) <= 3
    assert all(len(step.tokens) <= 23 for step in found.steps)


@pytest.mark.parametrize(
    "change", [{"position_ids": (0, 1, 2, 3)}, {"attention_mask": np.tri(4, dtype=bool)}]
)
def test_a_change_of_the_size_of_a_prompt_is_no_change_to_its_continuation(writer, change):
    [name] = change
    with pytest.raises(ValueError, match=f"`{name}` has the size of a text"):
        generate(writer, TEXT, **change)
    assert len(writer.trace(TEXT, **change).tokens) == 4


def test_writing_in_portions_has_the_changes_in_each(reverser):
    request = Request.of("reverse-digits", DIGITS, ablate=CROSS, cut=[(*CROSS[0], 1, 0)])
    written, finished = (), False
    while not finished:
        written, finished = continue_generation(reverser, request, written, most=20, seconds=0)
    assert written == tuple(reverser.run(request).target_ids[1:])


DRAFTS = {
    "right": lambda ids: ids,
    "wrong": lambda ids: [7] * len(ids),
    "partly": lambda ids: [*ids[:2], 9, *ids[3:]],
    "longer": lambda ids: [*ids, 5, 6],
    "too long": lambda ids: [*ids] * 40,
}


@pytest.mark.quick(
    "changes0-partly",
    "changes1-wrong",
    "changes2-longer",
    "changes3-right",
    "changes4-too long",
    "changes5-partly",
    "changes6-wrong",
    "changes7-longer",
)
@pytest.mark.parametrize("draft", DRAFTS.values(), ids=DRAFTS)
@pytest.mark.parametrize(
    "changes",
    [
        {"ablate": CROSS[:1]},
        {"ablate": CROSS},
        {"ablate": CROSS[:2], "reference": ["1 2", "3 4"]},
        {"ablate": CROSS[:2], "reference": "own"},
        {"scaling": False, "cut": [("decoder", 0, 1, 3, 2)]},
        {"target_attention_mask": "window:1"},
        {"positions": "none", "order": (0, 2, 1, 3, 4)},
        {},
    ],
)
def test_a_draft_does_not_change_what_is_written(reverser, changes, draft):
    request = reverser.request(DIGITS, **changes)
    ends = {"most": 12, "seconds": 60}
    plain, finished = continue_generation(reverser, request, (), **ends)
    assert continue_generation(reverser, request, (), draft=draft([*plain]), **ends) == (plain, finished)


def test_one_pass_accepts_a_draft_up_to_the_first_token_that_differs(reverser):
    target = tuple(reverser.trace(DIGITS, ablate=CROSS[:1]).target_ids[1:].tolist())
    writing = Writing(reverser, reverser.request(DIGITS, ablate=CROSS[:1]))
    assert writing.verified(target) == (*target, END_ID)
    assert writing.verified((*target[:2], target[0], *target[3:])) == target[:3]


@pytest.mark.parametrize("changes", [{}, {"target_attention_mask": "window:1"}])
def test_no_draft_is_used_without_changes_or_where_later_tokens_are_seen(reverser, changes):
    assert Writing(reverser, reverser.request(DIGITS, **changes)).verified([5, 6]) == ()


@pytest.mark.parametrize("changes", [{}, {"positions": "none"}, {"cross_attention_mask": "causal"}])
def test_effects_and_gradients_are_measured_on_what_is_written_with_all_heads(reverser, changes):
    target = reverser.trace(DIGITS, **changes).target_ids[1:].tolist()
    found, expected = (
        head_effects(reverser, DIGITS, **given, **changes) for given in ({}, {"target": target})
    )
    assert (found.answer, found.together) == (expected.answer, expected.together)
    for kind in expected:
        assert_array_equal(found[kind], expected[kind])
    assert joint_effect(reverser, DIGITS, CROSS, **changes) == joint_effect(
        reverser, DIGITS, CROSS, target=target, **changes
    )
    own, given = (
        gradients(reverser, DIGITS, output=4, **each, **changes) for each in ({}, {"target": target})
    )
    assert_array_equal(own.target_token_embedding, given.target_token_embedding)


def test_what_is_not_there_yet_is_left_out(reverser):
    """Queries of both attentions over the target wait for it, and keys of its own."""
    config = reverser.config
    cut = ((0, 0, 4, 4), ("decoder", 0, 0, 1, 3), ("cross", 0, 0, 1, 4), ("cross", 0, 0, 3, 0))
    changes = Changes(cut=cut, ablate=CROSS, padding=2)
    assert up_to(config, changes, 1).cut == cut[:1]
    assert up_to(config, changes, 2).cut == (cut[0], cut[2])
    assert up_to(config, changes, 4) == changes
    assert sized(config, changes) is None
    assert sized(config, Changes(attention_mask=np.ones((5, 5), bool))) is None
