"""What a job trains on, and how that is fitted and measured: labelled rows, or pairs of texts."""

import hashlib
from pathlib import Path

import pandas as pd

from transformer_viz.datasets import (
    NAMED,
    DataError,
    read_for_decoder,
    read_labelled,
    read_pairs,
    split,
    split_pairs,
)
from transformer_viz.evaluation import evaluate, evaluate_writing, induction_scores
from transformer_viz.tasks import TASKS
from transformer_viz.text import Tokenizer
from transformer_viz.training.fit import fit_classifier
from transformer_viz.training.writing import fit_writer

TEST_ROWS = 1_000
"""Fresh texts a model of a built-in task is measured on."""


class Labels:
    """Texts with labels, for an encoder.

    Attributes:
        config: The job's config with the labels and the vocabulary of the data.
        tokenizers: What `store.write_model` takes: tokenizer, and target_tokenizer if there is one.
        card: What the model card says of the data.
        num_validation: Rows held out.
        figure: Name of the figure that says how good a model is.
    """

    figure = "accuracy"

    def __init__(self, job):
        rows, test = _rows(job, read_labelled, ["text", "label"])
        self._test = test
        names = _label_names(sorted(rows["label"].unique()), job.label_names)
        train, validation, _ = split(rows, validation=job.settings.validation, seed=job.settings.seed)
        tokenizer = Tokenizer.train(train["text"], job.config.vocab_size, **_kind_of_token(job))
        self.config = job.config.replace(labels=tuple(names.values()), vocab_size=tokenizer.vocab_size)
        self.tokenizers = {"tokenizer": tokenizer.to_json()}
        self.num_validation = len(validation)
        self.card = {
            "task": "classification",
            "label_values": {name: value for value, name in names.items()},
            "data": _facts(job, job.data, rows),
        }
        self._test_facts = None if test is None else _facts(job, job.test or job.data, test)

        def prepare(frame):
            token_ids = tokenizer.encode_batch(
                frame["text"], max_len=self.config.max_len, truncation=self.config.truncation
            )
            return token_ids, frame["label"].map(list(names).index).to_numpy()

        self._train, self._validation = prepare(train), prepare(validation)

    def fit(self, settings, verbose):
        """Return the trained model and its history."""
        return fit_classifier(self.config, settings, self._train, self._validation, verbose=verbose)

    def measure(self, explorer):
        """Return the figures of the stored model on rows it has not seen, or None if there are none."""
        if self._test is None:
            return None
        result = evaluate(explorer, self._test, progress=True)
        return self._test_facts | {
            "accuracy": result.accuracy,
            "by_label": result.by_label.to_dict("index"),
            "confusion": result.confusion.to_dict("index"),
        }


