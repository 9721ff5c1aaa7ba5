import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.explorer.beams import DROPPED, FINISHED, KEPT, LENGTH_PENALTY, ROOT, BeamRequest
from transformer_viz.explorer.decode import continue_generation, generate, search
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.explorer.sampling import distribution
from transformer_viz.network.config import END_ID, START_ID


def log_probs(explorer, text, written, **changes):
    """Return the logarithms of the next token's probabilities, [PAD] and [START] left out of the choice."""
    if explorer.config.has_encoder:
        trace = explorer.trace(text, target=list(written), **changes)
    else:
        trace = explorer.trace([*explorer.trace(text).token_ids[1:], *written], **changes)
    found = np.log(trace.probs[-1].astype("f8"))
    found[[0, START_ID]] = -np.inf
    return found


@pytest.fixture(params=["translator", "writer"])
def speaker(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("changes", [{}, {"positions": "none"}, {"positions": "sinusoidal-halves"}])
def test_greedy_takes_the_likeliest_token_at_each_step(speaker, changes):
    written = generate(speaker, "a lovely film", max_new=5, **changes).token_ids
    expected = []
    for _ in range(5):
        token = int(log_probs(speaker, "a lovely film", expected, **changes).argmax())
        if token == END_ID:
            break
        expected.append(token)
    assert list(written) == expected
    assert expected


def test_what_is_read_in_another_order_is_answered_as_that_text(speaker):
    fixed = not speaker.config.has_encoder
    order = (0, 3, 1, 2) if fixed else (2, 0, 1)  # [START] keeps its place
    found = generate(speaker, "a lovely film", max_new=4, order=order)
    expected = generate(speaker, "film a lovely", max_new=4)
    assert list(found.token_ids) == list(expected.token_ids)
    assert_array_equal(found.steps[-1].probs, expected.steps[-1].probs)


def test_a_wide_beam_finds_the_best_of_all_texts_of_two_tokens(translator):
    found = generate(translator, "a lovely film", beam_size=150, max_new=2, length_penalty=1.0)
    scores = {}
    for ids in [(END_ID,), *itertools.product(range(13), repeat=2)]:
        if END_ID in ids[:-1]:
            continue
        total = sum(log_probs(translator, "a lovely film", ids[:i])[token] for i, token in enumerate(ids))
        if ids[-1] == END_ID:
            scores[ids] = total / ((5 + len(ids)) / 6)
    best = max(scores, key=scores.get)
    assert tuple(found.token_ids) == best[:-1]
    assert found.finished
    assert_allclose(found.score, scores[best], rtol=1e-4)


def test_samples_follow_the_softmax_at_their_temperature(speaker):
    """The first token of 400 samples, against its probabilities, computed here (a chi-squared test)."""
    scores = log_probs(speaker, "a lovely film", []) / 0.7
    expected = np.exp(scores) / np.exp(scores).sum() * 400
    counts = np.zeros(len(expected))
    for seed in range(400):
        found = generate(speaker, "a lovely film", temperature=0.7, seed=seed, max_new=1, keep=None)
        counts[found.token_ids[0] if len(found.token_ids) else END_ID] += 1
    possible = expected > 0
    assert counts[~possible].sum() == 0
    statistic = ((counts - expected)[possible] ** 2 / expected[possible]).sum()
    degrees = possible.sum() - 1
    assert statistic < degrees + 4 * np.sqrt(2 * degrees)


def test_a_seed_repeats_its_sample_and_a_low_temperature_takes_the_likeliest(speaker):
    first, again = (generate(speaker, "a lovely film", temperature=2.0, seed=3, max_new=5) for _ in range(2))
    assert first.token_ids.tolist() == again.token_ids.tolist()
    expected = sum(
        log_probs(speaker, "a lovely film", first.token_ids[:number])[token]
        for number, token in enumerate([*first.token_ids, END_ID][: len(first.steps)])
    )
    assert_allclose(first.score * ((5 + len(first.steps)) / 6) ** 0.6, expected, rtol=1e-4)
    greedy = generate(speaker, "a lovely film", max_new=5)
    cold = generate(speaker, "a lovely film", temperature=1e-6, seed=1, max_new=5)
    assert cold.token_ids.tolist() == greedy.token_ids.tolist()


def test_a_step_is_traced_when_it_is_looked_at_and_not_kept(writer):
    explorer = Explorer(writer.model, writer.tokenizer)
    steps = generate(explorer, "a lovely film", max_new=3).steps
    before = explorer.num_compilations
    assert steps[0] == steps[0]
    assert steps[0] is not steps[0]
    assert explorer.num_compilations == before + 1
    assert [len(step.tokens) for step in steps[1:]] == [len(steps[0].tokens) + more for more in (1, 2)]


def test_every_step_is_the_pass_that_chose_its_token(speaker):
    found = generate(speaker, "a lovely film", max_new=4)
    assert len(found.steps) == len(found.token_ids) + found.finished
    for step, token in zip(found.steps, [*found.token_ids, END_ID], strict=False):
        probs = step.probs[-1].copy()
        probs[[0, START_ID]] = 0
        assert probs.argmax() == token


def test_the_text_is_the_tokens(speaker):
    found = generate(speaker, "a lovely film", max_new=4)
    assert found.text == " ".join(found.steps[0].labels[token] for token in found.token_ids)


def test_it_ends_where_the_positions_end(translator):
    model = translator.model
    bias = model.vocabulary_head.output_dense.bias
    before = bias.numpy()
    bias.assign(before - 1e3 * (np.arange(13) == END_ID))
    try:
        found = generate(translator, "a film", keep="weights")
    finally:
        bias.assign(before)
    assert not found.finished
    assert len(found.token_ids) == 17
    assert len(found.steps[-1].target_tokens) == 17


def test_token_ids_read_as_the_text_they_stand_for(translator, writer):
    by_text = translator.trace("a lovely film", target="one two")
    by_ids = translator.trace("a lovely film", target=list(by_text.target_ids[1:]))
    assert by_ids == by_text
    trace = writer.trace(list(writer.trace("a film").token_ids[1:]))
    assert_array_equal(trace.logits, writer.trace("a film").logits)
    assert trace.words == ("", "a", "film")


def test_a_model_that_classifies_does_not_write(explorer):
    with pytest.raises(ValueError, match="small classifies; it does not write"):
        explorer.generate("a film")


def test_what_cannot_be_is_named(translator):
    with pytest.raises(ValueError, match=r"`beam_size` and `max_new` must be at least 1\. Received: 0, None"):
        generate(translator, "a", beam_size=0)
    for temperature in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"`temperature` must be 0 \(no sampling\) or a positive number"):
            generate(translator, "a", temperature=temperature)
    with pytest.raises(ValueError, match=r"Set `beam_size` to 1 or `temperature` to 0\. Received: 2, 0\.5"):
        generate(translator, "a", beam_size=2, temperature=0.5)
    with pytest.raises(ValueError, match=r"Token ids must be whole numbers from 0 to 12\. Received: 99\."):
        translator.trace("a", target=[99])


