import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.network.config import END_ID
from transformer_viz.questions.evaluation.measure import evaluate_generation
from transformer_viz.questions.evaluation.perplexity import evaluate_texts, perplexity_metrics


def test_a_decoder_is_measured_on_texts_as_it_predicts_them(writer):
    """Two texts that stand in one row, and each by itself: what counts is the tokens of both."""
    texts = ["a lovely film", "not good at all and not funny"]
    nats, tokens, right, num_bytes = 0.0, 0, 0, 0
    for text in texts:
        trace = writer.trace(text)
        after = [*trace.token_ids[1:], END_ID]
        log_probs = trace.logits - np.logaddexp.reduce(trace.logits, axis=-1, keepdims=True)
        nats -= sum(log_probs[place, token] for place, token in enumerate(after))
        right += sum(log_probs[place].argmax() == token for place, token in enumerate(after))
        tokens += len(after)
        num_bytes += len(writer.tokenizer.decode(trace.token_ids[1:]).encode())
    for batch_size in (1, 16):
        result = evaluate_texts(writer, texts, batch_size=batch_size)
        assert (result.texts, result.tokens, result.num_bytes) == (2, tokens, num_bytes)
        assert_allclose(result.perplexity, np.exp(nats / tokens), rtol=1e-5)
        assert_allclose(result.bits_per_byte, nats / np.log(2) / num_bytes, rtol=1e-5)
        assert result.token_accuracy == right / tokens


def test_a_model_trained_on_texts_alone_is_measured_on_them_alone_and_cut_as_in_its_training(writer):
    """In packed rows, the parts of the long text would be read without what stands before them."""
    texts = ["a lovely film", "not good at all and not funny " * 9, "dull"]
    trained = Explorer(writer.model, writer.tokenizer, card={"settings": {"pack": False}})
    found, packed = evaluate_texts(trained, texts), evaluate_texts(writer, texts)
    nats, tokens, most = 0.0, 0, writer.config.max_len - 1
    for text in texts:
        ids = writer.tokenizer.encode(text, max_len=999).ids
        read = writer.trace([int(each) for each in ids[:most]])
        after = [*ids[:most], END_ID]
        log_probs = read.logits - np.logaddexp.reduce(read.logits, axis=-1, keepdims=True)
        nats -= sum(log_probs[place, token] for place, token in enumerate(after))
        tokens += len(after)
    assert len(ids) < most < len(writer.tokenizer.encode(texts[1], max_len=999).ids)
    assert found.tokens == tokens < packed.tokens
    assert_allclose(found.perplexity, np.exp(nats / tokens), rtol=1e-5)
    rows = pd.DataFrame({"text": texts, "target": ""})
    assert_allclose(found.perplexity, evaluate_generation(trained, rows).perplexity, rtol=1e-6)
    assert not np.isclose(found.perplexity, packed.perplexity, rtol=1e-3)


def test_a_model_that_knows_nothing_is_as_perplexed_as_its_vocabulary_is_large():
    assert_allclose(perplexity_metrics(10 * np.log(50), 10, 40)["perplexity"], 50)
    assert_allclose(perplexity_metrics(10 * np.log(2), 10, 40)["bits_per_byte"], 0.25)
