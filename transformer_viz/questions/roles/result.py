"""What each head of a model usually does, with the evidence for it, and its JSON form."""

import dataclasses
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from transformer_viz.language import Phrase, Problem
from transformer_viz.language.short_repr import short_repr
from transformer_viz.network.checks import is_utf8, quoted
from transformer_viz.network.config import TransformerConfig
from transformer_viz.questions.roles.rules import (
    FEWEST_TEXTS,
    MIN_AVERAGING,
    MIN_RATIO,
    MIN_TEXTS,
    SELF_PATTERNS,
    SHAPES,
    WORDS,
    holds,
    measures_of,
    name_role,
    patterns_of_config,
)

FORMAT_VERSION = 4
"""Version of the JSON form; a higher one was written by a newer program. Version 1 has no words,
version 2 does not measure what is nearby, and version 3 does not tell how long the texts are.
"""

MAX_CHARS = 2**20
"""Longest JSON text; 12 x 12 heads take 40,000 characters."""

MAX_TEXTS = 10**9
"""Most texts, and most tokens of one."""

MAX_LENGTH_RATIO = 3
"""Texts more than this many times as long as those that were measured, or as short, are unlike them: whether
a head attends to nearby tokens, the first one or one of all depends on how many there are.
"""

MAX_RATIO = 10**6
"""Most times an even share, which is no smaller than one token of the longest text."""

MOST_LABELS = 20
"""Most labels with words typical of them: each is a measure of every head."""

MOST_WORDS = 100
"""Most words typical of a label."""

MAX_WORD = 100
"""Characters of the longest of them."""

Typical = Mapping[str, tuple[str, ...]]
"""Label -> the words typical of it, the most typical first."""

DIGITS = 3
"""Decimals of all numbers."""


class WordsRead(NamedTuple):
    """How much more than evenly a head reads the words typical of a label.

    Attributes:
        label: The label.
        ratio: Their weight divided by that under uniform attention, averaged over the texts with such words.
        spread: Standard deviation of that ratio across these texts.
        texts: Number of these texts.
    """

    label: str
    ratio: float
    spread: float
    texts: int


class Role(NamedTuple):
    """What a head does in one text, or usually: in at least half of the texts that could show it.

    Attributes:
        name: One of `ROLES`; "mixed" if nothing is.
        share: Mean share of its weight, for "words" on those of the first label; for "even" the relative
            entropy; NaN for "mixed".
        spread: Standard deviation of that share across texts.
        support: Mean share of rows that could show it.
        held: Number of texts in which the head does it.
        texts: Number of texts that could show it.
        words: For "words", the labels whose words it reads more than evenly, the most first.
    """

    name: str
    share: float
    spread: float
    support: float
    held: int
    texts: int
    words: tuple[WordsRead, ...] = ()

    @property
    def measure(self) -> str:
        """Name of the measure that shows it; of "words", that of the first label."""
        return f"{WORDS}{self.words[0].label}" if self.words else self.name


