"""Starting points of trainings: for each task a model and settings known to learn it."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from transformer_viz.data import COLUMN_ROLES, DataError, Preview
from transformer_viz.data.tasks import TASKS
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.presets import PRESETS
from transformer_viz.text.scripts import UNSPACED
from transformer_viz.training.runs.settings import TrainingSettings

FEW_ROWS = 200
"""Rows of a file below which it is said that they are too few."""

LEAST_STEPS = 150
"""Steps below which a file has smaller batches and more epochs: to learn anything, and to see a curve."""

SMALL_BATCHES = (32, 16, 8)

MOST_EPOCHS = 30
"""Most epochs for a small file."""


@dataclass(frozen=True)
class Recipe:
    """A starting point.

    Attributes:
        preset: Name in `PRESETS`.
        changes: Fields of its config that differ.
        settings: Fields of `TrainingSettings` that differ from their defaults.
        rows: Texts generated for a built-in task.
    """

    preset: str
    changes: dict = field(default_factory=dict)
    settings: dict = field(default_factory=dict)
    rows: int = 20_000

    def config(self, **changes: object) -> TransformerConfig:
        """Return the config, with further changes."""
        return PRESETS[self.preset].replace(**self.changes | changes)

    @property
    def classifies(self) -> bool:
        """Whether the model is a classifier."""
        return not PRESETS[self.preset].predicts_tokens

    def can_start_from(self, parent: TransformerConfig) -> bool:
        """Return whether a model of the task can be fine-tuned from a model with that config."""
        own = PRESETS[self.preset]
        if parent.is_foreign and (parent.architecture == "encoder-decoder" or not self.classifies):
            return False
        if own.architecture == "encoder-decoder" or parent.architecture == "encoder-decoder":
            return own.architecture == parent.architecture
        return self.classifies or parent.predicts_tokens

    def for_rows(self, rows: int) -> "Recipe":
        """Return the recipe for a file of so many rows: of few, in smaller batches and more epochs."""
        sizes = [size for size in SMALL_BATCHES if size < self.training().batch_size]
        for size in (self.training().batch_size, *sizes):
            settings = self.training(batch_size=size)
            steps = settings.steps_per_epoch(settings.training_rows(rows))
            if steps * settings.epochs >= LEAST_STEPS:
                return replace(self, settings=self.settings | {"batch_size": size})
        epochs = max(settings.epochs, min(MOST_EPOCHS, math.ceil(LEAST_STEPS / max(steps, 1))))
        few = {"batch_size": size, "epochs": epochs, "patience": max(settings.patience, epochs // 3)}
        return replace(self, settings=self.settings | few)

    def training(self, **changes: Any) -> TrainingSettings:
        """Return the settings, with further changes."""
        return TrainingSettings(**self.settings | changes)


_QUICK = {"num_layers": 1, "dropout": 0.0, "embedding_dropout": 0.0}
_FAST = {"epochs": 5, "batch_size": 64, "learning_rate": 0.003, "beta_2": 0.98}

_WRITES = Recipe("vaswani-tiny", _QUICK, _FAST)

RECIPES = {
    "reverse": _WRITES,
    "copy": _WRITES,
    "sort": _WRITES,
    "dates": _WRITES,
    "addition": Recipe("vaswani-tiny", _QUICK | {"num_layers": 2}, _FAST | {"epochs": 10}, rows=40_000),
    "parity": Recipe(
        "single-block",
        {"d_model": 32, "num_heads": 4, "ffn_dim": 64, "positions": "sinusoidal", "dropout": 0.0},
        {"epochs": 6, "batch_size": 64},
    ),
    "repeat": Recipe(
        "gpt-mini",
        {
            **_QUICK,
            "num_layers": 2,
            "d_model": 64,
            "ffn_dim": 0,
            "max_len": 64,
            "positions": "sinusoidal",
            "scale_embedding": True,
            "tie_embeddings": False,
        },
        {"epochs": 4, "batch_size": 32, "learning_rate": 0.003, "beta_2": 0.98},
    ),
    "labels": Recipe(
        "single-block",
        {"output": "softmax", "mask_padding": True, "truncation": "middle", "dropout": 0.3}
        | {"norm": "pre", "positions": "sinusoidal", "scale_embedding": True},
        {"epochs": 4, "test_share": 0.1},
    ),
    "imdb": Recipe("attention-only", {"truncation": "beginning"}, {"epochs": 4, "schedule": "constant"}),
    "pairs": Recipe(
        "vaswani-tiny",
        {"d_model": 128, "num_heads": 8, "ffn_dim": 512, "norm": "pre", "final_norm": True},
        {"epochs": 8, "batch_size": 64, "learning_rate": 0.002, "beta_2": 0.98, "label_smoothing": 0.1}
        | {"test_share": 0.1},
    ),
    "texts": Recipe("gpt-mini", {}, {"epochs": 4, "beta_2": 0.98, "test_share": 0.1}),
}
"""Built-in task, or kind of rows in a file -> recipe."""


class Reading(NamedTuple):
    """How the texts of a file are read.

    Attributes:
        tokens: Kind of tokens, as in `TrainingJob`.
        keep_case: Whether case is distinguished.
        max_len: Longest text in tokens.
        target_tokens: Kind of tokens of a target in another script, as in `TrainingJob`; "": one vocabulary.
    """

    tokens: str
    keep_case: bool
    max_len: int
    target_tokens: str = ""

    def in_one_vocabulary(self) -> "Reading":
        """Return how texts and targets are read with one vocabulary for both."""
        return self._replace(tokens="bpe", target_tokens="") if self.target_tokens else self

    @property
    def of_job(self) -> dict[str, Any]:
        """Return the fields of a `TrainingJob` that say so."""
        return {"tokens": self.tokens, "target_tokens": self.target_tokens, "keep_case": self.keep_case}

    @property
    def of_config(self) -> dict[str, Any]:
        """Return the fields of the config of a new model that say so."""
        return {"max_len": self.max_len} | ({"tie_embeddings": False} if self.target_tokens else {})


def likely_reading(kind: str, found: Preview, columns: Mapping[str, str] | None = None) -> Reading:
    """Return how a file of that kind of rows is read, unless the user chooses otherwise.

    Texts alone are read by characters if most words are of a script without spaces between words, else by
    BPE. So is each side of pairs; text and target share a vocabulary if both are of the same script.

    Args:
        kind: "labels", "pairs" or "texts".
        found: Preview of the file.
        columns: As in `TrainingJob`; the others are those guessed.
    """
    if kind in ("pairs", "texts"):
        named = {"text" if role == "source" else role: name for role, name in (columns or {}).items()}
        sides = found.guess.get(kind, {}) | named
        scripts = [found.scripts.get(sides.get(role, ""), "") for role in COLUMN_ROLES[kind]]
        tokens = ["characters" if script in UNSPACED else "bpe" for script in scripts]
        own = tokens[-1] if all(scripts) and scripts[0] != scripts[-1] else ""
        return Reading(tokens[0], keep_case=True, max_len=64, target_tokens=own)
    texts = found.guess.get(kind, {}).get("text")
    shown = found.rows if texts is None else found.rows[[texts]]
    is_chinese = any(re.search("[\u4e00-\u9fff]", str(value)) for value in shown.to_numpy().ravel())
    return Reading("characters" if is_chinese else "words", keep_case=False, max_len=256)


def recipe_name(data: str | Path, columns: Mapping[str, str], found: Preview | None) -> str:
    """Return the name in `RECIPES` for some data: a built-in task, a named data set, or a file.

    Args:
        data: As in `TrainingJob`.
        columns: As in `TrainingJob`; if they name a label or a target, they determine the kind of rows.
        found: Preview of a file; None: it is none.

    Raises:
        DataError: If neither the columns nor the file say what is to be learned.
    """
    if found is None:
        return str(data) if str(data) in TASKS else "imdb"
    named = {"label": "labels", "target": "pairs"}
    if kind := next((named[role] for role in columns if role in named), None):
        return kind
    if found.is_sure and found.kind:
        return found.kind
    if "text" in columns:
        return "texts"
    if found.problem and (found.lacks_header or found.flags):
        raise found.problem
    raise DataError("kind.unclear", path=data, columns=", ".join(found.columns))


def presets_for(recipe: Recipe) -> list[str]:
    """Return the presets that can learn the recipe's task, its own first."""
    own = PRESETS[recipe.preset]
    fitting = [
        name
        for name, config in PRESETS.items()
        if (config.architecture, config.fills_in) == (own.architecture, own.fills_in)
    ]
    return sorted(fitting, key=lambda name: name != recipe.preset)
