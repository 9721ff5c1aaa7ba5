"""What a model that writes says of the rows of a file: the request for it."""

from dataclasses import dataclass

from transformer_viz.values.one_line import one_line

MOST_ROWS = 5_000
"""Most rows that are asked about at a time in the app."""


@dataclass(frozen=True)
class WrittenRequest:
    """A request for what a translator writes, and how likely a text is to a language model, for many rows.

    Attributes:
        model: Name or folder of an encoder-decoder or a decoder.
        rows: At most `MOST_ROWS` (text, target) pairs; a target of "" is none.

    Raises:
        ValueError: If there are more.
    """

    model: str
    rows: tuple[tuple[str, str], ...]

    def __post_init__(self):
        if len(self.rows) > MOST_ROWS:
            raise ValueError(f"At most {MOST_ROWS:,} rows at a time. Received: {len(self.rows):,}.")

    def __repr__(self):
        return one_line(self)
