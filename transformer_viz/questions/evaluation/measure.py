"""Metrics of classifiers and decoders on a data set, and induction and previous-token scores."""

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import pandas as pd
import sacrebleu
from tqdm import tqdm

from transformer_viz.data.batches import by_length, pad
from transformer_viz.data.labels import named_labels
from transformer_viz.explorer.controls import HEADLESS, UNIFORM
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.language import Problem
from transformer_viz.network.config import END_ID, START_ID
from transformer_viz.questions.evaluation.calibration import Calibration, calibration
from transformer_viz.questions.evaluation.scores import confusion, label_scores
from transformer_viz.questions.evaluation.token_scores import token_scores
from transformer_viz.questions.roles.heads import induction_score, previous_token_score, same_token_score
from transformer_viz.text.texts import each_text

BATCH_SIZE = 64
"""Texts per batch."""


class Evaluation(NamedTuple):
    """Metrics of a classifier.

    Attributes:
        rows: Number of rows.
        accuracy: Share of rows with the correct label.
        uniform_accuracy: The same with uniform attention: each query shares its weight equally among its
            unmasked keys.
        headless_accuracy: The same with every head set to zero.
        calibration: Calibration of the probabilities on these rows.
        by_label: One row per label: precision, recall, f1 and rows (support).
        confusion: Counts; rows are the true labels, columns the predicted ones.
    """

    rows: int
    accuracy: float
    uniform_accuracy: float
    headless_accuracy: float
    calibration: Calibration
    by_label: pd.DataFrame
    confusion: pd.DataFrame


def evaluate(
    explorer: Explorer,
    rows: pd.DataFrame,
    *,
    progress: bool = False,
    keep_going: Callable[[], None] = lambda: None,
) -> Evaluation:
    """Evaluate a classifier on labelled rows, also with uniform attention and without heads.

    Args:
        explorer: `Explorer`.
        rows: DataFrame with columns text and label; labels are the model's names, or the values of its
            training file.
        progress: Show a progress bar on standard error.
        keep_going: Called before each batch; may raise to stop.

    Returns:
        `Evaluation`; the precision of a label that was never predicted is 0.

    Raises:
        DataError: If a label is not one of the model's.
    """
    explorer.check_answers()
    labels = pd.Index(explorer.config.labels)
    truth = labels.get_indexer(true_labels(explorer, rows))
    token_ids = explorer.encode(rows["text"])
    logits, *controls = _class_logits(explorer, token_ids, progress, keep_going)
    uniform, headless = (each.argmax(axis=-1) == truth for each in controls)
    predicted = logits.argmax(axis=-1)
    counts = confusion(truth, predicted, len(labels))
    by_label = pd.DataFrame(label_scores(counts), index=labels)
    return Evaluation(
        rows=len(rows),
        accuracy=float(counts.diagonal().sum() / max(len(rows), 1)),
        uniform_accuracy=float(uniform.sum() / max(len(rows), 1)),
        headless_accuracy=float(headless.sum() / max(len(rows), 1)),
        calibration=calibration(logits, truth, explorer.config.temperature),
        by_label=by_label,
        confusion=pd.DataFrame(counts, labels.rename("true"), labels.rename("predicted")),
    )


def true_labels(explorer: Explorer, rows: pd.DataFrame) -> pd.Series:
    """Return the labels of rows by the model's names; arguments and errors as for `evaluate`."""
    values = explorer.card.get("label_values", {})
    return named_labels(pd.Series(rows["label"]), explorer.config.labels, values, explorer.name)


def _class_logits(explorer, token_ids, progress, keep_going):
    """Return the logits of a classifier, and those with each control: float32 (3, text, class)."""
    changes = (None, UNIFORM, HEADLESS)
    logits = np.zeros((len(changes), len(token_ids), len(explorer.config.labels)), np.float32)
    for rows in tqdm(by_length(token_ids, BATCH_SIZE), unit="batch", disable=not progress):
        keep_going()
        texts = [token_ids[row] for row in rows]
        logits[:, rows] = [explorer.class_logits(texts, intervention=change) for change in changes]
    return logits


class GenerationEvaluation(NamedTuple):
    """Metrics of a decoder.

    Attributes:
        rows: Number of rows.
        exact_match: Share of targets that greedy decoding generates without an error, [END] included.
        perplexity: exp of the mean cross-entropy per token, given the correct previous tokens.
        token_accuracy: Share of correct tokens, given the correct previous tokens (teacher forcing).
        uniform_accuracy: Token accuracy with uniform attention: each query shares its weight equally among
            its unmasked keys.
        headless_accuracy: Token accuracy with every head set to zero.
    """

    rows: int
    exact_match: float
    perplexity: float
    token_accuracy: float
    uniform_accuracy: float
    headless_accuracy: float


