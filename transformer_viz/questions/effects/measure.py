"""Effects on an answer: of cells and heads, estimated by one backward pass; of words, measured."""

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, Unpack

import keras
import numpy as np
import pandas as pd
import tensorflow as tf

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.explorer.forward import CompiledFunction, Prepared, stand_in
from transformer_viz.language import Problem
from transformer_viz.questions.effects.answer import LIKELIEST, Answer, Asked, resolve
from transformer_viz.questions.effects.changed import ABLATION, batch_size
from transformer_viz.questions.effects.result import WORD_COLUMNS, Effects
from transformer_viz.questions.effects.words import Word, words_of
from transformer_viz.text.special import UNKNOWN, is_special
from transformer_viz.trace.interventions import ATTENTION_KINDS, attention_kinds
from transformer_viz.trace.request import UNCHANGED, ChangeArguments, names_changes
from transformer_viz.trace.softmax import label_logits

ops: Any = keras.ops  # its functions have no annotations, and the types inferred for them are wrong

SIDES = {"text": "token_ids", "target": "target_ids"}
"""Side of a word -> name of its input."""


@names_changes
def effects(
    explorer: Explorer,
    text: str | Sequence[int],
    *,
    answer: str | int | None = None,
    versus: str | int | None = None,
    position: int | None = None,
    target: str | Sequence[int] | None = None,
    **changes: Unpack[ChangeArguments],
) -> Effects:
    """Return what each attention weight, each head and each word does to an answer.

    The value of the answer, f, is its log-odds against all others, after the model's temperature; with
    `versus` the difference of two logits. The effect of a cell is weight × ∂f/∂weight: an estimate, from one
    backward pass, of what f loses if this weight alone becomes 0 after the softmax (the change `mute`). The
    effect of a head is the sum of its cells. A word is measured: what f loses if a token that says nothing
    stands in its place. Positive: it speaks for the answer.

    Args:
        explorer: `Explorer`.
        text: Text or token ids.
        answer: A class or a token, by name or number; None: the prediction, or the token that stands at
            `position`.
        versus: Another one: A rather than B; None: against all others.
        position: Of the token that answers, of an encoder-decoder in the target: the number of tokens, or -1,
            is the next one. None: the class; the next token of a decoder; every [MASK], or every token if
            there is none; every token of the target. Several are averaged.
        target: Target of an encoder-decoder; None: the model writes it.
        **changes: As for `Explorer.trace`.

    Returns:
        `Effects`, in units of f (natural logarithm).

    Raises:
        ValueError: If there is no such answer or position; also as for `Explorer.trace`.

    >>> import transformer_viz as tv
    >>> found = effects(tv.load("imdb-sentiment"), "a boring film")
    >>> found.labels, found.words["word"].tolist()
    (('negative',), ['a', 'boring', 'film'])
    """
    explorer.check_answers()
    asked = numbered(explorer, answer, versus, position)
    prepared = explorer.prepare(explorer.with_target(explorer.request(text, target=target, **changes)))
    found = estimate(explorer, prepared, asked)
    words = words_of(prepared.source, prepared.target)
    without = itertools.chain.from_iterable(left_out(explorer, prepared, found.answer, words))
    return found.measured(words, dict(without))


def numbered(
    explorer: Explorer, answer: str | int | None, versus: str | int | None, position: int | None
) -> Asked:
    """Return the question with ids in place of names.

    Raises:
        ValueError: If the model has no such class or token.
    """
    return Asked(_number(explorer, answer), _number(explorer, versus), position)


def estimate(explorer: Explorer, prepared: Prepared, asked: Asked) -> Effects:
    """Return the effects of cells and heads, estimated by one backward pass, without those of words.

    Args:
        explorer: `Explorer`.
        prepared: As `Explorer.prepare` returns it.
        asked: What is asked about.

    Raises:
        ValueError: If the position does not exist.
    """
    config, labels, source, target = explorer.config, explorer.labels, prepared.source, prepared.target
    answer, intervenes = resolve(config, asked, source, target), bool(prepared.interventions)
    differentiate = explorer.compiled(
        ("effects", intervenes), lambda: _compiled_effects(explorer, intervenes)
    )
    given = (prepared.interventions,) if intervenes else ()
    number = LIKELIEST if answer.versus is None else answer.versus
    where = np.array([answer.rows]), np.array(answer.labels)
    logits, cells = differentiate(prepared.inputs, *given, *where, number)
    logits = label_logits(config, logits.numpy())
    answer, token = answer.known(logits), _stand_in(explorer)
    written = (source if target is None else target).tokens
    tokens = {"encoder": (source.tokens, source.tokens), "decoder": (written, written)}
    tokens["cross"] = written, source.tokens
    return Effects(
        answer,
        tuple(labels[label] for label in answer.labels),
        "" if answer.versus is None else labels[answer.versus],
        answer.certainty(logits, config.temperature),
        {kind: found.numpy() for kind, found in cells.items()},
        "" if token is None else explorer.tokenizer.token(token),
        {kind: tokens[kind] for kind in cells},
        pd.DataFrame(columns=pd.Index(WORD_COLUMNS)),
    )


