"""How well a model predicts the tokens of texts."""

from typing import NamedTuple

import numpy as np
from keras import ops
from tqdm import tqdm

from transformer_viz.data.cloze import mask_tokens
from transformer_viz.data.packing import NO_LIMIT, Stream
from transformer_viz.values.config import PAD_ID


class TextEvaluation(NamedTuple):
    """Figures of a language model on some texts.

    Attributes:
        texts: How many were read.
        tokens: How many were predicted, the end of each text among them.
        num_bytes: Bytes of UTF-8 that the tokens stand for.
        perplexity: e to the power of the mean cross-entropy of a token.
        bits_per_byte: Cross-entropy of all tokens for each byte: comparable between vocabularies.
        token_accuracy: Share of the tokens that were the likeliest.
    """

    texts: int
    tokens: int
    num_bytes: int
    perplexity: float
    bits_per_byte: float
    token_accuracy: float


class HiddenEvaluation(NamedTuple):
    """Figures of a model that fills in hidden tokens, on some texts.

    Attributes:
        texts: How many were read.
        tokens: How many were to be filled in.
        places: int (token,), where these stand if all tokens and ends of texts are counted, text after text.
        perplexity: e to the power of the mean cross-entropy of a hidden token.
        token_accuracy: Share of the hidden tokens that were the likeliest.
    """

    texts: int
    tokens: int
    places: np.ndarray
    perplexity: float
    token_accuracy: float


def evaluate_texts(explorer, texts, *, batch_size=16, progress=False) -> TextEvaluation:
    """Measure how well a decoder predicts the next token, everywhere in some texts.

    The texts are read packed, as in training: every token counts once, and has before it what of its own text
    is in its row of `max_len` tokens.

    Args:
        explorer: `Explorer` of a decoder.
        texts: The texts.
        batch_size: Rows that go through the model together.
        progress: Show a progress bar on standard error.
    """
    token_ids = explorer.tokenizer.encode_batch(texts, max_len=NO_LIMIT)
    stream, nats, right = Stream(token_ids, explorer.config.max_len), 0.0, 0
    for _, rows in _batches(stream, batch_size, progress):
        lost, best = _measured(explorer.model, rows.inputs(explorer.config), rows.next_ids)
        nats, right = nats + lost, right + best
    tokens = sum(len(ids) + 1 for ids in token_ids)
    num_bytes = sum(len(explorer.tokenizer.decode(ids).encode()) for ids in token_ids)
    figures = likeliness(nats, tokens, num_bytes)
    return TextEvaluation(len(token_ids), tokens, num_bytes, **figures, token_accuracy=right / max(tokens, 1))


def evaluate_hidden(explorer, texts, *, batch_size=16, seed=0, progress=False) -> HiddenEvaluation:
    """Measure how well an encoder fills in tokens that are hidden from it, as they are in training.

    Args:
        explorer: `Explorer` of an encoder that fills in tokens.
        texts: The texts.
        batch_size: Rows that go through the model together.
        seed: Of which tokens are hidden.
        progress: Show a progress bar on standard error.
    """
    config, random = explorer.config, np.random.default_rng(seed)
    stream = Stream(explorer.tokenizer.encode_batch(texts, max_len=NO_LIMIT), config.max_len)
    nats, right, places = 0.0, 0, []
    for numbers, rows in _batches(stream, batch_size, progress):
        cloze = mask_tokens(rows.token_ids, config.vocab_size, random)
        inputs = rows._replace(token_ids=cloze.token_ids).inputs(config)
        inputs["output_positions"] = cloze.positions
        lost, best = _measured(explorer.model, inputs, cloze.targets)
        nats, right = nats + lost, right + best
        gap = cloze.targets != PAD_ID
        places.append((numbers[:, None] * config.max_len + cloze.positions)[gap] - 1)  # a [START] is no token
    places = np.concatenate(places)
    perplexity = float(np.exp(nats / max(len(places), 1)))
    return HiddenEvaluation(len(texts), len(places), places, perplexity, right / max(len(places), 1))


def _batches(stream, size, progress):
    """Yield the numbers of some rows and the rows, in order."""
    for start in tqdm(range(0, len(stream), size), disable=not progress, unit="batch"):
        numbers = np.arange(start, min(start + size, len(stream)))
        yield numbers, stream.rows(numbers)


def _measured(model, inputs, answers):
    """Return the cross-entropy of all answers but [PAD] together, and how many of them are the likeliest."""
    logits = ops.cast(model(inputs), "float32")
    own = ops.take_along_axis(logits, answers[..., None], axis=-1)[..., 0]
    lost = ops.convert_to_numpy(ops.logsumexp(logits, axis=-1) - own)
    best = ops.convert_to_numpy(own >= ops.max(logits, axis=-1))
    real = answers != PAD_ID
    return float(lost[real].sum(dtype=np.float64)), int(best[real].sum())


def likeliness(nats, tokens, num_bytes) -> dict[str, float]:
    """Return perplexity and bits per byte of texts.

    Args:
        nats: Cross-entropy of all their tokens together.
        tokens: How many these are.
        num_bytes: Bytes of UTF-8 that they stand for.
    """
    return {
        "perplexity": float(np.exp(nats / max(tokens, 1))),
        "bits_per_byte": float(nats / np.log(2) / max(num_bytes, 1)),
    }
