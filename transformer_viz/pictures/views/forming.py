"""The payload of attention heads during training, at one step or at many."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from transformer_viz.pictures.theme import weight_limit
from transformer_viz.pictures.views.payload import Arrays, packed
from transformer_viz.text.shown import BLANK
from transformer_viz.text.unicode import visible


def heads_forming(
    weights: ArrayLike,
    steps: Sequence[int],
    tokens: tuple[Sequence[str], Sequence[str]],
    *,
    labels: Mapping[str, str],
    pictures: Sequence[dict] = (),
    name: str = "heads",
) -> bytes:
    """Return attention weights in the format of `lapse.js`: in percent, one byte each.

    Each head has one colour scale for all frames, which ends at its `weight_limit`.

    Args:
        weights: float (frame, head, query, key), each in [0, 1].
        steps: Training step of each frame.
        tokens: Display strings of the queries and of the keys.
        labels: "head", "reads" (joins the two tokens in a cell's tooltip), "step", "play", "pause", and
            headings of a head's table: "table", "rows" and "largest".
        pictures: Curves over the steps, as `curves_of` returns them.
        name: Name of saved files, without extension.

    Returns:
        As `packed`.

    Raises:
        ValueError: If the steps or the tokens do not fit the weights.
    """
    weights, (rows, columns) = np.asarray(weights, np.float32), tokens
    expected = (len(steps), "head", len(rows), len(columns))
    if weights.ndim != 4 or weights.shape != (len(steps), weights.shape[1], len(rows), len(columns)):
        raise ValueError(
            f"`weights` must be (frame, head, query, key) = {expected}, as there are steps and tokens. "
            f"Received shape {weights.shape}."
        )
    arrays = Arrays()
    header = {
        "steps": [int(step) for step in steps],
        "heads": weights.shape[1],
        "rows": [visible(token) or BLANK for token in rows],
        "columns": [visible(token) or BLANK for token in columns],
        "limits": [100 * weight_limit(head.max(initial=0), head > 0) for head in weights.swapaxes(0, 1)],
        "values": arrays.add(np.rint(weights * 100), np.uint8),
        "says": [f"{{row}} {labels['reads']} {{column}}: {{value}} %", None],
        "words": labels,
        "pictures": list(pictures),
        "name": name,
    }
    return packed(header, arrays)


def curves_of(
    steps: Sequence[int],
    entropies: ArrayLike,
    metric: tuple[Sequence[int], Sequence[float | None]],
    *,
    labels: Mapping[str, str],
) -> list[dict]:
    """Return two charts over the training steps: the entropy of each head, and a metric of the model.

    Args:
        steps: Training step of each frame.
        entropies: float (frame, head), in nats.
        metric: (steps, values) of the validation metric; None where it was not measured.
        labels: "entropy" and "metric" (titles of the charts), and "head".
    """
    steps = [int(step) for step in steps]
    heads = [
        _line(labels["head"].format(head=head + 1), steps, values, head)
        for head, values in enumerate(np.asarray(entropies).T)
    ]
    good = _line(labels["metric"], *metric, 0) | {"dots": True}
    return [{"title": labels["entropy"], "lines": heads}, {"title": labels["metric"], "lines": [good]}]


def _line(name, steps, values, head):
    """Return a line in the colour of a head."""
    return {"name": name, "steps": list(steps), "values": _numbers(values), "head": head}


def _numbers(values):
    """Return numbers for JSON; missing and non-finite ones are None."""
    return [round(float(each), 4) if each is not None and np.isfinite(each) else None for each in values]