class Pairs:
    """Texts and what a decoder is to write after them; attributes as of `Labels`.

    For a decoder alone, the two are one text.
    """

    def __init__(self, job):
        read = read_pairs if job.config.has_encoder else read_for_decoder
        rows, test = _rows(job, read, ["text", "target"])
        self._test = test
        self.figure = "exact_match" if job.config.has_encoder else "token_accuracy"
        train, validation, _ = split_pairs(rows, validation=job.settings.validation, seed=job.settings.seed)
        source, target, sizes = self._train_tokenizers(job, train)
        self.config = job.config.replace(**sizes)
        self.tokenizers = {"tokenizer": source.to_json()}
        if job.config.has_encoder:
            self.tokenizers["target_tokenizer"] = target.to_json()
        self.num_validation = len(validation)
        self.card = {
            "task": "sequence to sequence" if job.config.has_encoder else "next token",
            "data": _facts(job, job.data, rows),
        }
        self._test_facts = None if test is None else _facts(job, job.test or job.data, test)

        def encode(tokenizer, texts, most):
            return tokenizer.encode_batch(texts, max_len=most, truncation=self.config.truncation)

        def prepare(frame):
            if not self.config.has_encoder:
                return None, encode(source, _whole(frame), self.config.max_len - 1)
            target_ids = encode(target, frame["target"], self.config.target_max_len - 1)
            return encode(source, frame["text"], self.config.max_len), target_ids

        self._train, self._validation = prepare(train), prepare(validation)

    def _train_tokenizers(self, job, train):
        """Return the tokenizers of both sides and the sizes that follow from them."""
        config, kind = job.config, _kind_of_token(job) | {"split_digits": True}
        if not config.has_encoder or config.tie_embeddings:
            tokenizer = Tokenizer.train(
                [*train["text"], *train["target"]], config.vocab_size, **kind, markers=True
            )
            return tokenizer, tokenizer, {"vocab_size": tokenizer.vocab_size}
        source = Tokenizer.train(train["text"], config.vocab_size, **kind)
        target = Tokenizer.train(train["target"], config.target_vocab_size, **kind, markers=True)
        return source, target, {"vocab_size": source.vocab_size, "target_vocab_size": target.vocab_size}

    def fit(self, settings, verbose):
        """Return the trained model and its history."""
        return fit_writer(self.config, settings, self._train, self._validation, verbose=verbose)

    def measure(self, explorer):
        """Return the figures of the stored model on texts it has not seen, or None if there are none."""
        if self._test is None:
            return None
        result = evaluate_writing(explorer, self._test)
        figures = {"exact_match": result.exact_match, "token_accuracy": result.token_accuracy}
        if not explorer.config.has_encoder:
            figures["induction_score"] = float(induction_scores(explorer).max())
        return self._test_facts | figures


def _whole(frame):
    return (frame["text"] + " " + frame["target"]).str.strip()


def _rows(job, read, columns):
    """Return the rows to train on and those to test on, from files or made by a built-in task."""
    if str(job.data) in NAMED:
        return _named_rows(job, columns)
    if str(job.data) not in TASKS:
        return read(job.data, job.columns), read(job.test, job.columns) if job.test else None
    if job.test:
        raise DataError(f"The task '{job.data}' makes its own test. Leave --test out.")
    task = TASKS[str(job.data)]
    pairs = task.pairs(job.rows, seed=job.settings.seed)
    test = task.pairs(TEST_ROWS, seed=job.settings.seed + 1, unlike=[text for text, _ in pairs])
    frames = [pd.DataFrame(made, columns=columns, dtype=object).fillna("") for made in (pairs, test)]
    if columns[1] == "label" and frames[0]["label"].nunique() > len(frames[0]) // 10:
        raise DataError(f"The task '{task.name}' has no labels. Choose an encoder-decoder: vaswani-tiny.")
    return frames


def _named_rows(job, columns):
    """Return the rows of a named data set of labelled texts; a decoder alone reads the texts."""
    if job.test:
        raise DataError(f"The data set '{job.data}' has its own test. Leave --test out.")
    if job.config.has_decoder and job.config.has_encoder:
        raise DataError(f"The data set '{job.data}' has labels, no targets. Choose an encoder or a decoder.")
    frames = NAMED[str(job.data)]()
    return [frame.reindex(columns=columns, fill_value="") for frame in frames]


def _kind_of_token(job):
    return {"kind": job.tokens, "lowercase": not job.keep_case}


def _label_names(values, names):
    """Return label as in the file -> name to show, in the order of the labels."""
    strange = names.keys() - set(values)
    if strange:
        raise DataError(
            f"The data have no label '{min(strange)}' to be named '{names[min(strange)]}'. "
            f"Labels: {', '.join(values)}."
        )
    return {value: names.get(value, value) for value in values}


def _facts(job, path, rows):
    if str(path) in TASKS:
        return {"task": str(path), "made_with_seed": job.settings.seed, "rows": len(rows)}
    if str(path) in NAMED:
        return {"named": str(path), "rows": len(rows)}
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return {"file": Path(path).name, "sha256": digest, "rows": len(rows)}
