import numpy as np
from numpy.testing import assert_allclose

from transformer_viz.inspection.perplexity import evaluate_texts, perplexity_metrics
from transformer_viz.values.config import END_ID


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


def test_a_model_that_knows_nothing_is_as_perplexed_as_its_vocabulary_is_large():
    assert_allclose(perplexity_metrics(10 * np.log(50), 10, 40)["perplexity"], 50)
    assert_allclose(perplexity_metrics(10 * np.log(2), 10, 40)["bits_per_byte"], 0.25)
