"""What was wrong with a file: how many of its rows cannot be used, and the first few."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from transformer_viz.data.encodings import readable
from transformer_viz.data.files import DataError
from transformer_viz.language import Phrase

SHOWN = 3
"""Bad rows that are shown."""

LONGEST = 60
"""Characters shown of a bad row."""


class BadRow(NamedTuple):
    """A row that cannot be used.

    Attributes:
        kind: What is wrong, the end of a code "bad.KIND"; behind a dot the role of the column that it is
            about: "missing.label".
        line: Line in which it ends, or row of a workbook, from 1; 0: unknown.
        content: The beginning of its content.
    """

    kind: str
    line: int
    content: str


@dataclass
class BadRows:
    """The rows of a file that cannot be used.

    Attributes:
        path: The file.
        rows: All rows of the file but blank ones.
        blank: Blank rows, which every reader skips.
        counts: Kind, as in `BadRow` -> number of rows.
        first: The first `SHOWN` of them.
    """

    path: str
    rows: int = 0
    blank: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    first: list[BadRow] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of rows that cannot be used."""
        return sum(self.counts.values())

    def add(self, kind: str, line: int, content: Iterable[object] | str) -> None:
        """Count a row; `content` is its text or its cells."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if len(self.first) < SHOWN or 0 < line < (self.first[-1].line or line + 1):
            cells = (content,) if isinstance(content, str) else content
            row = BadRow(kind, line, _shortened(" | ".join(map(_cell, cells))))
            self.first = sorted([*self.first, row], key=lambda each: each.line or float("inf"))[:SHOWN]

    def kinds(self) -> list[Phrase]:
        """Return what is wrong, the most frequent first, with the number of rows of each kind."""
        ranked = sorted(self.counts.items(), key=lambda counted: -counted[1])
        return [Phrase("bad.count", what=reason(kind), rows=count) for kind, count in ranked]

    def refusal(self) -> DataError:
        """Return the error that the file cannot be used because of these rows."""
        return DataError(
            "bad.all" if self.count == self.rows else "bad.some", **self._facts(), path=self.path
        )

    def said(self) -> list[Phrase]:
        """Return what was left out, as sentences."""
        said = [Phrase("bad.skipped", **self._facts(), path=self.path)] if self.count else []
        return said + [Phrase("bad.blank", count=self.blank, path=self.path)] * bool(self.blank)

    def _facts(self):
        shown = [
            Phrase("bad.shown", line=row.line, content=row.content)
            if row.line
            else Phrase(f"“{row.content}”")
            for row in self.first
        ]
        return {
            "count": self.count,
            "rows": self.rows,
            "kinds": self.kinds(),
            "first": shown,
        }

    def joined(self, later: "BadRows") -> "BadRows":
        """Return these rows and others of the same file that were found later."""
        counts = dict(Counter(self.counts) + Counter(later.counts))
        first = [*self.first, *later.first][:SHOWN]
        return BadRows(self.path, self.rows, self.blank + later.blank, counts, first)

    def to_json(self) -> dict:
        """Return the value as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, facts: Any) -> "BadRows":
        """Return the value of the result of `to_json`.

        Raises:
            ValueError: If it is not such a result.
        """
        try:
            found = cls(**facts)
            found.first = [BadRow(*row) for row in found.first]
            _ = [str(sentence) for sentence in found.said()]
        except (TypeError, ValueError, LookupError, AttributeError):
            raise ValueError(f"no bad rows: {facts!r:.100}") from None
        return found


def reason(kind: str) -> Phrase:
    """Return what is wrong with the rows of a kind, as in `BadRow`."""
    what, _, role = kind.partition(".")
    return Phrase(f"bad.{what}", **({"role": Phrase(f"role.{role}")} if role else {}))


def _cell(value):
    text = " ".join(("" if value is None else str(value)[: 2 * LONGEST]).split())
    return readable(text)


def _shortened(text):
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
