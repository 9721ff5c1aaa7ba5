"""Tokenizers: text <-> tokens <-> ids, with the offsets of each token in the text."""

import json
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Self

import numpy as np
import tokenizers

from transformer_viz.language import Problem
from transformer_viz.network.config import END_ID, MASK_ID, PAD_ID, START_ID, UNK_ID
from transformer_viz.text import check as token_check
from transformer_viz.text.encoding import Encoding, NoTokensError, kept_positions
from transformer_viz.text.kinds import LINE_BREAK, SPACE, TOKEN_KINDS, kind_of, pieces, train_backend
from transformer_viz.text.special import END, MASK, PAD, START, UNK
from transformer_viz.text.texts import each_text
from transformer_viz.text.unicode import clean_text

__all__ = ["TOKEN_KINDS", "Encoding", "NoTokensError", "Tokenizer", "clean_text"]

MAX_LISTED = 20
"""Most token ids quoted in an error."""

BATCH = 1000
"""Texts encoded at once; 25,000 reviews at once would take 600 MB."""

LEADING_MARK = "."
"""A punctuation mark that is always a token of its own."""

_BLANK = re.compile(rf"{LINE_BREAK}|[\s{SPACE}]")
"""White space for BPE."""


class Tokenizer:
    """A tokenizer of one kind; wraps `tokenizers.Tokenizer`.

    >>> Tokenizer.train(["A film. A plot."], 5).encode("A FILM!", max_len=9).tokens
    ('a', 'film', '[UNK]')
    """

    def __init__(self, backend: tokenizers.Tokenizer, growth: int = 1):
        self._backend = backend
        self._is_long = growth > token_check.MAX_AVERAGE_GROWTH
        self.kind = kind_of(backend)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int,
        *,
        kind: str = "words",
        lowercase: bool = True,
        markers: bool = False,
        mask: bool = False,
        split_digits: bool = False,
    ) -> Self:
        """Train a tokenizer on the most frequent tokens of some texts.

        Args:
            texts: The texts of the training set alone.
            vocab_size: Most tokens, [PAD] and [UNK] included; fewer if the texts have fewer.
            kind: Kind of tokens.
                "words": words, separated by spaces and punctuation, punctuation marks and emoji. Not for
                Chinese, which has no spaces: a whole clause would be one word.
                "characters": one visible character with its combining marks, or an emoji with its
                modifiers; white space is left out.
                "bpe": frequent parts of words (byte-pair encoding); "▁" marks a space before a token, so
                `decode` restores the text.
                "wordpiece": frequent parts of words; "##" marks the continuation of a word. Each Chinese
                character is a word.
            lowercase: Ignore case.
            markers: Include [START] and [END], which a decoder needs.
            mask: Include [START], [END] and [MASK], which a masked language model needs; a typed
                "[MASK]" becomes that token.
            split_digits: Make each digit a token, so that every number can be represented.

        Raises:
            ValueError: If there is no such kind, or `vocab_size` is too small for the special tokens.
        """
        backend = train_backend(
            map(clean_text, each_text(texts)),
            vocab_size,
            kind=kind,
            lowercase=lowercase,
            special=[PAD, UNK, *[START, END] * (markers or mask), *[MASK] * mask],
            split_digits=split_digits,
        )
        return cls.from_json(backend.to_str())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the result of `to_json`.

        Raises:
            ValueError: If the text is not a tokenizer, a part of it is not known to be safe, its ids 0 and
                1 are not [PAD] and [UNK], its ids have gaps, or a typed "[PAD]" becomes padding.
        """
        backend, growth = token_check.checked_backend(text)
        if (backend.id_to_token(PAD_ID), backend.id_to_token(UNK_ID)) != (PAD, UNK):
            raise Problem("tokenizer.first", pad=PAD, unknown=UNK)
        backend.encode_special_tokens = True
        with token_check.library_errors("tokenizer.not_all"):
            typed = backend.encode(f"{PAD} \U0010fffd").ids
        if {*typed, *backend.get_vocab().values()} != {*range(backend.get_vocab_size())}:
            raise Problem("tokenizer.gap")
        if PAD_ID in typed:
            raise Problem("tokenizer.typed_pad", pad=PAD)
        return cls(backend, growth)

    def to_json(self) -> str:
        """Return the text of `tokenizer.json`."""
        return self._backend.to_str(pretty=True)

    def with_mask(self) -> Self:
        """Return the tokenizer with [MASK] as id 4: the ids of the tokens from there on are one higher.

        Raises:
            ValueError: If it was not trained by `Tokenizer.train` with [START] and [END].
        """
        content = json.loads(self.to_json())
        vocabulary, added = content["model"]["vocab"], content["added_tokens"]
        if not self.has_markers or not isinstance(vocabulary, dict) or content["post_processor"]:
            raise Problem("tokenizer.no_mask", mask=MASK)
        content["model"]["vocab"] = {
            **{token: place + (place >= MASK_ID) for token, place in vocabulary.items()},
            MASK: MASK_ID,
        }
        [end] = [token for token in added if token["id"] == END_ID]
        content["added_tokens"] = [
            *(token | {"id": token["id"] + (token["id"] >= MASK_ID)} for token in added),
            end | {"id": MASK_ID, "content": MASK},
        ]
        return self.from_json(json.dumps(content))

    @property
    def vocab_size(self) -> int:
        """Number of tokens, [PAD] and [UNK] included."""
        return self._backend.get_vocab_size()

    @property
    def has_markers(self) -> bool:
        """Whether ids 2 and 3 are [START] and [END]."""
        return (self._backend.id_to_token(START_ID), self._backend.id_to_token(END_ID)) == (START, END)

    @property
    def mask(self) -> str:
        """Name of the token that stands for a masked one, as it is typed."""
        return MASK

    @property
    def has_mask(self) -> bool:
        """Whether id 4 is [MASK]."""
        return self._backend.id_to_token(MASK_ID) == MASK

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Every token, in the order of the ids."""
        return tuple(self.token(token_id) for token_id in range(self.vocab_size))

    def token(self, token_id: int) -> str:
        """Return the vocabulary string of an id."""
        return self._backend.id_to_token(token_id) or ""

    def encode(self, text: str, *, max_len: int, truncation: str = "end", start: bool = False) -> Encoding:
        """Tokenize a text.

        Args:
            text: Any text.
            max_len: Most tokens to keep.
            truncation: Part removed from a longer text: its "end", its "beginning", or its "middle" (a
                quarter of `max_len` is kept from the beginning, the rest from the end).
            start: Prepend [START], with offsets (0, 0); it counts as a token and is never removed.

        Raises:
            ValueError: If an uploaded tokenizer fails on this text.
        """
        text = clean_text(text)
        self._check_length(text)
        with token_check.library_errors("tokenizer.text"):
            ids, tokens, offsets = self._encode(text)
        if self.kind == "bpe":
            blanked = _BLANK.sub(lambda blank: " " * len(blank[0]), text)
            offsets = [_offset_without_space(blanked, *place) for place in zip(tokens, offsets, strict=True)]
        kept, cut_at = kept_positions(len(ids), max_len - start, truncation)
        return Encoding(
            text,
            np.array([START_ID] * start + [ids[i] for i in kept], dtype=np.int32),
            (*[START] * start, *[tokens[i] for i in kept]),
            (*[(0, 0)] * start, *[offsets[i] for i in kept]),
            len(ids) - len(kept),
            None if cut_at is None else cut_at + start,
        )

    def _encode(self, text):
        """Return ids, tokens and offsets of a text; a typed [MASK] is a token if the vocabulary has it."""
        first, *rest = text.split(MASK) if self.has_mask else [text]
        encoding = self._backend.encode(first)
        ids, tokens, offsets = encoding.ids, encoding.tokens, encoding.offsets
        end = len(first)
        for part in rest:
            begin, end = end, end + len(MASK)
            ids, tokens, offsets = [*ids, MASK_ID], [*tokens, MASK], [*offsets, (begin, end)]
            # with a mark in front, the part is not tokenized as the beginning of a text
            encoding, shift = self._backend.encode(LEADING_MARK + part), end - len(LEADING_MARK)
            for token_id, token, (start, stop) in zip(
                encoding.ids, encoding.tokens, encoding.offsets, strict=True
            ):
                if stop > len(LEADING_MARK):
                    ids.append(token_id)
                    tokens.append(token)
                    offsets.append((start + shift, stop + shift))
            end += len(part)
        return ids, tokens, offsets

    def encoding(
        self,
        token_ids: Sequence[int] | np.ndarray,
        *,
        max_len: int | None = None,
        truncation: str = "end",
        start: bool = False,
    ) -> Encoding:
        """Return the `Encoding` of token ids; its text is that of `decode`.

        Args:
            token_ids: The ids; those that are put around a text may be among them.
            max_len: Most tokens to keep; None: all.
            truncation: As for `encode`.
            start: As for `encode`.

        Raises:
            ValueError: If an id is not an integer, or not in the vocabulary.
        """
        listed: list[Any] = list(token_ids) if np.iterable(token_ids) else [None]
        last = self.vocab_size - 1
        if not all(_is_whole(token_id) and 0 <= token_id <= last for token_id in listed):
            received = ", ".join(map(repr, listed[:MAX_LISTED])) + ", ..." * (len(listed) > MAX_LISTED)
            raise Problem("tokenizer.ids", last=last, received=received)
        before, after = self._around(start)
        inner = listed[len(before) if listed[: len(before)] == before else 0 :]
        inner = inner[: len(inner) - (len(after) if inner[-len(after) :] == after else 0)]
        tokens = [*map(self.token, inner)]
        text, offsets = "", []
        for gap, piece in pieces(self.kind, tokens):
            begin = len(text) + len(gap)
            text += gap + piece
            offsets.append((begin, len(text)))
        most = len(inner) if max_len is None else max_len - len(before) - len(after)
        kept, cut_at = kept_positions(len(inner), most, truncation)
        end = (len(text), len(text))
        return Encoding(
            text,
            np.array([*before, *(inner[i] for i in kept), *after], np.int32),
            (*map(self.token, before), *(tokens[i] for i in kept), *map(self.token, after)),
            (*[(0, 0)] * len(before), *(offsets[i] for i in kept), *[end] * len(after)),
            len(inner) - len(kept),
            None if cut_at is None else cut_at + len(before),
        )

    def num_around(self, *, start: bool) -> tuple[int, int]:
        """Return how many tokens `encode` puts in front of a text and behind it."""
        before, after = self._around(start)
        return len(before), len(after)

    def _around(self, start) -> tuple[list[int], list[int]]:
        """Return the ids before and behind a text."""
        return [START_ID] * start, []

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text of token ids.

        Words and punctuation marks are joined by spaces, characters by nothing; BPE restores the spaces;
        WordPiece has spaces between words and marks, except Chinese ones.
        """
        tokens = [self.token(int(token_id)) for token_id in token_ids]
        return "".join(gap + piece for gap, piece in pieces(self.kind, tokens))

    def append(self, text: str, token: str) -> str:
        """Return a text with one more token at its end, after a space where this kind of tokens has one.

        Args:
            text: Any text with tokens; white space at its end is removed.
            token: An entry of the vocabulary, no special token.
        """
        [*_, last] = self.encode(text, max_len=len(text)).tokens
        [_, (gap, characters)] = pieces(self.kind, [last, token])
        return text.rstrip() + gap + characters

    def encode_batch(
        self, texts: Iterable[str], *, max_len: int, truncation: str = "end", start: bool = False
    ) -> list[np.ndarray]:
        """Return the ids of many texts: one int32 (position,) each; arguments as in `encode`."""
        rows, cleaned, first = [], map(clean_text, each_text(texts)), np.full(int(start), START_ID, np.int32)
        most = max_len - start
        while batch := list(islice(cleaned, BATCH)):
            self._check_length(*batch)
            with token_check.library_errors("tokenizer.texts"):
                encodings = self._backend.encode_batch_fast(batch)
            for encoding in encodings:
                ids = np.array(encoding.ids, dtype=np.int32)
                if len(ids) > most:
                    ids = ids[kept_positions(len(ids), most, truncation)[0]]
                rows.append(np.concatenate([first, ids]) if start else ids)
        return rows

    def _check_length(self, *texts):
        for text in texts if self._is_long else ():
            token_check.check_length(self._backend.normalizer, text)


def _is_whole(value):
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _offset_without_space(text, token, offset):
    """Return the offsets of a BPE token without its space; a bare "▁" has no width."""
    begin, end = offset
    begin = end - len(text[begin:end].lstrip(" "))
    return begin, begin if token == SPACE else end
