"""Captions of heads: what each does in this text; beside it the usual role, and the effect of ablation."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from transformer_viz.language import Words, joined
from transformer_viz.network.tensors import Attentions
from transformer_viz.pictures.here import PLACES, Here, here_of
from transformer_viz.pictures.labels import shown_tokens
from transformer_viz.questions.roles.patterns import roles_in_text, text_patterns
from transformer_viz.questions.roles.result import Role
from transformer_viz.questions.roles.rules import NEARBY, ROLES, WORDS, are_possible, possible_patterns
from transformer_viz.text.special import EDGES
from transformer_viz.text.unicode import visible
from transformer_viz.trace.trace import Trace

QUERIES_SAID = 3
"""Most rows that a caption names of those that read the same token; of more it says how many they are."""

OF_THEIR_OWN = ("token", "focused", "even", "words", "mixed")
"""Roles that name no place, and so have sentences of their own."""

LABELS_SAID = 3
"""Most labels whose words a caption says that a head reads."""

WHOLE_RATIO = 3
"""Ratios from here on are shown without decimals, as texts differ more than that."""

OF_REPEATED = {"after_same": "here.copying", "same": "here.matching"}
"""Pattern that only rows of repeated tokens can show -> the sentence about these rows in one text."""

MIN_OF_REPEATED = 0.5
"""Least share of the weight, in these rows, for a caption to say so."""


class Captions(NamedTuple):
    """What is said of each head, by layer.

    Attributes:
        here: What it does in this text.
        usual: What else is to be said, below and smaller: what is usual over many texts, the words that it
            prefers, and what the answer loses without it; "": nothing.
    """

    here: list[list[str]]
    usual: list[list[str]]


class HeadsInText:
    """The heads of one kind of attention in one text.

    Args:
        kind: "encoder", "decoder" or "cross".
        found: Its attention.
        possible: Patterns that each layer can have, as `patterns_of_trace` returns them.
        typical: Keys in words typical of each label, as `typical_keys` returns them; None: not measured.

    Attributes:
        measured: The evidence about them in this text.
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
        self._found, self._possible = found, possible
        self._patterns = text_patterns(kind, found, typical)
        self.measured = roles_in_text(self._patterns, found, possible)
        self.names, self.roles = self.measured.names, self.measured.roles

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
        known = are_possible(self.names, self._possible)[:, None]
        known = known & all(text.has_choice for text in self._patterns)
        return np.where(known, self.measured.share, np.nan), np.where(known, self.measured.even, np.nan)

    def share(self, layer: int, head: int, name: str) -> float:
        """Return the share of a head's weight on a pattern in this text; NaN if the text cannot show it."""
        return float(self.measured.share[layer, head, self.names.index(name)])

    def here(self, layer: int, head: int) -> Here:
        """Return what a head does in this text."""
        weights = np.asarray(self._found.layers[layer].weights[head])
        return here_of(weights, self._patterns[layer], self.roles[layer][head])

    def queries_of(self, here: Here) -> list[str]:
        """Return the tokens of the rows that something is said of."""
        tokens = shown_tokens(self._found.query_tokens)
        return [tokens[query] for query in here.queries]

    def of_repeated(self, layer: int, head: int) -> dict[str, tuple[float, float]]:
        """Return pattern of `OF_REPEATED` -> its share of the weight in this text, and that of its rows.

        Only those that the head holds in the rows that can show them, without having that role anyway. In the
        other rows an induction head has nothing to copy, and rests on the first token or another; one of the
        same token attends to the token itself.
        """
        found, shown, own = self.measured, {}, self.roles[layer][head].name
        for number, name in enumerate(self.names):
            share = float(found.share[layer, head, number])
            is_new = name in OF_REPEATED and name != own
            if is_new and found.held[layer, head, number] and share >= MIN_OF_REPEATED:
                shown[name] = share, float(found.support[layer, number])
        return shown

    def ratio(self, layer: int, head: int, label: str) -> float:
        """Return how many times an even share the words of a label get here; NaN if there are none."""
        labels = [name for name in self.names if name.startswith(WORDS)]
        return float(self.measured.ratio[layer, head, labels.index(f"{WORDS}{label}")])


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
    usual: list[list[Role]] | None = None,
    effects: list[list[str]] | None = None,
    preferences: Sequence[str] = (),
    tokens: int | None = None,
) -> Captions:
    """Return what is said of each head.

    Args:
        words: Sentences of the visitor's language.
        heads: The heads in this text.
        labels: Labels of the columns.
        usual: Usual role of each head, by layer, as `HeadRoles.usual` returns it; None: unknown.
        effects: A sentence for each head, as `effect_texts` returns it; None: unknown.
        preferences: A sentence for each head of the first layer, as `preference_texts` returns it, which is
            said of those without a role in this text; empty: unknown.
        tokens: Median number of tokens of the texts that show what is usual; None: unknown.
    """
    found = Captions([], [])
    for layer, roles in enumerate(heads.roles):
        found.here.append([])
        found.usual.append([])
        for head, role in enumerate(roles):
            found.here[-1].append(here_text(words, heads, layer, head, labels))
            said = []
            if usual is not None:
                said.append(usual_text(words, usual[layer][head], heads, layer, head, tokens))
            if preferences and layer == 0 and role.name in ("mixed", "token"):
                said.append(preferences[head])
            if effects is not None:
                said.append(effects[layer][head])
            found.usual[-1].append(joined(*filter(None, said)))
    return found


