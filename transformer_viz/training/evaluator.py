"""Evaluation during training: validation metrics, and attention and output for a few probe texts."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from transformer_viz.explorer.decode import generate_all
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.explorer.forward import CompiledFunction
from transformer_viz.network.model import Transformer
from transformer_viz.questions.effects.quality import card_facts, quality
from transformer_viz.questions.roles.head_roles import HeadRoles
from transformer_viz.questions.roles.measure import NoChoiceError, head_roles
from transformer_viz.questions.roles.measure_words import typical_words
from transformer_viz.questions.roles.sentences import short_texts
from transformer_viz.text.tokenizer import NoTokensError, tokenizer_of
from transformer_viz.trace.trace import Trace
from transformer_viz.training.dataset import Dataset, Inputs
from transformer_viz.training.model_trainer import to_floats
from transformer_viz.training.runs.settings import TrainingSettings


class Evaluator:
    """A float32 copy of the model in training.

    Args:
        dataset: `Dataset`.
        settings: `TrainingSettings`.
    """

    def __init__(self, dataset: Dataset, settings: TrainingSettings):
        self._dataset, self._settings = dataset, settings
        self._model = Transformer(dataset.config)
        tokenizers = {name: tokenizer_of(dataset.config, text) for name, text in dataset.tokenizers.items()}
        self._explorer = Explorer(
            self._model,
            tokenizers["tokenizer"],
            target_tokenizer=tokenizers.get("target_tokenizer"),
            name="training",
        )
        self._objective = dataset.objective(settings)
        self._measure = CompiledFunction(self._evaluate_batch, dataset.signature)

    def set_parameters(self, parameters: dict[str, np.ndarray]) -> None:
        """Set the parameters to evaluate: name -> array."""
        for name, variable in self._model.parameters().items():
            variable.assign(parameters[name])

    def measure(self, inputs: Inputs, targets: np.ndarray) -> dict[str, tuple[float, float]]:
        """Return name -> (sum, count) for one batch, without compiling: no start-up time, but slow if
        repeated.
        """
        return to_floats(self._evaluate_batch(inputs, targets))

    def validate(self, keep_going: Callable[[], None] = lambda: None) -> dict[str, float]:
        """Return val_loss and the other validation metrics.

        Args:
            keep_going: Called before each batch, and before texts are written; may raise to stop.
        """
        totals = Totals()
        for inputs, targets in self._dataset.validation_batches(self._settings):
            keep_going()
            totals.add(to_floats(self._measure(inputs, targets)))
        keep_going()
        measured = totals.means() | self._dataset.written_metrics(self._explorer)
        return {f"val_{name}": value for name, value in measured.items()}

    def calibrate(self) -> dict | None:
        """Set the temperature of the data set's config, as `Dataset.calibrate`."""
        return self._dataset.calibrate(self._explorer)

    def head_roles(self, keep_going: Callable[[], None] = lambda: None) -> HeadRoles | None:
        """Return what the heads usually do in the validation texts; None if there are too few.

        The words typical of each label are those of the training texts.

        Args:
            keep_going: Called after each text; may raise to stop.
        """
        texts, labelled = self._dataset.role_texts, self._dataset.labelled
        if not texts:
            return None
        words = {} if labelled is None else typical_words(self._explorer, labelled)
        try:
            return head_roles(self._explorer, texts, words=words, progress=lambda _: keep_going())
        except NoChoiceError:
            return None

    def effects(self, seconds: float, keep_going: Callable[[], None] = lambda: None) -> dict[str, Any] | None:
        """Return what a card keeps of how well estimated effects agree with measured ones.

        Over as many of the validation texts as fit into the time, of long ones over a sentence of each.

        Args:
            seconds: Time limit, checked before each text; below `LEAST_SECONDS` nothing is measured.
            keep_going: Called before each text; may raise to stop.

        Returns:
            As `card_facts`; None: too little time, or no texts.
        """
        texts: Any = self._dataset.role_texts[:EFFECT_TEXTS]
        if seconds < LEAST_SECONDS or not texts:
            return None
        if self._explorer.target_tokenizer is None:
            texts = short_texts(self._explorer, texts) or texts
        until, read = time.monotonic() + seconds, []

        def in_time():
            for text in texts:
                keep_going()
                if time.monotonic() > until:
                    return
                read.append(text)
                yield text

        found = quality(self._explorer, in_time())
        return card_facts(found, len(read))

    def _evaluate_batch(self, inputs, targets):
        return self._objective(targets, self._model(inputs))

    def traces(self) -> list[Trace | None]:
        """Return the attention weights of each probe, None for a probe without tokens."""
        return [self._trace(text, target) for text, target in self._dataset.probes]

    def samples(self) -> list[dict]:
        """Return text, expected and written (the model's current output) of each probe."""
        texts, targets = zip(*self._dataset.probes, strict=True)
        expected = [target or "" for target in targets]
        tokenizer, config = self._explorer.target_tokenizer, self._dataset.config
        if tokenizer is not None:
            most = config.target_max_len or config.max_len
            longest = max(map(len, tokenizer.encode_batch(expected, max_len=most)))
            written = generate_all(self._explorer, texts, max_new=longest + CONTINUATION)
        else:
            written = map(self._predicted_text, texts)
        names = ("text", "expected", "written")
        return [dict(zip(names, each, strict=True)) for each in zip(texts, expected, written, strict=True)]

    def _trace(self, text, target):
        try:
            return self._explorer.trace(text, target=target, keep="weights")
        except NoTokensError:
            return None

    def _predicted_text(self, text):
        try:
            if self._dataset.config.has_decoder:
                return self._explorer.generate(text, keep=None, max_new=CONTINUATION).text
            trace = self._explorer.trace(text, keep="weights")
        except NoTokensError:
            return ""
        if self._dataset.config.fills_in:
            filled = trace.token_ids.copy()
            filled[trace.gaps] = trace.probs[trace.gaps].argmax(axis=-1)
            return self._explorer.tokenizer.decode(filled[1:])
        best = int(trace.probs.argmax())
        return f"{trace.labels[best]} ({trace.probs[best]:.0%})"


EFFECT_TEXTS = 50
"""Most texts over which estimated effects are measured."""

LEAST_SECONDS = 10
"""Shortest time in which they are: the first text alone takes a few seconds, as its graphs are built."""

CONTINUATION = 12
"""Most tokens generated after a probe, or beyond the expected length: an untrained model writes no [END]."""


MOST_NATS = 700
"""Largest cross-entropy in nats whose perplexity fits into a float."""


class Totals:
    """Metric sums and counts over several batches.

    Args:
        sums: name -> [sum, count] to continue from.
    """

    def __init__(self, sums: Mapping[str, Sequence[float]] | None = None):
        self.sums = {name: list(pair) for name, pair in (sums or {}).items()}

    def add(self, measured: Mapping[str, tuple[float, float]]) -> None:
        """Add name -> (sum, count)."""
        for name, (total, count) in measured.items():
            pair = self.sums.setdefault(name, [0.0, 0.0])
            pair[0] += total
            pair[1] += count

    def means(self) -> dict[str, float]:
        """Return name -> mean, "tokens" left out; perplexity is exp of its mean."""
        means = {
            name: total / max(count, 1.0) for name, (total, count) in self.sums.items() if name != "tokens"
        }
        if "perplexity" in means:
            means["perplexity"] = math.exp(min(means["perplexity"], MOST_NATS))
        return means