def left_out(
    explorer: Explorer,
    prepared: Prepared,
    answer: Answer,
    words: Sequence[Word],
    *,
    seconds: float = math.inf,
) -> Iterator[list[tuple[Word, float]]]:
    """Yield (word, f without it), a batch of words at a time, computed lazily.

    In place of each token of a word stands the model's stand-in; masks and positions stay. Where the
    vocabulary has none, the word is deleted and what follows moves up. That takes changes that fit any
    length, and a text with other words; else f is NaN.

    Args:
        explorer: `Explorer`.
        prepared: As `Explorer.prepare` returns it.
        answer: The answer, its labels known.
        words: The words.
        seconds: Time limit, checked after each batch; the words left over are left out.
    """
    config, end, intervenes = explorer.config, time.monotonic() + seconds, bool(prepared.interventions)
    compute = explorer.compiled(("left out", intervenes), lambda: _compiled_logits(explorer, intervenes))
    given = (prepared.interventions,) if intervenes else ()
    for batch in _batches(explorer, prepared, words):
        if not _can_be_left_out(explorer, prepared, batch[0]):
            yield [(word, math.nan) for word in batch]
            continue
        ids, rows = _without(explorer, prepared, answer, batch)
        found = label_logits(config, compute(prepared.inputs | ids, *given, rows).numpy())
        values = [answer.certainty(logits, config.temperature).log_odds for logits in found]
        yield [*zip(batch, values, strict=True)]
        if time.monotonic() > end:
            return


def _stand_in(explorer, side="text"):
    """Return the id of the token that stands for a word of the text or the target; None: it is deleted."""
    return stand_in(explorer.config, explorer.tokenizer if side == "text" else explorer.output_tokenizer)


def _number(explorer, given):
    """Return the number of a label; None stays."""
    labels = explorer.labels
    if given is None:
        return None
    if not isinstance(given, str):
        if not 0 <= given < len(labels):
            raise Problem("effects.number", most=len(labels) - 1, received=given)
        return int(given)
    if given in labels:
        return labels.index(given)
    if not explorer.config.predicts_tokens:
        raise Problem("effects.label", label=given, labels=[*labels])
    tokens = [each for each in _tokenized(explorer, given) if not is_special(each[0]) or each[0] in UNKNOWN]
    if len(tokens) != 1 or tokens[0][0] in UNKNOWN:
        shown = " ".join(token for token, _ in tokens)
        raise Problem("effects.token", token=given, count=len(tokens), tokens=shown)
    return tokens[0][1]


def _tokenized(explorer, text):
    """Return (token, id) of each token of a text among those that are predicted."""
    found = explorer.output_tokenizer.encode(text)
    return zip(found.tokens, map(int, found.ids), strict=True)


def _batches(explorer, prepared, words) -> Iterator[list[Word]]:
    """Yield words that are left out together: all of one side, and where they are deleted of one length."""
    size = batch_size(explorer.config, prepared)

    def kind(word):
        return word.side, 0 if _stand_in(explorer, word.side) is not None else len(word.tokens)

    for _, group in itertools.groupby(sorted(words, key=kind), kind):
        together = [*group]
        yield from (together[first : first + size] for first in range(0, len(together), size))