def bleu(written: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[float, str]:
    """Return the BLEU of some translations (Papineni et al., 2002).

    Args:
        written: One translation per text.
        references: One or more reference translations per text.

    Returns:
        BLEU, 0 to 100, and its `sacrebleu` signature (Post, 2018).
    """
    chinese = any("\u4e00" <= sign <= "\u9fff" for right in references for text in right for sign in text)
    metric = sacrebleu.BLEU(tokenize="zh" if chinese else "13a")
    score = metric.corpus_score(list(written), [*zip_longest(*references)])
    return score.score, str(metric.get_signature())


def induction_scores(explorer: Explorer, *, texts: int = 50, length: int = 12, seed: int = 0) -> np.ndarray:
    """Return the induction score of each head of a decoder (Olsson et al., 2022).

    The mean `induction_score`, from 0 to 1; otherwise as `same_token_scores`.
    """
    return _scores_of_repeated(induction_score, explorer, texts, length, seed)


def same_token_scores(explorer: Explorer, *, texts: int = 50, length: int = 12, seed: int = 0) -> np.ndarray:
    """Return the same-token score of each head of a decoder.

    Args:
        explorer: `Explorer` of a decoder.
        texts: Number of texts, each of random tokens and their repetition.
        length: Tokens before the repetition; at most half of `max_len`.
        seed: Random seed of the texts.

    Returns:
        float (layer, head): the mean `same_token_score`, from 0 to 1.
    """
    return _scores_of_repeated(same_token_score, explorer, texts, length, seed)


def _scores_of_repeated(score, explorer, texts, length, seed):
    random, scores = np.random.default_rng(seed), []
    length = min(length, (explorer.config.max_len - 1) // 2)
    for _ in range(texts):
        ids = random.integers(END_ID + 1, explorer.config.vocab_size, length)
        trace = explorer.trace([*ids, *ids], keep="weights")
        weights = np.stack([block.self_attention.weights for block in trace.decoder])
        scores.append(score(weights, trace.token_ids))
    return np.mean(scores, axis=0)


def previous_token_scores(explorer: Explorer, texts: Iterable[str]) -> np.ndarray:
    """Return the previous-token score of each head, averaged over some texts.

    Args:
        explorer: `Explorer` of an encoder, or of a decoder.
        texts: Texts of at least two tokens.

    Returns:
        float (layer, head): the mean `previous_token_score`, from 0 to 1.
    """
    scores = []
    for text in each_text(texts):
        trace = explorer.trace(text, keep="weights")
        scores.append([previous_token_score(layer.weights) for _, _, _, layer, *_ in trace.attentions()])
    return np.mean(scores, axis=0)


def evaluate_generation(
    explorer: Explorer,
    rows: pd.DataFrame,
    *,
    batch_size: int = BATCH_SIZE,
    keep_going: Callable[[], None] = lambda: None,
) -> GenerationEvaluation:
    """Evaluate a decoder on pairs of text and target.

    Up to the first error, greedy decoding generates the likeliest token given the correct previous ones; one
    forward pass with teacher forcing therefore gives all metrics.

    Args:
        explorer: `Explorer` of an encoder-decoder, or of a decoder.
        rows: DataFrame with columns text and target; concatenated for a decoder-only model.
        batch_size: Rows per batch.
        keep_going: Called before each batch; may raise to stop.

    Raises:
        ValueError: If the model is a decoder made elsewhere, which knows no end of a target.
    """
    config = explorer.config
    start, end = [*(config.target_start or (START_ID,))], config.end_id if config.has_encoder else END_ID
    if config.has_encoder:
        source = explorer.encode(rows["text"])
        most = config.target_max_len - len(start)
        target = explorer.output_tokenizer.encode_batch(
            rows["target"], max_len=most, truncation=config.truncation
        )
    elif config.is_foreign:
        raise Problem("model.foreign_tokens", model=explorer.name)
    else:
        whole = (rows["text"] + " " + rows["target"]).str.strip()
        source, most = None, config.max_len - 1
        target = explorer.tokenizer.encode_batch(whole, max_len=most, truncation=config.truncation)
    target = [np.array([*start, *ids, end], np.int32) for ids in target]
    exact, total, nats, tokens = 0, 0, 0.0, np.zeros(3, int)
    for batch in by_length(target, batch_size):
        keep_going()
        padded = pad([target[row] for row in batch], config.pad_id)
        before, answers = padded[:, :-1], padded[:, 1:].copy()
        answers[:, : len(start) - 1] = config.pad_id  # what a target begins with is given
        inputs = {"token_ids": before}
        if source is not None:
            ids = pad([source[row] for row in batch], config.pad_id)
            inputs = {"token_ids": ids, "target_ids": before}
        real, scores = answers != config.pad_id, token_scores(explorer, inputs, answers)
        exact += int((scores.right[0] | ~real).all(axis=-1).sum())
        total, nats = total + int(real.sum()), nats + scores.nats.sum(dtype=float)
        tokens += scores.right.sum(axis=(1, 2))
    perplexity, shares = float(np.exp(nats / max(total, 1))), (tokens / max(total, 1)).tolist()
    return GenerationEvaluation(len(rows), exact / max(len(rows), 1), perplexity, *shares)
