"""Built-in tasks: synthetic data that a Transformer learns in a minute, and one it cannot learn.

Each generates (text, target) pairs of words separated by spaces, from a seed. A task for a decoder alone has
no target.
"""

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from transformer_viz.data.files import DataError

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)

DIGITS = 12
"""Most digits in a string."""


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        name: Name on the command line.
        make: Generates one (text, target) pair; the target is None for a decoder alone.
    """

    name: str
    make: Callable[[np.random.Generator], tuple[str, str | None]]

    def pairs(self, count: int, *, seed: int = 0, unlike: Iterable[str] = ()) -> list[tuple[str, str | None]]:
        """Return so many different pairs, none of whose texts is in `unlike`.

        Raises:
            DataError: If the task has too few different texts.
        """
        random, seen, pairs = np.random.default_rng(seed), set(unlike), []
        for _ in range(50 * count):
            if len(pairs) == count:
                return pairs
            text, target = self.make(random)
            if text not in seen:
                seen.add(text)
                pairs.append((text, target))
        raise DataError("task.few", task=self.name, more=count)


def _digits(random):
    return random.integers(0, 10, random.integers(1, DIGITS + 1)).tolist()


def _spaced(items):
    return " ".join(map(str, items))


def _reverse(random):
    digits = _digits(random)
    return _spaced(digits), _spaced(digits[::-1])


def _copy(random):
    digits = _digits(random)
    return _spaced(digits), _spaced(digits)


def _sort(random):
    digits = _digits(random)
    return _spaced(digits), _spaced(sorted(digits))


def _dates(random):
    """Dates from 1900 to 2099 in common notations to ISO 8601; digits and hyphens are separate words."""
    first = datetime.date(1900, 1, 1).toordinal()
    last = datetime.date(2099, 12, 31).toordinal()
    date = datetime.date.fromordinal(int(random.integers(first, last + 1)))
    month, year = MONTHS[date.month - 1], _spaced(str(date.year))
    day = _spaced(str(date.day))
    written = (f"{month} {day} , {year}", f"{day} {month} {year}", f"{month[:3]} {day} {year}")
    return written[random.integers(len(written))], _spaced(date.isoformat())


def _addition(random):
    first, second = random.integers(0, 1000, 2)
    return f"{_spaced(str(first))} + {_spaced(str(second))}", _spaced(str(first + second))


def _parity(random):
    """Whether a string has an odd number of ones: every digit counts, so no weighting of them helps."""
    bits = random.integers(0, 2, random.integers(1, 2 * DIGITS + 1)).tolist()
    return _spaced(bits), ("even", "odd")[sum(bits) % 2]


def _repeat(random):
    """Random letters repeated: sequences that an induction head completes (Olsson et al., 2022).

    The length of the period is random, so that positions give nothing away.
    """
    period = int(random.integers(3, 17))
    letters = random.permutation(list("abcdefghijklmnopqrstuvwxyz"))[:period]
    return _spaced(np.resize(letters, random.integers(2 * period, 49))), None


TASKS = {
    task.name: task
    for task in (
        Task("reverse", _reverse),
        Task("copy", _copy),
        Task("sort", _sort),
        Task("dates", _dates),
        Task("addition", _addition),
        Task("parity", _parity),
        Task("repeat", _repeat),
    )
}
"""Name -> task."""
