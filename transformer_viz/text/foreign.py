"""Tokenizers that were made elsewhere, with ids of their own for special tokens."""

import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import tokenizers
from tokenizers import decoders, models

from transformer_viz.language import Problem
from transformer_viz.network.config import NO_ID, TransformerConfig
from transformer_viz.text import check as token_check
from transformer_viz.text.byte_level import from_fallback
from transformer_viz.text.encoding import Encoding, kept_positions
from transformer_viz.text.sentence_pieces import HIDDEN
from transformer_viz.text.special import MASKS, PAD, SECOND, SPACE
from transformer_viz.text.texts import each_text
from transformer_viz.text.tokenizer import Tokenizer


class ForeignTokenizer(Tokenizer):
    """A tokenizer of the `tokenizers` library as it is, its special tokens where the config says.

    Ids, offsets and special tokens are those of the library. Tokens are shown as text: those of byte-level
    BPE (Radford et al., 2019) with the characters that their bytes stand for, "▁" for a space in front.
    Typed special tokens, such as [MASK], are these tokens.

    Args:
        backend: The library's tokenizer.
        growth: Most characters that it makes of one.
        config: Config of the model.
        start: Ids of the tokens in front of a text, where it is asked for.
        end: Those behind it.
        separator: Those between two texts; (): it reads one text at a time. They are typed as `SECOND`.
    """

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        growth: int,
        config: TransformerConfig,
        *,
        start: Sequence[int] = (),
        end: Sequence[int] = (),
        separator: Sequence[int] = (),
    ):
        super().__init__(backend, growth)
        self.config = config
        self._start, self._end, self._separator = [*start], [*end], [*separator]
        self._is_byte_level = _is_byte_level(backend)
        if isinstance(backend.model, models.Unigram):
            self.kind = "bpe"

    @classmethod
    def read(cls, text: str, config: TransformerConfig, *, is_target: bool = False) -> Self:
        """Read a tokenizer.json.

        Args:
            text: The file.
            config: Config of the model.
            is_target: Whether it reads targets of an encoder-decoder, which have `target_start` and no end.

        Raises:
            ValueError: If the text is not a tokenizer, or a part of it is not known to be safe.
        """
        backend, growth = token_check.checked_backend(text)
        if is_target:
            return cls(backend, growth, config, start=config.target_start or ())
        around = {"start": (config.start_id,)}
        if config.reads_end:
            around |= {"end": _special_around(backend)[1], "separator": _pair_of(backend)[0]}
        return cls(backend, growth, config, **around)

    @property
    def vocab_size(self) -> int:
        """Number of rows of the token embedding; the last of them may be no tokens."""
        return self.config.vocab_size

    @property
    def has_markers(self) -> bool:
        """Whether texts can begin and end: a model made elsewhere says itself how."""
        return True

    @property
    def has_mask(self) -> bool:
        """Whether there is a token for masked ones."""
        return self.config.mask_id != NO_ID

    @property
    def mask(self) -> str:
        """Name of the token that stands for a masked one, as it is typed."""
        return self.token(self.config.mask_id)

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Every token as text, in the order of the ids."""
        return tuple(self.token(token_id) for token_id in range(self.vocab_size))

    def token(self, token_id: int) -> str:
        """Return a token as text; its id in brackets for a row of the embedding that is no token."""
        if token_id == NO_ID:
            return PAD
        token = self._backend.id_to_token(token_id)
        return f"[{token_id}]" if token is None else self._shown(token)

    def encode(self, text: str, *, max_len: int, truncation: str = "end", start: bool = False) -> Encoding:
        """Tokenize a text; arguments as for `Tokenizer.encode`, the end is kept when a text is cut."""
        text = text.encode("utf-8", "replace").decode("utf-8")
        self._check_length(text)
        with token_check.library_errors("tokenizer.text"):
            ids, tokens, offsets = self._split(text)
        if beyond := next((i for i in ids if i >= self.vocab_size), None):
            raise Problem("tokenizer.beyond", token=self.token(beyond), id=beyond, rows=self.vocab_size)
        before, after = self._around(start)
        kept, cut_at = kept_positions(len(tokens), max_len - len(before) - len(after), truncation)
        end = (len(text), len(text))
        return Encoding(
            text,
            np.array([*before, *(ids[i] for i in kept), *after], np.int32),
            (*map(self.token, before), *(tokens[i] for i in kept), *map(self.token, after)),
            (*[(0, 0)] * len(before), *(offsets[i] for i in kept), *[end] * len(after)),
            len(tokens) - len(kept),
            None if cut_at is None else cut_at + len(before),
        )

    def _split(self, text):
        """Return ids, tokens and offsets of what stands between start and end.

        Behind each typed `SECOND` another text begins, which is split by itself.
        """
        ids, tokens, offsets, begin = [], [], [], 0
        marks = [*_SECOND.finditer(text)] if self._separator else []
        for mark in (*marks, None):
            end = len(text) if mark is None else mark.start()
            found = self._backend.encode(text[begin:end], add_special_tokens=False)
            part = [*map(self.token, found.ids)]
            if part and self.kind == "bpe" and found.offsets[0][0] == 0 and not part[0].startswith(SPACE):
                part[0] = SPACE + part[0]  # a word begins where the text does
            ids, tokens = [*ids, *found.ids], [*tokens, *part]
            offsets += [_without_space(text, begin + first, begin + last) for first, last in found.offsets]
            if mark is not None:
                ids, tokens = [*ids, *self._separator], [*tokens, *map(self.token, self._separator)]
                offsets += [mark.span(1)] * len(self._separator)
                begin = mark.end()
        return ids, tokens, offsets

    def encode_batch(
        self, texts: Iterable[str], *, max_len: int, truncation: str = "end", start: bool = False
    ) -> list[np.ndarray]:
        """Return the ids of many texts; arguments as for `Tokenizer.encode_batch`."""
        cut = {"max_len": max_len, "truncation": truncation, "start": start}
        return [self.encode(text, **cut).ids for text in each_text(texts)]

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text of token ids, without special tokens."""
        text = self._backend.decode([int(token_id) for token_id in token_ids], skip_special_tokens=True)
        return text.replace(HIDDEN, "")

    def _around(self, start):
        return self._start * start, self._end

    def _shown(self, token):
        if not self._is_byte_level:
            return from_fallback(token).removesuffix(HIDDEN)
        text = _BYTES.decode([token])
        return SPACE + text[1:] if text.startswith(" ") else text


_SECOND = re.compile(rf"\s*({re.escape(SECOND)})\s*")

_BYTES = decoders.ByteLevel()


def tokenizer_of(config: TransformerConfig, text: str, *, is_target: bool = False) -> Tokenizer:
    """Return the tokenizer of a model.

    Args:
        config: Its config.
        text: Its tokenizer.json.
        is_target: Whether it is for the targets of an encoder-decoder.

    Raises:
        ValueError: If that is no tokenizer, or a part of it is not known to be safe.
    """
    if config.is_foreign:
        return ForeignTokenizer.read(text, config, is_target=is_target)
    return Tokenizer.from_json(text)


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
