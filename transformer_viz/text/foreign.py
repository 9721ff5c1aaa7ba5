"""Tokenizers that were made elsewhere, with ids of their own for special tokens."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from tokenizers import decoders, models

from transformer_viz.language import Problem
from transformer_viz.network.config import NO_ID, TransformerConfig
from transformer_viz.text import check as token_check
from transformer_viz.text.byte_level import from_fallback
from transformer_viz.text.kinds import kind_of
from transformer_viz.text.sentence_pieces import HIDDEN
from transformer_viz.text.special import MASKS, PAD, SECOND, SPACE

_SECOND = re.compile(rf"\s*({re.escape(SECOND)})\s*")

_BYTES = decoders.ByteLevel()


class ForeignVocabulary:
    """Tokens and ids of a tokenizer of the `tokenizers` library as it is, as `Tokenizer` needs them.

    Ids, offsets and special tokens are those of the library. Tokens are shown as text: those of byte-level
    BPE (Radford et al., 2019) with the characters that their bytes stand for, "▁" for a space in front.
    Typed special tokens, such as [MASK], are these tokens.

    Args:
        text: Its tokenizer.json.
        config: Config of the model.
        is_target: Whether it reads targets of an encoder-decoder, which have `target_start` and no end.

    Raises:
        ValueError: If the text is not a tokenizer, or a part of it is not known to be safe.
    """

    has_markers = True

    def __init__(self, text: str, config: TransformerConfig, *, is_target: bool = False):
        self.library, self.growth = token_check.checked_backend(text)
        self.size, self._mask_id = config.vocab_size, config.mask_id
        self.kind = "bpe" if isinstance(self.library.model, models.Unigram) else kind_of(self.library)
        self.before = (config.target_start or ()) if is_target else (config.start_id,)
        self.after, self._separator = [], []
        if config.reads_end and not is_target:
            self.after, self._separator = _special_around(self.library)[1], [*_pair_of(self.library)[0]]
        self._is_byte_level = _is_byte_level(self.library)

    @property
    def has_mask(self) -> bool:
        """Whether there is a token for masked ones."""
        return self._mask_id != NO_ID

    @property
    def mask(self) -> str:
        """Name of the token that stands for a masked one, as it is typed."""
        return self.token(self._mask_id)

    def token(self, token_id: int) -> str:
        """Return a token as text; its id in brackets for a row of the embedding that is no token."""
        if token_id == NO_ID:
            return PAD
        token = self.library.id_to_token(token_id)
        if token is None:
            return f"[{token_id}]"
        if not self._is_byte_level:
            return from_fallback(token).removesuffix(HIDDEN)
        text = _BYTES.decode([token])
        return SPACE + text[1:] if text.startswith(" ") else text

    @staticmethod
    def clean(text: str) -> str:
        """Return a text of valid characters."""
        return text.encode("utf-8", "replace").decode("utf-8")

    def split(self, text: str) -> tuple[list[int], list[str], list[tuple[int, int]]]:
        """Return ids, tokens and offsets of what stands between start and end.

        Behind each typed `SECOND` another text begins, which is split by itself.

        Raises:
            ValueError: If the library fails, or an id is no row of the embedding.
        """
        ids, tokens, offsets, begin = [], [], [], 0
        marks = [*_SECOND.finditer(text)] if self._separator else []
        for mark in (*marks, None):
            end = len(text) if mark is None else mark.start()
            with token_check.library_errors("tokenizer.text"):
                found = self.library.encode(text[begin:end], add_special_tokens=False)
            part = [*map(self.token, found.ids)]
            if part and self.kind == "bpe" and found.offsets[0][0] == 0 and not part[0].startswith(SPACE):
                part[0] = SPACE + part[0]  # a word begins where the text does
            ids, tokens = [*ids, *found.ids], [*tokens, *part]
            offsets += [_without_space(text, begin + first, begin + last) for first, last in found.offsets]
            if mark is not None:
                ids, tokens = [*ids, *self._separator], [*tokens, *map(self.token, self._separator)]
                offsets += [mark.span(1)] * len(self._separator)
                begin = mark.end()
        if beyond := next((i for i in ids if i >= self.size), None):
            raise Problem("tokenizer.beyond", token=self.token(beyond), id=beyond, rows=self.size)
        return ids, tokens, offsets

    def ids_of(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Yield the ids of many texts: int32 (position,)."""
        for text in texts:
            yield np.array(self.split(text)[0], np.int32)

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return the text of token ids, without special tokens."""
        return self.library.decode(token_ids, skip_special_tokens=True).replace(HIDDEN, "")


def special_fields(text: str) -> dict[str, Any]:
    """Return the fields of a config that follow from a tokenizer made elsewhere.

    The special tokens that it adds around a text are found by encoding one, those between two texts and the
    segments of these by encoding two. "separator" is None if the segments are others than 0 up to the first
    token of the second text and 1 from there on.

    Args:
        text: Its tokenizer.json.

    Raises:
        ValueError: If it is no tokenizer, a part of it is not known to be safe, or a text has more than one
            special token in front.
    """
    backend, _ = token_check.checked_backend(text)
    before, after = _special_around(backend)
    if len(before) > 1:
        raise Problem("tokenizer.around")
    separator, first, second = _pair_of(backend)
    if separator and ({*first}, {*second}) != ({0}, {1}):
        separator = None if any((*first, *second)) else ()
    unknown = getattr(backend.model, "unk_token", None)
    masks = [backend.token_to_id(name) for name in MASKS]
    ids = {
        "unk_id": None if unknown is None else backend.token_to_id(unknown),
        "start_id": [*before, None][0],
        "end_id": [*after, None][0],
        "mask_id": next((found for found in masks if found is not None), None),
    }
    return {
        "pad_id": NO_ID,
        **{name: NO_ID if found is None else found for name, found in ids.items()},
        "reads_start": bool(before),
        "reads_end": bool(after),
        "separator": separator,
    }


def _special_around(backend):
    """Return the ids of the special tokens that a tokenizer puts in front of a text, and behind it."""
    with token_check.library_errors("tokenizer.none"):
        found = backend.encode("a")
        bare = backend.encode("a", add_special_tokens=False)
    first = next((i for i, is_special in enumerate(found.special_tokens_mask) if not is_special), 0)
    return found.ids[:first], found.ids[first + len(bare.ids) :]


def _pair_of(backend):
    """Return the ids of the special tokens that a tokenizer puts between two texts.

    Behind them, the segments of all tokens up to the second text, and from there on.
    """
    with token_check.library_errors("tokenizer.none"):
        found = backend.encode("a", "a")
    sides = found.sequence_ids
    if not {0, 1} <= {*sides}:
        return (), [], []
    second = sides.index(1)
    first = second - sides[second - 1 :: -1].index(0)
    return tuple(found.ids[first:second]), found.type_ids[:second], found.type_ids[second:]


def _is_byte_level(backend):
    """Return whether tokens are written as bytes: their decoder, or a step of it, says so."""
    decoder = json.loads(backend.to_str())["decoder"] or {}
    steps = decoder.get("decoders", [decoder])
    return any(step.get("type") == "ByteLevel" for step in steps)


def _without_space(text, begin, end):
    """Return the offsets of a token without the space in front of it."""
    begin = end - len(text[begin:end].lstrip(" "))
    return begin, end
