"""Which words the heads of a first layer without position encodings give most weight to, in every text."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.explorer.forward import CompiledFunction
from transformer_viz.network.attention import attend
from transformer_viz.network.config import MASK_ID
from transformer_viz.questions.preferences.result import Preferences
from transformer_viz.text.shown import shown_piece
from transformer_viz.text.special import is_spaced
from transformer_viz.text.unicode import visible

FREQUENT = 2_000
"""Words compared: the first of the vocabulary, which are the most frequent."""

AT_ONCE = 200
"""Words that attend at a time, so that the weights of all on all need not be in memory together."""


def word_preferences(explorer: Explorer, query: str | None = None) -> tuple[Preferences, ...]:
    """Return which words each head of the first layer prefers, in any text.

    Args:
        explorer: `Explorer`.
        query: Token that attends; None: all compared words, on average.

    Returns:
        Empty if the scores of two words depend on the text, or the query is not in the vocabulary.
    """
    vocabulary = explorer.tokenizer.vocabulary
    marks = {f"[{name}]" for name in ("PAD", "UNK", "START", "END", "MASK")}
    first = {number for number, word in enumerate(vocabulary[: MASK_ID + 1]) if word in marks}
    keys = [number for number in range(min(len(vocabulary), FREQUENT + len(first))) if number not in first]
    queries = keys if query is None else [vocabulary.index(query)] if query in vocabulary else []
    if not explorer.config.has_fixed_scores or not keys or not queries:
        return ()
    weights = vocabulary_weights(explorer, keys, queries)
    spaced = is_spaced(vocabulary)
    names = np.array([visible(shown_piece(vocabulary[number], spaced)) for number in keys], dtype=object)
    orders = np.argsort(-weights, axis=-1, kind="stable")
    return tuple(
        Preferences(tuple(names[order]), tuple(ratios[order].tolist()), len(queries))
        for order, ratios in zip(orders, weights, strict=True)
    )


def vocabulary_weights(explorer: Explorer, keys: Sequence[int], queries: Sequence[int]) -> np.ndarray:
    """Return how much weight tokens get in the first layer, compared with an average one of them.

    Each query attends to all keys once. A token that gets 3 then gets three times an even share, and two
    tokens of a text get weights in the proportion of these numbers, whatever else stands there.

    Args:
        explorer: `Explorer` of a model whose scores are fixed.
        keys: Token ids to compare.
        queries: Token ids that attend.

    Returns:
        float32 (head, key), with mean 1 over the keys: the mean over the queries.
    """
    attend_to = explorer.compiled("words", lambda: _compiled(explorer.model))
    asking, asked = (np.reshape(each, (-1, 1)) for each in (queries, keys))
    parts = [asking[start : start + AT_ONCE] for start in range(0, len(asking), AT_ONCE)]
    return np.sum([attend_to(part, asked).numpy() for part in parts], axis=0) * len(asked) / len(asking)


def _compiled(model):
    """Return the compiled function (queries, keys) -> weight of each key, summed over the queries.

    Both are texts of one token each. Of the pass over them, only the queries and keys of the first layer are
    computed.
    """
    config = model.config

    def side_of(token_ids, side):
        texts = token_ids, tf.zeros_like(token_ids)  # the target is not read
        trace = model.trace(*texts[: len(config.stacks)])
        first = (trace.encoder or trace.decoder)[0].self_attention
        return tf.transpose(getattr(first, side), (2, 1, 0, 3))  # the tokens become those of one text

    def weights(query_ids, key_ids):
        query, key = side_of(query_ids, "query"), side_of(key_ids, "key")
        _, found, _ = attend(query, key, key, None, cap=config.score_cap)
        return tf.reduce_sum(found[0], axis=1)

    return CompiledFunction(weights, [tf.TensorSpec((None, None), tf.int32)] * 2)
