"""One loaded model with its tokenizer: text in, everything the model computed out, as NumPy."""

import keras
import numpy as np
import pandas as pd
import tensorflow as tf
from tqdm import tqdm

from transformer_viz import store
from transformer_viz.batches import by_length, pad
from transformer_viz.config import CHOICES
from transformer_viz.model import Transformer
from transformer_viz.positions import position_table
from transformer_viz.text import NoTokensError, Tokenizer
from transformer_viz.trace import Intervention, Run, Trace


def load(name_or_path) -> "Explorer":
    """Load a model by its name in `models/`, or from a folder's path.

    Raises:
        ModelError: If there is no such model, or its folder is damaged; says what is wrong.
    """
    stored = store.read_model(name_or_path)
    model = Transformer(stored.config)
    for name, variable in model.parameters().items():
        variable.assign(stored.parameters[name])
    return Explorer(model, Tokenizer.from_json(stored.tokenizer), name=stored.name, card=stored.card)


def gpus() -> list[str]:
    """Return the names of the GPUs TensorFlow found."""
    devices = tf.config.list_physical_devices("GPU")
    return [
        tf.config.experimental.get_device_details(device).get("device_name", device.name)
        for device in devices
    ]


class Explorer:
    """A model that can be looked into.

    Args:
        model: `Transformer`; it is never changed.
        tokenizer: `Tokenizer` it was trained with.
        name: Shown in traces.
        card: The model card.

    >>> explorer = load("imdb-sentiment")
    >>> explorer.trace("the film was not good").encoder[0].attention.weights.shape
    (4, 5, 5)
    """

    def __init__(self, model, tokenizer, *, name="model", card=None):
        self.model = model
        self.config = model.config
        self.tokenizer = tokenizer
        self.name = name
        self.card = card or {}
        self._position_table = keras.ops.convert_to_numpy(model.position_table())
        floats = {"dtype": tf.float32}
        self._compiled_trace = tf.function(
            self._forward,
            input_signature=[
                tf.TensorSpec((None, None), tf.int32),
                tf.TensorSpec((None, None, None, None), tf.bool),
                tf.TensorSpec((None, self.config.d_model), **floats),
                Intervention(*(tf.TensorSpec((self.config.num_layers, None, None, None), **floats),) * 3),
            ],
        )
        self._compiled_logits = tf.function(
            model.__call__, input_signature=[tf.TensorSpec((None, None), tf.int32)]
        )

    @property
    def num_compilations(self) -> int:
        """How often `trace` was compiled so far: 1 after the first text, and ever after."""
        return self._compiled_trace.experimental_get_tracing_count()

    def run(self, run: Run) -> Trace:
        """Answer one `Run`."""
        return self.trace(run.text, ablate=run.ablate, cut=run.cut)

    def trace(self, text, *, ablate=(), cut=(), attention_mask=None, positions=None) -> Trace:
        """Run the model once on one text and keep everything it computed.

        Args:
            text: What to read; longer than `config.max_len` tokens, it is cut, and the trace says so.
            ablate: (layer, head) pairs whose output is removed: their context is multiplied by 0.
            cut: (layer, head, query, key) edges removed before the softmax: what they carried is shared
                out again among the rest.
            attention_mask: bool, True = may attend, broadcastable to (head, query, key); in place of the
                model's own.
            positions: A kind of position table ("none", "sinusoidal", ...) in place of the model's own.

        Returns:
            `Trace`.

        Raises:
            NoTokensError: If the text has no tokens.
            ValueError: If an argument asks for what is not there.
        """
        encoding = self.tokenizer.encode(text, max_len=self.config.max_len, truncation=self.config.truncation)
        length = len(encoding.ids)
        if not length:
            raise NoTokensError("The text has no words. Type at least one.")
        token_ids = encoding.ids[None]
        if attention_mask is None:
            mask = keras.ops.convert_to_numpy(self.model.default_mask(token_ids))
        else:
            mask = self._check_mask(attention_mask, length)
        values = self._compiled_trace(
            token_ids, mask, self._table(positions), self._interventions(ablate, cut, length)
        )
        values = tf.nest.map_structure(lambda tensor: tensor.numpy()[0], values)
        return Trace(
            model=self.name,
            text=encoding.text,
            tokens=encoding.tokens,
            offsets=encoding.offsets,
            token_ids=encoding.ids,
            num_dropped=encoding.num_dropped,
            cut_at=encoding.cut_at,
            labels=self.config.labels,
            probs=self._probs(values.logits),
            values=values,
        )

    def predict(self, texts, *, batch_size=64, progress=False) -> pd.DataFrame:
        """Classify texts.

        Args:
            texts: Any number of strings.
            batch_size: Texts of similar length that go through the model together.
            progress: Show a progress bar on standard error.

        Returns:
            Columns text, label, and prob_<label> for each label; one row for each text, in order.
        """
        texts = list(texts)
        token_ids = self.tokenizer.encode_batch(
            texts, max_len=self.config.max_len, truncation=self.config.truncation
        )
        logits = np.zeros((len(texts), self.config.num_outputs), dtype=np.float32)
        for rows in tqdm(by_length(token_ids, batch_size), unit="batch", disable=not progress):
            logits[rows] = self._compiled_logits(pad([token_ids[row] for row in rows])).numpy()
        probs = self._probs(logits)
        labels = np.array(self.config.labels, dtype=object)[probs.argmax(axis=-1)]
        frame = pd.DataFrame({"text": texts, "label": labels})
        for label, column in zip(self.config.labels, probs.T, strict=True):
            frame[f"prob_{label}"] = column
        return frame

    def _forward(self, token_ids, attention_mask, table, interventions):
        """Trace with one `Intervention` whose tensors have a layer axis in front."""
        layers = [Intervention(*(part[i] for part in interventions)) for i in range(self.config.num_layers)]
        return self.model.trace(
            token_ids, attention_mask=attention_mask, position_table=table, interventions=layers
        )

    def _interventions(self, ablate, cut, length):
        """Return neutral tensors, with the heads in `ablate` and the edges in `cut` removed."""
        layers, heads = self.config.num_layers, self.config.num_heads
        gate = np.ones((layers, heads, 1, 1), np.float32)
        for layer, head in ablate:
            self._check_index("head", (layer, head), (layers, heads))
            gate[layer, head] = 0
        bias = np.zeros((layers, heads, length, length) if cut else (layers, 1, 1, 1), np.float32)
        for edge in cut:
            self._check_index("edge", edge, bias.shape)
            bias[edge] = -np.inf
        return Intervention(gate, bias, np.ones((layers, 1, 1, 1), np.float32))

    def _check_index(self, what, index, shape):
        good = len(index) == len(shape) and all(0 <= i < size for i, size in zip(index, shape, strict=True))
        if not good:
            names = ("layer", "head", "query", "key")[: len(shape)]
            sizes = ", ".join(f"{name} 0 to {size - 1}" for name, size in zip(names, shape, strict=True))
            raise ValueError(
                f"There is no {what} {tuple(index)}: it must be ({', '.join(names)}) with {sizes}."
            )

    def _check_mask(self, attention_mask, length):
        mask = np.asarray(attention_mask)
        shape = (self.config.num_heads, length, length)
        try:
            np.broadcast_to(mask, shape)
        except ValueError:
            mask = None
        if mask is None or mask.dtype != bool:
            raise ValueError(
                f"`attention_mask` must be bool and broadcast to (head, query, key) = {shape}. "
                f"Received {np.asarray(attention_mask).dtype} of shape {np.shape(attention_mask)}."
            )
        return mask.reshape((1,) * (4 - mask.ndim) + mask.shape)

    def _table(self, positions):
        if positions is None or positions == self.config.positions:
            return self._position_table
        kinds = [kind for kind in CHOICES["positions"] if kind != "learned"]
        if positions not in kinds:
            raise ValueError(f"`positions` must be one of {', '.join(kinds)}. Received: {positions!r}.")
        return keras.ops.convert_to_numpy(position_table(positions, self.config.max_len, self.config.d_model))

    def _probs(self, logits):
        """Softmax over the labels; a sigmoid's single logit z is the softmax of (0, z)."""
        if self.config.output == "sigmoid":
            logits = np.concatenate([np.zeros_like(logits), logits], axis=-1)
        powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)