@dataclass(frozen=True, eq=False)
class KindRoles:
    """The evidence about all heads of one kind of attention, in one text or on average over many.

    Averages are over the texts that could show the pattern. Share, spread, even and held are NaN where no
    text could, and over many texts also where the layer cannot have the pattern (see `possible_patterns`).

    Attributes:
        names: Names of the measures, as `measures_of` returns them.
        share: float (layer, head, measure), weight on the pattern, averaged over the rows that could show it;
            for "token" that of the most-read key, for "focused" of each row's most-read key, for "even" the
            entropy relative to that of uniform attention.
        spread: float (layer, head, measure), its standard deviation across texts.
        even: float (layer, head, measure), the same share under uniform attention over the unmasked keys.
        held: float (layer, head, measure), share of texts in which the head holds the role of that name,
            whichever other it holds too; of words, share of texts in which it reads them `MIN_RATIO` times
            as much as evenly.
        support: float (measure,) or (layer, measure), mean share of rows that could show the pattern.
        texts: int (measure,), number of texts that could show it.
        ratio: float (layer, head, label), weight on the words typical of each label of `names`, divided by
            that under uniform attention, averaged over the texts with such words.
        ratio_spread: float (layer, head, label), standard deviation of that ratio across these texts.
    """

    names: tuple[str, ...]
    share: np.ndarray
    spread: np.ndarray
    even: np.ndarray
    held: np.ndarray
    support: np.ndarray
    texts: np.ndarray
    ratio: np.ndarray
    ratio_spread: np.ndarray

    def __repr__(self):
        return short_repr(self, ("names", "share", "texts"))

    @functools.cached_property
    def roles(self) -> list[list[Role]]:
        """The role of each head, by layer.

        A head has a role if its averages do (`name_role`), and if it holds it in at least half of the texts
        that could show it. One without an exact pattern may be named by the words that it reads more than
        evenly.
        """
        layers, heads = self.share.shape[:2]
        return [[self._role(layer, head) for head in range(heads)] for layer in range(layers)]

    def _role(self, layer, head):
        share, spread, even, held = (
            each[layer, head] for each in (self.share, self.spread, self.even, self.held)
        )
        support = np.broadcast_to(self.support, self.share.shape[::2])[layer]
        name = name_role(self.names, share, support, holds(self.names, share, even) & (held >= MIN_TEXTS))
        words = self.words_read(layer, head) if name in ("nearby", *SHAPES, "mixed") else ()
        if name == "mixed" and not words:
            return Role(name, np.nan, np.nan, 1.0, 0, int(self.texts.max()))
        number = self.names.index(f"{WORDS}{words[0].label}" if words else name)
        texts = int(self.texts[number])
        numbers = float(share[number]), float(spread[number]), float(support[number])
        return Role("words" if words else name, *numbers, round(held[number] * texts), texts, words)

    def strength(self, layer: int, head: int) -> float:
        """Return the strength of the evidence for a head's role, up to 1; 0 for "even" and "mixed".

        It is the weight on the pattern beyond that under uniform attention, over all rows, times the share of
        texts in which the head has that role.
        """
        role = self.roles[layer][head]
        if role.name in ("even", "mixed"):
            return 0.0
        even = float(self.even[layer, head, self.names.index(role.measure)])
        return (role.share - even) * role.support * role.held / role.texts

    def averaging(self) -> list[tuple[int, int]]:
        """Return layer and head, 0-based, of each head with a mean relative entropy of `MIN_AVERAGING`."""
        evenness = self.share[..., self.names.index("even")]
        return [(int(layer), int(head)) for layer, head in np.argwhere(evenness >= MIN_AVERAGING)]

    def opening(self) -> tuple[int, int]:
        """Return layer and head, 0-based, with the strongest evidence for its role: it is shown first."""
        return max(np.ndindex(self.share.shape[:2]), key=lambda place: self.strength(*place))

    def words_read(self, layer: int, head: int) -> tuple[WordsRead, ...]:
        """Return the labels whose typical words a head reads more than evenly, the most first.

        At least `FEWEST_TEXTS` texts must have such words; the head reads them `MIN_RATIO` times as much as
        evenly on average, and in at least half of these texts.
        """
        measures = [number for number, name in enumerate(self.names) if name.startswith(WORDS)]
        found = [
            WordsRead(
                self.names[number].removeprefix(WORDS),
                float(self.ratio[layer, head, label]),
                float(self.ratio_spread[layer, head, label]),
                int(self.texts[number]),
            )
            for label, number in enumerate(measures)
            if self.texts[number] >= FEWEST_TEXTS
            and self.held[layer, head, number] >= MIN_TEXTS
            and self.ratio[layer, head, label] >= MIN_RATIO
        ]
        return tuple(sorted(found, key=lambda read: -read.ratio))


