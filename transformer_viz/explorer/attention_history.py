"""The attention of any Keras model, recorded while it is trained."""

from collections.abc import Sequence
from typing import Any

import keras

from transformer_viz.explorer.attention_of import attention_of
from transformer_viz.language import Problem
from transformer_viz.trace.recorded_attention import AttentionByEpoch


class AttentionHistory(keras.callbacks.Callback, AttentionByEpoch):
    """A callback for `fit` that records what any Keras model attends to in the same inputs, epoch by epoch.

        history = tv.AttentionHistory(token_ids[:1])
        model.fit(token_ids, labels, epochs=10, callbacks=[history])
        tv.show(history, tokens)

    It records as `attention_of` does, before the first epoch and after each, under TensorFlow, JAX and
    PyTorch. What the model learns does not change. A further `fit` of the same model is continued; one of
    another model begins anew.

    Args:
        inputs: What the model is called with: an array, or a list or dict of arrays.
        layers: Which layers are recorded, as for `attention_of`.
        every: Epochs from one record to the next. The last epoch is recorded in any case.

    Attributes:
        epochs: Numbers of the epochs after which attention was recorded; 0: before the first.
        attention: The weights of each: path of a layer -> float32 (batch, head, query, key).
        logs: The metrics of each, as `fit` reports them; of epoch 0 none.

    Raises:
        ValueError: If `every` is not a positive whole number; by `fit`, before it trains, as by
            `attention_of`.
    """

    def __init__(self, inputs: Any, *, layers: str | Sequence[str] | None = None, every: int = 1):
        super().__init__()
        AttentionByEpoch.__init__(self)
        if not isinstance(every, int) or every < 1:
            raise Problem("attention_history.every", received=repr(every))
        self.inputs, self.layers, self.every = inputs, layers, every
        self._begins = False
        self._earlier = self._reached = 0  # epochs: of former calls of `fit`, and of all

    def set_model(self, model: keras.Model) -> None:
        """Begin anew with another model."""
        if model is not self._model:
            AttentionByEpoch.__init__(self)
            self._reached = 0
        super().set_model(model)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Count the epochs of this call of `fit` from its first one."""
        self._begins = True

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Record the untrained model."""
        if self._begins:
            self._begins, self._earlier = False, max(0, self._reached - epoch)  # 0 with `initial_epoch`
        if not self.epochs:
            self._record(epoch, {})

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Record the model after an epoch, if it is the turn of that epoch or the last one."""
        self._reached = self._earlier + epoch + 1
        model: Any = self.model
        is_last = epoch + 1 == (self.params or {}).get("epochs") or model.stop_training
        if is_last or self._reached % self.every == 0:
            self._record(self._reached, logs or {})

    def _record(self, epoch, logs):
        model: Any = self.model  # under JAX, which brings its parameters up to date
        self.attention.append(attention_of(model, self.inputs, layers=self.layers))
        self.epochs.append(epoch)
        self.logs.append(dict(logs))
