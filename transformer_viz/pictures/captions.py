"""Captions of heads: the usual role, the role in this text, and the effect of ablation."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from transformer_viz.analysis import (
    PatternShares,
    Role,
    held_patterns,
    pattern_shares,
    patterns_by_layer,
    roles_of_shares,
)
from transformer_viz.language import Words, joined
from transformer_viz.pictures.labels import shown_tokens
from transformer_viz.text.unicode import visible
from transformer_viz.values.kind_roles import UsualRole
from transformer_viz.values.patterns import MIN_RATIO, MIN_SHARE, NEARBY, ROLES, WORDS, possible_patterns
from transformer_viz.values.special import EDGES
from transformer_viz.values.tensors import Attentions
from transformer_viz.values.trace import Trace

EMPTY = "\u2205"
"""Shown where there is no token."""

QUERIES_SAID = 3
"""Most queries that a caption names of those that attend to the same key."""

MIN_GATHERED = 0.5
"""Least weight of a query on a key for a caption to say that it attends to that key."""

OF_THEIR_OWN = ("token", "focused", "even", "words", "mixed")
"""Roles that name no place, and so have sentences of their own."""

LABELS_SAID = 3
"""Most labels whose words a caption says that a head reads."""

WHOLE_FROM = 10
"""Effective numbers of tokens from here on are shown without decimals."""

WHOLE_RATIO = 3
"""Ratios from here on are shown without decimals, as texts differ more than that."""

OF_REPEATED = {"after_same": "role.copying", "same": "role.matching"}
"""Pattern that only rows of repeated tokens can show -> the sentence about these rows in one text."""

MIN_OF_REPEATED = 0.5
"""Least share of the weight, in these rows, for a caption to say so."""

Said = Role | UsualRole
"""A role of a head: in one text, or usual over many."""


class Gathered(NamedTuple):
    """Queries of a head that give most of their weight to the same key, in one text.

    Attributes:
        queries: Their tokens.
        key: The token of the key.
        least: Least weight that one of them gives to it.
        most: The largest such weight.
    """

    queries: list[str]
    key: str
    least: float
    most: float


class HeadsInText:
    """The heads of one kind of attention in one text.

    Args:
        kind: "encoder", "decoder" or "cross".
        found: Its attention.
        possible: Patterns that each layer can have, as `patterns_of_trace` returns them.
        typical: Keys in words typical of each label, as `typical_keys` returns them; None: not measured.

    Attributes:
        roles: Role of each head in this text, by layer.
        names: Names of the measures.
    """

    def __init__(
        self,
        kind: str,
        found: Attentions,
        possible: Sequence[frozenset[str]],
        typical: Mapping[str, np.ndarray] | None = None,
    ):
        self.kind = kind
        self.possible = possible
        tokens = found.query_tokens, found.key_tokens
        count = len(found.layers)
        self._found = found
        texts = patterns_by_layer(found.mask, count, *tokens, cross=kind == "cross", typical=typical)
        self.names = texts[0].names
        self._rows = [text.rows for text in texts]
        self._has_choice = all(text.has_choice for text in texts)
        self._shares: list[PatternShares] = []
        self.roles = [[Role("mixed", 0.0, 0)] * len(layer.weights) for layer in found.layers]
        if all(len(text.rows) for text in texts):
            both = zip(texts, found.layers, strict=True)
            self._shares = [pattern_shares(text, layer.weights) for text, layer in both]
            self.roles = [roles_of_shares(*each) for each in zip(self._shares, possible, strict=True)]

    @property
    def clearest(self) -> tuple[int, int]:
        """Layer and head, 0-based, with the largest share of its attention on a pattern in this text."""
        named = {
            (layer, head): role.share
            for layer, roles in enumerate(self.roles)
            for head, role in enumerate(roles)
            if role.name not in ("mixed", "even")
        }
        return max(named, key=lambda place: named[place], default=(0, 0))

    def shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the measures of all heads in this text, and the same under uniform attention.

        Returns:
            Two arrays float (layer, head, measure), in the order of `names`; NaN if the text cannot show a
            pattern, the layer cannot have it, or no query can choose between two keys.
        """
        found = np.full((2, len(self.roles), len(self.roles[0]), len(self.names)), np.nan)
        for layer, shares in enumerate(self._shares if self._has_choice else []):
            can = [name in self.possible[layer] or name.startswith(WORDS) for name in self.names]
            found[:, layer] = np.where(can, (shares.share, shares.even), np.nan)
        return found[0], found[1]

    def share(self, layer: int, head: int, name: str) -> float:
        """Return the share of a head's weight on a pattern in this text; NaN if the text cannot show it."""
        if not self._shares:
            return np.nan
        return float(self._shares[layer].share[head, self.names.index(name)])

    def gathered(self, layer: int, head: int) -> Gathered | None:
        """Return the queries that give at least `MIN_GATHERED` of their weight to the same key, the most such
        queries there are; None if there are not two.
        """
        if not self._has_choice:
            return None
        rows = self._rows[layer]
        weights = np.asarray(self._found.layers[layer].weights[head])[rows]
        keys, most = weights.argmax(axis=-1), weights.max(axis=-1)
        strong = most >= MIN_GATHERED
        counts = np.bincount(keys[strong], minlength=weights.shape[-1])
        key = int(counts.argmax())
        if counts[key] < 2:
            return None
        chosen = strong & (keys == key)
        queries, names = shown_tokens(self._found.query_tokens), shown_tokens(self._found.key_tokens)
        least, largest = float(most[chosen].min()), float(most[chosen].max())
        return Gathered([queries[row] for row in rows[chosen]], names[key], least, largest)

    def most_read(self, layer: int, head: int) -> str:
        """Return the token that receives most of a head's weight in this text."""
        return shown_tokens(self._found.key_tokens)[self.roles[layer][head].key]

    def of_repeated(self, layer: int, head: int) -> dict[str, tuple[float, float]]:
        """Return pattern of `OF_REPEATED` -> its share of the weight in this text, and that of its rows.

        Only those that the head holds in the rows that can show them, without having that role anyway. In the
        other rows an induction head has nothing to copy, and rests on the first token or another; one of the
        same token attends to the token itself.
        """
        if not self._shares:
            return {}
        shown, found = {}, self._shares[layer]
        held = held_patterns(found, self.possible[layer])[head]
        for number, name in enumerate(self.names):
            share = float(found.share[head, number])
            is_new = name in OF_REPEATED and name != self.roles[layer][head].name
            if is_new and held[number] and share >= MIN_OF_REPEATED:
                shown[name] = share, float(found.support[number])
        return shown

    def ratio(self, layer: int, head: int, label: str) -> float:
        """Return how many times an even share the words of a label get here; NaN if there are none."""
        if not self._has_choice:
            return np.nan
        found, number = self._shares[layer], self.names.index(f"{WORDS}{label}")
        return float(found.share[head, number] / found.even[head, number])


