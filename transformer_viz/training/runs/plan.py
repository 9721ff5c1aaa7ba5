"""The plan of a training: which model learns which data with which settings, and what that costs."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.fine_tuning import child_config, longest_text
from transformer_viz.network.presets import PRESETS
from transformer_viz.training.runs.cost import Cost, estimate
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.recipes import Reading, Recipe
from transformer_viz.training.runs.settings import TrainingSettings

FINE_TUNING = {"learning_rate": 0.0003}
"""Settings of fine-tuning: a lower rate than for a new model, so that parameters change little."""

HUB_FINE_TUNING = {"learning_rate": 0.0001, "weight_decay": 0.01, "clip_norm": 1.0}
"""The same for a model of the hub, which is larger (Devlin et al., 2019, appendix A.3)."""


class Plan(NamedTuple):
    """What a training begins with: the page shows it in its controls, the command takes what is not given.

    Attributes:
        preset: Preset of a new model; "": another model is fine-tuned.
        config: Config of the model, but for the vocabulary and the labels of the data.
        settings: Of the training.
    """

    preset: str
    config: TransformerConfig
    settings: TrainingSettings


def plan(
    recipe: Recipe,
    *,
    preset: str = "",
    parent: TransformerConfig | None = None,
    classifies: bool | None = None,
    reading: Reading | None = None,
    changes: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Plan:
    """Return what a training begins with.

    Args:
        recipe: Of the data.
        preset: Preset of a new model; "": that of the recipe.
        parent: Config of the model that is fine-tuned; None: the model is new.
        classifies: Whether a fine-tuned model is a classifier; None: as in the recipe.
        reading: How the texts of a file are read; None: there is no file.
        changes: Fields of the config that differ.
        settings: Settings that differ from those of the recipe, except where fine-tuning needs others.

    Raises:
        ValueError: If the parent cannot become such a model, or fields do not fit each other.
    """
    changes, settings = changes or {}, dict(settings or {})
    if parent is None:
        preset = preset or recipe.preset
        start = recipe.config() if preset == recipe.preset else PRESETS[preset]
        config = start.replace(**{**({} if reading is None else reading.of_config), **changes})
    else:
        preset = ""
        longest = {} if reading is None else {"max_len": longest_text(parent, reading.max_len)}
        classifies = recipe.classifies if classifies is None else classifies
        config = child_config(parent, classifies=classifies, **{**longest, **changes})
        settings |= HUB_FINE_TUNING if config.is_foreign else FINE_TUNING
    return Plan(preset, config, recipe.training(**settings | {"pack": config.fills_in}))


class Material(NamedTuple):
    """Training data, as far as they are known before a run.

    Attributes:
        data: As in `TrainingJob.data`.
        recipe: Name in `RECIPES`.
        rows: Number of rows; None: any, for a built-in task.
        examples: (text, target or None) pairs.
        vocab: Vocabulary size.
        tokens: Mean length of a text in tokens.
        job: Further fields of `TrainingJob`.
        reading: How the texts of a file are read; None: there is no file.
        test_share: Share of the rows on which the finished model is measured; a built-in task has test rows.
        target_vocab: Size of the target's own vocabulary; None: it shares that of the texts.
        target_tokens: Mean length of a target in tokens; None: that of the texts.
    """

    data: str
    recipe: str
    rows: int | None
    examples: list
    vocab: int
    tokens: float
    job: dict
    reading: Reading | None = None
    test_share: float = 0.0
    target_vocab: int | None = None
    target_tokens: float | None = None


def cost_of(job: TrainingJob, material: Material) -> Cost:
    """Return the estimated cost of a training on this machine.

    Args:
        job: The training.
        material: Its data.
    """
    config = job.config
    if not job.parent:
        config = config.replace(**_vocabulary_sizes(config, material))
    rows, target = job.settings.training_rows(job.rows), 0
    if config.architecture == "encoder-decoder":
        target = min(material.target_tokens or material.tokens, config.target_max_len)
    tokens = min(material.tokens, config.max_len)
    return estimate(config, job.settings, rows, tokens, target, job.trainable_layers)


def num_steps(job: TrainingJob) -> int:
    """Return the number of training steps, estimated before the data are read."""
    return job.settings.total_steps(job.settings.training_rows(job.rows))


def num_pictures(job: TrainingJob) -> int:
    """Return how often the probes are recorded, estimated before the data are read."""
    return job.settings.epochs + (num_steps(job) // job.frame_steps if job.frame_steps else 0)


def _vocabulary_sizes(config, material):
    """Return the sizes of the vocabularies, as fields of the config, as far as the data fill them."""
    sizes = {"vocab_size": min(config.vocab_size, material.vocab)}
    if material.target_vocab is not None:
        sizes["target_vocab_size"] = min(config.target_vocab_size, material.target_vocab)
    return sizes
