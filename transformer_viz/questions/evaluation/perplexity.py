"""Perplexity and accuracy of language models on texts."""

import functools
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from transformer_viz.data.batches import by_length, pad
from transformer_viz.data.cloze import mask_tokens
from transformer_viz.data.packing import Stream
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.language.short_repr import short_repr
from transformer_viz.network.config import END_ID, START_ID
from transformer_viz.questions.evaluation.token_scores import token_scores
from transformer_viz.text.texts import each_text


class TextEvaluation(NamedTuple):
    """Metrics of a causal language model.

    Attributes:
        texts: Number of texts.
        tokens: Number of predicted tokens, including the end of each text; a model made elsewhere is not
            asked about the end, and about the first token only if something stands before it.
        num_bytes: Length of the decoded tokens in bytes of UTF-8.
        perplexity: exp of the mean cross-entropy per token.
        bits_per_byte: Total cross-entropy in bits per byte; comparable between vocabularies.
        token_accuracy: Share of tokens predicted as the likeliest.
        uniform_accuracy: The same with uniform attention: each query shares its weight equally among its
            unmasked keys.
        headless_accuracy: The same with every head set to zero.
    """

    texts: int
    tokens: int
    num_bytes: int
    perplexity: float
    bits_per_byte: float
    token_accuracy: float
    uniform_accuracy: float
    headless_accuracy: float


class MaskedTokenEvaluation(NamedTuple):
    """Metrics of a masked language model.

    Attributes:
        texts: Number of texts.
        tokens: Number of masked tokens.
        places: int (token,), their indices among all tokens and ends of texts, text after text; of a model
            made elsewhere among the tokens alone.
        perplexity: exp of the mean cross-entropy per masked token.
        token_accuracy: Share of masked tokens predicted as the likeliest.
        uniform_accuracy: The same with uniform attention: each query shares its weight equally among its
            unmasked keys.
        headless_accuracy: The same with every head set to zero.
    """

    texts: int
    tokens: int
    places: np.ndarray
    perplexity: float
    token_accuracy: float
    uniform_accuracy: float
    headless_accuracy: float

    def __repr__(self):
        return short_repr(self)


def evaluate_texts(
    explorer: Explorer,
    texts: Iterable[str],
    *,
    batch_size: int = 16,
    progress: bool = False,
    keep_going: Callable[[], None] = lambda: None,
) -> TextEvaluation:
    """Evaluate a decoder's next-token predictions at every position of some texts.

    It reads them as it did in its training. If that packed them (`is_packed`), every token counts once, and
    its context is the part of its own text in the same row of `max_len` tokens. Otherwise each text has a row
    of its own, and is cut after `max_len` - 1 tokens. A model made elsewhere reads each text, or each part of
    a longer one, in a row of its own.

    Args:
        explorer: `Explorer` of a decoder.
        texts: The texts.
        batch_size: Rows per batch.
        progress: Show a progress bar on standard error.
        keep_going: Called before each batch; may raise to stop.
    """
    config = explorer.config
    starts = config.is_foreign and config.reads_start
    batches, limits = (_parts if config.is_foreign else _packed), {}
    if not (config.is_foreign or is_packed(explorer)):
        batches, limits = _alone, {"max_len": config.max_len - 1, "truncation": config.truncation}
    token_ids = explorer.tokenizer.encode_batch(texts, start=starts, **limits)
    nats, right, tokens = 0.0, np.zeros(3, int), 0
    for inputs, targets in batches(token_ids, config, batch_size, progress):
        keep_going()
        scores = token_scores(explorer, inputs, targets)
        nats, right = nats + scores.nats.sum(dtype=float), right + scores.right.sum(axis=(1, 2))
        tokens += int((targets != config.pad_id).sum())
    token_ids = [ids[1:] for ids in token_ids] if config.is_foreign else token_ids
    num_bytes = sum(len(explorer.tokenizer.decode(ids).encode()) for ids in token_ids)
    figures = perplexity_metrics(nats, tokens, num_bytes)
    return TextEvaluation(len(token_ids), tokens, num_bytes, **figures, **_accuracies(right, tokens))


def is_packed(explorer: Explorer) -> bool:
    """Return whether a model was trained on packed texts, by its card; True if that does not say."""
    settings = explorer.card.get("settings")
    return not isinstance(settings, dict) or bool(settings.get("pack"))


