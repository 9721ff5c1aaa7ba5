"""Writing behind what is written: only the new tokens are computed, and predicted as by a pass over all."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from shelf import shelved
from small_models import with_random_parameters

from transformer_viz.explorer.decode import generate, generate_all
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.explorer.writing import Writing
from transformer_viz.network.config import END_ID, PAD_ID, START_ID

TEXT = "a lovely film"

GROWING = [
    [()],
    [(5,), (8,)],
    [(8, 4), (5, 6), (8, 6)],
    [(5, 6, 9), (5, 6, 9)],
    [(5, 6, 9, 4)],
    [(7, 7), (9, 10)],
    [(7, 7, 12)],
]
"""Texts in alternatives, as a beam search has them: each goes on from one before, or begins anew."""

VARIANTS = {
    "as-it-is": {},
    "window": {"window": 1},
    "counted-from-one": {"padding_position": True},
    "untied": {"tie_embeddings": False},
    "pre-norm": {"norm": "pre", "final_norm": True},
    "sinusoidal": {"positions": "sinusoidal"},
    "no-positions": {"positions": "none"},
    "rotary": {"positions": "rotary", "rotary_width": 4},
    "relative": {"positions": "relative", "relative_buckets": 6, "relative_reach": 4},
}


def variant(explorer, changes):
    """Return an explorer with the same tokenizers, another config and random parameters."""
    model = with_random_parameters(explorer.config.replace(**changes))
    return Explorer(model, explorer.tokenizer, target_tokenizer=explorer.target_tokenizer)


def whole(explorer, writing, row):
    """Return the next token's log probabilities by a pass over the whole text."""
    logits = explorer.compute(explorer.forward.prepare(writing.request(row)), keep="logits").logits[-1]
    logits = logits.astype("f8")
    found = logits - np.logaddexp.reduce(logits)
    found[[PAD_ID, START_ID]] = -np.inf
    return found


@pytest.mark.quick(
    "translator-as-it-is",
    "translator-rotary",
    "translator-relative",
    "writer-as-it-is",
    "writer-window",
    "writer-counted-from-one",
    "writer-untied",
    "writer-pre-norm",
    "writer-sinusoidal",
    "writer-no-positions",
    "writer-rotary",
    "writer-relative",
)
@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("speaker", ["translator", "writer"])
def test_the_next_token_is_predicted_as_by_a_pass_over_the_whole_text(request, speaker, name):
    explorer = variant(request.getfixturevalue(speaker), VARIANTS[name])
    writing = Writing(explorer, explorer.request(TEXT))
    for rows in GROWING:
        found = writing.log_probs(rows)
        expected = np.stack([whole(explorer, writing, row) for row in rows])
        assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_text_is_written_to_the_last_position(translator, writer):
    for explorer, positions in ((translator, 17), (writer, 23)):
        writing = Writing(explorer, explorer.request(TEXT))
        row = tuple([5] * (writing.most - 1))
        for length in range(writing.most):
            [found] = writing.log_probs([row[:length]])
        assert len(writing.request(row).target or writing.request(row).text) == positions - 1
        assert_allclose(found, whole(explorer, writing, row), rtol=1e-4, atol=1e-5)


def test_texts_of_different_length_are_written_together_as_each_alone():
    explorer = shelved("reverse-digits")
    texts = ["1 2 3 4", "7", "", "9 8 7 6 5 4 3", "5 5", "0 1 2"]
    together = generate_all(explorer, texts, batch_size=3)
    assert together == [generate(explorer, text, keep=None).text if text else "" for text in texts]
    assert together[:4] == ["4 3 2 1", "7", "", "3 4 5 6 7 8 9"]


def test_a_prompt_with_padding_in_it_is_continued(writer):
    prompt = [*writer.trace(TEXT).token_ids[1:].tolist(), PAD_ID]
    writing = Writing(writer, writer.request(prompt))
    for row in ((), (5,), (5, 6)):
        [found] = writing.log_probs([row])
        assert_allclose(found, whole(writer, writing, row), rtol=1e-4, atol=1e-5)
    assert found[END_ID] > -np.inf