@dataclass(frozen=True, eq=False)
class HeadRoles:
    """What each head of a model usually does, measured over many texts.

    Equal if all numbers are.

    Attributes:
        texts: Number of texts.
        kinds: Kind of attention ("encoder", "decoder", "cross") -> `KindRoles`.
        words: The words typical of each label, as `typical_words` returns them; empty: none were known.
        tokens: Median number of tokens of the texts, of an encoder-decoder of the sources; None: unknown.
        short: The same in short texts, some sentences of each; None: the texts are hardly longer.
    """

    texts: int
    kinds: Mapping[str, KindRoles]
    words: Typical = field(default_factory=dict)
    tokens: int | None = None
    short: "HeadRoles | None" = None

    def __repr__(self):
        return short_repr(self)

    def usual(self, kind: str) -> list[list[Role]]:
        """Return the usual role of each head of a kind of attention, by layer."""
        return self.kinds[kind].roles

    def opening(self, kind: str) -> tuple[int, int]:
        """Return layer and head, 0-based, that are shown first: in short texts, as people type them."""
        return (self.short or self).kinds[kind].opening()

    def nearest(self, tokens: int) -> "HeadRoles | None":
        """Return what was measured in texts about as long as one of so many tokens.

        None if all were more than `MAX_LENGTH_RATIO` times as long or as short.
        """
        known = [each for each in (self, self.short) if each is not None and each.tokens is not None]
        if not known:
            return self
        found = min(known, key=lambda each: each._ratio(tokens))
        return found if found._ratio(tokens) <= MAX_LENGTH_RATIO else None

    def _ratio(self, tokens):
        """Return how many times as long as the other the longer is: a text of so many tokens, or these."""
        own = self.tokens or 1
        return max(tokens, own) / max(min(tokens, own), 1)

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per head, without the measurement in short texts.

        Returns:
            Columns kind, layer, head (0-based), role, and share, spread, support, held, texts and words as in
            `Role`; the words as text, "bad 2.3 ± 0.4, good 1.9 ± 0.6".
        """
        rows = [
            (kind, layer, head, *role[:-1], _words_text(role.words))
            for kind in self.kinds
            for layer, heads in enumerate(self.usual(kind))
            for head, role in enumerate(heads)
        ]
        columns = ["kind", "layer", "head", "role", *Role._fields[1:]]
        return pd.DataFrame(rows, columns=pd.Index(columns))

    def check(self, config: TransformerConfig) -> None:
        """Check that these are the roles of the heads of a config.

        Raises:
            ValueError: If kinds of attention, layers or heads differ, or there are words of other labels.
        """
        possible = patterns_of_config(config)
        expected = {kind: (len(layers), config.num_heads) for kind, layers in possible.items()}
        for measured in filter(None, (self, self.short)):
            found = {kind: each.share.shape[:2] for kind, each in measured.kinds.items()}
            if found != expected:
                raise Problem("head_roles.fit", found=_sizes(found), expected=_sizes(expected))
        if not self.words.keys() <= set(config.labels):
            raise Problem("head_roles.labels", found=_quoted(self.words), expected=_quoted(config.labels))

    def to_json(self) -> str:
        """Return the roles as JSON, with three decimals."""
        words = {label: list(words) for label, words in self.words.items()}
        short = self.short and _measured(self.short)
        content = {"format_version": FORMAT_VERSION, "words": words, **_measured(self), "short": short}
        return json.dumps(content, separators=(",", ":")) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "HeadRoles":
        """Read the result of `to_json`.

        Raises:
            ValueError: If the text is anything else, or comes from a newer version.
        """
        try:
            _require(len(text) <= MAX_CHARS)
            content = json.loads(text)
            version = content["format_version"]
            _require(type(version) is int and version >= 1)
            if version > FORMAT_VERSION:
                raise Problem("head_roles.version", version=quoted(version), newest=FORMAT_VERSION)
            for upgrade in _UPGRADES[version - 1 :]:
                content = upgrade(content)
            return _read(content | {"format_version": FORMAT_VERSION})
        except Problem:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError):
            raise Problem("head_roles.damaged") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HeadRoles):
            return NotImplemented
        return self.to_json() == other.to_json()

    __hash__ = None  # pyright: ignore[reportAssignmentType]  as the data model prescribes


def kept_words(head_roles: HeadRoles | None) -> Typical:
    """Return the words typical of each label that are kept with the roles of a model; empty without roles."""
    return {} if head_roles is None else head_roles.words


_BY_HEAD = ("share", "spread", "even", "held")

_BY_LABEL = ("ratio", "ratio_spread")


def _quoted(names):
    """Return names for an error."""
    return [Phrase("quoted", text=name) for name in sorted(names)] or Phrase("list.none")


def _sizes(shapes):
    return ", ".join(f"{kind} {layers} x {heads}" for kind, (layers, heads) in shapes.items())


def _words_text(words):
    return ", ".join(f"{label} {ratio:.1f} ± {spread:.1f}" for label, ratio, spread, _ in words)


def _measured(roles):
    """Return one measurement for `to_json`: the texts, and the evidence about each kind of attention."""
    kinds = {
        kind: {"names": list(each.names)}
        | {name: rounded(getattr(each, name)) for name in (*_BY_HEAD, *_BY_LABEL, "support")}
        | {"texts": each.texts.tolist()}
        for kind, each in roles.kinds.items()
    }
    return {"texts": roles.texts, "tokens": roles.tokens, "kinds": kinds}


def rounded(array: np.ndarray) -> Any:
    """Return an array as nested lists of numbers with `DIGITS` decimals, None for NaN."""
    if array.ndim:
        return [rounded(each) for each in array]
    return None if np.isnan(array) else round(float(array), DIGITS)


def _with_words(content):
    """Return the content of version 1 as version 2: without words."""
    kinds = {
        kind: each | {name: [[[] for _ in layer] for layer in each["share"]] for name in _BY_LABEL}
        for kind, each in content["kinds"].items()
    }
    return content | {"words": {}, "kinds": kinds}


def _with_nearby(content):
    """Return the content of version 2 as version 3, with nearby tokens not measured."""
    place = SELF_PATTERNS.index("nearby")

    def widened(measures, unknown):
        return [*measures[:place], unknown, *measures[place:]]

    kinds = dict(content["kinds"])
    for kind, each in content["kinds"].items():
        if kind != "cross":
            added = (("names", "nearby"), ("support", 0.0), ("texts", 0))
            flat = {name: widened(each[name], unknown) for name, unknown in added}
            heads = {
                name: [[widened(head, None) for head in layer] for layer in each[name]] for name in _BY_HEAD
            }
            kinds[kind] = each | flat | heads
    return content | {"kinds": kinds}


def _with_lengths(content):
    """Return the content of version 3 as version 4: of texts of unknown length."""
    return content | {"tokens": None, "short": None}


_UPGRADES = (_with_words, _with_nearby, _with_lengths)
"""What makes version 2 of version 1, and so on."""


def _read(content: Any) -> HeadRoles:
    """Return the roles of parsed JSON; whatever differs from the result of `to_json` is an error."""
    words = {label: tuple(each) for label, each in content["words"].items()}
    found, short = _read_measured(content, words), content["short"]
    if short is not None:
        found = dataclasses.replace(found, short=_read_measured(short, words))
    _require(short is None or short["kinds"].keys() == content["kinds"].keys())
    _require(len(words) <= MOST_LABELS and all(map(_are_words, words.values())))
    _require(_in_order(content) == _in_order(json.loads(found.to_json())))
    return found


def _read_measured(content, words):
    texts, tokens, kinds = int(content["texts"]), content["tokens"], content["kinds"]
    tokens = None if tokens is None else int(tokens)
    _require(kinds and all(1 <= count <= MAX_TEXTS for count in (texts, 1 if tokens is None else tokens)))
    read = {kind: _read_kind(measures_of(kind, words), each, texts) for kind, each in kinds.items()}
    return HeadRoles(texts, read, words, tokens)


def _read_kind(names, content, texts):
    counts = np.array(content["texts"], int)
    numbers = {name: np.array(content[name], float) for name in (*_BY_HEAD, *_BY_LABEL, "support")}
    layers, heads, _ = numbers["share"].shape
    labels = sum(name.startswith(WORDS) for name in names)
    shapes = dict.fromkeys(_BY_HEAD, (layers, heads, len(names))) | {"support": (len(names),)}
    shapes |= dict.fromkeys(_BY_LABEL, (layers, heads, labels))
    _require(heads and all(numbers[name].shape == shape for name, shape in shapes.items()))
    _require(counts.shape == (len(names),) and ((counts >= 0) & (counts <= texts)).all())
    for name, array in numbers.items():
        unknown, most = np.isnan(array), MAX_RATIO if name in _BY_LABEL else 1
        _require((unknown | (array >= 0) & (array <= most)).all())
        _require(name not in _BY_HEAD or np.array_equal(unknown, np.isnan(numbers["share"])))
    _require(not np.isnan(numbers["support"]).any())
    return KindRoles(names, texts=counts, **numbers)


def _are_words(words):
    are_texts = all(type(word) is str and 1 <= len(word) <= MAX_WORD and is_utf8(word) for word in words)
    return are_texts and 1 <= len(words) == len(set(words)) <= MOST_WORDS


def _in_order(content):
    """Return JSON as a text that is the same in whatever order its fields are."""
    return json.dumps(content, sort_keys=True)


def _require(condition):
    if not condition:
        raise ValueError
