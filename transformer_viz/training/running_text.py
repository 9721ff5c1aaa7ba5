"""Running text as a dataset: whole texts, packed into rows, to predict the next token or hidden ones."""

import math

import numpy as np
import tensorflow as tf

from transformer_viz.data import DataError, read_for_decoder, split_texts
from transformer_viz.data.cloze import mask_tokens
from transformer_viz.data.ngrams import KneserNey
from transformer_viz.data.packing import NO_LIMIT, Stream
from transformer_viz.inspection.evaluation import induction_scores, previous_token_scores
from transformer_viz.inspection.perplexity import evaluate_hidden, evaluate_texts, likeliness
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.training import objectives
from transformer_viz.training.dataset import word_dropout
from transformer_viz.training.rows import (
    choose_probes,
    describe_source,
    describe_test,
    joined_texts,
    load_rows,
    split_rows,
    tokenizer_options,
)
from transformer_viz.values.config import START_ID

NGRAMS = ("unigram", "bigram", "trigram")
"""What is measured beside a model, in the order of their lengths."""

EXAMPLES = 20
"""Texts of the test on which it is measured how heads read the token before."""

_IDS = tf.TensorSpec((None, None), tf.int32)
_READ = {
    "token_ids": _IDS,
    "position_ids": _IDS,
    "attention_mask": tf.TensorSpec((None, 1, None, None), tf.bool),
}


class RunningText:
    """Texts, one after the other in rows of `config.max_len` tokens; attributes as of `LabelledTexts`.

    Every token of every text is predicted once in each epoch, from those before it in its own text that are
    in its row. `num_rows` counts rows, `num_validation` texts.
    """

    task = "next token"
    signature = (_READ, _IDS)

    def __init__(self, job):
        rows, test = load_rows(job, read_for_decoder, ["text", "target"])
        rows, known = _without_test_texts(rows, test)
        train, validation, self._test = split_rows(job, split_texts, rows, test)
        options = tokenizer_options(job) | {"markers": True, "mask": job.config.fills_in}
        tokenizer = Tokenizer.train(joined_texts(train), job.config.vocab_size, **options)
        self.config = job.config.replace(vocab_size=tokenizer.vocab_size)
        self.tokenizers = {"tokenizer": tokenizer.to_json()}
        self._train, self._validation = (
            tokenizer.encode_batch(joined_texts(part), max_len=NO_LIMIT) for part in (train, validation)
        )
        tokens = sum(len(ids) + 1 for ids in self._train)
        self.num_rows, self.num_validation = math.ceil(tokens / self.config.max_len), len(validation)
        self.probes = choose_probes(job, joined_texts(validation).to_numpy())
        facts = {"tokens": tokens, "packed_rows": self.num_rows}
        facts |= {"left_out_as_in_test": known} if known else {}
        self.card = {"task": self.task, "data": describe_source(job, job.data, rows) | facts}
        self._test_facts = describe_test(job, self._test)

    def objective(self, settings):
        """Return what is to become small, as `objectives` says."""
        return objectives.running_text(settings.label_smoothing)

    def batches(self, settings, epoch):
        """Yield the (inputs, answers) of one epoch; the same ones whenever the same epoch is asked for."""
        random = np.random.default_rng([settings.seed, epoch])
        stream = Stream(self._train, self.config.max_len, random.permutation(len(self._train)))
        for rows in _in_batches(stream, random.permutation(len(stream)), settings.batch_size):
            hidden = word_dropout(rows.token_ids, settings.word_dropout, random)
            hidden = np.where(rows.token_ids == START_ID, START_ID, hidden).astype(np.int32)
            yield self._inputs_and_targets(rows._replace(token_ids=hidden), random)

    def validation_batches(self, settings):
        """Yield the (inputs, answers) of the texts held out."""
        stream, random = Stream(self._validation, self.config.max_len), np.random.default_rng(settings.seed)
        for rows in _in_batches(stream, np.arange(len(stream)), settings.batch_size):
            yield self._inputs_and_targets(rows, random)

    def _inputs_and_targets(self, rows, random):
        """Return the (inputs, answers) of some rows."""
        return rows.inputs(self.config), rows.next_ids

    def test_metrics(self, explorer):
        """Return the figures of the stored model on texts it has not seen, or None if there are none.

        The n-grams beside them have read the same training texts.
        """
        if self._test is None:
            return None
        texts = joined_texts(self._test)
        found = self._metrics(explorer, texts)
        found["previous_token_score"] = float(previous_token_scores(explorer, texts[:EXAMPLES]).max())
        return self._test_facts | found

    def _metrics(self, explorer, texts):
        result = evaluate_texts(explorer, texts)
        nats = self._ngrams(explorer.tokenizer.encode_batch(texts, max_len=NO_LIMIT))
        return {
            "tokens": result.tokens,
            "perplexity": result.perplexity,
            "bits_per_byte": result.bits_per_byte,
            "token_accuracy": result.token_accuracy,
            "induction_score": float(induction_scores(explorer).max()),
            "baselines": {
                name: likeliness(lost.sum(), result.tokens, result.num_bytes) for name, lost in nats.items()
            },
        }

    def _ngrams(self, token_ids):
        """Return name -> nats of every token and of each text's end, by n-grams of the training texts."""
        return {
            name: KneserNey(self._train, self.config.vocab_size, order).nats(token_ids)
            for order, name in enumerate(NGRAMS, start=1)
        }


class MaskedText(RunningText):
    """The same texts for an encoder that fills in what is hidden from it, anew in every epoch.

    Of each row, `cloze.MASKED_SHARE` of the tokens are to be filled in; logits are computed for these alone.
    """

    task = "hidden tokens"
    signature = (_READ | {"output_positions": _IDS}, _IDS)

    def _inputs_and_targets(self, rows, random):
        cloze = mask_tokens(rows.token_ids, self.config.vocab_size, random)
        inputs = rows._replace(token_ids=cloze.token_ids).inputs(self.config)
        return inputs | {"output_positions": cloze.positions}, cloze.targets

    def _metrics(self, explorer, texts):
        result = evaluate_hidden(explorer, texts)
        nats = self._ngrams(explorer.tokenizer.encode_batch(texts, max_len=NO_LIMIT))
        return {
            "tokens": result.tokens,
            "perplexity": result.perplexity,
            "token_accuracy": result.token_accuracy,
            "baselines": {
                name: {"perplexity": float(np.exp(lost[result.places].mean()))} for name, lost in nats.items()
            },
        }


def _in_batches(stream, order, size):
    """Yield the rows of a stream in that order, so many at once."""
    for start in range(0, len(order), size):
        yield stream.rows(order[start : start + size])


def _without_test_texts(rows, test):
    """Return the rows whose text is not in the test, and how many are."""
    if test is None:
        return rows, 0
    plain = [frame["text"].str.strip().str.casefold() for frame in (rows, test)]
    known = plain[0].isin(plain[1])
    if known.all():
        raise DataError("rows.all_tested")
    return rows[~known], int(known.sum())
