"""Generation: greedy decoding, sampling and beam search, with a trace of every step."""

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Unpack, overload

import numpy as np

from transformer_viz.data.batches import by_length, pad
from transformer_viz.explorer.beams import (
    DROPPED,
    FINISHED,
    KEPT,
    LENGTH_PENALTY,
    BeamNode,
    BeamRequest,
    BeamTree,
    penalised,
)
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.explorer.sampling import check_sampling, distribution
from transformer_viz.explorer.writing import CachedDecoding, Writing
from transformer_viz.language import Problem
from transformer_viz.language.short_repr import short_repr
from transformer_viz.trace.request import ChangeArguments, Request, names_changes
from transformer_viz.trace.trace import Trace


class Steps(Sequence[Trace]):
    """The traces of a generation, one per token; each is computed when it is looked at, and not kept.

    Those of a hundred tokens of GPT-2 would take 7 GB together.

    Args:
        explorer: `Explorer` that generated the text.
        requests: The request of each step.
        keep: As in `Explorer.trace`.
    """

    def __init__(self, explorer: Explorer, requests: Sequence[Request], keep: str):
        self._explorer, self._requests, self._keep = explorer, tuple(requests), keep

    def __len__(self):
        return len(self._requests)

    @overload
    def __getitem__(self, index: int) -> Trace: ...

    @overload
    def __getitem__(self, index: slice) -> "Steps": ...

    def __getitem__(self, index):
        if isinstance(index, slice):
            return Steps(self._explorer, self._requests[index], self._keep)
        return self._explorer.run(self._requests[index], keep=self._keep)

    def __repr__(self):
        return f"{len(self)} × Trace" if len(self) else "()"


class Generation(NamedTuple):
    """A generated text.

    Attributes:
        text: The generated text; for a decoder-only model, without the prompt.
        token_ids: int32 (token,), without [START] and [END].
        score: Sum of the log probabilities of the tokens, [END] included, divided by the length penalty.
        finished: Whether generation ended with [END], not at the maximum length.
        steps: One `Trace` per token, [END] included, computed when it is looked at: the forward pass, under
            the same changes, with the token's probability in the last row of `probs` that is not of [PAD].
    """

    text: str
    token_ids: np.ndarray
    score: float
    finished: bool
    steps: Steps

    def __repr__(self):
        return short_repr(self)


