"""Access to the parts of a card; values of an unexpected type count as missing."""

from transformer_viz.network.config import TransformerConfig
from transformer_viz.questions.effects.result import Effects
from transformer_viz.store import ModelSummary

MAX_EXAMPLES = 12
"""Most example texts that are shown."""

MAX_LIMITS = 1_000
"""Maximum length of the text on the limits of a model, in characters."""


def config_of(model: ModelSummary) -> TransformerConfig:
    """Return the config of a usable model.

    Raises:
        ValueError: If the model is unusable.
    """
    if model.config is None:
        raise ValueError(f"Model {model.name} is unusable and has no config: {model.error}")
    return model.config


def part(card: dict, name: str) -> dict:
    """Return a section of a card; empty if missing."""
    return card[name] if isinstance(card.get(name), dict) else {}


def text_in(card: dict, name: str) -> str:
    """Return a text of a card; "" if missing."""
    return card[name] if isinstance(card.get(name), str) else ""


def count_in(card: dict, name: str) -> str:
    """Return a whole number of a card with thousands separators; "" if missing."""
    return f"{card[name]:,}" if type(card.get(name)) is int else ""


def limits_in(card: dict, language: str) -> str:
    """Return the model's limits as its card states them, if possible in a language; "" if it states none."""
    written = part(card, "limits")
    return (text_in(written, language) or text_in(written, "en"))[:MAX_LIMITS]


def agreements_of(card: dict, effects: Effects) -> dict[str, list[float | None]]:
    """Return kind of attention -> rank correlation of estimated with measured heads, by layer; None: unknown.

    Args:
        card: As `explain --measure` writes it.
        effects: Effects of the model, which say how many layers it has.
    """
    found: dict[str, list[float | None]] = {
        kind: [None] * len(cells) for kind, cells in effects.cells.items()
    }
    rows = card.get("effects")
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict) or row.get("what") != "heads":
            continue
        layers, layer, value = found.get(str(row.get("kind")), []), row.get("layer"), row.get("correlation")
        if type(layer) is int and 0 <= layer < len(layers) and isinstance(value, int | float):
            layers[layer] = float(value)
    return found


def examples_of(card: dict) -> list[str]:
    """Return the first example texts of a card, without blank ones."""
    examples = card.get("examples")
    if not isinstance(examples, list):
        return []
    return [text for text in examples if isinstance(text, str) and text.strip()][:MAX_EXAMPLES]


def history_of(card: dict) -> list[dict]:
    """Return the epochs of a card with their numbers; a long history has only some of them."""
    history = card.get("history")
    if not isinstance(history, list) or not all(isinstance(epoch, dict) for epoch in history):
        return []
    numbers = [epoch.get("epoch") for epoch in history]
    if not all(type(number) is int for number in numbers) or numbers != sorted({*numbers, 1}):
        numbers = range(1, len(history) + 1)
    return [{**epoch, "epoch": number} for number, epoch in zip(numbers, history, strict=True)]
