"""How a model is trained: one frozen record, its checks included."""

import dataclasses
import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Everything that decides a training run beside the config and the data.

    Attributes:
        epochs: Most passes over the training rows.
        batch_size: Texts in a step; those in a batch have similar lengths.
        learning_rate: Of Adam, at its highest: reached at the end of the warm-up, then falling to 0
            along a cosine over all epochs.
        warmup: Share of all steps in which the learning rate rises from 0.
        beta_2: Decay of Adam's running mean of squared gradients. At 0.999 a rare word's embedding moves
            five times as far each time the word comes up as at 0.98, the paper's (section 5.3).
        weight_decay: Of AdamW (Loshchilov and Hutter, 2019), in each step times the learning rate; 0: Adam.
        label_smoothing: Share of the target spread over all labels (Szegedy et al., 2016).
        word_dropout: Share of the tokens hidden behind [UNK] in each training batch (Iyyer et al., 2015).
        crop: Share of the training texts of which, anew each epoch, only a random part is read: short texts
            are then nothing new to the model.
        average: Decay of the moving average of the parameters that is validated and kept; 0: none.
        patience: Epochs without a better validation accuracy before training stops early.
        validation: Share of the rows held out to choose the best epoch.
        seed: Of the split, the initial parameters, the order of the batches and dropout.

    Raises:
        ValueError: If a value is out of range; names the field.
    """

    epochs: int = 10
    batch_size: int = 32
    learning_rate: float = 1e-3
    warmup: float = 0.1
    beta_2: float = 0.999
    weight_decay: float = 0.0
    label_smoothing: float = 0.0
    word_dropout: float = 0.0
    crop: float = 0.0
    average: float = 0.0
    patience: int = 3
    validation: float = 0.1
    seed: int = 0

    def __post_init__(self):
        for name, least in {"epochs": 1, "batch_size": 1, "patience": 1, "seed": 0}.items():
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise ValueError(f"`{name}` must be a whole number of at least {least}. Received: {value!r}.")
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if (
                field.type is float
                and field.name != "weight_decay"
                and not (type(value) in (int, float) and 0 <= value < 1)
            ):
                raise ValueError(f"`{field.name}` must be at least 0 and below 1. Received: {value!r}.")
        if not (type(self.weight_decay) in (int, float) and 0 <= self.weight_decay < math.inf):
            raise ValueError(f"`weight_decay` must be at least 0. Received: {self.weight_decay!r}.")
        for name in ("learning_rate", "validation"):
            if getattr(self, name) == 0:
                raise ValueError(f"`{name}` must be above 0.")

    def warmup_steps(self, num_rows: int) -> int:
        """Return the steps of the warm-up for so many training rows."""
        return int(self.warmup * self.total_steps(num_rows))

    def total_steps(self, num_rows: int) -> int:
        """Return the steps of all epochs for so many training rows."""
        return self.epochs * math.ceil(num_rows / self.batch_size)