@pytest.mark.parametrize("most", [3, 100])
def test_writing_in_portions_writes_what_is_written_at_once(translator, most):
    request = translator.request("a lovely film")
    request = translator.request("a lovely film")
    written, finished, portions = (), False, 0
    while not finished:
        written, finished = continue_generation(translator, request, written, most=most, seconds=0)
        portions += 1
    whole = generate(translator, "a lovely film", max_new=most, keep=None)
    assert written == tuple(whole.token_ids)
    assert portions == len(written) + whole.finished > 1


def test_a_pause_in_writing_is_not_an_end(translator):
    _, finished = continue_generation(translator, translator.request("a lovely film"), (), most=17, seconds=0)
    assert not finished


@pytest.mark.parametrize("settings", [{"top_k": 1}, {"top_p": 1e-9}])
def test_the_likeliest_token_alone_is_greedy_decoding(speaker, settings):
    greedy = generate(speaker, "a lovely film", max_new=5, keep=None)
    found = generate(speaker, "a lovely film", max_new=5, keep=None, temperature=2.0, seed=5, **settings)
    assert found.token_ids.tolist() == greedy.token_ids.tolist()


@pytest.mark.parametrize("settings", [{"top_k": 3}, {"top_p": 0.3}])
def test_a_sampled_token_is_one_of_those_that_are_kept(speaker, settings):
    kept = np.flatnonzero(distribution(log_probs(speaker, "a lovely film", []), temperature=2.0, **settings))
    found = set()
    for seed in range(60):
        sample = {"temperature": 2.0, "seed": seed, "max_new": 1, "keep": None} | settings
        written = generate(speaker, "a lovely film", **sample)
        found.add(END_ID if written.finished else int(written.token_ids[0]))
    assert len(kept) > 1
    assert found == set(kept)


def test_a_limit_of_what_is_sampled_needs_a_temperature(speaker):
    for settings in ({"top_k": 3}, {"top_p": 0.5}):
        with pytest.raises(ValueError, match="Set `temperature` above 0"):
            generate(speaker, "a lovely film", **settings)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_search_ends_with_the_text_that_is_generated(speaker, size):
    tree = search(speaker, BeamRequest(speaker.name, "a lovely film", size=size, most=6))
    found = generate(speaker, "a lovely film", beam_size=size, max_new=6, keep=None)
    best = tree.best(LENGTH_PENALTY)
    assert tree.ids(best) == (*found.token_ids, *[END_ID] * found.finished)
    assert_allclose(tree.score(best, LENGTH_PENALTY), found.score)


def test_a_search_in_portions_behind_some_tokens_is_the_same_search(speaker):
    request = BeamRequest(speaker.name, "a lovely film", (5, 7), size=3, most=5)
    whole, tree, portions = search(speaker, request), None, 0
    while tree is None or not tree.is_over:
        tree, portions = search(speaker, request, tree, seconds=0), portions + 1
    assert tree.steps == whole.steps == portions > 1
    assert [node[:2] for node in tree.nodes] == [node[:2] for node in whole.nodes]
    assert_allclose(
        [node.log_prob for node in tree.nodes], [node.log_prob for node in whole.nodes], rtol=1e-4
    )


def test_every_node_of_a_search_is_as_likely_as_the_model_says(speaker):
    tree = search(speaker, BeamRequest(speaker.name, "a lovely film", (5,), size=2, most=3))
    assert tree.steps == 3
    for number, node in enumerate(tree.nodes):
        ids = (5, *tree.ids(number))
        own = sum(log_probs(speaker, "a lovely film", ids[:i])[ids[i]] for i in range(1, len(ids)))
        assert_allclose(node.log_prob, own, rtol=1e-3)
    for step in range(3):
        fates = [node.fate for number, node in enumerate(tree.nodes) if len(tree.path(number)) == step + 1]
        assert fates.count(KEPT) == 2
        assert {*fates} <= {KEPT, FINISHED, DROPPED}
    assert all(tree.nodes[node.parent].fate == KEPT for node in tree.nodes if node.parent != ROOT)


def test_a_search_ends_where_the_positions_end(translator):
    tree = search(translator, BeamRequest("translator", "a film", (5,) * 16, size=2, most=9))
    assert tree.most == tree.steps == 1
    assert search(translator, BeamRequest("translator", "a film", (5,) * 17, size=2)).nodes == ()
    with pytest.raises(ValueError, match="at least 1"):
        search(translator, BeamRequest("translator", "a film", size=0))
