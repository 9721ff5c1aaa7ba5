"""Labelled texts and text pairs as training data: tokenised, batched and evaluated."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import pandas as pd
import tensorflow as tf

from transformer_viz.analysis import calibration
from transformer_viz.data import DataError, read_for_decoder, read_labelled, read_pairs, split, split_pairs
from transformer_viz.data.batches import by_length, pad, shuffled_by_length
from transformer_viz.data.tasks import TASKS
from transformer_viz.inspection.decode import generate_all
from transformer_viz.inspection.evaluation import (
    bleu,
    evaluate,
    evaluate_generation,
    induction_scores,
)
from transformer_viz.inspection.explorer import Explorer
from transformer_viz.runs import TrainingJob, TrainingSettings
from transformer_viz.store import StoredModel
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.training import objectives
from transformer_viz.training.rows import (
    choose_probes,
    describe_source,
    describe_test,
    joined_texts,
    load_rows,
    split_rows,
    tokenizer_options,
)
from transformer_viz.values.config import END_ID, PAD_ID, START_ID, UNK_ID, TransformerConfig

EXAMPLES = 10
"""Test rows whose output the model card shows: the first ones, right or wrong."""

MIN_CALIBRATION_ROWS = 100
"""Fewest validation rows that a temperature is fitted to: a handful of errors does not determine it."""

SHORTEST_CROP = 8
"""Tokens of the shortest crop."""

_IDS = tf.TensorSpec((None, None), tf.int32)
"""Open shapes, so that batches of any width share one compilation."""


Inputs = np.ndarray | tuple[np.ndarray, np.ndarray] | dict[str, np.ndarray]
"""Token ids; of an encoder-decoder (source, shifted target); of packed rows the arguments of `trace`."""

Batch = tuple[Inputs, np.ndarray]
"""Inputs and targets of one step."""


class Dataset(Protocol):
    """What `ModelTrainer` and `Evaluator` train and validate on.

    Attributes:
        config: The job's config with the labels and the vocabulary sizes of the data.
        tokenizers: Keyword arguments of `store.write_model`: tokenizer and, for an encoder-decoder,
            target_tokenizer.
        card: Facts about the data for the model card.
        num_rows: Training rows.
        num_validation: Validation rows.
        signature: Tensor specs of the (inputs, targets) of a batch.
        probes: (text, target) pairs whose attention is recorded; the target of an encoder is None.
    """

    config: TransformerConfig
    tokenizers: dict[str, str]
    card: dict
    num_rows: int
    num_validation: int
    signature: Any
    probes: list[tuple[str, str | None]]

    def objective(self, settings: TrainingSettings) -> objectives.Objective:
        """Return the training loss and its metrics, a function of `objectives`."""
        ...

    def batches(self, settings: TrainingSettings, epoch: int) -> Iterator[Batch]:
        """Yield the training batches of one epoch, which follow from the seed and the epoch alone."""
        ...

    def validation_batches(self, settings: TrainingSettings) -> Iterator[Batch]:
        """Yield the validation batches."""
        ...

    def calibrate(self, explorer: Explorer) -> dict | None:
        """Set the temperature of `config` to the best one for the validation rows.

        Returns:
            Facts for the model card; None, and no change, for a model that predicts tokens, or if the rows do
            not determine a temperature.
        """
        return None

    def test_metrics(self, explorer: Explorer) -> dict | None:
        """Return the metrics of the stored model on the test rows; None without test rows."""
        ...


class LabelledTexts(Dataset):
    """Texts with labels, for an encoder.

    Args:
        job: `TrainingJob`.
        parent: The model it is fine-tuned from, whose tokenizer is used; None: a tokenizer is trained.
    """

    signature = (_IDS, tf.TensorSpec((None,), tf.int32))

    def __init__(self, job: TrainingJob, parent: StoredModel | None = None):
        rows, test = load_rows(job, read_labelled, ["text", "label"])
        names = _label_names(sorted(rows["label"].unique()), job.label_names)
        train, validation, self._test = split_rows(job, split, rows, test)
        if parent:
            tokenizer = Tokenizer.from_json(parent.tokenizer)
        else:
            tokenizer = Tokenizer.train(train["text"], job.config.vocab_size, **tokenizer_options(job))
        self.config = job.config.replace(labels=tuple(names.values()), vocab_size=tokenizer.vocab_size)
        self.tokenizers = {"tokenizer": tokenizer.to_json()}
        self.num_rows, self.num_validation = len(train), len(validation)
        watched = choose_probes(job, sorted(validation["text"], key=len))
        self.probes = [(text, None) for text, _ in watched]
        self.card = {
            "task": "classification",
            "label_values": {name: value for value, name in names.items()},
            "data": describe_source(job, job.data, rows),
        }
        self._test_facts = describe_test(job, self._test)

        def prepare(frame):
            token_ids = tokenizer.encode_batch(
                frame["text"],
                max_len=self.config.max_len,
                truncation=self.config.truncation,
                start=self.config.reads_start,
            )
            return token_ids, frame["label"].map(list(names).index).to_numpy(np.int32)

        self._train, self._validation = prepare(train), prepare(validation)

    def objective(self, settings: TrainingSettings) -> objectives.Objective:
        """Return the loss and its metrics."""
        return objectives.classification(self.config, settings.label_smoothing)

    def batches(self, settings: TrainingSettings, epoch: int) -> Iterator[Batch]:
        """Yield the training batches of one epoch, which follow from the seed and the epoch alone."""
        token_ids, label_ids = self._train
        random = np.random.default_rng([settings.seed, epoch])
        first = int(self.config.reads_start)
        parts = [
            np.concatenate([ids[:first], crop(ids[first:], random)])
            if random.random() < settings.crop
            else ids
            for ids in token_ids
        ]
        for rows in shuffled_by_length(parts, settings.batch_size, random):
            yield (
                word_dropout(pad([parts[row] for row in rows]), settings.word_dropout, random),
                label_ids[rows],
            )

    def validation_batches(self, settings: TrainingSettings) -> Iterator[Batch]:
        """Yield the validation batches."""
        token_ids, label_ids = self._validation
        for rows in by_length(token_ids, settings.batch_size):
            yield pad([token_ids[row] for row in rows]), label_ids[rows]

    def calibrate(self, explorer: Explorer) -> dict | None:
        """Set the temperature of the config to the best one for the validation rows."""
        token_ids, label_ids = self._validation
        if len(label_ids) < MIN_CALIBRATION_ROWS:
            return None
        found = calibration(explorer.class_logits(token_ids), label_ids, self.config.temperature)
        if found.best_temperature is None:
            return None
        self.config = self.config.replace(temperature=found.best_temperature)
        return {
            "rows": len(label_ids),
            "temperature": self.config.temperature,
            "calibration_error_before": found.error,
            "calibration_error": found.best_error,
        }

    def test_metrics(self, explorer: Explorer) -> dict | None:
        """Return the metrics of the stored model on the test rows; None without test rows."""
        if self._test is None or self._test_facts is None:
            return None
        result = evaluate(explorer, self._test)
        return self._test_facts | {
            "accuracy": result.accuracy,
            "uniform_accuracy": result.uniform_accuracy,
            "headless_accuracy": result.headless_accuracy,
            "calibration_error": result.calibration.error,
            "by_label": result.by_label.to_dict("index"),
            "confusion": result.confusion.to_dict("index"),
        }


class TextPairs(Dataset):
    """Texts and targets for a decoder; for a decoder alone each pair is joined to one text.

    Args:
        job: `TrainingJob`.
        parent: The model it is fine-tuned from, whose tokenizers are used; None: tokenizers are trained.
    """

    def __init__(self, job: TrainingJob, parent: StoredModel | None = None):
        read = read_pairs if job.config.has_encoder else read_for_decoder
        rows, test = load_rows(job, read, ["text", "target"])
        self._is_task = job.data in TASKS
        train, validation, self._test = split_rows(job, split_pairs, rows, test)
        if parent:
            source = Tokenizer.from_json(parent.tokenizer)
            target, sizes = Tokenizer.from_json(parent.target_tokenizer or parent.tokenizer), {}
        else:
            source, target, sizes = self._train_tokenizers(job, train)
        self.config = job.config.replace(**sizes)
        self.tokenizers = {"tokenizer": source.to_json()}
        translates = job.config.has_encoder
        self.signature = ((_IDS, _IDS), _IDS) if translates else (_IDS, _IDS)
        if translates:
            self.tokenizers["target_tokenizer"] = target.to_json()
        self.num_rows, self.num_validation = len(train), len(validation)
        probes = validation[["text", "target"]] if translates else joined_texts(validation)
        self.probes = choose_probes(job, probes.to_numpy())
        self.card = {
            "task": "sequence to sequence" if translates else "next token",
            "data": describe_source(job, job.data, rows),
        }
        self._test_facts = describe_test(job, self._test)

        def encode(tokenizer, texts, most):
            return tokenizer.encode_batch(texts, max_len=most, truncation=self.config.truncation)

        def prepare(frame):
            if not translates:
                return None, encode(source, joined_texts(frame), self.config.max_len - 1)
            most = (self.config.target_max_len or self.config.max_len) - 1  # [START] needs a position too
            target_ids = encode(target, frame["target"], most)
            return encode(source, frame["text"], self.config.max_len), target_ids

        self._train, self._validation = prepare(train), prepare(validation)

    def _train_tokenizers(self, job, train):
        """Train the tokenizers of both sides; return them and the vocabulary sizes."""
        config, kind = job.config, {"split_digits": True, **tokenizer_options(job)}
        if not config.has_encoder or config.tie_embeddings:
            texts = [*train["text"], *train["target"]]
            tokenizer = Tokenizer.train(texts, config.vocab_size, markers=True, **kind)
            return tokenizer, tokenizer, {"vocab_size": tokenizer.vocab_size}
        source = Tokenizer.train(train["text"], config.vocab_size, **kind)
        target = Tokenizer.train(train["target"], config.target_vocab_size, markers=True, **kind)
        return source, target, {"vocab_size": source.vocab_size, "target_vocab_size": target.vocab_size}

    def objective(self, settings: TrainingSettings) -> objectives.Objective:
        """Return the loss and its metrics."""
        return objectives.next_token(settings.label_smoothing)

    def batches(self, settings: TrainingSettings, epoch: int) -> Iterator[Batch]:
        """Yield the training batches of one epoch, which follow from the seed and the epoch alone."""
        random = np.random.default_rng([settings.seed, epoch])
        lengths = self._train[1] if self._train[0] is None else self._train[0]
        for rows in shuffled_by_length(lengths, settings.batch_size, random):
            inputs, targets = self._batch(self._train, rows)
            if isinstance(inputs, tuple):
                yield (word_dropout(inputs[0], settings.word_dropout, random), inputs[1]), targets
            else:
                yield word_dropout(inputs, settings.word_dropout, random), targets

    def validation_batches(self, settings: TrainingSettings) -> Iterator[Batch]:
        """Yield the validation batches."""
        for rows in by_length(self._validation[1], settings.batch_size):
            yield self._batch(self._validation, rows)

    def _batch(self, side, rows):
        """Return ((source, [START] target), target [END]); without an encoder, ([START] target, target
        [END]).
        """
        source_ids, target_ids = side
        before = pad([[START_ID, *target_ids[row]] for row in rows])
        targets = pad([[*target_ids[row], END_ID] for row in rows])
        return before if source_ids is None else (pad([source_ids[row] for row in rows]), before), targets

    def test_metrics(self, explorer: Explorer) -> dict | None:
        """Return the metrics of the stored model on the test rows; None without test rows."""
        if self._test is None or self._test_facts is None:
            return None
        result = evaluate_generation(explorer, self._test)
        names = ("exact_match", "token_accuracy", "uniform_accuracy", "headless_accuracy")
        metrics = {name: getattr(result, name) for name in names}
        if not explorer.config.has_encoder:
            metrics["induction_score"] = float(induction_scores(explorer).max())
        elif not self._is_task:
            metrics |= translation_metrics(explorer, self._test)
        return self._test_facts | metrics


def translation_metrics(explorer: Explorer, rows: pd.DataFrame) -> dict:
    """Return BLEU with one reference, BLEU with all and its signature, and examples of the model's output.

    A text that occurs in several rows is translated once; the targets of all its rows are references, or the
    first of them alone.

    Args:
        explorer: `Explorer` of an encoder-decoder.
        rows: Columns text and target.
    """
    references = rows.groupby("text", sort=False)["target"].agg(list)
    written = generate_all(explorer, references.index)
    score, signature = bleu(written, list(references))
    alone, _ = bleu(written, [right[:1] for right in references])
    first = zip(references.index[:EXAMPLES], references[:EXAMPLES], written[:EXAMPLES], strict=True)
    examples = [{"text": text, "target": right[0], "written": output} for text, right, output in first]
    figures = {"bleu_one_reference": alone, "bleu": score, "bleu_signature": signature}
    return figures | {"texts": len(references), "examples": examples}


def crop(token_ids: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return a random part of a text; its length is log-uniform from `SHORTEST_CROP` tokens to the whole
    text.
    """
    longest = max(len(token_ids), 1)
    length = round(np.exp(random.uniform(np.log(min(SHORTEST_CROP, longest)), np.log(longest))))
    start = random.integers(longest - length + 1)
    return token_ids[start : start + length]


def word_dropout(token_ids: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    """Replace that share of the tokens of a batch by [UNK]; [START] and [PAD] stay."""
    if not share:
        return token_ids
    marks = (PAD_ID, START_ID) if (token_ids[:, 0] == START_ID).all() else (PAD_ID,)
    hidden = (random.random(token_ids.shape) < share) & ~np.isin(token_ids, marks)
    return np.where(hidden, UNK_ID, token_ids)


def _label_names(values, names):
    """Return label in the file -> name to show, in the order of the labels."""
    strange = names.keys() - set(values)
    if strange:
        label = min(strange)
        raise DataError("rows.no_label", label=label, name=names[label], labels=", ".join(values))
    return {value: names.get(value, value) for value in values}