def evaluate_masked_tokens(
    explorer: Explorer,
    texts: Iterable[str],
    *,
    batch_size: int = 16,
    seed: int = 0,
    progress: bool = False,
    keep_going: Callable[[], None] = lambda: None,
) -> MaskedTokenEvaluation:
    """Evaluate a masked language model on randomly masked tokens, as in training.

    The texts are packed as in training; a model made elsewhere reads each text, or each part of a longer one,
    between special tokens in a row of its own. Which tokens are masked follows from the seed.

    Args:
        explorer: `Explorer` of a masked language model.
        texts: The texts.
        batch_size: Rows per batch.
        seed: Random seed of the masking.
        progress: Show a progress bar on standard error.
        keep_going: Called before each batch; may raise to stop.
    """
    texts, config, random = list(each_text(texts)), explorer.config, np.random.default_rng(seed)
    nats, right, places = 0.0, np.zeros(3, int), []
    batches = _between_marks if config.is_foreign else _streamed
    for rows, inputs_of, before in batches(explorer, texts, batch_size, progress):
        keep_going()
        cloze = mask_tokens(rows, config, random)
        inputs = inputs_of(cloze.token_ids) | {"output_positions": cloze.positions}
        scores = token_scores(explorer, inputs, cloze.targets)
        nats, right = nats + scores.nats.sum(dtype=float), right + scores.right.sum(axis=(1, 2))
        places.append((before[:, None] + cloze.positions)[cloze.targets != config.pad_id])
    places = np.concatenate(places)
    perplexity = float(np.exp(nats / max(len(places), 1)))
    accuracies = _accuracies(right, len(places))
    return MaskedTokenEvaluation(len(texts), len(places), places, perplexity, **accuracies)


def _streamed(explorer, texts, size, progress):
    """Yield rows, a function from their tokens to the model's inputs, and where each begins in the texts."""
    config, token_ids = explorer.config, explorer.tokenizer.encode_batch(texts)
    for numbers, rows in _batches(Stream(token_ids, config.max_len), size, progress):
        inputs_of = functools.partial(_inputs, rows, config)
        yield rows.token_ids, inputs_of, numbers * config.max_len - 1  # a [START] is no token


def _inputs(rows, config, token_ids):
    return rows._replace(token_ids=token_ids).inputs(config)


def _between_marks(explorer, texts, size, progress):
    """Yield the same of texts, each of which stands alone, and the parts of a long one too."""
    config, tokenizer, starts = explorer.config, explorer.tokenizer, explorer.config.reads_start
    marks = tokenizer.encoding([], start=starts).ids
    before, behind = np.split(marks, [int(starts)])
    parts, first, count = [], [], 0
    for marked in tokenizer.encode_batch(texts, start=starts):
        ids = marked[len(before) : len(marked) - len(behind)]
        for begin in range(0, len(ids), config.max_len - len(marks)):
            part = ids[begin : begin + config.max_len - len(marks)]
            parts.append(np.concatenate([before, part, behind]))
            first.append(count + begin - len(before))
        count += len(ids)
    for rows in tqdm(by_length(parts, size), disable=not progress, unit="batch"):
        padded = pad([parts[row] for row in rows], config.pad_id)
        yield padded, lambda token_ids: {"token_ids": token_ids}, np.array(first)[rows]


def _packed(token_ids, config, size, progress):
    """Yield the arguments of the model and the tokens to predict, batch by batch."""
    for _, rows in _batches(Stream(token_ids, config.max_len), size, progress):
        yield rows.inputs(config), rows.next_ids


def _parts(token_ids, config, size, progress):
    """Yield the same of texts, each of which stands alone; the parts of a long one share a token."""
    most = config.max_len
    parts = [ids[begin : begin + most + 1] for ids in token_ids for begin in range(0, len(ids) - 1, most)]
    for rows in tqdm(by_length(parts, size), disable=not progress, unit="batch"):
        padded = pad([parts[row] for row in rows], config.pad_id)
        yield {"token_ids": padded[:, :-1]}, padded[:, 1:]


def _alone(token_ids, config, size, progress):
    """Yield the same of texts, each of which stands alone between [START] and [END]."""
    whole = [np.array([START_ID, *ids, END_ID], np.int32) for ids in token_ids]
    for rows in tqdm(by_length(whole, size), disable=not progress, unit="batch"):
        padded = pad([whole[row] for row in rows])
        yield {"token_ids": padded[:, :-1]}, padded[:, 1:]


def _batches(stream, size, progress):
    """Yield batches of row numbers and rows, in order."""
    for start in tqdm(range(0, len(stream), size), disable=not progress, unit="batch"):
        numbers = np.arange(start, min(start + size, len(stream)))
        yield numbers, stream.rows(numbers)


def _accuracies(right, tokens):
    """Return name -> share of the tokens that are predicted correctly, without and with each control."""
    names = ("token_accuracy", "uniform_accuracy", "headless_accuracy")
    return dict(zip(names, (right / max(tokens, 1)).tolist(), strict=True))


def perplexity_metrics(nats: float, tokens: int, num_bytes: int) -> dict[str, float]:
    """Return perplexity and bits per byte.

    Args:
        nats: Total cross-entropy in nats.
        tokens: Number of tokens.
        num_bytes: Their length in bytes of UTF-8.
    """
    return {
        "perplexity": float(np.exp(nats / max(tokens, 1))),
        "bits_per_byte": float(nats / np.log(2) / max(num_bytes, 1)),
    }
