"""Syntactic relations between words that heads follow, measured on a treebank."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from transformer_viz.data.treebank import ROOT, ParsedSentence
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.language import Problem
from transformer_viz.questions.relations.words import best_offset, most_read_words, nearest_word, words_at
from transformer_viz.trace.request import Request

FEWEST = 50
"""Fewest instances of a relation that is measured."""

COMMON = 0.05
"""Least share of the targets of a relation for a part of speech to be one of their kinds."""

LEFT_OUT = ("root", "punct")
"""Relations that are not measured."""


class Instance(NamedTuple):
    """A pair of words, of which the first should read the second.

    Attributes:
        relation: Name of the relation.
        reads: "governor" or "dependent": what the second word is to the first.
        word: Index of the first in the sentence.
        target: Index of the second.
    """

    relation: str
    reads: str
    word: int
    target: int


def relation_scores(
    explorer: Explorer,
    sentences: Sequence[ParsedSentence],
    *,
    progress: Callable[[int], None] | None = None,
) -> pd.DataFrame:
    """Return how often each head of self-attention reads the word that a syntactic relation leads to.

    A head is right if, of all other words that the word may attend to, it gives this one the most weight
    (Clark et al., 2019, section 4.2). Two predictions without a model are measured on the same pairs: the
    distance that is right most often, and the nearest word of a part of speech that the targets of the
    relation commonly have. In a causal model only targets before the word count.

    Args:
        explorer: `Explorer`; of an encoder-decoder the encoder is measured.
        sentences: As `read_treebank` returns them. Those that the model reads with other characters, or not
            to the end, are left out.
        progress: Called after each sentence with the number of sentences read so far.

    Returns:
        One row for each relation, direction and head: relation, reads ("governor" or "dependent"), layer,
        head, instances, accuracy, its standard error across sentences, offset and offset_accuracy, and
        nearest_accuracy; columns in this order.

    Raises:
        ValueError: If no relation occurs `FEWEST` times.
    """
    causal = explorer.config.causal or not explorer.config.has_encoder
    right: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
    counts: dict[tuple[str, str], list[int]] = defaultdict(list)
    pairs: dict[tuple[str, str], list[tuple[ParsedSentence, Instance]]] = defaultdict(list)
    for number, sentence in enumerate(sentences, start=1):
        read = _read_words(explorer, sentence, causal)
        if read is not None:
            for group, found in _by_relation(instances(sentence, causal=causal)).items():
                hits = [read[..., each.word] == each.target for each in found]
                right[group].append(np.sum(hits, axis=0))
                counts[group].append(len(found))
                pairs[group] += [(sentence, each) for each in found]
        if progress is not None:
            progress(number)
    tables = [
        _table(group, np.array(right[group]), np.array(counts[group]), pairs[group], causal)
        for group in sorted(pairs)
        if len(pairs[group]) >= FEWEST
    ]
    if not tables:
        raise Problem("relations.few", fewest=FEWEST)
    return pd.concat(tables, ignore_index=True)


def instances(sentence: ParsedSentence, *, causal: bool) -> list[Instance]:
    """Return the pairs of words of a sentence that stand in a relation, in both directions.

    Args:
        sentence: The sentence.
        causal: Only those whose target is before the word.
    """
    found = []
    for word, (governor, relation) in enumerate(zip(sentence.governors, sentence.relations, strict=True)):
        if governor != ROOT and relation not in LEFT_OUT:
            found.append(Instance(relation, "governor", word, governor))
            found.append(Instance(relation, "dependent", governor, word))
    return [each for each in found if not causal or each.target < each.word]


def _by_relation(found):
    grouped: dict[tuple[str, str], list[Instance]] = defaultdict(list)
    for each in found:
        grouped[each.relation, each.reads].append(each)
    return grouped


def _read_words(explorer, sentence, causal):
    """Return the word that each word reads most: int (layer, head, word); None if the model reads another
    text.
    """
    target = "" if explorer.config.architecture == "encoder-decoder" else None
    trace = explorer.run(Request.of(explorer.name, sentence.text, target), keep="weights")
    if trace.text != sentence.text or trace.num_dropped:
        return None
    found = trace.kinds()["decoder" if not explorer.config.has_encoder else "encoder"]
    count = len(sentence.words)
    words = words_at(trace.offsets, sentence.words)
    candidates = _candidates(count, causal)
    return np.stack([most_read_words(layer.weights, words, count, candidates) for layer in found.layers])


def _candidates(count, causal):
    """Return which words a word may read in this measurement: all others, or all before it."""
    others = ~np.eye(count, dtype=bool)
    return np.tril(others) if causal else others


def _table(group, right, counts, pairs, causal):
    """Return the rows of one relation and direction."""
    distances = [each.target - each.word for _, each in pairs]
    offset, offset_accuracy = best_offset(distances)
    accuracy = right.sum(axis=0) / counts.sum()
    surplus = right - accuracy * counts[:, None, None]
    error = np.sqrt((surplus**2).sum(axis=0)) / counts.sum()
    layers, heads = accuracy.shape
    return pd.DataFrame(
        {
            "relation": group[0],
            "reads": group[1],
            "layer": np.repeat(np.arange(layers), heads),
            "head": np.tile(np.arange(heads), layers),
            "instances": len(pairs),
            "accuracy": accuracy.ravel(),
            "error": error.ravel(),
            "offset": offset,
            "offset_accuracy": offset_accuracy,
            "nearest_accuracy": _nearest_accuracy(pairs, causal),
        }
    )


def _nearest_accuracy(pairs, causal):
    """Return how often the target is the nearest word of a kind that targets commonly have."""
    kinds = Counter(sentence.kinds[each.target] for sentence, each in pairs)
    common = [kind for kind, count in kinds.items() if count >= COMMON * len(pairs)]
    right = 0
    for sentence, each in pairs:
        allowed = _candidates(len(sentence.kinds), causal)[each.word]
        candidates = np.flatnonzero(allowed & np.isin(sentence.kinds, common))
        right += nearest_word(each.word, candidates) == each.target
    return right / len(pairs)
