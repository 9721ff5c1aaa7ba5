"""How well a model predicts the tokens of texts."""

from typing import NamedTuple

import numpy as np
from keras import ops
from tqdm import tqdm

from transformer_viz.config import PAD_ID
from transformer_viz.packing import WHOLE, Stream


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
    token_ids = explorer.tokenizer.encode_batch(texts, max_len=WHOLE)
    stream, nats, right = Stream(token_ids, explorer.config.max_len), 0.0, 0
    for start in tqdm(range(0, len(stream), batch_size), disable=not progress, unit="batch"):
        rows = stream.rows(range(start, min(start + batch_size, len(stream))))
        logits = ops.cast(explorer.model(rows.inputs(explorer.config)), "float32")
        own = ops.take_along_axis(logits, rows.next_ids[..., None], axis=-1)[..., 0]
        lost = ops.convert_to_numpy(ops.logsumexp(logits, axis=-1) - own)
        best = ops.convert_to_numpy(own >= ops.max(logits, axis=-1))
        real = rows.next_ids != PAD_ID
        nats, right = nats + float(lost[real].sum(dtype=np.float64)), right + int(best[real].sum())
    tokens = sum(len(ids) + 1 for ids in token_ids)
    num_bytes = sum(len(explorer.tokenizer.decode(ids).encode()) for ids in token_ids)
    figures = likeliness(nats, tokens, num_bytes)
    return TextEvaluation(len(token_ids), tokens, num_bytes, **figures, token_accuracy=right / max(tokens, 1))


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
