"""The answer whose effects are asked for, and its value f.

f is the log-odds of the answer against all others, log(p / (1 - p)), after the model's temperature; of A
rather than B the difference of their logits, log(p_A / p_B); of a model with a single score that score.
Tokens that answer together are averaged.
"""

from typing import NamedTuple, Self

import numpy as np

from transformer_viz.language import Problem
from transformer_viz.network.config import TransformerConfig
from transformer_viz.text.encoding import Encoding
from transformer_viz.text.special import masked
from transformer_viz.trace.softmax import label_logits, sigmoid

LIKELIEST = -1
"""In place of a label: the likeliest one."""


class Asked(NamedTuple):
    """A question: which answer, rather than which other one, at which position.

    Attributes:
        answer: Number of a class or a token; None: the token that stands there, or where none does yet, and
            of a class, the likeliest.
        versus: Number of another one: A rather than B; None: against all others.
        position: Of the token that answers, among the tokens of the text, of an encoder-decoder among those
            of the target; the number of tokens is the position of the next one. Negative: from the end, -1
            being the next token, or of a masked language model the last one. None: the class; the next token
            of a decoder; every [MASK] of a masked language model, or every token if there is none; every
            token of the target.
    """

    answer: int | None = None
    versus: int | None = None
    position: int | None = None


class Certainty(NamedTuple):
    """How certain a model is of an answer, or how much of that an ablation takes away.

    Attributes:
        probability: Probability p of the answer, averaged over its tokens; as a drop, in [-1, 1].
        log_odds: log(p / (1 - p)), natural logarithm, averaged over its tokens; of an `Answer`, its f.
    """

    probability: float
    log_odds: float

    def minus(self, other: "Certainty") -> "Certainty":
        """Return this certainty minus another."""
        return Certainty(self.probability - other.probability, self.log_odds - other.log_odds)


class Answer(NamedTuple):
    """The answer in one text, as rows and columns of the model's logits.

    Attributes:
        rows: Rows of the logits that answer; of a class, which has one row, (0,).
        labels: Column of each row; `LIKELIEST`: the largest logit decides.
        versus: Column compared with; None: all others.
    """

    rows: tuple[int, ...]
    labels: tuple[int, ...]
    versus: int | None = None

    def logits(self, config: TransformerConfig, logits: np.ndarray) -> np.ndarray:
        """Return the logits that answer: float (row, label), of those of a trace."""
        return np.atleast_2d(label_logits(config, logits))[list(self.rows)]

    def known(self, logits: np.ndarray) -> Self:
        """Return the answer with the likeliest labels in place of `LIKELIEST`.

        Args:
            logits: float (row, label), those of `rows`.
        """
        pairs = zip(self.labels, logits.argmax(axis=-1).tolist(), strict=True)
        return self._replace(labels=tuple(best if label == LIKELIEST else label for label, best in pairs))

    def certainty(self, logits: np.ndarray, temperature: float) -> Certainty:
        """Return the probability of the answer and f, both averaged over its rows.

        The log-odds of label k are its logit minus log-sum-exp of all others: 1 - p is never computed, which
        a probability close to 1 would round to 0.

        Args:
            logits: float (row, label), those of `rows`; the labels are known.
            temperature: Of the model.
        """
        logits, labels = logits.astype(np.float64) / temperature, np.array(self.labels)[:, None]
        own = np.take_along_axis(logits, labels, axis=-1)
        if logits.shape[-1] == 1:
            return Certainty(1.0, float(own.mean()))
        others = logits.copy()
        np.put_along_axis(others, labels, -np.inf, axis=-1)
        largest = others.max(axis=-1, keepdims=True)
        log_odds = own - largest - np.log(np.exp(others - largest).sum(axis=-1, keepdims=True))
        value = log_odds if self.versus is None else own - logits[:, [self.versus]]
        return Certainty(float(sigmoid(log_odds).mean()), float(value.mean()))


def resolve(config: TransformerConfig, asked: Asked, source: Encoding, target: Encoding | None) -> Answer:
    """Return which logits of a tokenized text answer.

    Args:
        config: Config of the model.
        asked: What is asked about.
        source: The text.
        target: The target of an encoder-decoder; None for other models.

    Raises:
        ValueError: If the position does not exist; says which do.
    """
    answer = LIKELIEST if asked.answer is None else asked.answer
    if not config.predicts_tokens:
        if asked.position is not None:
            raise Problem("effects.no_position")
        return Answer((0,), (answer,), asked.versus)
    written = source if target is None else target
    real = np.flatnonzero(written.is_real)
    if config.fills_in:
        rows = _filled_in(asked.position, written, real)
        return Answer(rows, (answer,) * len(rows), asked.versus)
    rows = _written(asked.position, real, is_target=target is not None)
    labels = [answer] * len(rows)
    if asked.answer is None:
        labels = [int(written.ids[row + 1]) if row < real[-1] else LIKELIEST for row in rows]
    return Answer(rows, tuple(labels), asked.versus)


def of_each_token(config: TransformerConfig, source: Encoding, target: Encoding | None) -> Answer:
    """Return the likeliest label of each row: the class, at each [MASK], or after each token but [PAD]."""
    if not config.predicts_tokens:
        return Answer((0,), (LIKELIEST,))
    gaps = masked(source.tokens) if config.fills_in else ()
    rows = gaps if len(gaps) else np.flatnonzero((source if target is None else target).is_real)
    return Answer(tuple(map(int, rows)), (LIKELIEST,) * len(rows))


def _filled_in(position, written, real) -> tuple[int, ...]:
    if position is not None:
        return (_within(position, 0, int(real[-1])),)
    gaps = masked(written.tokens)
    return tuple(map(int, gaps if len(gaps) else real))


def _written(position, real, *, is_target) -> tuple[int, ...]:
    """Return the rows whose next tokens answer."""
    last = int(real[-1])
    if position is not None:
        return (_within(position, 1, last + 1) - 1,)
    return tuple(range(last)) if is_target and last else (last,)


def _within(position, first, last):
    """Return a position from `first` to `last`, which is counted from the end if it is negative."""
    found = position + last + 1 if position < 0 else position
    if not first <= found <= last:
        raise Problem("effects.position", first=first, last=last, received=position)
    return found
