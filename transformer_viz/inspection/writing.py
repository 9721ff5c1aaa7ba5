"""What a model writes next, under all changes of a request: the one place where changes meet writing."""

import dataclasses
import weakref
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from transformer_viz.inspection.explorer import Explorer
from transformer_viz.inspection.forward import compiled
from transformer_viz.language import Problem
from transformer_viz.values.config import PAD_ID, START_ID
from transformer_viz.values.growing import sized, up_to
from transformer_viz.values.request import OWN, Request

_COMPILED = weakref.WeakKeyDictionary()


class Writing:
    """A text that a decoder writes token by token, with the same changes at each.

    The next token is the one that the forward pass over the text so far predicts, under all changes of the
    request. Edges and patched positions apply as soon as the text has them; with the reference "own" an
    ablated head has its mean over the text so far. A decoder-only model reads the prompt in the given order,
    and continues behind it.

    Args:
        explorer: `Explorer` of an encoder-decoder or a decoder.
        request: Text, for a decoder the prompt, and changes; a target is ignored.

    Attributes:
        most: Most tokens that it can write, [END] included.

    Raises:
        NoTokensError: If the text has no tokens.
        ValueError: If a change has the size of the written text (`values.growing.sized`), or refers to
            something that does not exist.
    """

    def __init__(self, explorer: Explorer, request: Request):
        config, changes = explorer.config, request.changes
        if name := sized(config, changes):
            raise Problem("writing.sized", name=name)
        self._explorer, self._request = explorer, request
        read = Request.of(explorer.name, request.text, order=changes.order)
        self._source = explorer.forward.prepare(read).source.ids
        self._prompt = (START_ID,) if config.has_encoder else tuple(map(int, self._source))
        padding = changes.target_padding if config.has_encoder else changes.padding
        longest = config.target_max_len if config.has_encoder else config.max_len
        self.most = max(longest - padding + 1 - len(self._prompt), 0)
        self._unchanged = dataclasses.replace(changes, order=None).given == ()
        self._means = None if changes.reference == OWN else explorer.means_for(request)
        explorer.forward.prepare(self.request(()))  # an error now, not after some tokens

    def request(self, written: Sequence[int]) -> Request:
        """Return the request whose forward pass predicts the token after those written so far.

        Args:
            written: Token ids, without [START].
        """
        config, changes = self._explorer.config, self._request.changes
        ids = (*self._prompt[1:], *map(int, written))
        if not config.has_encoder:
            changes = dataclasses.replace(changes, order=None)
        changes = up_to(config, changes, 1 + len(ids))
        if config.has_encoder:
            return dataclasses.replace(self._request, target=ids, changes=changes)
        return dataclasses.replace(self._request, text=ids, changes=changes)

    def log_probs(self, rows: Sequence[Sequence[int]]) -> np.ndarray:
        """Return the next token's log probabilities: float32 (row, token); -inf for [PAD] and [START].

        Args:
            rows: The token ids written so far, in as many alternatives of the same length.
        """
        if not self._unchanged:
            return np.stack([self._changed(row) for row in rows])
        written = np.array([(*self._prompt, *row) for row in rows], np.int32)
        return next_log_probs(self._explorer, np.repeat(self._source[None], len(rows), axis=0), written)

    def _changed(self, row):
        """Return the next token's log probabilities after one row, from a pass with all changes."""
        request = self.request(row)
        means = self._explorer.means_for(request) if request.changes.reference == OWN else self._means
        prepared = self._explorer.forward.prepare(request, means=means)
        logits = self._explorer.compute(prepared, keep="logits").logits[len(self._prompt) + len(row) - 1]
        return _of_possible(tf.nn.log_softmax(logits).numpy())


def next_log_probs(explorer: Explorer, source: np.ndarray, written: np.ndarray) -> np.ndarray:
    """Return the next token's log probabilities without changes: float32 (row, token).

    They are -inf for [PAD] and [START].

    Args:
        explorer: `Explorer` of an encoder-decoder or a decoder.
        source: Encoder input: int32 (row, position); ignored for a decoder-only model.
        written: int32 (row, position), beginning with [START].
    """
    if explorer not in _COMPILED:
        _COMPILED[explorer] = _compiled_step(explorer.model)
    sides = [source, written] if explorer.config.has_encoder else [written]
    return _of_possible(_COMPILED[explorer](sides).numpy())


def _compiled_step(model):
    """Return the compiled function from token ids of each stack to log probabilities."""

    def step(sides):
        logits = model(sides if len(sides) == 2 else sides[0])
        return tf.nn.log_softmax(logits[:, -1])

    ids = tf.TensorSpec((None, None), tf.int32)
    return compiled(step, [[ids] * len(model.config.stacks)])


def _of_possible(log_probs):
    """Set the log probabilities of [PAD] and [START], which are never written, to -inf, in place."""
    log_probs[..., [PAD_ID, START_ID]] = -np.inf
    return log_probs