def _without(explorer, prepared, answer, batch):
    """Return (input name -> ids, rows that answer), each with a row for each word of a batch left out."""
    side, token = batch[0].side, _stand_in(explorer, batch[0].side)
    ids, rows = np.asarray(prepared.inputs[SIDES[side]]), np.tile(answer.rows, (len(batch), 1))
    if token is not None:
        ids = np.repeat(ids, len(batch), axis=0)
        for number, word in enumerate(batch):
            ids[number, list(word.tokens)] = token
        return _beside(prepared, side, ids), rows
    if (side == "target") == (prepared.target is not None):  # the answer is given there
        rows = rows - np.stack([np.searchsorted(word.tokens, answer.rows, side="right") for word in batch])
    shorter = [np.delete(ids[0], list(word.tokens)) for word in batch]
    return _beside(prepared, side, np.stack(shorter)), np.maximum(rows, 0)


def _beside(prepared, side, ids):
    """Return name -> ids of a batch, in which the other text of an encoder-decoder is the same."""
    others = {name: prepared.inputs[name] for name in SIDES.values() if name in prepared.inputs}
    return {name: np.repeat(found, len(ids), axis=0) for name, found in others.items()} | {SIDES[side]: ids}


def _can_be_left_out(explorer, prepared, word):
    """Return whether a word has a stand-in, or can be deleted: nothing else has the size of the text."""
    if _stand_in(explorer, word.side) is not None:
        return True
    if len(word.tokens) == prepared.inputs[SIDES[word.side]].shape[1]:
        return False
    inputs, neutral = prepared.inputs, explorer.forward.interventions(prepared, UNCHANGED)
    own = all(
        np.size(given) == 1 for name, given in inputs.items() if name.endswith(("mask", "position_ids"))
    )
    return own and all(
        np.shape(tensor) == np.shape(neutral[name])
        for name, tensor in prepared.interventions.items()
        if not name.endswith(ABLATION)
    )


def _compiled_effects(explorer, intervenes):
    """Return the compiled function (inputs, [interventions,] rows, labels, versus) -> (logits, cells)."""
    config, forward = explorer.config, explorer.forward
    signature = [forward.signature, *[forward.interventions_signature] * intervenes]
    signature += [tf.TensorSpec(shape, tf.int32) for shape in ((1, None), (None,), ())]

    def differentiate(inputs, *rest):
        *interventions, rows, labels, versus = rest
        with tf.GradientTape() as tape:
            trace = forward(inputs, *interventions)
            logits = _answering(config, trace.logits, rows)[0]
            value = _value(config, logits, labels, versus)
        weights = {
            kind: [getattr(block, field).weights for block in getattr(trace, stack)]
            for kind, (stack, field) in ATTENTION_KINDS.items()
            if kind in attention_kinds(config)
        }
        slopes: Any = tape.gradient(value, weights, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        cells = {
            kind: tf.stack([(part * slope)[0] for part, slope in zip(layers, slopes[kind], strict=True)])
            for kind, layers in weights.items()
        }
        return logits, cells

    return CompiledFunction(differentiate, signature)


def _compiled_logits(explorer, intervenes):
    """Return the compiled function (inputs of a batch, [interventions,] rows) -> logits of these rows."""
    forward = explorer.forward
    signature = [forward.signature, *[forward.interventions_signature] * intervenes]

    def compute(inputs, *rest):
        *interventions, rows = rest
        return _answering(explorer.config, forward(inputs, *interventions).logits, rows)

    return CompiledFunction(compute, [*signature, tf.TensorSpec((None, None), tf.int32)])


def _answering(config, logits, rows):
    """Return the logits of some rows of each text: (text, row, logit)."""
    return tf.gather(logits, rows, batch_dims=1) if config.predicts_tokens else logits[:, None]


def _value(config, logits, labels, versus):
    """Return f of logits (row, logit), as `Answer.certainty`."""
    logits = logits / config.temperature
    if config.output == "sigmoid":  # the sigmoid of z is the softmax of (0, z)
        logits = ops.concatenate([ops.zeros_like(logits), logits], axis=-1)
    labels = tf.where(labels == LIKELIEST, tf.argmax(logits, axis=-1, output_type=tf.int32), labels)
    own = tf.gather(logits, labels, batch_dims=1)
    if logits.shape[-1] == 1:
        return tf.reduce_mean(own)
    is_own = tf.one_hot(labels, tf.shape(logits)[-1], on_value=True, off_value=False)
    others = tf.reduce_logsumexp(tf.where(is_own, -math.inf, logits), axis=-1)
    other = tf.gather(logits, tf.maximum(versus, 0), axis=-1)
    return tf.reduce_mean(own - tf.where(versus == LIKELIEST, others, other))
