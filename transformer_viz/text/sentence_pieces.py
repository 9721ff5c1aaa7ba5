"""SentencePiece models (Kudo and Richardson, 2018), and the tokenizer of one side of a Marian model."""

from collections.abc import Mapping
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from tokenizers import decoders as decoding

from transformer_viz.language import Problem
from transformer_viz.text.check import library_errors

END, UNKNOWN, PADDING = "</s>", "<unk>", "<pad>"

UNIGRAM, NORMAL = 1, 1
"""Number of the kind of model, and of a piece that is neither a mark nor unused."""

HIDDEN = "\u2063"
"""Behind a token that no text is split into: invisible and in no text, so that it is not found there."""


def proto_of(pieces: bytes) -> Any:
    """Return the protocol buffer of a SentencePiece model.

    Raises:
        ValueError: If this is none, or it has no pieces.
    """
    from google.protobuf.message import DecodeError  # noqa: PLC0415  only such models need both
    from sentencepiece import sentencepiece_model_pb2  # noqa: PLC0415

    buffers: Any = sentencepiece_model_pb2  # its classes are made when it is imported
    proto = buffers.ModelProto()
    try:
        proto.ParseFromString(pieces)
    except DecodeError:
        raise Problem("pieces.damaged") from None
    return proto


def normal_scores(proto: Any) -> dict[str, float]:
    """Return piece -> score of a model, without marks, bytes and unused pieces."""
    return {piece.piece: piece.score for piece in proto.pieces if piece.type == NORMAL}


def normalization(proto: Any, *first: normalizers.Normalizer) -> normalizers.Normalizer:
    """Return what happens to the characters of a text before it is split, after some first steps."""
    spec, steps = proto.normalizer_spec, [*first]
    if spec.precompiled_charsmap:
        steps.append(normalizers.Precompiled(spec.precompiled_charsmap))
    if spec.remove_extra_whitespaces:
        steps.append(normalizers.Replace(Regex(" {2,}"), " "))
        steps.append(normalizers.Replace(Regex(r"\A | \z"), ""))
    return normalizers.Sequence(steps)


def unigram_json(pieces: bytes, ids: Mapping[str, int]) -> str:
    """Return the tokenizer.json of a side of a Marian model, with the ids of the shared vocabulary.

    Args:
        pieces: A unigram model (Kudo, 2018), such as source.spm.
        ids: Token -> id of both sides, such as vocab.json.

    Raises:
        ValueError: If this is no unigram model, or no vocabulary for it.
    """
    proto = proto_of(pieces)
    scores = normal_scores(proto)
    if not scores or proto.trainer_spec.model_type != UNIGRAM:
        raise Problem("pieces.unigram")
    numbers = [number for number in ids.values() if type(number) is int]
    if sorted(numbers) != [*range(len(ids))] or not {END, UNKNOWN} <= ids.keys():
        raise Problem("pieces.vocabulary")
    lowest = min(scores.values())
    vocabulary = [
        (token if token in scores or _is_mark(token) else token + HIDDEN, scores.get(token, lowest))
        for token in sorted(ids, key=ids.__getitem__)
    ]
    with library_errors("pieces.library"):
        return _backend(vocabulary, ids, normalization(proto)).to_str()


def _backend(vocabulary, ids, normalizer):
    backend = Tokenizer(models.Unigram(vocabulary, ids[UNKNOWN]))
    backend.normalizer = normalizer
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
