"""The evidence for the roles of heads: their weight on every pattern, over many texts and in this one."""

import numpy as np

from transformer_viz.language import Words
from transformer_viz.pictures.captions import HeadsInText, counted_texts, measure_name
from transformer_viz.pictures.views import Evidence
from transformer_viz.questions.roles.result import HeadRoles, Typical, kept_words
from transformer_viz.questions.roles.rules import NEARBY, WORDS
from transformer_viz.text.unicode import visible

EXAMPLES = 5
"""Words typical of a label that the description of its measure names."""


def evidence_of(words: Words, heads: HeadsInText, usual: HeadRoles | None = None) -> Evidence:
    """Return the evidence for the roles of the heads of one kind of attention.

    Args:
        words: Sentences of the visitor's language.
        heads: The heads in this text.
        usual: What the model's heads usually do; None: unknown.
    """
    here, uniform = heads.shares()
    unknown = np.full_like(here, np.nan)
    mean, spread, held, texts = unknown, unknown, unknown, [0] * here.shape[-1]
    if usual is not None:
        found = usual.kinds[heads.kind]
        mean, spread, held, uniform = found.share, found.spread, found.held, found.even
        texts = found.texts.tolist()
    typical = kept_words(usual)
    return Evidence(
        names=[measure_name(words, name) for name in heads.names],
        meanings=[meaning_of(words, name, typical) for name in heads.names],
        texts=texts,
        numbers=np.stack([mean, spread, held, uniform, here]),
    )


def evidence_title(words: Words, usual: HeadRoles) -> str:
    """Return the title of the evidence over many texts, with {texts} unreplaced."""
    return words("usual.evidence", counted=counted_texts(words, "{texts}", usual.tokens))


def meaning_of(words: Words, measure: str, typical: Typical) -> str:
    """Return what a measure measures; `typical` are the words typical of each label."""
    if not measure.startswith(WORDS):
        return words(f"measure.{measure}", places=NEARBY)
    label = measure.removeprefix(WORDS)
    examples = words("list.comma").join(map(visible, typical[label][:EXAMPLES]))
    return words("measure.words", label=label, words=examples)
