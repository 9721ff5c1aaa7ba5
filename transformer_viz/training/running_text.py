"""Running text as training data: whole texts packed into rows, for next-token or masked-token prediction."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import tensorflow as tf

from transformer_viz.data import DataError, read_for_decoder, split_texts, text_keys
from transformer_viz.data.cloze import mask_tokens
from transformer_viz.data.ngrams import KneserNey
from transformer_viz.data.packing import Stream
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.network.config import START_ID
from transformer_viz.questions.evaluation.measure import induction_scores, previous_token_scores
from transformer_viz.questions.evaluation.perplexity import (
    evaluate_masked_tokens,
    evaluate_texts,
    perplexity_metrics,
)
from transformer_viz.store import StoredModel
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.training import objectives
from transformer_viz.training.dataset import TOKEN_IDS, Batch, Dataset, word_dropout
from transformer_viz.training.rows import (
    choose_probes,
    choose_role_texts,
    describe_source,
    describe_test,
    joined_texts,
    load_rows,
    split_rows,
    tokenizer_options,
)
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.settings import TrainingSettings

NGRAMS = ("unigram", "bigram", "trigram")
"""Baselines of the test metrics, in the order of their lengths."""

EXAMPLES = 20
"""Test texts on which the previous-token scores of heads are measured."""

_MASK = tf.TensorSpec((None, 1, None, None), tf.bool)

_READ = {"token_ids": TOKEN_IDS, "position_ids": TOKEN_IDS, "attention_mask": _MASK}


class RunningText(Dataset):
    """Texts concatenated into rows of `config.max_len` tokens.

    In each epoch every token of every text is predicted once, from the tokens before it in the same text and
    row. `num_rows` counts rows, `num_validation` texts.

    Args:
        job: `TrainingJob`.
        parent: The model it is fine-tuned from, whose tokenizer is used; None: a tokenizer is trained.
    """

    task = "next token"
    inputs = _READ

    def __init__(self, job: TrainingJob, parent: StoredModel | None = None):
        rows, test = load_rows(job, read_for_decoder, ["text", "target"])
        rows, known = _without_test_texts(rows, test)
        train, validation, self.test = split_rows(job, read_for_decoder, split_texts, rows, test)
        if parent:
            tokenizer = Tokenizer.from_json(parent.tokenizer)
            if job.config.fills_in and not parent.config.fills_in:
                tokenizer = tokenizer.with_mask()
        else:
            options: dict[str, Any] = tokenizer_options(job) | {"markers": True, "mask": job.config.fills_in}
            tokenizer = Tokenizer.train(joined_texts(train), job.config.vocab_size, **options)
        self.config = job.config.replace(vocab_size=tokenizer.vocab_size)
        read = self.inputs | ({"unlimited_mask": _MASK} if self.config.unlimited_layers else {})
        self.signature = (read, TOKEN_IDS)
        self.tokenizers = {"tokenizer": tokenizer.to_json()}
        self._train, self._validation = (
            tokenizer.encode_batch(joined_texts(part)) for part in (train, validation)
        )
        tokens = sum(len(ids) + 1 for ids in self._train)
        self.left_out = rows.attrs.get("left_out", [])
        self.num_rows, self.num_validation = math.ceil(tokens / self.config.max_len), len(validation)
        self.probes = choose_probes(job, joined_texts(validation).to_numpy())
        self.role_texts = choose_role_texts(self.config, validation)
        facts = {"tokens": tokens, "packed_rows": self.num_rows}
        facts |= {"left_out_as_in_test": known} if known else {}
        self.card = {"task": self.task, "data": describe_source(job, job.data, rows) | facts}
        self._test_facts = describe_test(job, self.test)

    def objective(self, settings: TrainingSettings) -> objectives.Objective:
        """Return the loss and its metrics."""
        return objectives.running_text(settings.label_smoothing)

    def batches(self, settings: TrainingSettings, epoch: int) -> Iterator[Batch]:
        """Yield the training batches of one epoch, which follow from the seed and the epoch alone."""
        random = np.random.default_rng([settings.seed, epoch])
        stream = Stream(self._train, self.config.max_len, random.permutation(len(self._train)))
        for rows in _in_batches(stream, random.permutation(len(stream)), settings.batch_size):
            hidden = word_dropout(rows.token_ids, settings.word_dropout, random, self.config)
            hidden = np.where(rows.token_ids == START_ID, START_ID, hidden).astype(np.int32)
            yield self._inputs_and_targets(rows._replace(token_ids=hidden), random)

    def validation_batches(self, settings: TrainingSettings) -> Iterator[Batch]:
        """Yield the validation batches."""
        stream, random = Stream(self._validation, self.config.max_len), np.random.default_rng(settings.seed)
        for rows in _in_batches(stream, np.arange(len(stream)), settings.batch_size):
            yield self._inputs_and_targets(rows, random)

    def _inputs_and_targets(self, rows, random):
        """Return the inputs and targets of some rows."""
        return rows.inputs(self.config), rows.next_ids

    def test_metrics(self, explorer: Explorer, keep_going: Callable[[], None]) -> dict | None:
        """Return the metrics on the test texts beside those of n-grams of the training texts; None without a
        test.
        """
        if self.test is None or self._test_facts is None:
            return None
        texts = joined_texts(self.test)
        found = self._metrics(explorer, texts, keep_going)
        found["previous_token_score"] = float(previous_token_scores(explorer, texts[:EXAMPLES]).max())
        return self._test_facts | found

    def _metrics(self, explorer, texts, keep_going):
        result = evaluate_texts(explorer, texts, keep_going=keep_going)
        nats = self._ngrams(explorer.tokenizer.encode_batch(texts))
        return {
            "tokens": result.tokens,
            "perplexity": result.perplexity,
            "bits_per_byte": result.bits_per_byte,
            "token_accuracy": result.token_accuracy,
            "uniform_accuracy": result.uniform_accuracy,
            "headless_accuracy": result.headless_accuracy,
            "induction_score": float(induction_scores(explorer).max()),
            "baselines": {
                name: perplexity_metrics(lost.sum(), result.tokens, result.num_bytes)
                for name, lost in nats.items()
            },
        }

    def _ngrams(self, token_ids):
        """Return name -> nats of every token and of the end of each text."""
        return {
            name: KneserNey(self._train, self.config.vocab_size, order).nats(token_ids)
            for order, name in enumerate(NGRAMS, start=1)
        }


class MaskedText(RunningText):
    """The same texts for an encoder, with newly drawn masked tokens in every epoch.

    `cloze.MASKED_SHARE` of the tokens of each row are predicted; logits are computed for these alone.
    """

    task = "hidden tokens"
    inputs = _READ | {"output_positions": TOKEN_IDS}

    def _inputs_and_targets(self, rows, random):
        cloze = mask_tokens(rows.token_ids, self.config, random)
        inputs = rows._replace(token_ids=cloze.token_ids).inputs(self.config)
        return inputs | {"output_positions": cloze.positions}, cloze.targets

    def _metrics(self, explorer, texts, keep_going):
        result = evaluate_masked_tokens(explorer, texts, keep_going=keep_going)
        nats = self._ngrams(explorer.tokenizer.encode_batch(texts))
        return {
            "tokens": result.tokens,
            "perplexity": result.perplexity,
            "token_accuracy": result.token_accuracy,
            "uniform_accuracy": result.uniform_accuracy,
            "headless_accuracy": result.headless_accuracy,
            "baselines": {
                name: {"perplexity": float(np.exp(lost[result.places].mean()))} for name, lost in nats.items()
            },
        }


def _in_batches(stream, order, size):
    """Yield the rows of a stream in that order, `size` at a time."""
    for start in range(0, len(order), size):
        yield stream.rows(order[start : start + size])


def _without_test_texts(rows: pd.DataFrame, test: pd.DataFrame | None) -> tuple[pd.DataFrame, int]:
    """Return the rows whose text is not among the test texts, and the number of rows left out."""
    if test is None:
        return rows, 0
    known = text_keys(rows).isin(text_keys(test))
    if known.all():
        raise DataError("rows.all_tested")
    return rows.loc[~known], int(known.sum())