def patterns_of_trace(trace: Trace) -> dict[str, list[frozenset[str]]]:
    """Return kind of attention -> the patterns that each layer can have, in the model as it was run.

    The visitor may have taken the position encodings away or changed a mask. If only weights were kept,
    there may be position encodings.
    """
    kinds, found = trace.kinds(), {}
    for kind, attentions in kinds.items():
        source = kind != "decoder" or not trace.encoder
        values = trace.values
        table = values.position_embedding if source else values.target_position_embedding
        mask = np.asarray(kinds["encoder" if kind == "cross" else kind].mask)
        found[kind] = [
            possible_patterns(
                kind,
                layer,
                positions=table is None or bool(np.any(table)),
                masked=bool((mask != mask[..., :1, :]).any()),
                start=not EDGES.isdisjoint(attentions.key_tokens[:1]),
            )
            for layer in range(len(attentions.layers))
        ]
    return found


def captions_of(
    words: Words,
    heads: HeadsInText,
    labels: Sequence[str],
    usual: list[list[UsualRole]] | None = None,
    effects: list[list[str]] | None = None,
    preferences: Sequence[str] = (),
    tokens: int | None = None,
) -> list[list[str]]:
    """Return a caption for each head: its role, the words it prefers, and the effect of ablating it.

    Args:
        words: Sentences of the visitor's language.
        heads: The heads in this text.
        labels: Labels of the columns.
        usual: Usual role of each head, by layer, as `HeadRoles.usual` returns it; None: unknown.
        effects: A sentence for each head, as `effect_texts` returns it; None: unknown.
        preferences: A sentence for each head of the first layer, as `preference_texts` returns it, which
            those without a role have instead; empty: unknown.
        tokens: Median number of tokens of the texts that show what is usual; None: unknown.
    """
    captions = []
    for layer, roles in enumerate(heads.roles):
        captions.append([])
        for head, role in enumerate(roles):
            sentences = [role_text(words, role, labels)]
            if usual is not None:
                sentences = [usual_text(words, usual[layer][head], heads, layer, head, tokens)]
                if usual[layer][head].name == "mixed":
                    sentences.append(role_text(words, role, labels))
            for name, (share, support) in heads.of_repeated(layer, head).items():
                if usual is None or usual[layer][head].name != name:
                    said = {"percent": f"{share:.0%}", "support": f"{support:.0%}"}
                    sentences.append(words(OF_REPEATED[name], **said))
            if preferences and layer == 0 and preferences[head] and role.name in ("mixed", "token"):
                has_usual = usual is not None and usual[layer][head].name != "mixed"
                sentences = [*sentences[:has_usual], preferences[head]]
            if effects is not None:
                sentences.append(effects[layer][head])
            captions[-1].append(joined(*sentences))
    return captions


