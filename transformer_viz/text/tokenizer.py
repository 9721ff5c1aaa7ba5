"""Tokenizers: text <-> tokens <-> ids, with the offsets of each token in the text."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from sys import maxsize
from typing import Any, Self

import numpy as np

from transformer_viz.language import Problem
from transformer_viz.network.config import TransformerConfig
from transformer_viz.text import check as token_check
from transformer_viz.text.encoding import Encoding, NoTokensError, kept_positions
from transformer_viz.text.foreign import ForeignVocabulary
from transformer_viz.text.kinds import TOKEN_KINDS, pieces, train_backend
from transformer_viz.text.special import END, MASK, PAD, START, UNK
from transformer_viz.text.texts import each_text
from transformer_viz.text.unicode import clean_text
from transformer_viz.text.vocabulary import Vocabulary

__all__ = ["TOKEN_KINDS", "Encoding", "NoTokensError", "Tokenizer", "clean_text", "tokenizer_of"]

MAX_LISTED = 20
"""Most token ids quoted in an error."""


class Tokenizer:
    """Reads texts as tokens, and writes tokens as text.

    Args:
        vocabulary: Which tokens there are, and how a text is split into them.
        config: Config of the model that `read` reads for; None: the whole text is read, without marks.
        is_target: Whether it reads the targets of an encoder-decoder.

    >>> Tokenizer.train(["A film. A plot."], 5).encode("A FILM!", max_len=9).tokens
    ('a', 'film', '[UNK]')
    """

    def __init__(
        self,
        vocabulary: Vocabulary | ForeignVocabulary,
        config: TransformerConfig | None = None,
        *,
        is_target: bool = False,
    ):
        self._vocabulary = vocabulary
        self.kind = vocabulary.kind
        self._limits: dict[str, Any] = {}
        if config is not None:
            most = config.target_max_len if is_target else config.max_len
            starts = is_target or bool(config.reads_start)
            self._limits = {"max_len": most, "truncation": config.truncation, "start": starts}

    def for_model(self, config: TransformerConfig, *, is_target: bool = False) -> Self:
        """Return a copy that reads as a model does; arguments as for the class."""
        return type(self)(self._vocabulary, config, is_target=is_target)

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
        return cls(Vocabulary(text))

    def to_json(self) -> str:
        """Return the text of `tokenizer.json`."""
        return self._vocabulary.library.to_str(pretty=True)

    def with_mask(self) -> Self:
        """Return the tokenizer with [MASK] as id 4: the ids of the tokens from there on are one higher.

        Raises:
            ValueError: If it was not trained by `Tokenizer.train` with [START] and [END].
        """
        if not isinstance(self._vocabulary, Vocabulary):
            raise Problem("tokenizer.no_mask", mask=MASK)
        return type(self)(self._vocabulary.with_mask())

    @property
    def vocab_size(self) -> int:
        """Number of tokens, special ones included; of a model made elsewhere, of rows of the embedding."""
        return self._vocabulary.size

    @property
    def has_markers(self) -> bool:
        """Whether texts can begin and end: with [START] and [END], or as a model made elsewhere has it."""
        return self._vocabulary.has_markers

    @property
    def mask(self) -> str:
        """Name of the token that stands for a masked one, as it is typed."""
        return self._vocabulary.mask

    @property
    def has_mask(self) -> bool:
        """Whether there is a token for masked ones."""
        return self._vocabulary.has_mask

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Every token, in the order of the ids."""
        return tuple(map(self.token, range(self.vocab_size)))

    def token(self, token_id: int) -> str:
        """Return the vocabulary string of an id."""
        return self._vocabulary.token(token_id)

    def read(self, text: str | Sequence[int]) -> Encoding:
        """Tokenize a text, or token ids, as the model reads it: cut and marked as its config says.

        Raises:
            ValueError: As `encode` and `encoding`.
        """
        if isinstance(text, str):
            return self.encode(text, **self._limits)
        return self.encoding(text, **self._limits)

    def read_batch(self, texts: Iterable[str]) -> list[np.ndarray]:
        """Return the ids of many texts as the model reads them: int32 (position,) each."""
        return self.encode_batch(texts, **self._limits)

    @property
    def num_around(self) -> tuple[int, int]:
        """How many tokens `read` puts in front of a text and behind it."""
        before, after = self._around(self._limits.get("start", False))
        return len(before), len(after)

    def encode(
        self, text: str, *, max_len: int = maxsize, truncation: str = "end", start: bool = False
    ) -> Encoding:
        """Tokenize a text.

        Args:
            text: Any text.
            max_len: Most tokens to keep.
            truncation: Part removed from a longer text: its "end", its "beginning", or its "middle" (a
                quarter of `max_len` is kept from the beginning, the rest from the end).
            start: Prepend [START], or what a text of a model made elsewhere begins with, with offsets
                (0, 0); it counts and is never removed. Nor is what such a text ends with, in any case.

        Raises:
            ValueError: If an uploaded tokenizer fails on this text, or gives ids that the model lacks.
        """
        text = self._cleaned(text)
        return self._encoding(text, *self._vocabulary.split(text), max_len, truncation, start)

    def encoding(
        self,
        token_ids: Sequence[int] | np.ndarray,
        *,
        max_len: int = maxsize,
        truncation: str = "end",
        start: bool = False,
    ) -> Encoding:
        """Return the `Encoding` of token ids; its text is that of `decode`.

        Args:
            token_ids: The ids; those that are put around a text may be among them.
            max_len: As for `encode`.
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
        return self._encoding(text, inner, tokens, offsets, max_len, truncation, start)

    def _encoding(self, text, ids, tokens, offsets, max_len, truncation, start):
        """Return the encoding of a split text, with what stands around it."""
        before, after = self._around(start)
        kept, cut_at = kept_positions(len(ids), max_len - len(before) - len(after), truncation)
        end = (len(text), len(text))
        return Encoding(
            text,
            np.array([*before, *(ids[i] for i in kept), *after], np.int32),
            (*map(self.token, before), *(tokens[i] for i in kept), *map(self.token, after)),
            (*[(0, 0)] * len(before), *(offsets[i] for i in kept), *[end] * len(after)),
            len(ids) - len(kept),
            None if cut_at is None else cut_at + len(before),
        )

    def _around(self, start):
        """Return the ids in front of a text and behind it."""
        return [*self._vocabulary.before] * start, [*self._vocabulary.after]

    def _cleaned(self, text):
        """Return a text as the library may read it: of valid characters, which it does not multiply."""
        text = self._vocabulary.clean(text)
        if self._vocabulary.growth > token_check.MAX_AVERAGE_GROWTH:
            token_check.check_length(self._vocabulary.library.normalizer, text)
        return text

    def encode_batch(
        self, texts: Iterable[str], *, max_len: int = maxsize, truncation: str = "end", start: bool = False
    ) -> list[np.ndarray]:
        """Return the ids of many texts: int32 (position,) each; arguments as in `encode`."""
        before, after = (np.array(ids, np.int32) for ids in self._around(start))
        most, rows = max_len - len(before) - len(after), []
        for ids in self._vocabulary.ids_of(map(self._cleaned, each_text(texts))):
            kept = ids if len(ids) <= most else ids[kept_positions(len(ids), most, truncation)[0]]
            rows.append(np.concatenate([before, kept, after]))
        return rows

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text of token ids.

        Words and punctuation marks are joined by spaces, characters by nothing; BPE restores the spaces;
        WordPiece has spaces between words and marks, except Chinese ones. A tokenizer made elsewhere joins
        them in its own way, without special tokens.
        """
        return self._vocabulary.decode([int(token_id) for token_id in token_ids])

    def append(self, text: str, token: str) -> str:
        """Return a text with one more token at its end, after a space where this kind of tokens has one.

        Args:
            text: Any text with tokens; white space at its end is removed.
            token: An entry of the vocabulary, no special token.
        """
        [*_, last] = self.encode(text).tokens
        [_, (gap, characters)] = pieces(self.kind, [last, token])
        return text.rstrip() + gap + characters


def tokenizer_of(config: TransformerConfig, text: str, *, is_target: bool = False) -> Tokenizer:
    """Return the tokenizer of a model.

    Args:
        config: Its config.
        text: Its tokenizer.json.
        is_target: Whether it is for the targets of an encoder-decoder.

    Raises:
        ValueError: If that is no tokenizer, or a part of it is not known to be safe.
    """
    known = ForeignVocabulary(text, config, is_target=is_target) if config.is_foreign else Vocabulary(text)
    return Tokenizer(known, config, is_target=is_target)


def _is_whole(value):
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
