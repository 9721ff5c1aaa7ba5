"""Packed models that mean harm or were damaged, of many kinds, each drawn from a seed.

`KINDS` maps a name to a function of a good model's `Parts` and a `random.Random` that returns a zip.
`drawn(data, seed, count)` draws so many of all kinds, for a test or for a tool that has the time:

    for kind, packed in drawn(data, seed=1, count=500):
        ...
"""

import copy
import itertools
import random

from hostile_models import configs, numbers, tokenizers, zips  # noqa: F401  they enter their kinds
from hostile_models.parts import COSTLY, DAMAGED, KINDS, Parts

__all__ = ["COSTLY", "DAMAGED", "KINDS", "Parts", "drawn"]


def drawn(data, seed, count, tables=(KINDS, DAMAGED)):
    """Yield (kind, zip) for `count` models, taking the kinds in turn; the same for the same seed."""
    kinds = itertools.cycle([*itertools.chain(*(table.items() for table in tables))])
    for number, (name, make) in enumerate(itertools.islice(kinds, count)):
        yield name, make(copy.deepcopy(Parts.of(data)), random.Random(f"{seed} {number}"))
