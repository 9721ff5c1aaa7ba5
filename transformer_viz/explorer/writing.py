"""What a model writes next, under all changes of a request: the one place where changes meet writing."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.explorer.forward import CompiledFunction
from transformer_viz.explorer.growing import looks_back, sized, up_to
from transformer_viz.explorer.sampling import possible
from transformer_viz.language import Problem
from transformer_viz.network.config import never_written
from transformer_viz.network.masks import readable
from transformer_viz.network.tensors import KVCache
from transformer_viz.trace.request import OWN, Request


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
        end_id: Id of [END].

    Raises:
        NoTokensError: If the text has no tokens.
        ValueError: If a change has the size of the written text (`explorer.growing.sized`), or refers to
            something that does not exist.
    """

    def __init__(self, explorer: Explorer, request: Request):
        config, changes = explorer.config, request.changes
        if name := sized(config, changes):
            raise Problem("writing.sized", name=name)
        self._explorer, self._request = explorer, request
        read = Request.of(explorer.name, request.text, order=changes.order, leave_out=changes.leave_out)
        self._source = explorer.forward.prepare(read).source.ids
        self.end_id = config.end_id
        self._prompt = config.target_start or tuple(map(int, self._source))
        padding = changes.target_padding if config.has_encoder else changes.padding
        longest = config.target_max_len if config.has_encoder else config.max_len
        self.most = max(longest - padding + 1 - len(self._prompt), 0)
        unchanged = (
            dataclasses.replace(changes, order=None, leave_out=()).changed_fields == ()
            and config.pad_id not in self._prompt
        )
        self._continued = CachedDecoding(explorer, self._source[None]) if unchanged else None
        self._means = None if changes.reference == OWN else explorer.means_for(request)
        explorer.forward.prepare(self.request(()))  # an error now, not after some tokens

    def request(self, written: Sequence[int]) -> Request:
        """Return the request whose forward pass predicts the token after those written so far.

        Args:
            written: Token ids, without [START].
        """
        config, changes = self._explorer.config, self._request.changes
        written = tuple(map(int, written))
        if not config.has_encoder:
            changes = dataclasses.replace(changes, order=None, leave_out=())  # `_prompt` has both
        changes = up_to(config, changes, len(self._prompt) + len(written))
        if config.has_encoder:
            return dataclasses.replace(self._request, target=written, changes=changes)
        return dataclasses.replace(self._request, text=(*self._prompt[1:], *written), changes=changes)

    def log_probs(self, rows: Sequence[Sequence[int]]) -> np.ndarray:
        """Return the next token's log probabilities: float32 (row, token); -inf for [PAD] and [START].

        Args:
            rows: The token ids written so far, in as many alternatives of the same length.
        """
        if self._continued is None:
            return np.stack([self._changed(row) for row in rows])
        written = np.array([(*self._prompt, *row) for row in rows], np.int32)
        return self._continued.log_probs(written, [0] * len(rows))

    def verified(self, draft: Sequence[int]) -> tuple[int, ...]:
        """Return the first tokens of the greedy text, as far as one forward pass over a draft finds them.

        The pass accepts the draft up to the first token that is not the likeliest, and predicts the next one
        itself: speculative decoding (Leviathan et al., 2023, section 2), here greedy.

        Args:
            draft: Token ids, without [START] and [END]: what the model wrote under other changes.

        Returns:
            Token ids, at least one, of which only the last may be [END]. None where a draft does not help:
            without changes, as keys and values are kept, or if a token may attend to later ones
            (`explorer.growing.looks_back`).
        """
        config = self._explorer.config
        if self._continued is not None or not self.most or not looks_back(config, self._request.changes):
            return ()
        draft = tuple(draft)[: self.most - 1]
        logits = self._logits(draft)[len(self._prompt) - 1 :]
        likeliest = possible(logits, never_written(config)).argmax(axis=-1).tolist()
        rejected = (i for i, token in enumerate(draft) if token != likeliest[i])
        return tuple(likeliest[: next(rejected, len(draft)) + 1])

    def _changed(self, row):
        """Return the next token's log probabilities after one row, from a pass with all changes."""
        logits = self._logits(row)[len(self._prompt) + len(row) - 1]
        return possible(tf.nn.log_softmax(logits).numpy(), never_written(self._explorer.config))

    def _logits(self, row):
        """Return the logits of a pass with all changes over the tokens written: float32 (position, token)."""
        request = self.request(row)
        means = self._explorer.means_for(request) if request.changes.reference == OWN else self._means
        prepared = self._explorer.forward.prepare(request, means=means)
        return self._explorer.compute(prepared, keep="logits").logits


class CachedDecoding:
    """Next tokens of texts that grow, without changes.

    The keys and values of tokens that are written already are kept, so that a token costs as much behind many
    tokens as behind few.

    Args:
        explorer: `Explorer` of an encoder-decoder or a decoder.
        sources: Encoder inputs: int32 (source, position); ignored for a decoder-only model.
    """

    def __init__(self, explorer: Explorer, sources: np.ndarray):
        config, model = explorer.config, explorer.model
        self._never = never_written(config)
        self._extend = explorer.compiled("extend", lambda: _extending(model))
        self._read = ()
        if config.has_encoder:
            self._read = explorer.compiled("read", lambda: _reading(model))(sources)
        layers, sizes = config.stacks["decoder"], (config.head_dim, config.value_dim)
        self._nothing = KVCache(*(tf.zeros((layers, 1, config.num_heads, 0, size)) for size in sizes))
        self._rows: dict[tuple[int, ...], int] = {}
        self._past = self._nothing

    def log_probs(self, written: np.ndarray, of: Sequence[int]) -> np.ndarray:
        """Return the next token's log probabilities: float32 (row, token); -inf for [PAD] and [START].

        Args:
            written: int32 (row, position), beginning with [START].
            of: Source of each row.
        """
        names = [(source, *row) for source, row in zip(of, written.tolist(), strict=True)]
        parents = [self._rows.get(name[:-1]) for name in names]
        known = None not in parents
        new, past = (written[:, -1:], self._past) if known else (written, self._nothing)
        parents = np.array(parents if known else [0] * len(names), np.int32)
        memory = [tf.gather(each, np.array(of, np.int32)) for each in self._read]
        log_probs, self._past = self._extend(new, parents, past, memory)
        self._rows = {name: row for row, name in enumerate(names)}
        return possible(log_probs.numpy(), self._never)


def _reading(model):
    """Return the compiled function from encoder inputs to what the decoder attends to."""
    return CompiledFunction(
        lambda sources: (model.memory(sources), readable(model.config, sources)),
        [tf.TensorSpec((None, None), tf.int32)],
    )


def _extending(model):
    """Return the compiled function (new token ids, rows they continue, past, memory) -> (log probs, past)."""
    config = model.config
    layers, heads, sizes = config.stacks["decoder"], config.num_heads, (config.head_dim, config.value_dim)
    past = KVCache(*(tf.TensorSpec((layers, None, heads, None, size)) for size in sizes))
    ids, rows = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32)
    memory = [tf.TensorSpec((None, None, config.d_model)), tf.TensorSpec((None, 1, 1, None), tf.bool)]

    def extend(token_ids, parents, past, memory):
        taken = KVCache(*(tf.gather(each, parents, axis=1) for each in past))
        logits, past = model.extend(token_ids, taken, *memory)
        return tf.nn.log_softmax(logits), past

    return CompiledFunction(extend, [ids, rows, past, memory if config.has_encoder else []])
