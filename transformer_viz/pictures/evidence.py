"""The evidence for the roles of heads: their weight on every pattern, over many texts and in this one."""

import numpy as np

from transformer_viz.language import Words
from transformer_viz.pictures.captions import HeadsInText
from transformer_viz.pictures.views import Evidence
from transformer_viz.values.kind_roles import KindRoles
from transformer_viz.values.patterns import MEASURES


def evidence_of(words: Words, heads: HeadsInText, usual: KindRoles | None = None) -> Evidence:
    """Return the evidence for the roles of the heads of one kind of attention.

    Args:
        words: Sentences of the visitor's language.
        heads: The heads in this text.
        usual: The same heads over many texts; None: unknown.
    """
    here, uniform = heads.shares()
    unknown = np.full_like(here, np.nan)
    mean, spread, held, texts = unknown, unknown, unknown, [0] * here.shape[-1]
    if usual is not None:
        mean, spread, held, uniform = usual.share, usual.spread, usual.held, usual.even
        texts = usual.texts.tolist()
    names = MEASURES[heads.kind]
    return Evidence(
        names=[words(f"role_name.{name}") for name in names],
        meanings=[words(f"measure.{name}") for name in names],
        texts=texts,
        numbers=np.stack([mean, spread, held, uniform, here]),
    )