def role_order(named: Sequence[Sequence[Role]]) -> np.ndarray:
    """Return a sort key that groups heads by role, the strongest first: float (layer, head).

    Heads that read words are grouped by the label whose words they read most.
    """
    shares = np.nan_to_num([[role.share for role in layer] for layer in named])
    roles = [[(ROLES.index(role.name), role.measure) for role in layer] for layer in named]
    order = sorted({role for layer in roles for role in layer})
    return np.array([[-2 * order.index(role) for role in layer] for layer in roles]) + shares / (1 + shares)


def role_name(words: Words, role: Role) -> str:
    """Return the short name of a role."""
    return measure_name(words, role.measure)


def measure_name(words: Words, measure: str) -> str:
    """Return the short name of a measure."""
    if measure.startswith(WORDS):
        return words("role_name.words", label=measure.removeprefix(WORDS))
    return words(f"role_name.{measure}")


def share_texts(usual: Sequence[Sequence[Role]]) -> list[list[str]]:
    """Return the share of each head's usual role as text, of words how many times an even one it is; "" if
    it has none.
    """
    return [[_share_text(role) for role in layer] for layer in usual]


def _share_text(role):
    if role.words:
        return f"×{role.words[0].ratio:.1f}"
    return "" if role.name == "mixed" else f"{role.share:.0%}"


def here_text(words: Words, heads: HeadsInText, layer: int, head: int, labels: Sequence[str]) -> str:
    """Return what a head does in this text as a sentence; another one follows if it copies or matches tokens.

    Args:
        words: Sentences of the visitor's language.
        heads: The heads in this text.
        layer: Layer of the head, 0-based.
        head: Head, 0-based.
        labels: Labels of the columns.
    """
    here, sentences = heads.here(layer, head), []
    queries = [f"“{token}”" for token in heads.queries_of(here)]
    facts = {
        "percent": f"{here.share:.0%}",
        "token": visible(labels[here.key]) if labels else "",
        "ratio": f"{here.ratio:.1f}",
        "even": f"{here.share / here.ratio:.0%}" if here.ratio else "",
        "places": NEARBY,
    }
    match here.name:
        case "even":
            sentences.append(words("here.even" if here.each else "here.even_masked", **facts))
        case "read" if len(queries) > QUERIES_SAID:
            facts |= {"count": len(queries), "rows": here.rows, "percent": _range(words, here.shares)}
            sentences.append(words("here.read_many", **facts))
        case "read" | "mixed":
            named = words("list.comma").join(queries[:-1])
            facts["queries"] = words("here.and", first=named, last=queries[-1]) if named else queries[-1]
            facts["percent"] = words("list.comma").join(f"{share:.0%}" for share in here.shares)
            sentences.append(words(f"here.{here.name}", **facts))
        case name if name not in PLACES:
            sentences.append(words(f"here.{name}", **facts))
        case name if here.each:
            sentences.append(words(f"here.each.{name}", **facts))
        case name:
            sentences.append(words(f"here.most.{name}", **facts))
    for name, (share, support) in heads.of_repeated(layer, head).items():
        if name != here.name:
            sentences.append(words(OF_REPEATED[name], percent=f"{share:.0%}", support=f"{support:.0%}"))
    return joined(*sentences)


def _range(words, shares):
    """Return the smallest and the largest of some weights, in percent."""
    least, most = (f"{100 * share:.0f}" for share in (min(shares), max(shares)))
    return f"{most}%" if least == most else words("here.from_to", least=least, most=most)


def usual_text(
    words: Words, role: Role, heads: HeadsInText, layer: int, head: int, tokens: int | None = None
) -> str:
    """Return a head's usual role as a sentence, and how far it has it in the text that is shown.

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
    said = words(f"usual.{role.name}", places=NEARBY)
    often = words("usual.often", held=f"{role.held:,}", counted=counted)
    seen = words("usual.here_even" if role.name == "even" else "usual.here", percent=f"{here:.0%}")
    start = said if role.name in OF_THEIR_OWN else words("usual.attends", what=said)
    return start + often + (words("usual.nowhere") if np.isnan(here) else seen)


def _words_text(words, role, heads, layer, head):
    """Say which labels' words a head usually reads, and how far it reads them in the text that is shown."""
    said = []
    for each in role.words[:LABELS_SAID]:
        here = _ratio_here(words, heads.ratio(layer, head, each.label))
        facts = {"label": each.label, "ratio": _times(each.ratio), "here": here}
        said.append(words("usual.words_also" if said else "usual.words", **facts))
    return joined(*said)


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