@names_changes
def generate(  # noqa: PLR0913  one argument per setting
    explorer: Explorer,
    text: str | Sequence[int],
    *,
    beam_size: int = 1,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    seed: int = 0,
    max_new: int | None = None,
    length_penalty: float = LENGTH_PENALTY,
    keep: str | None = "all",
    **changes: Unpack[ChangeArguments],
) -> Generation:
    """Generate text with a decoder: greedily, by beam search, or by sampling.

    Every token is chosen under the same changes. Edges and patched positions apply as soon as the text has
    them; a change that has the size of the written text, such as a mask with a row for each token, is
    refused.

    Args:
        explorer: `Explorer` of an encoder-decoder or a decoder.
        text: Input of an encoder-decoder, or prompt of a decoder.
        beam_size: Beam width; 1: greedy decoding.
        temperature: Above 0, each token is sampled from softmax(logits / temperature); 0: no sampling.
        top_k: Only the k likeliest tokens are sampled; None: all.
        top_p: Only the likeliest tokens that together reach this probability are sampled; 1: all. See
            `explorer.sampling.distribution`.
        seed: Random seed of the sampling.
        max_new: Most tokens to generate; None: limited by the model's positions.
        length_penalty: Exponent that favours long texts.
        keep: As in `Explorer.trace`, for the traces of the steps; None: no traces.
        **changes: As for `Explorer.trace`.

    Returns:
        The best `Generation`.

    Raises:
        NoTokensError: If the text has no tokens.
        ValueError: If the model has no decoder, an argument is out of range, beams are to be sampled, or a
            change does not fit a text that grows.
    """
    config = explorer.config
    if not config.has_decoder:
        raise Problem("model.classifies", model=explorer.name)
    if beam_size < 1 or (max_new is not None and max_new < 1):
        raise Problem("writing.sizes", beam_size=beam_size, max_new=max_new)
    check_sampling(temperature, top_k, top_p)
    if not temperature and (top_k is not None or top_p < 1):
        given = [f"top_k = {top_k}"] * (top_k is not None) + [f"top_p = {top_p}"] * (top_p < 1)
        raise Problem("writing.unsampled", received=given)
    if temperature and beam_size > 1:
        raise Problem("writing.sampled_beams", beam_size=beam_size, temperature=temperature)
    writing = Writing(explorer, explorer.request(text, **changes))
    most = min(writing.most, max_new or writing.most)
    if temperature:
        ids, log_prob = _sample(
            writing,
            most,
            np.random.default_rng(seed),
            lambda log_probs: distribution(log_probs, temperature=temperature, top_k=top_k, top_p=top_p),
        )
    else:
        tree = BeamTree(beam_size, most)
        while not tree.is_over:
            tree = _extended(writing, tree)
        best = tree.best(length_penalty)
        ids, log_prob = tree.ids(best), tree.log_prob(best)
    finished = bool(ids) and ids[-1] == explorer.config.end_id
    written = ids[:-1] if finished else ids
    requests = [writing.request(written[:length]) for length in range(len(ids))] if keep else []
    return Generation(
        explorer.output_tokenizer.decode(written),
        np.array(written, np.int32),
        penalised(log_prob, len(ids), length_penalty),
        finished,
        Steps(explorer, requests, keep or "all"),
    )


def continue_generation(
    explorer: Explorer,
    request: Request,
    written: tuple[int, ...],
    *,
    most: int,
    seconds: float,
    draft: Sequence[int] = (),
) -> tuple[tuple[int, ...], bool]:
    """Continue a greedy generation of an encoder-decoder for a limited time.

    Repeated calls until it has finished give the same tokens as `generate`.

    Args:
        explorer: `Explorer` of an encoder-decoder.
        request: Source of the text and the changes; its target is ignored.
        written: Token ids so far, without [START].
        most: Most tokens to generate.
        seconds: Time limit, checked after each token; at least one token is generated.
        draft: Token ids that the model wrote under other changes. As far as it writes them again, one
            forward pass takes the place of one for each token; see `Writing.verified`. Used if nothing is
            written yet.

    Returns:
        The token ids so far, without [START] and [END]; and whether generation has finished, with [END] or
        at the maximum length.

    Raises:
        NoTokensError: If the text has no tokens.
        ValueError: As `generate`.
    """
    writing = Writing(explorer, request)
    most = min(most, writing.most)
    end = time.monotonic() + seconds
    if draft and not written:
        written = writing.verified(draft)[:most]
        if written[-1:] == (writing.end_id,):
            return written[:-1], True
    while len(written) < most:
        token = int(writing.log_probs([written]).argmax())
        if token == writing.end_id:
            return tuple(written), True
        written = (*written, token)
        if time.monotonic() > end:
            break
    return tuple(written), len(written) >= most


