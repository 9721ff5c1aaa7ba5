import numpy as np
import pytest
from numpy.testing import assert_allclose

from transformer_viz.explorer.gradients import gradients
from transformer_viz.trace.interventions import ATTENTION_KINDS
from transformer_viz.trace.request import UNCHANGED

TEXT, TARGET = "A lovely film, not good.", "one two three two"
STEP = 0.02


@pytest.fixture(params=["encoder", "encoder-decoder", "decoder"])
def explored(request, explorer, translator, writer):
    chosen = {"encoder": explorer, "encoder-decoder": translator, "decoder": writer}[request.param]
    return chosen, {"target": TARGET} if chosen is translator else {}


def patched(interventions, site, patch):
    """Return interventions with another array at a site: stack, field, and its field."""
    stack, field, name = site
    part = getattr(interventions[stack], field)._replace(**{name: patch})
    return interventions | {stack: interventions[stack]._replace(**{field: part})}


def slope(explorer, side, site, like, place):
    """Return how steeply logit 1 rises with one number of a patch shaped as `like`, by two small steps."""
    prepared, logits = explorer.prepare(explorer.request(TEXT, **side)), []
    neutral = explorer.forward.interventions(prepared, UNCHANGED)
    for step in (STEP, -STEP):
        patch = np.zeros_like(like)
        patch[place] = step
        changed = prepared._replace(interventions=patched(neutral, site, patch))
        logits.append(explorer.compute(changed, keep="logits").logits)
    rise = np.atleast_2d(logits[0] - logits[1])[-1, 1]
    return rise / (2 * STEP)


def test_gradients_are_the_slopes_of_the_logit(explored):
    explorer, side = explored
    found = gradients(explorer, TEXT, output=1, **side)
    sites = []
    for kind, weights in found.weights.items():
        last = len(weights) - 1
        for place in ((0, 1, 2, 0), (last, 2, weights.shape[2] - 1, 1)):
            sites += [
                ((*ATTENTION_KINDS[kind], "weight_patch"), weights, place),
                ((*ATTENTION_KINDS[kind], "context_patch"), found.context[kind], place),
            ]
    embeddings = zip(explorer.config.stacks.items(), found[3:], strict=False)
    for (stack, layers), embedding in embeddings:
        in_first_layer = np.zeros((layers, *embedding.shape), np.float32)
        in_first_layer[0] = embedding
        sites.append(((stack, "resid_pre", "value"), in_first_layer, (0, 2, 5)))
    for site, gradient, place in sites:
        by_steps = slope(explorer, side, site, gradient, place)
        assert_allclose(gradient[place], by_steps, rtol=0.02, atol=2e-4, err_msg=str(site))


def test_the_logit_is_the_traces(explored):
    explorer, side = explored
    logits = np.atleast_2d(explorer.trace(TEXT, **side).logits)
    assert_allclose(gradients(explorer, TEXT, output=2, **side).logit, logits[-1, 2], rtol=1e-5)


def test_every_gradient_has_the_shape_of_its_tensor(explored):
    explorer, side = explored
    trace, found = explorer.trace(TEXT, **side), gradients(explorer, TEXT, output=0, **side)
    assert found.token_embedding.shape == trace.values.token_embedding.shape
    for stack, layer, kind, attention, *_ in trace.attentions():
        name = "cross" if kind == "cross" else stack
        assert found.weights[name][layer].shape == attention.weights.shape
        assert found.context[name][layer].shape == attention.context.shape


def test_a_decoders_logit_does_not_depend_on_what_comes_later(writer):
    found = gradients(writer, TEXT, output=5, position=2)
    assert not found.token_embedding[3:].any()
    assert found.token_embedding[:3].any()


def test_an_ablated_head_has_no_influence_through_its_weights(explorer):
    found = gradients(explorer, TEXT, output=0, ablate=[(1, 2)])
    assert not found.weights["encoder"][1, 2].any()
    assert found.weights["encoder"][1, 1].any()


@pytest.mark.parametrize(("fixture", "padding"), [("writer", "padding"), ("translator", "target_padding")])
def test_a_position_from_the_end_is_that_of_the_last_token_that_is_not_pad(request, fixture, padding):
    explorer = request.getfixturevalue(fixture)
    target = {"target": "one two three"} if fixture == "translator" else {}
    for position in (-1, -3):
        alone = gradients(explorer, TEXT, output=5, position=position, **target)
        padded = gradients(explorer, TEXT, output=5, position=position, **target, **{padding: 4})
        assert_allclose(padded.logit, alone.logit, rtol=1e-5)
        assert_allclose(padded.weights["decoder"][..., :-4, :-4], alone.weights["decoder"], atol=1e-6)


def test_another_text_is_not_compiled_again(explorer):
    gradients(explorer, TEXT, output=0)
    compiled = explorer.num_compilations
    for text in ("film", "good " * 9):
        gradients(explorer, text, output=0)
    assert explorer.num_compilations == compiled


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"output": 43}, "`output` must be from 0 to 42. Received: 43."),
        ({"output": 0, "position": 9}, "`position` must be from -8 to 7. Received: 9."),
    ],
)
def test_a_logit_that_is_not_there_is_named(writer, values, message):
    with pytest.raises(ValueError, match=message):
        gradients(writer, TEXT, **values)
