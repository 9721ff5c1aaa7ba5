"""Labelled texts as training data of classifiers."""

from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from transformer_viz.data import DataError, read_labelled, split
from transformer_viz.data.batches import by_length, pad, shuffled_by_length
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.questions.evaluation.calibration import best_temperature, calibration_error
from transformer_viz.questions.evaluation.measure import evaluate
from transformer_viz.questions.roles.measure import median_tokens, short_texts
from transformer_viz.questions.roles.rules import FEWEST_TEXTS
from transformer_viz.questions.roles.words import labelled_sample
from transformer_viz.store import StoredModel
from transformer_viz.text.foreign import tokenizer_of
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.trace.softmax import softmax
from transformer_viz.training import objectives
from transformer_viz.training.dataset import TOKEN_IDS, Batch, Dataset, word_dropout
from transformer_viz.training.rows import (
    choose_probes,
    choose_role_texts,
    describe_source,
    describe_test,
    load_rows,
    of_first_file,
    split_rows,
    tokenizer_options,
)
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.settings import TrainingSettings

SHORTEST_CROP = 8
"""Tokens of the shortest crop."""


class LabelledTexts(Dataset):
    """Texts with labels, for an encoder.

    Args:
        job: `TrainingJob`.
        parent: The model it is fine-tuned from, whose tokenizer is used; None: a tokenizer is trained.
    """

    signature = (TOKEN_IDS, tf.TensorSpec((None,), tf.int32))

    def __init__(self, job: TrainingJob, parent: StoredModel | None = None):
        rows, test = load_rows(job, read_labelled, ["text", "label"])
        names = _label_names(sorted(rows["label"].unique()), job.label_names)
        train, validation, self.test = split_rows(job, read_labelled, split, rows, test)
        if strange := set(train["label"]) - set(names):
            raise DataError("rows.strange_label", label=min(strange), labels=[*names])
        if parent:
            tokenizer = tokenizer_of(parent.config, parent.tokenizer)
        else:
            tokenizer = Tokenizer.train(train["text"], job.config.vocab_size, **tokenizer_options(job))
        output = "softmax" if len(names) > 2 and job.config.output == "sigmoid" else job.config.output
        self.config = job.config.replace(
            labels=tuple(names.values()), vocab_size=tokenizer.vocab_size, output=output
        )
        self._around = tokenizer.num_around(start=self.config.reads_start)
        self.tokenizers = {"tokenizer": tokenizer.to_json()}
        self.num_rows, self.num_validation = len(train), len(validation)
        self.left_out = rows.attrs.get("left_out", [])
        watched = choose_probes(job, sorted(validation["text"], key=len))
        self.probes = [(text, None) for text, _ in watched]
        self.role_texts = choose_role_texts(self.config, validation)
        labelled = of_first_file(train)
        self.labelled = labelled_sample(labelled.assign(label=[names[each] for each in labelled["label"]]))
        self.card = {
            "task": "classification",
            "label_values": {name: value for value, name in names.items()},
            "data": describe_source(job, job.data, rows),
        }
        self._test_facts = describe_test(job, self.test)

        def prepare(frame):
            token_ids = tokenizer.encode_batch(
                frame["text"],
                max_len=self.config.max_len,
                truncation=self.config.truncation,
                start=self.config.reads_start,
            )
            return token_ids, frame["label"].map(list(names).index).to_numpy(np.int32)

        self._train, self._validation = prepare(train), prepare(validation)
        own = of_first_file(validation)
        self._own = own["text"].tolist(), own["label"].map(list(names).index).to_numpy(np.int32)

    def objective(self, settings: TrainingSettings) -> objectives.Objective:
        """Return the loss and its metrics."""
        weights = None
        if settings.class_weights:
            counts = np.bincount(self._train[1], minlength=len(self.config.labels))
            weights = self.num_rows / (len(counts) * np.maximum(counts, 1))
        return objectives.classification(self.config, settings.label_smoothing, weights)

    def batches(self, settings: TrainingSettings, epoch: int) -> Iterator[Batch]:
        """Yield the training batches of one epoch, which follow from the seed and the epoch alone."""
        token_ids, label_ids = self._train
        random = np.random.default_rng([settings.seed, epoch])
        parts = [
            crop(ids, random, self._around) if random.random() < settings.crop else ids for ids in token_ids
        ]
        for rows in shuffled_by_length(parts, settings.batch_size, random):
            padded = pad([parts[row] for row in rows], self.config.pad_id)
            yield word_dropout(padded, settings.word_dropout, random, self.config), label_ids[rows]

    def validation_batches(self, settings: TrainingSettings) -> Iterator[Batch]:
        """Yield the validation batches."""
        token_ids, label_ids = self._validation
        for rows in by_length(token_ids, settings.batch_size):
            yield pad([token_ids[row] for row in rows], self.config.pad_id), label_ids[rows]

    def calibrate(self, explorer: Explorer) -> dict | None:
        """Set the temperature of the config to the best one for the validation rows of the first file, which
        has the texts that the model is for; for all of them, if these are few.

        If the texts are much longer than their sentences, it is the best one for both: people type sentences.
        """
        texts, label_ids = self._own
        if len(texts) < FEWEST_TEXTS:  # a handful of errors does not determine it
            return None
        sides = {"": texts, "sentences": short_texts(explorer, texts)}
        token_ids = {side: explorer.encode(each) for side, each in sides.items() if each}
        logits = {side: explorer.class_logits(each) for side, each in token_ids.items()}
        best = best_temperature(np.concatenate([*logits.values()]), np.tile(label_ids, len(logits)))
        if best is None:
            return None
        former, self.config = self.config.temperature, self.config.replace(temperature=best)
        facts = {
            side: {
                "tokens": median_tokens(token_ids[side]),
                "calibration_error_before": calibration_error(softmax(found, former), label_ids),
                "calibration_error": calibration_error(softmax(found, best), label_ids),
            }
            for side, found in logits.items()
        }
        return {"rows": len(texts), "temperature": best} | facts.pop("") | facts

    def test_metrics(self, explorer: Explorer, keep_going: Callable[[], None]) -> dict | None:
        """Return the metrics of the stored model on the test rows; None without test rows."""
        if self.test is None or self._test_facts is None:
            return None
        result = evaluate(explorer, self.test, keep_going=keep_going)
        return self._test_facts | {
            "accuracy": result.accuracy,
            "uniform_accuracy": result.uniform_accuracy,
            "headless_accuracy": result.headless_accuracy,
            "calibration_error": result.calibration.error,
            "by_label": result.by_label.to_dict("index"),
            "confusion": result.confusion.to_dict("index"),
        }


def crop(token_ids: np.ndarray, random: np.random.Generator, around: tuple[int, int] = (0, 0)) -> np.ndarray:
    """Return a random part of a text; its length is log-uniform from `SHORTEST_CROP` tokens to the whole
    text.

    Args:
        token_ids: int (position,).
        random: What draws the length and the place.
        around: How many tokens in front of the text and behind it stay.
    """
    first, last = around[0], len(token_ids) - around[1]
    longest = max(last - first, 1)
    length = round(np.exp(random.uniform(np.log(min(SHORTEST_CROP, longest)), np.log(longest))))
    start = first + random.integers(longest - length + 1)
    return np.concatenate([token_ids[:first], token_ids[start : start + length], token_ids[last:]])


def _label_names(values, names):
    """Return label in the file -> name to show, in the order of the labels."""
    strange = names.keys() - set(values)
    if strange:
        label = min(strange)
        raise DataError("rows.no_label", label=label, name=names[label], labels=[*values])
    return {value: names.get(value, value) for value in values}