def generate_all(
    explorer: Explorer,
    texts: Iterable[str],
    *,
    max_new: int | None = None,
    batch_size: int = 64,
    keep_going: Callable[[], None] = lambda: None,
) -> list[str]:
    """Generate a text for each of many texts greedily, with an encoder-decoder.

    Args:
        explorer: `Explorer` of an encoder-decoder.
        texts: Input texts; one without tokens gives "".
        max_new: Most tokens to generate for each; None: limited by the model's positions.
        batch_size: Texts per batch, of similar length.
        keep_going: Called before each token of a batch; may raise to stop.

    Returns:
        The generated texts, in the order of the input.
    """
    config = explorer.config
    source = explorer.encode(texts)
    most, first = config.target_max_len, len(config.target_start)
    most = min(max_new or most, most - first + 1)
    written = [""] * len(source)
    readable = np.array([row for row, ids in enumerate(source) if len(ids)], int)
    for rows in by_length(source, batch_size, readable):
        continued = CachedDecoding(explorer, pad([source[row] for row in rows], config.pad_id))
        ids = np.tile(np.array(config.target_start, np.int32), (len(rows), 1))
        while ids.shape[1] < first + most and not (ids[:, first:] == config.end_id).any(axis=-1).all():
            keep_going()
            log_probs = continued.log_probs(ids, range(len(rows)))
            ids = np.hstack([ids, log_probs.argmax(axis=-1).astype(np.int32)[:, None]])
        for row, line in zip(rows, ids[:, first:], strict=True):
            end = np.flatnonzero(line == config.end_id)
            written[row] = explorer.output_tokenizer.decode(line[: end[0]] if len(end) else line)
    return written


def search(
    explorer: Explorer, request: BeamRequest, tree: BeamTree | None = None, *, seconds: float = math.inf
) -> BeamTree:
    """Continue a beam search for a limited time.

    Repeated calls until it is over give the tree of which `generate` returns the best text.

    Args:
        explorer: `Explorer` of an encoder-decoder or a decoder.
        request: The text, and what is written already.
        tree: The result of the last call; None: the first call.
        seconds: Time limit, checked after each step; at least one step is made.

    Raises:
        NoTokensError: If the text has no tokens.
        ValueError: If the beam width or the number of tokens is below 1.
    """
    if request.size < 1 or request.most < 1:
        raise Problem("writing.sizes", beam_size=request.size, max_new=request.most)
    writing = Writing(explorer, Request(explorer.name, request.text))
    most = min(request.most, max(writing.most - len(request.written), 0))
    tree, end = tree or BeamTree(request.size, most), time.monotonic() + seconds
    while not tree.is_over:
        tree = _extended(writing, tree, request.written)
        if time.monotonic() > end:
            break
    return tree


def _sample(writing, most, random, drawn_from):
    """Return the ids that are sampled, with [END] if it was reached, and their log probability.

    The largest of the log probabilities, each with Gumbel noise, is a sample of their distribution.
    """
    ids, log_prob = (), 0.0
    while len(ids) < most and writing.end_id not in ids:
        [log_probs] = writing.log_probs([ids])
        with np.errstate(divide="ignore"):
            drawn = np.log(drawn_from(log_probs))
        token = int((drawn + random.gumbel(size=drawn.shape)).argmax())
        ids, log_prob = (*ids, token), log_prob + float(log_probs[token])
    return ids, log_prob


def _extended(writing, tree, written=()):
    """Return a tree after one more step of the search, behind what is written already."""
    log_probs = writing.log_probs([(*written, *tree.ids(node)) for node in tree.alive])
    candidates = []
    for parent, row in zip(tree.alive, log_probs, strict=True):
        likeliest, before = np.argsort(-row, kind="stable")[: tree.size + 1], tree.log_prob(parent)
        candidates += [BeamNode(parent, int(i), before + float(row[i]), DROPPED) for i in likeliest]
    candidates.sort(key=lambda node: -node.log_prob)
    ended = [number for number, node in enumerate(candidates[: tree.size]) if node.token == writing.end_id]
    alive = [number for number, node in enumerate(candidates) if node.token != writing.end_id][: tree.size]
    for fate, numbers in ((FINISHED, ended), (KEPT, alive)):
        for number in numbers:
            candidates[number] = candidates[number]._replace(fate=fate)
    first = len(tree.nodes)
    return dataclasses.replace(
        tree,
        nodes=(*tree.nodes, *candidates),
        alive=tuple(first + number for number in alive),
        done=(*tree.done, *(first + number for number in ended)),
        steps=tree.steps + 1,
    )
