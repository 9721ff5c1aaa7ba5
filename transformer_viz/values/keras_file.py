"""What a file of Keras says about the model in it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

MOST_ROWS = 20
"""Most layers in the text of a file; `layers` has them all."""


class SavedAttention(NamedTuple):
    """A layer with attention, as the file describes it.

    Attributes:
        path: Names of the models and layers around it and its own, "encoder/first".
        class_name: Its class, without the module.
        num_heads: Number of heads, of grouped queries those of the queries; None: the file gives none.
        key_dim: Size of the queries and keys of a head; None: the file gives none.
    """

    path: str
    class_name: str
    num_heads: int | None = None
    key_dim: int | None = None


@dataclass(frozen=True)
class KerasFile:
    """A `.keras` file, described by itself: nothing of this is checked by opening it.

    Attributes:
        path: The file.
        model_class: Class of the model, without the module.
        name: Name of the model; "" if the file gives none.
        keras_version: The version of Keras that saved it; "" if the file gives none.
        layers: Layers with attention, in the order of the file: those of Keras, and others that are saved
            with a number of heads. Layers that a class makes for itself are not in the file.
        own_classes: Classes and functions that are not those of Keras, so that the file cannot be opened
            without their code: "package>Name", or module and name.
        with_code: Paths of the layers that hold Python code, which opening the file runs.

    >>> KerasFile(Path("a.keras"), "Functional", "a", "3.15.1", (SavedAttention("first", "Attention"),))
    KerasFile('a.keras', Functional, Keras 3.15.1)
      layer  class      heads  key_dim
      first  Attention
    """

    path: Path
    model_class: str
    name: str
    keras_version: str
    layers: tuple[SavedAttention, ...]
    own_classes: tuple[str, ...] = field(default=())
    with_code: tuple[str, ...] = field(default=())

    def __repr__(self):
        facts = [repr(str(self.path)), self.model_class, f"Keras {self.keras_version or '?'}"]
        facts += [f"own classes: {_first(self.own_classes)}"] if self.own_classes else []
        facts += [f"code in: {_first(self.with_code)}"] if self.with_code else []
        return "\n".join([f"KerasFile({', '.join(facts)})", *_table(self.layers)])


def _table(layers):
    """Return the lines of a table of layers; none without layers."""
    if not layers:
        return []
    cells = [("layer", "class", "heads", "key_dim")]
    cells += [
        (path, kind, *("" if number is None else str(number) for number in numbers))
        for path, kind, *numbers in layers[:MOST_ROWS]
    ]
    path, kind, heads, width = (max(map(len, column)) for column in zip(*cells, strict=True))
    lines = [f"  {a:{path}}  {b:{kind}}  {c:>{heads}}  {d:>{width}}".rstrip() for a, b, c, d in cells]
    rest = len(layers) - MOST_ROWS
    return [*lines, f"  ... {rest} more"] if rest > 0 else lines


def _first(names):
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
