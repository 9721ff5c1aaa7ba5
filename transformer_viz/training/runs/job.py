"""The request of a training run, stored as JSON."""

import dataclasses
import functools
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from transformer_viz.data import RECOGNISED, ReadOptions
from transformer_viz.data.encodings import ENCODINGS
from transformer_viz.data.tasks import TASKS
from transformer_viz.language import Phrase, Problem, json_reason
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.fine_tuning import trained_parameters
from transformer_viz.text.kinds import TOKEN_KINDS
from transformer_viz.training.runs.settings import TrainingSettings

LONGEST_OWNER = 200
"""Characters of the longest owner id."""

LONGEST_PROBE = 1_000
"""Characters of the longest probe: pictures grow with its square."""

MAX_JOB_BYTES = 4 * 2**20
"""Bytes of the largest `job.json`."""

METRICS = {"encoder": "accuracy", "decoder": "token_accuracy", "encoder-decoder": "exact_match"}
"""Architecture -> the validation metric that selects the best epoch; the loss breaks ties."""

LOWER_IS_BETTER = ("perplexity",)
"""Metrics whose lowest value is the best."""


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """The request of a training run.

    Attributes:
        config: `TransformerConfig`; its `labels` and `vocab_size` become those of the data, and for more than
            two labels the output "sigmoid" becomes "softmax".
        settings: `TrainingSettings`.
        data: Path of the training and validation rows: labelled texts for an encoder, pairs for a decoder; or
            the name of a built-in task or named data set.
        sha256: Expected SHA-256 of the file `data` in hexadecimal, checked when it is read; "": any.
        more_data: Paths of further files of such rows.
        train_only: Paths of files of such rows, none of which is used for validation: their labels may be
            guesses.
        rows: Texts generated for a built-in task.
        columns: Role -> column name in the file; the others are guessed.
        options: How all files are read, and whether their bad rows are left out: the same rows whenever the
            run is resumed.
        tokens: Kind of tokens, as in `Tokenizer.train`.
        target_tokens: Kind of tokens of the targets of an encoder-decoder without `tie_embeddings`; "":
            `tokens`.
        keep_case: Distinguish upper and lower case.
        test: Path of the test rows; "": none.
        label_names: label in the file -> name to show; other labels keep theirs.
        probes: Texts, for an encoder-decoder (text, target) pairs, whose attention is recorded during
            training;
            empty: the first validation rows.
        frame_steps: Steps between two pictures of the probes, in addition to one per epoch; 0: only those.
        parent: Model to fine-tune, with its tokenizers and parameters: a name on the shelf or a folder; "":
            none. `config` must be a `child_config` of its config. `tokens`, `target_tokens` and `keep_case`
            do not apply.
        trainable_layers: Train only the output head and this many of the last layers, and freeze the other
            parameters of `parent`; None: train all.
        card: Facts for the model card that no program knows: licence, source, command, examples.
        out: Path of the finished model's folder; "": the best model stays in the run.
        overwrite: Replace a model of that name.
        owner: Opaque id of the owner; "": shared.
    """

    config: TransformerConfig
    settings: TrainingSettings
    data: str
    sha256: str = ""
    more_data: tuple = ()
    train_only: tuple = ()
    rows: int = 20_000
    columns: dict = field(default_factory=dict)
    options: ReadOptions = RECOGNISED
    tokens: str = "words"
    target_tokens: str = ""
    keep_case: bool = False
    test: str = ""
    label_names: dict = field(default_factory=dict)
    probes: tuple = ()
    frame_steps: int = 0
    parent: str = ""
    trainable_layers: int | None = None
    card: dict = field(default_factory=dict)
    out: str = ""
    overwrite: bool = False
    owner: str = ""

    def __post_init__(self):
        for name in ("data", "test", "parent", "out"):  # may be paths
            object.__setattr__(self, name, os.fspath(getattr(self, name)))
        probes = tuple(probe if isinstance(probe, str) else tuple(probe) for probe in self.probes)
        object.__setattr__(self, "probes", probes)
        for name in ("rows", "frame_steps"):
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                raise Problem("setting.whole", name=name, least=0, received=repr(value))
        for name, (fits, rule) in _RULES.items():
            value = getattr(self, name)
            if not fits(value):
                raise Problem("setting.rule", name=name, rule=rule, received=f"{value!r:.200}")
        for name in ("more_data", "train_only"):
            object.__setattr__(self, name, tuple(map(os.fspath, getattr(self, name))))
        longest = max((len(text) for probe in probes for text in _texts_of(probe)), default=0)
        if longest > LONGEST_PROBE:
            raise Problem("job.probe", most=LONGEST_PROBE, length=longest)
        self._check_pack()
        self._check_initial()
        if self.target_tokens and not self.parent:
            self._check_target_tokens()
        if self.trainable_layers is not None:
            if not self.parent:
                raise Problem("parent.none")
            trained_parameters(self.config, self.trainable_layers)

    def _check_pack(self):
        if self.config.fills_in:
            if not self.settings.pack:
                raise Problem("job.must_pack")
            if self.settings.word_dropout:
                raise Problem("job.hides")
        elif self.settings.pack and self.config.architecture != "decoder":
            raise Problem("job.may_not_pack", architecture=self.config.architecture)

    def _check_initial(self):
        heads = self.settings.same_token_heads
        if heads and self.parent:
            raise Problem("job.inherits")
        most = self.config.num_heads if self.config.num_kv_heads == self.config.num_heads else 0
        if heads > most:
            raise Problem("job.same_token_heads", most=most, received=heads)
        if heads and self.config.positions.startswith("sinusoidal") and not self.config.scale_embedding:
            raise Problem("job.same_token_scale")

    def _check_target_tokens(self):
        if self.config.architecture != "encoder-decoder":
            raise Problem("job.no_target", architecture=self.config.architecture)
        if self.config.tie_embeddings:
            raise Problem("job.tied")

    @property
    def metric(self) -> str:
        """Name of the metric that selects the best epoch; higher is better, except in `LOWER_IS_BETTER`."""
        return "perplexity" if self.settings.pack else METRICS[self.config.architecture]

    @property
    def drawn_metric(self) -> str:
        """Name of the metric whose curve is drawn.

        Of texts that no task made, a language model has a perplexity, and of pairs, whole targets are rarely
        exact.
        """
        if self.data in TASKS or self.config.architecture == "encoder":
            return self.metric
        return "token_accuracy" if self.config.has_encoder else "perplexity"

    def to_json(self) -> str:
        """Return the text of `job.json`."""
        facts = {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}
        facts["config"] = json.loads(self.config.to_json())
        facts["settings"] = dataclasses.asdict(self.settings)
        facts["options"] = self.options._asdict()
        return json.dumps(facts, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "TrainingJob":
        """Read the output of `to_json`, of this version or an earlier one.

        Raises:
            ValueError: If the text is invalid.
        """
        try:
            facts = json.loads(text)
        except (ValueError, RecursionError) as error:
            if not text.strip():
                raise Problem("job.empty") from None
            raise Problem("job.json", reason=json_reason(error)) from None
        known = {entry.name for entry in dataclasses.fields(cls)}
        if not isinstance(facts, dict) or not {"config", "settings", "data"} <= facts.keys():
            raise Problem("job.other")
        if facts.keys() - known:
            raise Problem("job.version", field=f"{min(facts.keys() - known)!r:.42}")
        try:
            facts["config"] = TransformerConfig.from_json(json.dumps(facts["config"]))
            facts["settings"] = TrainingSettings(**facts["settings"])
            facts["options"] = ReadOptions(**facts.get("options", {}))
            return cls(**facts)
        except (TypeError, OverflowError, RecursionError) as error:
            raise Problem("job.wrong", reason=str(error)) from None


def read_job(path: Path, stamp: tuple) -> tuple[TrainingJob | None, Problem | None]:
    """Return (job, None), or (None, why it is invalid), of a file with that `file_stamp`."""
    try:
        return _read_once(path, stamp)
    except OSError as error:  # not cached: reading may succeed the next time
        return None, Problem("job.unreadable", reason=error.strerror)


@functools.lru_cache(maxsize=4096)
def _read_once(path, stamp):
    if not stamp:
        return None, Problem("job.missing")
    if stamp[1] > MAX_JOB_BYTES:
        return None, Problem("job.large", most=MAX_JOB_BYTES // 2**20)
    try:
        return TrainingJob.from_json(path.read_text(encoding="utf-8")), None
    except Problem as error:
        return None, Problem.from_json(error.to_json())  # cached without its traceback
    except ValueError as error:
        return None, Problem(str(error))


def _are_options(value):
    encoding, *answers = value
    return encoding in ("", *ENCODINGS) and all(isinstance(answer, bool) for answer in answers)


def _are_paths(value):
    return all(isinstance(path, str | os.PathLike) for path in value)


def _is_texts(value):
    return isinstance(value, dict) and all(isinstance(text, str) for pair in value.items() for text in pair)


def _texts_of(probe):
    return (probe,) if isinstance(probe, str) else probe


def _are_probes(value):
    return all(
        isinstance(probe, str) or (len(probe) == 2 and all(isinstance(side, str) for side in probe))
        for probe in value
    )


_RULES = {
    "data": (lambda value: isinstance(value, str) and value, Phrase("rule.data")),
    "more_data": (_are_paths, Phrase("rule.paths")),
    "train_only": (_are_paths, Phrase("rule.paths")),
    "parent": (lambda value: isinstance(value, str), Phrase("rule.parent")),
    "owner": (lambda value: isinstance(value, str) and len(value) <= LONGEST_OWNER, Phrase("rule.owner")),
    "sha256": (
        lambda value: re.fullmatch("([0-9a-f]{64})?", str(value)),
        Phrase("rule.sha"),
    ),
    "columns": (_is_texts, Phrase("rule.columns")),
    "options": (_are_options, Phrase("rule.options")),
    "label_names": (_is_texts, Phrase("rule.label_names")),
    "tokens": (lambda value: value in TOKEN_KINDS, Phrase("rule.choice", choices=", ".join(TOKEN_KINDS))),
    "target_tokens": (
        lambda value: value in ("", *TOKEN_KINDS),
        Phrase("rule.choice", choices=", ".join(TOKEN_KINDS)),
    ),
    "probes": (_are_probes, Phrase("rule.probes")),
    "card": (lambda value: isinstance(value, dict), Phrase("rule.card")),
    "keep_case": (lambda value: isinstance(value, bool), Phrase("rule.flag")),
    "overwrite": (lambda value: isinstance(value, bool), Phrase("rule.flag")),
}
"""Field -> whether a value is valid, and the rule to report."""
