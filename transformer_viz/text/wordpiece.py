"""BERT's tokenizer from its vocabulary alone, as folders older than tokenizer.json have it."""

from collections.abc import Sequence

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from tokenizers import decoders as decoding

from transformer_viz.language import Problem

MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""Special tokens; a vocabulary without one of the second to fourth is not BERT's."""


def wordpiece_json(vocabulary: Sequence[str], *, lower: bool) -> str:
    """Return the tokenizer.json of a vocab.txt (Devlin et al., 2019).

    Words are split at spaces, marks and between Chinese characters, and then into the longest pieces of the
    vocabulary (Wu et al., 2016); a text stands between [CLS] and [SEP].

    Args:
        vocabulary: The lines of vocab.txt.
        lower: Whether capitals are lowered and accents stripped.

    Raises:
        ValueError: If the vocabulary lacks [UNK], [CLS] or [SEP].
    """
    ids = {token: number for number, token in enumerate(vocabulary)}
    if lacking := [mark for mark in MARKS[1:4] if mark not in ids]:
        raise Problem("tokenizer.no_marks", tokens=", ".join(lacking))
    backend = Tokenizer(models.WordPiece(ids, unk_token=MARKS[1]))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lower)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoding.WordPiece()
    backend.add_special_tokens([mark for mark in MARKS if mark in ids])
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(mark, ids[mark]) for mark in MARKS[2:4]],
    )
    return backend.to_str()
