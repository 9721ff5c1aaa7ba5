"""The attention of many texts, several in one forward pass."""

import functools
from collections.abc import Iterable, Iterator

import numpy as np
import tensorflow as tf

from transformer_viz.data.batches import pad
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.explorer.forward import CompiledFunction, Prepared
from transformer_viz.network.masks import own_masks
from transformer_viz.network.tensors import Attentions, mapped, weights_only
from transformer_viz.text.encoding import Encoding
from transformer_viz.trace.interventions import ATTENTION_KINDS
from transformer_viz.trace.trace import by_layer

MOST_TEXTS = 32
"""Most texts of a batch."""

MOST_WEIGHTS = 8_000_000
"""Most attention weights of a batch over all layers and heads, unless it is a single text."""


def batched_attention(
    explorer: Explorer, texts: Iterable[Prepared | None]
) -> Iterator[tuple[Prepared | None, dict[str, Attentions]]]:
    """Yield each text with its attention, in order; computed lazily, a batch of texts at a time.

    Texts that follow one another should be of similar length. [PAD] gets no weight, also in a model that does
    not mask it, so that no weight depends on the other texts of the batch, except for rounding.

    Args:
        explorer: `Explorer`.
        texts: As `Explorer.prepare` returns them, without changes; None stands for a text without tokens.

    Yields:
        The text; and kind of attention -> its layers, with weights only, as `Trace.kinds`; {} for None.
    """
    batch: list[Prepared | None] = []
    for text in texts:
        if text is not None and not _fits(explorer.config, [*batch, text]):
            yield from _run(explorer, batch)
            batch = []
        batch.append(text)
    yield from _run(explorer, batch)


def _fits(config, batch):
    texts = [text for text in batch if text is not None]
    queries = keys = max(len(text.source.ids) for text in texts)
    weights = config.num_layers * keys**2
    if texts[0].target is not None:
        queries = max(len(text.target.ids) for text in texts)
        weights += config.num_decoder_layers * queries * (queries + keys)
    most = len(texts) * config.num_heads * weights
    return len(texts) == 1 or (len(texts) <= MOST_TEXTS and most <= MOST_WEIGHTS)


def _run(explorer, batch):
    texts = [text for text in batch if text is not None]
    if not texts:
        yield from ((None, {}) for _ in batch)
        return
    pad_id = explorer.config.pad_id
    sides: list[list[Encoding]] = [[text.source for text in texts]]
    if texts[0].target is not None:
        sides.append([text.target for text in texts])
    attend = explorer.compiled("batched attention", lambda: _compiled(explorer.model))
    values = mapped(np.asarray, attend(*(pad([each.ids for each in side], pad_id) for side in sides)))
    found = iter(range(len(texts)))
    for text in batch:
        yield text, {} if text is None else _attention_of(text, next(found), values)


def _compiled(model):
    """Return the compiled function from token ids of each stack to a trace of weights and masks."""
    config = model.config.replace(mask_padding=True)

    def run(*texts):
        sides = [side for ids in texts for side in (ids, tf.range(tf.shape(ids)[1]))]
        return weights_only(model.trace(*texts, **own_masks(config, *sides)))._replace(logits=None)

    return CompiledFunction(run, [tf.TensorSpec((None, None), tf.int32)] * len(config.stacks))


def _attention_of(text, row, values):
    """Return the attention of one text of a batch, without [PAD]."""
    source, target = text.source, text.target
    written = target or source
    names = {
        "encoder": ("attention_mask", source, source),
        "decoder": ("target_attention_mask" if target else "attention_mask", written, written),
        "cross": ("cross_attention_mask", written, source),
    }
    found = {}
    for kind, (mask, queries, keys) in names.items():
        stack, field = ATTENTION_KINDS[kind]
        blocks = [block for block in getattr(values, stack) if getattr(block, field) is not None]
        if not blocks:
            continue
        cut = functools.partial(_cut, row=row, shape=(len(queries.ids), len(keys.ids)))
        layers = [mapped(cut, getattr(block, field)) for block in blocks]
        own = [None if kind == "cross" else mapped(cut, block.self_attention_mask) for block in blocks]
        masks = by_layer(cut(getattr(values, mask)), own)
        found[kind] = Attentions(layers, masks, queries.tokens, keys.tokens)
    return found


def _cut(array, row, shape):
    """Return one text of a batch, without [PAD]."""
    return array[row][:, : shape[0], : shape[1]]
