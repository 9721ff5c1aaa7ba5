"""Generation: greedy decoding, sampling and beam search, with a trace of every step."""

import time
import weakref
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from transformer_viz.data.batches import by_length, pad
from transformer_viz.inspection.explorer import Explorer
from transformer_viz.inspection.forward import compiled
from transformer_viz.language import Problem
from transformer_viz.values.config import END_ID, PAD_ID, START_ID
from transformer_viz.values.request import Request
from transformer_viz.values.trace import Trace

_COMPILED = weakref.WeakKeyDictionary()


class Generation(NamedTuple):
    """A generated text.

    Attributes:
        text: The generated text; for a decoder-only model, without the prompt.
        token_ids: int32 (token,), without [START] and [END].
        score: Sum of the log probabilities of the tokens, [END] included, divided by the length penalty.
        finished: Whether generation ended with [END], not at the maximum length.
        steps: One `Trace` per token, [END] included: the forward pass with the token's probability in the
            last row of `probs`.
    """

    text: str
    token_ids: np.ndarray
    score: float
    finished: bool
    steps: tuple[Trace, ...]


class _Beam(NamedTuple):
    ids: tuple[int, ...]
    log_prob: float

    def score(self, alpha: float) -> float:
        """Return the score under the length penalty of Wu et al. (2016), equation 14."""
        return self.log_prob / ((5 + len(self.ids)) / 6) ** alpha


def generate(  # noqa: PLR0913  the settings of three ways to decode
    explorer: Explorer,
    text: str | Sequence[int],
    *,
    beam_size: int = 1,
    temperature: float = 0.0,
    seed: int = 0,
    max_new: int | None = None,
    length_penalty: float = 0.6,
    keep: str | None = "all",
    positions: str | np.ndarray | None = None,
    order: Sequence[int] | None = None,
) -> Generation:
    """Generate text with a decoder: greedily, by beam search, or by sampling.

    Args:
        explorer: `Explorer` of an encoder-decoder or a decoder.
        text: Input of an encoder-decoder, or prompt of a decoder.
        beam_size: Beam width; 1: greedy decoding.
        temperature: Above 0, each token is sampled from softmax(logits / temperature); 0: no sampling.
        seed: Random seed of the sampling.
        max_new: Most tokens to generate; None: limited by the model's positions.
        length_penalty: Exponent that favours long texts (Vaswani et al., 2017, section 6.1: 0.6).
        keep: As in `Explorer.trace`, for the traces of the steps; None: no traces.
        positions: As in `Changes`.
        order: As in `Changes`.

    Returns:
        The best `Generation`.

    Raises:
        NoTokensError: If the text has no tokens.
        ValueError: If the model has no decoder, an argument is out of range, or beams are to be sampled.
    """
    config = explorer.config
    if not config.has_decoder:
        raise Problem("model.classifies", model=explorer.name)
    if beam_size < 1 or (max_new is not None and max_new < 1):
        raise Problem("writing.sizes", beam_size=beam_size, max_new=max_new)
    if not 0 <= temperature < np.inf:
        raise Problem("writing.temperature", received=temperature)
    if temperature and beam_size > 1:
        raise Problem("writing.sampled_beams", beam_size=beam_size, temperature=temperature)
    prepared = explorer.prepare(explorer.request(text, positions=positions, order=order))
    source = prepared.source.ids
    tables = [] if positions is None else _tables(prepared)
    prompt = (START_ID,) if config.has_encoder else tuple(int(i) for i in source)
    room = (config.target_max_len if config.has_encoder else config.max_len) + 1 - len(prompt)
    most = max(min(room, max_new or room), 0)
    next_log_probs = partial(_next_log_probs, explorer, tables=tables)
    if temperature:
        best = _sample(next_log_probs, source, prompt, most, temperature, np.random.default_rng(seed))
    else:
        best = _beam_search(next_log_probs, source, prompt, most, beam_size, length_penalty)
    finished = bool(best.ids) and best.ids[-1] == END_ID
    written = best.ids[:-1] if finished else best.ids
    steps = []
    for length in range(len(best.ids)):
        if not keep:
            break
        if config.has_encoder:
            target = list(written[:length])
            steps.append(explorer.trace(text, target=target, keep=keep, positions=positions, order=order))
        else:
            ids = [*prompt[1:], *written[:length]]
            steps.append(explorer.trace(ids, keep=keep, positions=positions))
    return Generation(
        explorer.output_tokenizer.decode(written),
        np.array(written, np.int32),
        best.score(length_penalty),
        finished,
        tuple(steps),
    )


def continue_generation(
    explorer: Explorer, request: Request, written: tuple[int, ...], *, most: int, seconds: float
) -> tuple[tuple[int, ...], bool]:
    """Continue a greedy generation of an encoder-decoder for a limited time.

    Repeated calls until it has finished give the same tokens as `generate`.

    Args:
        explorer: `Explorer` of an encoder-decoder.
        request: Source of the text, positions and order.
        written: Token ids so far, without [START].
        most: Most tokens to generate.
        seconds: Time limit, checked after each token; at least one token is generated.

    Returns:
        The token ids so far, without [START] and [END]; and whether generation has finished, with [END] or
        at the maximum length.

    Raises:
        NoTokensError: If the text has no tokens.
    """
    reading = request.changes.reading
    prepared = explorer.prepare(explorer.request(request.text, **reading))
    source = prepared.source.ids[None]
    tables = [] if reading["positions"] is None else _tables(prepared)
    most = min(most, explorer.config.target_max_len)
    end = time.monotonic() + seconds
    while len(written) < most:
        token = int(
            _next_log_probs(explorer, source, np.array([[START_ID, *written]], np.int32), tables).argmax()
        )
        if token == END_ID:
            return tuple(written), True
        written = (*written, token)
        if time.monotonic() > end:
            break
    return tuple(written), len(written) >= most