def role_order(named: Sequence[Sequence[Said]]) -> np.ndarray:
    """Return a sort key that groups heads by role, the strongest first: float (layer, head).

    Heads that read words are grouped by the label whose words they read most.
    """
    shares = np.nan_to_num([[role.share for role in layer] for layer in named])
    roles = [[(ROLES.index(role.name), measure_of(role)) for role in layer] for layer in named]
    order = sorted({role for layer in roles for role in layer})
    return np.array([[-2 * order.index(role) for role in layer] for layer in roles]) + shares / (1 + shares)


def measure_of(role: Said) -> str:
    """Return the name of the measure that shows a role."""
    return role.measure if isinstance(role, UsualRole) else role.name


def role_name(words: Words, role: Said) -> str:
    """Return the short name of a role."""
    return measure_name(words, measure_of(role))


def measure_name(words: Words, measure: str) -> str:
    """Return the short name of a measure."""
    if measure.startswith(WORDS):
        return words("role_name.words", label=measure.removeprefix(WORDS))
    return words(f"role_name.{measure}")


def share_texts(usual: Sequence[Sequence[UsualRole]]) -> list[list[str]]:
    """Return the share of each head's usual role as text, of words how many times an even one it is; "" if
    it has none.
    """
    return [[_share_text(role) for role in layer] for layer in usual]


def _share_text(role):
    if role.words:
        return f"×{role.words[0].ratio:.1f}"
    return "" if role.name == "mixed" else f"{role.share:.0%}"


def role_text(words: Words, role: Role, labels: Sequence[str]) -> str:
    """Return a head's role in one text as a sentence; `labels` are those of the columns."""
    return words(
        f"role.{role.name}",
        percent=f"{role.share:.0%}",
        support=f"{role.support:.0%}",
        leading=role.leading,
        rows=role.rows,
        count=f"{role.share:.1f}" if role.share < WHOLE_FROM else f"{role.share:.0f}",
        token=visible(labels[role.key]) if labels else EMPTY,
        places=NEARBY,
    )


