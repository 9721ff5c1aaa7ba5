"""Training data: what the training loop needs of them, whatever their kind."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import pandas as pd
import tensorflow as tf

from transformer_viz.data import BadRows
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.network.config import NO_ID, TransformerConfig
from transformer_viz.training import objectives
from transformer_viz.training.runs.settings import TrainingSettings

TOKEN_IDS = tf.TensorSpec((None, None), tf.int32)
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
        left_out: What was left out of the files.
        num_rows: Training rows.
        num_validation: Validation rows.
        signature: Tensor specs of the (inputs, targets) of a batch.
        probes: (text, target) pairs whose attention is recorded; the target of an encoder is None.
        role_texts: Validation texts over which the roles of heads are measured, of an encoder-decoder
            (text, target) pairs; empty if there are too few.
        test: Test rows; None: there are none.
        labelled: Training rows with columns text and label, by the config's names, that tell which words are
            typical of each label; None for a model without labels.
    """

    config: TransformerConfig
    tokenizers: dict[str, str]
    card: dict
    left_out: list[BadRows]
    num_rows: int
    num_validation: int
    signature: Any
    probes: list[tuple[str, str | None]]
    role_texts: list[str] | list[tuple[str, str]]
    test: pd.DataFrame | None
    labelled: pd.DataFrame | None = None

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

    def written_metrics(self, explorer: Explorer) -> dict[str, float]:
        """Return metrics of what the model writes for validation texts; empty where it writes nothing."""
        return {}

    def test_metrics(self, explorer: Explorer, keep_going: Callable[[], None]) -> dict | None:
        """Return the metrics of the stored model on the test rows; None without test rows.

        Args:
            explorer: Of the stored model.
            keep_going: Called before each batch; may raise to stop.
        """
        ...


def word_dropout(
    token_ids: np.ndarray, share: float, random: np.random.Generator, config: TransformerConfig
) -> np.ndarray:
    """Replace that share of the tokens of a batch by [UNK], if there is such a token.

    [PAD] stays, and so do the tokens that a model of that config reads around a text.
    """
    if not share or config.unk_id == NO_ID:
        return token_ids
    marks = {config.pad_id, *[config.start_id] * config.reads_start, *[config.end_id] * config.reads_end}
    hidden = (random.random(token_ids.shape) < share) & ~np.isin(token_ids, [*marks])
    return np.where(hidden, config.unk_id, token_ids)
