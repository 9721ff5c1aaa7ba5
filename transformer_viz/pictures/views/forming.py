"""The heads of a layer as a training formed them, at one step or at many."""

import json

import numpy as np

from transformer_viz.pictures.figures.theme import HEADS, SEQUENTIAL
from transformer_viz.pictures.views.panel import BLANK
from transformer_viz.pictures.views.payload import ALIGNMENT
from transformer_viz.text.tokenizer import visible


def heads_forming(weights, steps, tokens, *, labels, pictures=(), name="heads", theme="light") -> bytes:
    """Return attention weights as `lapse.js` reads them: in percent, one byte each.

    Args:
        weights: float (frame, head, query, key), each in [0, 1].
        steps: Step of each frame.
        tokens: Display strings of the queries, and of the keys.
        labels: Words of the picture: "head", "reads" (between the two tokens of what is said of a cell),
            "step", "play", "pause", and of the table of a head "table", "rows" and "largest".
        pictures: Curves over the steps, as `curves_of` returns them.
        name: Of the files that are saved, without their endings.
        theme: "light" or "dark".

    Returns:
        Length of the header as uint64, header, weights.

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
    header = {
        "steps": [int(step) for step in steps],
        "heads": weights.shape[1],
        "rows": [visible(token) or BLANK for token in rows],
        "columns": [visible(token) or BLANK for token in columns],
        "values": {"dtype": "uint8", "shape": weights.shape, "at": 0},
        "says": [f"{{row}} {labels['reads']} {{column}}: {{value}} %", None],
        "colours": SEQUENTIAL[theme],
        "headColours": HEADS[theme],
        "words": labels,
        "pictures": list(pictures),
        "name": name,
    }
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return len(text).to_bytes(ALIGNMENT, "little") + text + np.rint(weights * 100).astype(np.uint8).tobytes()


def curves_of(steps, entropies, metric, *, labels, theme="light") -> list[dict]:
    """Return two pictures of curves over the steps of a training: of the heads, and of the whole model.

    Args:
        steps: Step of each frame.
        entropies: float (frame, head), in nats.
        metric: (steps, values) of the metric that says how good the model was; None where it was not.
        labels: "entropy" and "metric", what stands above the pictures, and "head".
        theme: "light" or "dark".
    """
    colours, steps = HEADS[theme], [int(step) for step in steps]
    heads = [
        _line(f"{labels['head']} {head + 1}", steps, values, colours[head % len(colours)])
        for head, values in enumerate(np.asarray(entropies).T)
    ]
    good = _line(labels["metric"], *metric, colours[0]) | {"dots": True}
    return [{"title": labels["entropy"], "lines": heads}, {"title": labels["metric"], "lines": [good]}]


def _line(name, steps, values, colour):
    return {"name": name, "steps": list(steps), "values": _numbers(values), "colour": colour}


def _numbers(values):
    """Return numbers for JSON, None where there is none."""
    return [round(float(each), 4) if each is not None and np.isfinite(each) else None for each in values]