def usual_text(
    words: Words, role: UsualRole, heads: HeadsInText, layer: int, head: int, tokens: int | None = None
) -> str:
    """Return a head's usual role as a sentence, and how far it has it in the text that is shown.

    Where it does something else in this text, what that is comes first, if it can be said of single tokens.

    Args:
        words: Sentences of the visitor's language.
        role: The usual role.
        heads: The heads in this text.
        layer: Layer of the head, 0-based.
        head: Head, 0-based.
        tokens: Median number of tokens of the texts that show what is usual; None: unknown.
    """
    counted = counted_texts(words, f"{role.texts:,}", tokens)
    if role.name == "mixed":
        return words("usual.mixed", counted=counted)
    if role.name == "words":
        return _words_text(words, role, heads, layer, head)
    here = heads.share(layer, head, role.name)
    if role.name == "token":
        if np.isnan(here):
            return words("usual.token") + words("usual.nowhere")
        read = visible(heads.most_read(layer, head))
        return words("usual.token") + words("usual.token_here", token=read, percent=f"{here:.0%}")
    is_place = role.name not in OF_THEIR_OWN
    said = words(f"usual.{role.name}", places=NEARBY)
    if is_place and not here >= MIN_SHARE and (gathered := heads.gathered(layer, head)):
        return joined(gathered_text(words, gathered), words("usual.elsewhere", what=said))
    often = words("usual.often", held=f"{role.held:,}", counted=counted)
    seen = words("usual.here_even" if role.name == "even" else "usual.here", percent=f"{here:.0%}")
    start = words("usual.attends", what=said) if is_place else said
    return start + often + (words("usual.nowhere") if np.isnan(here) else seen)


def _words_text(words, role, heads, layer, head):
    """Say which labels' words a head usually reads; first, if it reads none here, what it does instead."""
    read = role.words[:LABELS_SAID]
    here = [heads.ratio(layer, head, each.label) for each in read]
    is_usual = any(ratio >= MIN_RATIO for ratio in here)
    gathered = None if is_usual else heads.gathered(layer, head)
    said = [] if gathered is None else [gathered_text(words, gathered)]
    for each, ratio in zip(read, here, strict=True):
        facts = {"label": each.label, "ratio": _times(each.ratio), "here": _ratio_here(words, ratio)}
        said.append(words("usual.words" if each == read[0] else "usual.words_also", **facts))
    return joined(*said)


def gathered_text(words: Words, gathered: Gathered) -> str:
    """Return which queries attend to the same key in this text, as a sentence."""
    queries, key, least, most = gathered
    named = words("list.comma").join(f"“{visible(query)}”" for query in queries[:QUERIES_SAID])
    if len(queries) > QUERIES_SAID:
        named = words("usual.more", queries=named, count=len(queries) - QUERIES_SAID)
    percent = [f"{100 * share:.0f}" for share in (least, most)]
    shares = words("usual.from_to", least=percent[0], most=percent[1])
    if percent[0] == percent[1]:
        shares = f"{percent[0]}%"
    return words("usual.gathered", queries=named, key=visible(key), percent=shares)


def counted_texts(words: Words, texts: str, tokens: int | None) -> str:
    """Return how many texts of which length were measured; the length is rounded to two digits.

    Args:
        words: Sentences of the visitor's language.
        texts: Their number, or a mark that stands for it.
        tokens: Their median number of tokens; None: unknown.
    """
    if tokens is None:
        return words("usual.texts", texts=texts)
    return words("usual.texts_of", texts=texts, tokens=f"{int(float(f'{tokens:.2g}')):,}")


def _ratio_here(words, ratio):
    """Return how many times an even share the words of a label get in this text."""
    return words("usual.words_nowhere") if np.isnan(ratio) else words("usual.words_here", ratio=_times(ratio))


def _times(ratio):
    """Return a ratio as a text."""
    return f"{ratio:.0f}" if ratio >= WHOLE_RATIO else f"{ratio:.1f}"
