"""Perplexity and accuracy of models of the hub, from logits of `transformers` or of a trace."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from recorded import HERE, TEXTS

import transformer_viz as tv
from transformer_viz.data.batches import by_length, pad
from transformer_viz.data.cloze import mask_tokens
from transformer_viz.questions.evaluation.measure import evaluate_generation
from transformer_viz.questions.evaluation.perplexity import evaluate_masked_tokens, evaluate_texts

pytestmark = pytest.mark.usefixtures("no_graphs")


def cross_entropy(logits, targets):
    """Return the sum over tokens of -log p, from logits (token, choice)."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -log_probs[np.arange(len(targets)), targets].sum()


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "mistral"])
def test_the_perplexity_of_a_text_is_that_of_transformers(name):
    folder = HERE / "models" / name
    answers = np.load(folder / "answers.npz")
    ids, logits = answers["ids"][0], answers["logits"][0]
    found = evaluate_texts(tv.load(folder), [TEXTS[0]])
    assert found.tokens == len(ids) - 1
    assert_allclose(found.perplexity, np.exp(cross_entropy(logits[:-1], ids[1:]) / found.tokens), rtol=1e-5)
    assert found.token_accuracy == (logits[:-1].argmax(axis=-1) == ids[1:]).mean()


@pytest.mark.filterwarnings("ignore:.*softmax over axis")  # of a token that reads itself alone
def test_each_token_of_texts_longer_than_the_model_reads_is_predicted_once():
    explorer = tv.load(HERE / "models" / "gpt2")
    texts = [TEXTS[0], " ".join(TEXTS[:2] * 3), "", TEXTS[3]]
    most, nats, count = explorer.config.max_len, 0.0, 0
    for text in texts:
        ids = explorer.tokenizer.encode(text, max_len=10**6).ids
        for begin in range(0, len(ids) - 1, most):
            part = ids[begin : begin + most + 1]
            logits = explorer.trace(part[:-1]).logits
            nats, count = nats + cross_entropy(logits, part[1:]), count + len(part) - 1
    for size in (1, 3):
        found = evaluate_texts(explorer, texts, batch_size=size)
        assert (found.texts, found.tokens) == (4, count)
        assert_allclose(found.perplexity, np.exp(nats / count), rtol=1e-5)


@pytest.mark.parametrize("name", ["bart", "t5"])
def test_translations_are_evaluated_by_what_the_decoder_says_of_the_right_ones(name):
    explorer = tv.load(HERE / "models" / name)
    rows = pd.DataFrame({"text": [TEXTS[0], "A café."], "target": ["The film", TEXTS[3]]})
    nats, answers, right = 0.0, 0, 0
    for text, target in rows.itertuples(index=False):
        trace = explorer.trace(text, target=target)
        first = len(explorer.config.target_start)
        after = [*trace.target_ids[first:], explorer.config.end_id]
        logits = trace.logits[first - 1 :]
        nats, answers = nats + cross_entropy(logits, after), answers + len(after)
        right += (logits.argmax(axis=-1) == after).sum()
    found = evaluate_generation(explorer, rows)
    assert_allclose(found.perplexity, np.exp(nats / answers), rtol=1e-4)
    assert_allclose(found.token_accuracy, right / answers)


@pytest.mark.parametrize("name", ["bert-masked", "modernbert-masked", "roberta"])
def test_masked_tokens_are_evaluated_by_what_the_model_says_of_their_rows(name):
    """The same gaps by hand; the second text is longer than the model reads."""
    explorer = tv.load(HERE / "models" / name)
    config, tokenizer = explorer.config, explorer.tokenizer
    texts = [TEXTS[0], " ".join(TEXTS * 4)]
    tokens = [tokenizer.encode(text, max_len=10**6, start=True).ids[1:-1] for text in texts]
    room = config.max_len - 2
    parts = [tokens[0], *(tokens[1][begin : begin + room] for begin in range(0, len(tokens[1]), room))]
    parts = [parts[row] for row in by_length(parts, len(parts))[0]]
    whole = pad([[config.start_id, *part, config.end_id] for part in parts], config.pad_id)
    cloze = mask_tokens(whole, config, np.random.default_rng(0))
    nats, right = 0.0, []
    for row, real in enumerate(cloze.targets != config.pad_id):
        ids = cloze.token_ids[row, : len(parts[row]) + 2]
        logits = explorer.trace(ids.tolist()).logits[cloze.positions[row, real]]
        nats += cross_entropy(logits, cloze.targets[row, real])
        right += [*(logits.argmax(axis=-1) == cloze.targets[row, real])]
    found = evaluate_masked_tokens(explorer, texts, batch_size=len(parts))
    assert (found.texts, found.tokens) == (2, len(right))
    assert_allclose(found.perplexity, np.exp(nats / len(right)), rtol=1e-4)
    assert_allclose(found.token_accuracy, np.mean(right))
    answers = np.concatenate(tokens)[found.places]
    assert sorted(answers) == sorted(cloze.targets[cloze.targets != config.pad_id])
    assert config.mask_id in cloze.token_ids
    assert not np.isin(answers, (config.start_id, config.end_id)).any()


def test_a_language_model_that_knows_no_end_of_a_target_is_not_evaluated_on_it():
    rows = pd.DataFrame({"text": ["The film"], "target": ["was good"]})
    with pytest.raises(ValueError, match="gpt2 cannot be evaluated on targets"):
        evaluate_generation(tv.load(HERE / "models" / "gpt2"), rows)
