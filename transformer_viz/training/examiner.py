"""How far a model in training has come: figures on rows held out, and the attention of a few probe texts."""

from transformer_viz.explorer import Explorer
from transformer_viz.forward import compiled
from transformer_viz.model import Transformer
from transformer_viz.text import NoTokensError, Tokenizer
from transformer_viz.training.learner import numbers


class Examiner:
    """A second model, in full precision, that takes over the parameters of the one in training.

    Args:
        lesson: What is learned.
        settings: `TrainingSettings`.
    """

    def __init__(self, lesson, settings):
        self._lesson, self._settings = lesson, settings
        self._model = Transformer(lesson.config)
        tokenizers = {name: Tokenizer.from_json(text) for name, text in lesson.tokenizers.items()}
        self._explorer = Explorer(self._model, **tokenizers, name="training")
        self._objective = lesson.objective(settings)
        self._measure = compiled(
            lambda inputs, answers: self._objective(answers, self._model(inputs)), lesson.signature
        )

    def take(self, parameters) -> None:
        """Take over parameters: name -> array."""
        for name, variable in self._model.parameters().items():
            variable.assign(parameters[name])

    def validate(self, keep_going=lambda: None) -> dict[str, float]:
        """Return val_loss and the other figures, over all rows held out.

        Args:
            keep_going: Called before each batch; may raise to stop.
        """
        totals = Totals()
        for inputs, answers in self._lesson.validation_batches(self._settings):
            keep_going()
            totals.add(numbers(self._measure(inputs, answers)))
        return {f"val_{name}": value for name, value in totals.means().items()}

    def traces(self) -> list:
        """Return a `Trace` of the attention weights of each probe, None for one without words."""
        return [self._trace(text, target) for text, target in self._lesson.probes]

    def samples(self) -> list[dict]:
        """Return text, expected and written of each probe: what the model says of it now."""
        return [self._sample(text, target) for text, target in self._lesson.probes]

    def _trace(self, text, target):
        try:
            return self._explorer.trace(text, target=target, keep="weights")
        except NoTokensError:
            return None

    def _sample(self, text, target):
        try:
            if not self._lesson.config.has_decoder:
                trace = self._explorer.trace(text, keep="weights")
                best = int(trace.probs.argmax())
                written = f"{trace.labels[best]} ({trace.probs[best]:.0%})"
            else:
                most = None if target is not None else CONTINUATION
                written = self._explorer.generate(text, keep=None, max_new=most).text
        except NoTokensError:
            written = ""
        return {"text": text, "expected": target or "", "written": written}


CONTINUATION = 12
"""Most tokens that a decoder alone goes on from a probe."""


class Totals:
    """Sums and counts of several batches.

    Args:
        sums: name -> [sum, count] to go on from.
    """

    def __init__(self, sums=None):
        self.sums = {name: list(pair) for name, pair in (sums or {}).items()}

    def add(self, measured) -> None:
        """Add name -> (sum, count)."""
        for name, (total, count) in measured.items():
            pair = self.sums.setdefault(name, [0.0, 0.0])
            pair[0] += total
            pair[1] += count

    def means(self) -> dict[str, float]:
        """Return name -> mean of everything but the tokens."""
        return {
            name: total / max(count, 1.0) for name, (total, count) in self.sums.items() if name != "tokens"
        }
