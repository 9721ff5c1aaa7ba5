"""How a model is trained: one frozen record, its checks included."""

import dataclasses
import math
from dataclasses import dataclass

from transformer_viz.language import Phrase, Problem

SCHEDULES = ("cosine", "paper", "constant")
PRECISIONS = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Everything that decides a training run beside the config and the data.

    Attributes:
        epochs: Most passes over the training rows.
        batch_size: Texts in a step; those in a batch have similar lengths.
        learning_rate: Of Adam, at its highest.
        schedule: What becomes of the learning rate after the warm-up. "cosine": it falls to 0 over all epochs
            (Loshchilov and Hutter, 2017); "constant": it stays; "paper": it falls as 1 / √step; with
            `learning_rate` (d_model · warm-up steps)^-0.5 that is Vaswani et al. (2017), equation 3.
        warmup: Share of all steps in which the learning rate rises from 0; 1 or more: how many steps.
        beta_2: Decay of Adam's running mean of squared gradients. At 0.999 a rare word's embedding moves
            five times as far each time the word comes up as at 0.98, the paper's (section 5.3).
        weight_decay: Of AdamW (Loshchilov and Hutter, 2019), in each step times the learning rate, for all
            parameters but biases and layer normalisation; 0: Adam.
        clip_norm: Longest gradient, all parameters together, in Euclidean norm (Pascanu et al., 2013); a
            longer one is shortened to it. 0: none.
        label_smoothing: Share of the target spread over all labels (Szegedy et al., 2016).
        word_dropout: Share of the tokens hidden behind [UNK] in each training batch (Iyyer et al., 2015).
        crop: Share of the training texts of which, anew each epoch, only a random part is read: short texts
            are then nothing new to the model.
        average: Decay of the moving average of the parameters that is validated and kept; 0: none.
        pack: Put texts one after the other in rows of `max_len` tokens, of which a batch has `batch_size`, so
            that nothing is padding and no text is cut off; each is read by itself. For a decoder alone, or an
            encoder that fills in tokens.
        precision: Of what is computed: "float32", or "bfloat16" or "float16", with parameters in float32
            (Micikevicius et al., 2018). Faster where there are units for it: GPUs, for bfloat16 also some
            processors.
        patience: Epochs without a better validation figure before training stops early.
        validation: Share of the rows held out to choose the best epoch.
        test_share: Share held out to measure the finished model on, once; 0: none.
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
    average: float = 0.0
    pack: bool = False
    precision: str = "float32"
    patience: int = 3
    validation: float = 0.1
    test_share: float = 0.0
    seed: int = 0

    def __post_init__(self):
        for name, least in {"epochs": 1, "batch_size": 1, "patience": 1, "seed": 0}.items():
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise Problem("setting.whole", name=name, least=least, received=repr(value))
        for name, choices in {"schedule": SCHEDULES, "precision": PRECISIONS}.items():
            value = getattr(self, name)
            if value not in choices:
                rule = Phrase("rule.choice", choices=", ".join(choices))
                raise Problem("setting.rule", name=name, rule=rule, received=repr(value))
        if type(self.pack) is not bool:
            raise Problem("setting.rule", name="pack", rule=Phrase("rule.flag"), received=repr(self.pack))
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

    def steps_per_epoch(self, num_rows: int) -> int:
        """Return the steps of one epoch for so many training rows."""
        return math.ceil(num_rows / self.batch_size)

    def total_steps(self, num_rows: int) -> int:
        """Return the steps of all epochs for so many training rows."""
        return self.epochs * self.steps_per_epoch(num_rows)
