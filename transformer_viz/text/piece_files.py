"""The tokenizer.json of a model that has its SentencePiece model alone, as older folders do.

Such a file says how a text is split, and not which ids a family of models gives to the pieces, which special
tokens it has beside them, and what a text stands between: each function here knows that of a family.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from tokenizers import AddedToken, Tokenizer, models, normalizers, processors
from tokenizers import decoders as decoding

from transformer_viz.language import Problem
from transformer_viz.text.check import library_errors
from transformer_viz.text.rules import MAX_MERGES, MAX_PIECE
from transformer_viz.text.sentence_pieces import HIDDEN, UNIGRAM, normal_scores, normalization, proto_of
from transformer_viz.text.special import LANGUAGES

BPE = 2
"""Number of a model of byte pair encoding."""

UNKNOWN, CONTROL, TYPED, UNUSED = 2, 3, 4, 5
"""Numbers of kinds of pieces: unknown, never found in a text, always found whole, and not used."""

SENTINELS, MOST_SENTINELS = 100, 1_000
"""Masks of spans that a T5 has where it does not say how many, and how many it may have."""

GAPS = 103
"""Tokens of Pegasus that are only used in pre-training, beside <pad> and </s>."""

FAIRSEQ = ("<s>", "<pad>", "</s>", "<unk>")
"""First tokens of models that were made with fairseq; their pieces follow."""

FIRST_LANGUAGES = 25
"""How many of them the first mBART has (Liu et al., 2020)."""


class Tokens(NamedTuple):
    """The tokens of a model, around its pieces.

    Attributes:
        template: What a text stands between, such as "$A </s>"; $A is the text.
        pair: The same for two texts.
        before: Tokens in front of the pieces.
        skipped: How many of the first pieces are not used, as they are among `before`.
        behind: Tokens behind the pieces.
        names: Special tokens among the pieces and the tokens around them; others are control pieces.
    """

    template: str
    pair: str
    before: Sequence[str] = ()
    skipped: int = 0
    behind: Sequence[str] = ()
    names: Sequence[str] = ()


def t5_json(pieces: bytes, settings: Mapping[str, Any]) -> str:
    """Return the tokenizer.json of a T5 (Raffel et al., 2020): masks of spans, counted down, come last.

    Args:
        pieces: Its SentencePiece model.
        settings: Its tokenizer_config.json.

    Raises:
        ValueError: If this is no SentencePiece model of that family.
    """
    given = settings.get("extra_ids")
    count = given if type(given) is int and 0 <= given <= MOST_SENTINELS else SENTINELS
    masks = [f"<extra_id_{number}>" for number in reversed(range(count))]
    return _json(pieces, Tokens("$A </s>", "$A </s> $B </s>", behind=masks, names=masks))


def pegasus_json(pieces: bytes, _: Mapping[str, Any]) -> str:
    """Return the tokenizer.json of a Pegasus (Zhang et al., 2020): its tokens of pre-training come first.

    Arguments and errors as for `t5_json`.
    """
    gaps = ["<mask_1>", "<mask_2>", *(f"<unk_{number}>" for number in range(2, GAPS))]
    before = ["<pad>", "</s>", *gaps]
    return _json(pieces, Tokens("$A </s>", "$A $B </s>", before=before, skipped=2, names=before))


def xlm_roberta_json(pieces: bytes, _: Mapping[str, Any]) -> str:
    """Return the tokenizer.json of an XLM-R (Conneau et al., 2020).

    Arguments and errors as for `t5_json`.
    """
    names = (*FAIRSEQ, "<mask>")
    between = ("<s> $A </s>", "<s> $A </s> </s> $B </s>")
    return _json(pieces, Tokens(*between, before=FAIRSEQ, skipped=3, behind=("<mask>",), names=names))


def camembert_json(pieces: bytes, _: Mapping[str, Any]) -> str:
    """Return the tokenizer.json of a CamemBERT (Martin et al., 2020), which has some marks twice.

    Arguments and errors as for `t5_json`.
    """
    before = ("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED")
    names, between = (*FAIRSEQ, "<mask>"), ("<s> $A </s>", "<s> $A </s> </s> $B </s>")
    return _json(pieces, Tokens(*between, before=before, skipped=1, behind=("<mask>",), names=names))


def mbart_json(pieces: bytes, settings: Mapping[str, Any]) -> str:
    """Return the tokenizer.json of an mBART: a text begins with its language (Tang et al., 2020), or ends so.

    Arguments and errors as for `t5_json`.
    """
    begins = str(settings.get("tokenizer_class")).startswith("MBart50") or "language_codes" in settings
    languages = LANGUAGES if begins else LANGUAGES[:FIRST_LANGUAGES]
    language = settings.get("src_lang")
    language = language if language in languages else "en_XX"
    texts, behind = ("$A", "$A $B"), (*languages, "<mask>")
    between = [f"{language} {each} </s>" if begins else f"{each} </s> {language}" for each in texts]
    names = (*FAIRSEQ, *behind)
    return _json(pieces, Tokens(*between, before=FAIRSEQ, skipped=3, behind=behind, names=names))


def albert_json(pieces: bytes, settings: Mapping[str, Any]) -> str:
    """Return the tokenizer.json of an ALBERT (Lan et al., 2020), which has no piece of a digit and a comma.

    Arguments and errors as for `t5_json`.
    """
    steps: list[normalizers.Normalizer] = [
        normalizers.Replace("``", '"'),
        normalizers.Replace("''", '"'),
    ]
    if settings.get("keep_accents") is not True:
        steps += [normalizers.NFKD(), normalizers.StripAccents()]
    if settings.get("do_lower_case") is not False:
        steps.append(normalizers.Lowercase())
    between = ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
    return _json(pieces, Tokens(*between), first=steps, is_hidden=_ends_a_number)


def llama_json(pieces: bytes, settings: Mapping[str, Any]) -> str:
    """Return the tokenizer.json of a Llama, Mistral or Gemma: the ids of the pieces, and a mark of the start.

    Arguments and errors as for `t5_json`.
    """
    spec = proto_of(pieces).trainer_spec
    start = f"{spec.bos_piece} " if settings.get("add_bos_token") is not False else ""
    end = f" {spec.eos_piece}" if settings.get("add_eos_token") is True else ""
    return _json(pieces, Tokens(f"{start}$A{end}", f"{start}$A $B:1{end}"))


def _ends_a_number(piece):
    return len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit()


def _json(
    pieces: bytes,
    tokens: Tokens,
    *,
    first: Iterable[normalizers.Normalizer] = (),
    is_hidden: Callable[[str], bool] = lambda _: False,
) -> str:
    """Return a tokenizer.json.

    Args:
        pieces: A SentencePiece model.
        tokens: What stands around its pieces.
        first: What happens to a text before the model normalises it.
        is_hidden: Whether no text is split into a piece.

    Raises:
        ValueError: If this is no SentencePiece model, of another kind, or without the special tokens.
    """
    proto = proto_of(pieces)
    kind, scores = proto.trainer_spec.model_type, normal_scores(proto)
    if not scores or kind not in (UNIGRAM, BPE) or proto.trainer_spec.treat_whitespace_as_suffix:
        raise Problem("pieces.kind")
    kept = [(piece.piece, piece.type) for piece in proto.pieces[tokens.skipped :]]
    ids, unknown = _ids(proto, tokens, [name for name, _ in kept])
    with library_errors("pieces.library"):
        if kind == UNIGRAM:
            hidden = {name for name, sort in kept if sort == UNUSED or is_hidden(name)}
            model = _unigram(proto, ids, ids[unknown], scores, hidden)
        else:
            model = _bpe(proto, ids, unknown, scores)
        return _backend(proto, model, ids, tokens, normalization(proto, *first), kept).to_str()


def _ids(proto, tokens, kept):
    """Return token -> id, and the token for what is unknown."""
    behind = [name for name in tokens.behind if name not in kept]
    named = [*tokens.before, *kept, *behind]
    ids = {token: number for number, token in enumerate(named)}
    unknown = next((piece.piece for piece in proto.pieces if piece.type == UNKNOWN), "<unk>")
    first = [piece.piece for piece in proto.pieces[: tokens.skipped]]
    lacking = [name for name in (*_marks(tokens), unknown) if name not in ids]
    lacking += [name for name in first if name not in tokens.before]
    if lacking:
        raise Problem("pieces.marks", tokens=", ".join(lacking))
    if len(ids) != len(named):
        raise Problem("pieces.damaged")
    return ids, unknown


def _unigram(proto, ids, unknown, scores, hidden):
    """Return the model of a unigram model (Kudo, 2018): the likeliest pieces of a text."""
    lowest, highest = min(scores.values()), max(scores.values())
    typed = {piece.piece: len(piece.piece) * highest - 0.1 for piece in proto.pieces if piece.type == TYPED}
    vocabulary = [
        (token + HIDDEN * (token in hidden), typed.get(token, scores.get(token, lowest))) for token in ids
    ]
    return models.Unigram(vocabulary, unknown, byte_fallback=proto.trainer_spec.byte_fallback)


def _bpe(proto, ids, unknown, scores):
    """Return the model of byte pair encoding (Sennrich et al., 2016): the best of two neighbours first."""
    parts = (
        (-score, ids[piece], piece[:split], piece[split:])
        for piece, score in scores.items()
        for split in range(1, min(len(piece), MAX_PIECE))
        if piece[:split] in scores and piece[split:] in scores
    )
    merges = [(left, right) for *_, left, right in sorted(islice(parts, MAX_MERGES + 1))]
    bytes_too = proto.trainer_spec.byte_fallback
    return models.BPE(ids, merges, unk_token=unknown, fuse_unk=True, byte_fallback=bytes_too)


def _backend(proto, model, ids, tokens, normalizer, kept):
    """Return the library's tokenizer of a model."""
    has_prefix = proto.normalizer_spec.add_dummy_prefix
    spaces = [*([normalizers.Prepend("▁")] if has_prefix else []), normalizers.Replace(" ", "▁")]
    backend = Tokenizer(model)
    backend.normalizer = normalizers.Sequence([normalizer, *spaces])
    backend.decoder = decoding.Metaspace(prepend_scheme="always" if has_prefix else "never")
    if proto.trainer_spec.byte_fallback:
        backend.decoder = decoding.Sequence([decoding.ByteFallback(), backend.decoder])
    marks = {name for name, sort in kept if sort in (UNKNOWN, CONTROL)} | {*tokens.names}
    backend.add_special_tokens([token for token in ids if token in marks])
    if proto.trainer_spec.model_type == BPE:  # in a unigram model, their scores let them win
        typed = [name for name, sort in kept if sort == TYPED]
        backend.add_tokens([AddedToken(name, normalized=not has_prefix) for name in typed])
    special = [(name, ids[name]) for name in _marks(tokens)]
    backend.post_processor = processors.TemplateProcessing(
        single=tokens.template, pair=tokens.pair, special_tokens=special
    )
    return backend


def _marks(tokens):
    """Return the special tokens that a text stands between."""
    return [name for name in tokens.template.split() if name != "$A"]
