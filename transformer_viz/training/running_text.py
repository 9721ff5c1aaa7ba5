"""Running text as a lesson: all of every text, packed into rows, for a decoder that learns the next token."""

import math

import numpy as np
import tensorflow as tf

from transformer_viz.config import START_ID
from transformer_viz.datasets import read_for_decoder, split_texts
from transformer_viz.evaluation import induction_scores, previous_token_scores
from transformer_viz.ngrams import KneserNey
from transformer_viz.packing import WHOLE, Stream
from transformer_viz.perplexity import evaluate_texts, likeliness
from transformer_viz.text import Tokenizer
from transformer_viz.training import objectives
from transformer_viz.training.lesson import hide
from transformer_viz.training.rows import (
    facts_of,
    facts_of_test,
    parts_of,
    probes_of,
    rows_of,
    token_options,
    whole_of,
)

NGRAMS = ("unigram", "bigram", "trigram")
"""What is measured beside a model, in the order of their lengths."""

EXAMPLES = 20
"""Texts of the test on which it is measured how heads read the token before."""

_IDS = tf.TensorSpec((None, None), tf.int32)


class RunningText:
    """Texts, one after the other in rows of `config.max_len` tokens; attributes as of `Labels`.

    Every token of every text is predicted once in each epoch, from those before it in its own text that are
    in its row. `num_rows` counts rows, `num_validation` texts.
    """

    signature = (
        {
            "token_ids": _IDS,
            "position_ids": _IDS,
            "attention_mask": tf.TensorSpec((None, 1, None, None), tf.bool),
        },
        _IDS,
    )

    def __init__(self, job):
        rows, test = rows_of(job, read_for_decoder, ["text", "target"])
        rows, known = _unlike(rows, test)
        train, validation, self._test = parts_of(job, split_texts, rows, test)
        tokenizer = Tokenizer.train(
            whole_of(train), job.config.vocab_size, markers=True, **token_options(job)
        )
        self.config = job.config.replace(vocab_size=tokenizer.vocab_size)
        self.tokenizers = {"tokenizer": tokenizer.to_json()}
        self._train, self._validation = (
            tokenizer.encode_batch(whole_of(part), max_len=WHOLE) for part in (train, validation)
        )
        tokens = sum(len(ids) + 1 for ids in self._train)
        self.num_rows, self.num_validation = math.ceil(tokens / self.config.max_len), len(validation)
        self.probes = probes_of(job, whole_of(validation).to_numpy())
        facts = {"tokens": tokens, "packed_rows": self.num_rows}
        facts |= {"left_out_as_in_test": known} if known else {}
        self.card = {"task": "next token", "data": facts_of(job, job.data, rows) | facts}
        self._test_facts = facts_of_test(job, self._test)

    def objective(self, settings):
        """Return what is to become small, as `objectives` says."""
        return objectives.running_text(settings.label_smoothing)

    def batches(self, settings, epoch):
        """Yield the (inputs, answers) of one epoch; the same ones whenever the same epoch is asked for."""
        random = np.random.default_rng([settings.seed, epoch])
        stream = Stream(self._train, self.config.max_len, random.permutation(len(self._train)))
        for inputs, answers in self._batches(stream, random.permutation(len(stream)), settings.batch_size):
            hidden = hide(inputs["token_ids"], settings.word_dropout, random)
            starts = inputs["token_ids"] == START_ID
            yield inputs | {"token_ids": np.where(starts, START_ID, hidden).astype(np.int32)}, answers

    def validation_batches(self, settings):
        """Yield the (inputs, answers) of the texts held out."""
        stream = Stream(self._validation, self.config.max_len)
        yield from self._batches(stream, np.arange(len(stream)), settings.batch_size)

    def _batches(self, stream, order, size):
        for start in range(0, len(order), size):
            packed = stream.rows(order[start : start + size])
            yield packed.inputs(self.config), packed.next_ids

    def measure(self, explorer):
        """Return the figures of the stored model on texts it has not seen, or None if there are none.

        The n-grams beside them have read the same training texts.
        """
        if self._test is None:
            return None
        texts = whole_of(self._test)
        result = evaluate_texts(explorer, texts)
        token_ids = explorer.tokenizer.encode_batch(texts, max_len=WHOLE)
        baselines = {}
        for order, name in enumerate(NGRAMS, start=1):
            nats = KneserNey(self._train, self.config.vocab_size, order).nats(token_ids)
            baselines[name] = likeliness(nats.sum(), result.tokens, result.num_bytes)
        return self._test_facts | {
            "tokens": result.tokens,
            "perplexity": result.perplexity,
            "bits_per_byte": result.bits_per_byte,
            "token_accuracy": result.token_accuracy,
            "induction_score": float(induction_scores(explorer).max()),
            "previous_token_score": float(previous_token_scores(explorer, texts[:EXAMPLES]).max()),
            "baselines": baselines,
        }


def _unlike(rows, test):
    """Return the rows whose text is not in the test, and how many are."""
    if test is None:
        return rows, 0
    plain = [frame["text"].str.strip().str.casefold() for frame in (rows, test)]
    known = plain[0].isin(plain[1])
    return rows[~known], int(known.sum())