def generate_all(
    explorer: Explorer, texts: Iterable[str], *, max_new: int | None = None, batch_size: int = 64
) -> list[str]:
    """Generate a text for each of many texts greedily, with an encoder-decoder.

    Args:
        explorer: `Explorer` of an encoder-decoder.
        texts: Input texts; one without tokens gives "".
        max_new: Most tokens to generate for each; None: limited by the model's positions.
        batch_size: Texts per batch, of similar length.

    Returns:
        The generated texts, in the order of the input.
    """
    config = explorer.config
    source = explorer.tokenizer.encode_batch(texts, max_len=config.max_len, truncation=config.truncation)
    most = min(max_new or config.target_max_len, config.target_max_len)
    written = [""] * len(source)
    readable = np.array([row for row, ids in enumerate(source) if len(ids)], int)
    for rows in by_length(source, batch_size, readable):
        ids = np.full((len(rows), 1), START_ID, np.int32)
        while ids.shape[1] <= most and not (ids == END_ID).any(axis=-1).all():
            log_probs = _next_log_probs(explorer, pad([source[row] for row in rows]), ids)
            ids = np.hstack([ids, log_probs.argmax(axis=-1).astype(np.int32)[:, None]])
        for row, line in zip(rows, ids[:, 1:], strict=True):
            end = np.flatnonzero(line == END_ID)
            written[row] = explorer.output_tokenizer.decode(line[: end[0]] if len(end) else line)
    return written


def _tables(prepared):
    """Return the position tables of a prepared request, one for each stack."""
    names = ("position_table", "target_position_table")
    return [prepared.inputs[name] for name in names if name in prepared.inputs]


def _sample(next_log_probs, source, prompt, most, temperature, random):
    """Return one sampled beam: the ids generated after `prompt`, with [END] if it was reached.

    The largest of the log probabilities, each with Gumbel noise, is a sample of their softmax.
    """
    ids, log_prob = (), 0.0
    while len(ids) < most and END_ID not in ids:
        [log_probs] = next_log_probs(source[None], np.array([prompt + ids], np.int32))
        token = int((log_probs / temperature + random.gumbel(size=log_probs.shape)).argmax())
        ids, log_prob = (*ids, token), log_prob + float(log_probs[token])
    return _Beam(ids, log_prob)


def _beam_search(next_log_probs, source, prompt, most, beam_size, alpha):
    """Return the best beam: the ids generated after `prompt`, with [END] if it was reached."""
    beams, done = [_Beam((), 0.0)], []
    for _ in range(most):
        ids = np.array([prompt + beam.ids for beam in beams], np.int32)
        log_probs = next_log_probs(np.repeat(source[None], len(beams), axis=0), ids)
        candidates = []
        for beam, row in zip(beams, log_probs, strict=True):
            likeliest = np.argsort(-row, kind="stable")[: beam_size + 1]
            candidates += [_Beam((*beam.ids, int(i)), beam.log_prob + float(row[i])) for i in likeliest]
        candidates.sort(key=lambda beam: -beam.log_prob)
        done += [beam for beam in candidates[:beam_size] if beam.ids[-1] == END_ID]
        beams = [beam for beam in candidates if beam.ids[-1] != END_ID][:beam_size]
        if len(done) >= beam_size:
            break
    return max(done or beams, key=lambda beam: beam.score(alpha))


def _next_log_probs(explorer, source, written, tables=()):
    """Return the next token's log probabilities: float (row, token); -inf for [PAD] and [START].

    Args:
        explorer: `Explorer`.
        source: Encoder input: int32 (row, position); ignored for a decoder-only model.
        written: int32 (row, position).
        tables: Replacement of the model's position tables, one per stack; empty: the model's own.
    """
    steps = _COMPILED.setdefault(explorer, {})
    if len(tables) not in steps:
        steps[len(tables)] = _compiled_step(explorer.model, len(tables))
    sides = [source, written] if explorer.config.has_encoder else [written]
    log_probs = steps[len(tables)](sides, list(tables)).numpy()
    log_probs[:, [PAD_ID, START_ID]] = -np.inf
    return log_probs


def _compiled_step(model, num_tables):
    """Return the compiled function (token ids of each stack, position tables) -> log probabilities."""
    names = ("position_table", "target_position_table")[:num_tables]

    def step(sides, tables):
        logits = (
            model.trace(*sides, **dict(zip(names, tables, strict=True))).logits
            if tables
            else model(sides if len(sides) == 2 else sides[0])
        )
        return tf.nn.log_softmax(logits[:, -1])

    ids = tf.TensorSpec((None, None), tf.int32)
    table = tf.TensorSpec((None, model.config.d_model), tf.float32)
    return compiled(step, [[ids] * len(model.config.stacks), [table] * num_tables])
