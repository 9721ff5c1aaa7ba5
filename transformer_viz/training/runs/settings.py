"""Training settings: one frozen record with its checks."""

import dataclasses
import math
from dataclasses import dataclass

from transformer_viz.language import Phrase, Problem

SCHEDULES = ("cosine", "paper", "constant")
PRECISIONS = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Hyperparameters of a training run, besides the config and the data.

    Attributes:
        epochs: Maximum passes over the training rows.
        batch_size: Texts in a step; those in a batch have similar lengths.
        learning_rate: Peak learning rate of Adam.
        schedule: Learning rate after the warm-up. "cosine": decays to 0 over all epochs (Loshchilov and
            Hutter, 2017); "constant"; "paper": decays as 1 / √step; with `learning_rate` (d_model · warm-up
            steps)^-0.5 that is Vaswani et al. (2017), equation 3.
        warmup: Share of all steps in which the learning rate rises from 0; 1 or more: number of steps.
        beta_2: Decay of Adam's running mean of squared gradients. At 0.999 the embedding of a rare word moves
            five times as far per occurrence as at 0.98, the paper's value (section 5.3).
        weight_decay: Of AdamW (Loshchilov and Hutter, 2019), times the learning rate in each step, for all
            parameters except biases and layer normalisation; 0: Adam.
        clip_norm: Global norm to which gradients are clipped (Pascanu et al., 2013); 0: off.
        label_smoothing: Share of the target spread over all labels (Szegedy et al., 2016).
        word_dropout: Share of the tokens replaced by [UNK] in each training batch (Iyyer et al., 2015).
        crop: Share of the training texts cropped to a random part, drawn anew in each epoch, so the model
            also sees short texts.
        layer_decay: Learning rate of each block as a share of that of the block above it, of the last one as
            a share of that of the output head, and of the embeddings as a share of that of the first one, for
            fine-tuning (Clark et al., 2020, ELECTRA, section 3.1); 0: all have the same.
        average: Decay of the moving average of the parameters, which is validated and stored; 0: none.
        pack: Concatenate texts into rows of `max_len` tokens, `batch_size` rows in a batch, without padding
            or truncation; each text is read alone. For a decoder alone, or an encoder that predicts masked
            tokens.
        class_weights: Weight each text of a classifier by the inverse of how frequent its label is, as
            scikit-learn's "balanced" (King and Zeng, 2001, section 4): all labels count alike.
        precision: Compute precision: "float32", or "bfloat16" or "float16" with float32 parameters
            (Micikevicius et al., 2018). Faster where the hardware supports it: GPUs, for bfloat16 also some
            processors.
        patience: Epochs without a better validation metric before training stops early.
        validation: Share of the rows used to select the best epoch.
        test_share: Share of the rows on which the finished model is measured once; 0: none.
        same_token_heads: Heads of each block except the last that begin by attending to the same token
            (Trockman and Kolter, 2023); the others begin at random.
        seed: Of the split, the initial parameters, the order of the batches and dropout.

    Raises:
        ValueError: If a value is out of range; names the field.
    """

    epochs: int = 10
    batch_size: int = 32
    learning_rate: float = 1e-3
    schedule: str = "cosine"
    warmup: float = 0.1
    beta_2: float = 0.999
    weight_decay: float = 0.0
    clip_norm: float = 0.0
    label_smoothing: float = 0.0
    word_dropout: float = 0.0
    crop: float = 0.0
    layer_decay: float = 0.0
    average: float = 0.0
    pack: bool = False
    class_weights: bool = False
    precision: str = "float32"
    patience: int = 3
    validation: float = 0.1
    test_share: float = 0.0
    same_token_heads: int = 0
    seed: int = 0

    def __post_init__(self):
        least_of = {"epochs": 1, "batch_size": 1, "patience": 1, "same_token_heads": 0, "seed": 0}
        for name, least in least_of.items():
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise Problem("setting.whole", name=name, least=least, received=repr(value))
        for name, choices in {"schedule": SCHEDULES, "precision": PRECISIONS}.items():
            value = getattr(self, name)
            if value not in choices:
                rule = Phrase("rule.choice", choices=", ".join(choices))
                raise Problem("setting.rule", name=name, rule=rule, received=repr(value))
        for name in ("pack", "class_weights"):
            if type(value := getattr(self, name)) is not bool:
                raise Problem("setting.rule", name=name, rule=Phrase("rule.flag"), received=repr(value))
        for field in dataclasses.fields(self):
            if field.type is float:
                self._check_number(field.name, getattr(self, field.name))
        for name in ("learning_rate", "validation"):
            if getattr(self, name) == 0:
                raise Problem("setting.positive", name=name)
        if self.validation + self.test_share >= 1:
            raise Problem("setting.shares")
        if self.schedule == "paper" and self.warmup == 0:
            raise Problem("setting.warmup")

    def _check_number(self, name, value):
        is_number = type(value) in (int, float)
        if name in ("weight_decay", "clip_norm", "warmup"):
            if not (is_number and 0 <= value < math.inf):
                raise Problem("setting.least", name=name, least=0, received=repr(value))
        elif not (is_number and 0 <= value < 1):
            raise Problem("setting.share", name=name, received=repr(value))

    def learning_rate_at(self, step: int, num_rows: int) -> float:
        """Return the learning rate of a step, counted from 0, for so many training rows."""
        warmup, total = self.warmup_steps(num_rows), self.total_steps(num_rows)
        if step < warmup:
            return self.learning_rate * (step + 1) / warmup
        if self.schedule == "paper":
            return self.learning_rate * math.sqrt(warmup / (step + 1))
        if self.schedule == "cosine":
            done = (step - warmup) / max(1, total - warmup)
            return self.learning_rate * (1 + math.cos(math.pi * min(done, 1))) / 2
        return self.learning_rate

    def warmup_steps(self, num_rows: int) -> int:
        """Return the steps of the warm-up for so many training rows."""
        return int(self.warmup if self.warmup >= 1 else self.warmup * self.total_steps(num_rows))

    def training_rows(self, num_rows: int) -> int:
        """Return about how many of so many rows are trained on."""
        return int(num_rows * (1 - self.validation - self.test_share))

    def steps_per_epoch(self, num_rows: int) -> int:
        """Return the steps of one epoch for so many training rows."""
        return math.ceil(num_rows / self.batch_size)

    def total_steps(self, num_rows: int) -> int:
        """Return the steps of all epochs for so many training rows."""
        return self.epochs * self.steps_per_epoch(num_rows)
