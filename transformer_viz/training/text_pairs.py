"""Text pairs as training data of encoder-decoders, and joined to one text, of decoders."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from transformer_viz.data import read_for_decoder, read_pairs, split_pairs
from transformer_viz.data.batches import by_length, pad, shuffled_by_length
from transformer_viz.data.tasks import TASKS
from transformer_viz.explorer.decode import generate_all
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.network.config import END_ID, START_ID
from transformer_viz.questions.evaluation.measure import bleu, evaluate_generation, induction_scores
from transformer_viz.store import StoredModel
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.training import objectives
from transformer_viz.training.dataset import TOKEN_IDS, Batch, Dataset, word_dropout
from transformer_viz.training.rows import (
    choose_probes,
    choose_role_texts,
    describe_rows,
    describe_test,
    joined_texts,
    load_rows,
    split_rows,
    tokenizer_options,
)
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.settings import TrainingSettings

BLEU_TEXTS = 200
"""Validation texts that are translated in each epoch: the first ones of the random order."""

LONGER = 12
"""Most tokens beyond the longest reference that are written: an untrained model writes no [END]."""

EXAMPLES = 10
"""Test rows whose output the model card shows: the first ones, right or wrong."""


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
        train, validation, self.test = split_rows(job, read, split_pairs, rows, test)
        if parent:
            source = Tokenizer.from_json(parent.tokenizer)
            target, sizes = Tokenizer.from_json(parent.target_tokenizer or parent.tokenizer), {}
        else:
            source, target, sizes = self._train_tokenizers(job, train)
        self.config = job.config.replace(**sizes)
        self.tokenizers = {"tokenizer": source.to_json()}
        translates = job.config.has_encoder
        self.signature = ((TOKEN_IDS, TOKEN_IDS), TOKEN_IDS) if translates else (TOKEN_IDS, TOKEN_IDS)
        if translates:
            self.tokenizers["target_tokenizer"] = target.to_json()
        self.num_rows, self.num_validation = len(train), len(validation)
        self.left_out = rows.attrs.get("left_out", [])
        probes = validation[["text", "target"]] if translates else joined_texts(validation)
        self.probes = choose_probes(job, probes.to_numpy())
        self.role_texts = choose_role_texts(self.config, validation)
        self.card = {
            "task": "sequence to sequence" if translates else "next token",
            "data": describe_rows(job, rows),
        }
        self._test_facts = describe_test(job, rows, self.test)

        def encode(tokenizer, texts, most):
            return tokenizer.encode_batch(texts, max_len=most, truncation=self.config.truncation)

        def prepare(frame):
            if not translates:
                return None, encode(source, joined_texts(frame), self.config.max_len - 1)
            most = (self.config.target_max_len or self.config.max_len) - 1  # [START] needs a position too
            target_ids = encode(target, frame["target"], most)
            return encode(source, frame["text"], self.config.max_len), target_ids

        self._train, self._validation = prepare(train), prepare(validation)
        self._references = references_of(validation).iloc[:BLEU_TEXTS]

    def _train_tokenizers(self, job, train):
        """Train the tokenizers of both sides; return them and the vocabulary sizes."""
        config, kind = job.config, {"split_digits": True, **tokenizer_options(job)}
        if not config.has_encoder or config.tie_embeddings:
            texts = [*train["text"], *train["target"]]
            tokenizer = Tokenizer.train(texts, config.vocab_size, markers=True, **kind)
            return tokenizer, tokenizer, {"vocab_size": tokenizer.vocab_size}
        source = Tokenizer.train(train["text"], config.vocab_size, **kind)
        kind["kind"] = job.target_tokens or job.tokens
        target = Tokenizer.train(train["target"], config.target_vocab_size, markers=True, **kind)
        return source, target, {"vocab_size": source.vocab_size, "target_vocab_size": target.vocab_size}

    def objective(self, settings: TrainingSettings) -> objectives.Objective:
        """Return the loss and its metrics; of a decoder alone, those of running text."""
        kind = objectives.next_token if self.config.has_encoder else objectives.running_text
        return kind(settings.label_smoothing)

    def batches(self, settings: TrainingSettings, epoch: int) -> Iterator[Batch]:
        """Yield the training batches of one epoch, which follow from the seed and the epoch alone."""
        random = np.random.default_rng([settings.seed, epoch])
        lengths = self._train[1] if self._train[0] is None else self._train[0]
        for rows in shuffled_by_length(lengths, settings.batch_size, random):
            inputs, targets = self._batch(self._train, rows)
            if isinstance(inputs, tuple):
                yield (
                    (word_dropout(inputs[0], settings.word_dropout, random, self.config), inputs[1]),
                    targets,
                )
            else:
                yield word_dropout(inputs, settings.word_dropout, random, self.config), targets

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

    def written_metrics(self, explorer: Explorer) -> dict[str, float]:
        """Return the BLEU of some validation texts of an encoder-decoder, with all references; of a file."""
        if not explorer.config.has_encoder or self._is_task:
            return {}
        longest = max(len(target_ids) for target_ids in self._validation[1])
        written = generate_all(explorer, self._references.index, max_new=longest + LONGER)
        return {"bleu": bleu(written, list(self._references))[0]}

    def test_metrics(self, explorer: Explorer, keep_going: Callable[[], None]) -> dict | None:
        """Return the metrics of the stored model on the test rows; None without test rows."""
        if self.test is None or self._test_facts is None:
            return None
        result = evaluate_generation(explorer, self.test, keep_going=keep_going)
        names = ("exact_match", "token_accuracy", "uniform_accuracy", "headless_accuracy")
        metrics = {name: getattr(result, name) for name in names}
        if not explorer.config.has_encoder:
            metrics["perplexity"] = result.perplexity
            metrics["induction_score"] = float(induction_scores(explorer).max())
        elif not self._is_task:
            metrics |= translation_metrics(explorer, self.test, keep_going)
        return self._test_facts | metrics


def references_of(rows: pd.DataFrame) -> pd.Series:
    """Return the targets of each text as a list, indexed by the text."""
    return pd.Series(rows.groupby("text", sort=False)["target"].agg(list))


def translation_metrics(
    explorer: Explorer, rows: pd.DataFrame, keep_going: Callable[[], None] = lambda: None
) -> dict:
    """Return BLEU with one reference, BLEU with all and its signature, and examples of the model's output.

    A text that occurs in several rows is translated once; the targets of all its rows are references, or the
    first of them alone.

    Args:
        explorer: `Explorer` of an encoder-decoder.
        rows: Columns text and target.
        keep_going: As for `generate_all`.
    """
    references = references_of(rows)
    written = generate_all(explorer, references.index, keep_going=keep_going)
    score, signature = bleu(written, list(references))
    alone, _ = bleu(written, [right[:1] for right in references])
    first = zip(references.index[:EXAMPLES], references[:EXAMPLES], written[:EXAMPLES], strict=True)
    examples = [{"text": text, "target": right[0], "written": output} for text, right, output in first]
    figures = {"bleu_one_reference": alone, "bleu": score, "bleu_signature": signature}
    return figures | {"texts": len(references), "examples": examples}
