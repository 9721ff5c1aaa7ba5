"""What a card says, part by part; what is not as expected says nothing."""


def part(card: dict, name: str) -> dict:
    """Return a part of a card; empty if it is none."""
    return card[name] if isinstance(card.get(name), dict) else {}


def text_in(card: dict, name: str) -> str:
    """Return a text of a card; "" if it is none."""
    return card[name] if isinstance(card.get(name), str) else ""


def count_in(card: dict, name: str) -> str:
    """Return a whole number of a card as it is read; "" if it is none."""
    return f"{card[name]:,}" if type(card.get(name)) is int else ""


def examples_of(card: dict) -> list[str]:
    """Return the example texts of a card; one without a character that can be shown is none."""
    examples = card.get("examples")
    if not isinstance(examples, list):
        return []
    return [text for text in examples if isinstance(text, str) and text.strip()]


def history_of(card: dict) -> list[dict]:
    """Return the epochs of a card with their numbers: a long history names only some of them."""
    history = card.get("history")
    if not isinstance(history, list) or not all(isinstance(epoch, dict) for epoch in history):
        return []
    numbers = [epoch.get("epoch") for epoch in history]
    if not all(type(number) is int for number in numbers) or numbers != sorted({*numbers, 1}):
        numbers = range(1, len(history) + 1)
    return [{**epoch, "epoch": number} for number, epoch in zip(numbers, history, strict=True)]
