"""The tokenizer of one side of a Marian model: its SentencePiece model, with the vocabulary of both sides."""

from collections.abc import Mapping
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from tokenizers import decoders as decoding

from transformer_viz.language import Problem
from transformer_viz.text.check import library_errors

END, UNKNOWN, PADDING = "</s>", "<unk>", "<pad>"

UNIGRAM, NORMAL = 1, 1
"""Number of the kind of model, and of a piece that is neither a mark nor unused."""

OTHER_SIDE = "\u2063"
"""Behind a token that only the other side has: invisible and in no text, so that it is not found there."""


def unigram_json(pieces: bytes, ids: Mapping[str, int]) -> str:
    """Return the tokenizer.json of a SentencePiece model (Kudo, 2018), with the ids of the shared vocabulary.

    Args:
        pieces: A SentencePiece model, such as source.spm.
        ids: Token -> id of both sides, such as vocab.json.

    Raises:
        ValueError: If this is no unigram model, or no vocabulary for it.
    """
    from google.protobuf.message import DecodeError  # noqa: PLC0415  only such models need both
    from sentencepiece import sentencepiece_model_pb2  # noqa: PLC0415

    buffers: Any = sentencepiece_model_pb2  # its classes are made when it is imported
    proto = buffers.ModelProto()
    try:
        proto.ParseFromString(pieces)
    except DecodeError:
        raise Problem("pieces.damaged") from None
    scores = {piece.piece: piece.score for piece in proto.pieces if piece.type == NORMAL}
    if not scores or proto.trainer_spec.model_type != UNIGRAM:
        raise Problem("pieces.unigram")
    numbers = [number for number in ids.values() if type(number) is int]
    if sorted(numbers) != [*range(len(ids))] or not {END, UNKNOWN} <= ids.keys():
        raise Problem("pieces.vocabulary")
    lowest = min(scores.values())
    vocabulary = [
        (token if token in scores or _is_mark(token) else token + OTHER_SIDE, scores.get(token, lowest))
        for token in sorted(ids, key=ids.__getitem__)
    ]
    with library_errors("pieces.library"):
        return _backend(vocabulary, ids, proto.normalizer_spec.precompiled_charsmap).to_str()


def _backend(vocabulary, ids, charsmap):
    backend = Tokenizer(models.Unigram(vocabulary, ids[UNKNOWN]))
    steps = [normalizers.Precompiled(charsmap)] if charsmap else []
    spaces = [normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
    backend.normalizer = normalizers.Sequence([*steps, *spaces])
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoding.Metaspace()
    backend.add_special_tokens([mark for mark in (END, UNKNOWN, PADDING) if mark in ids])
    backend.add_tokens([AddedToken(token, normalized=False) for token in ids if _is_language(token)])
    backend.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", special_tokens=[(END, ids[END])]
    )
    return backend


def _is_mark(token):
    return token in (END, UNKNOWN, PADDING) or _is_language(token)


def _is_language(token):
    """Return whether a token names the language to translate into, such as ">>fra<<"."""
    return token.startswith(">>") and token.endswith("<<")
