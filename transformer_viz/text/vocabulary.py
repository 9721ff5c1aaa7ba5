"""Vocabularies of models that are trained here: [PAD] and [UNK] come first, and every id is a token."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from transformer_viz.language import Problem
from transformer_viz.network.config import END_ID, MASK_ID, PAD_ID, START_ID, UNK_ID
from transformer_viz.text import check as token_check
from transformer_viz.text.kinds import LINE_BREAK, SPACE, kind_of, pieces
from transformer_viz.text.special import END, MASK, PAD, START, UNK
from transformer_viz.text.unicode import clean_text

BATCH = 1000
"""Texts encoded at once; 25,000 reviews at once would take 600 MB."""

LEADING_MARK = "."
"""A punctuation mark that is always a token of its own."""

_BLANK = re.compile(rf"{LINE_BREAK}|[\s{SPACE}]")
"""White space for BPE."""


class Vocabulary:
    """Tokens and ids of a tokenizer that was trained here, as `Tokenizer` needs them.

    Args:
        text: Its tokenizer.json; for errors, see `Tokenizer.from_json`.
    """

    mask = MASK
    before, after = (START_ID,), ()
    clean = staticmethod(clean_text)

    def __init__(self, text: str):
        self.library, self.growth = token_check.checked_backend(text)
        if (self.library.id_to_token(PAD_ID), self.library.id_to_token(UNK_ID)) != (PAD, UNK):
            raise Problem("tokenizer.first", pad=PAD, unknown=UNK)
        self.library.encode_special_tokens = True
        with token_check.library_errors("tokenizer.not_all"):
            typed = self.library.encode(f"{PAD} \U0010fffd").ids
        if {*typed, *self.library.get_vocab().values()} != {*range(self.size)}:
            raise Problem("tokenizer.gap")
        if PAD_ID in typed:
            raise Problem("tokenizer.typed_pad", pad=PAD)
        self.kind = kind_of(self.library)

    @property
    def size(self) -> int:
        """Number of tokens, [PAD] and [UNK] included."""
        return self.library.get_vocab_size()

    @property
    def has_markers(self) -> bool:
        """Whether ids 2 and 3 are [START] and [END]."""
        return (self.library.id_to_token(START_ID), self.library.id_to_token(END_ID)) == (START, END)

    @property
    def has_mask(self) -> bool:
        """Whether id 4 is [MASK]."""
        return self.library.id_to_token(MASK_ID) == MASK

    def token(self, token_id: int) -> str:
        """Return the token of an id; "" if there is none."""
        return self.library.id_to_token(token_id) or ""

    def split(self, text: str) -> tuple[list[int], list[str], list[tuple[int, int]]]:
        """Return ids, tokens and offsets of a text; a typed [MASK] is a token if the vocabulary has it."""
        first, *rest = text.split(MASK) if self.has_mask else [text]
        encoding = self._encoded(first)
        ids, tokens, offsets = encoding.ids, encoding.tokens, encoding.offsets
        end = len(first)
        for part in rest:
            begin, end = end, end + len(MASK)
            ids, tokens, offsets = [*ids, MASK_ID], [*tokens, MASK], [*offsets, (begin, end)]
            # with a mark in front, the part is not tokenized as the beginning of a text
            encoding, shift = self._encoded(LEADING_MARK + part), end - len(LEADING_MARK)
            for token_id, token, (start, stop) in zip(
                encoding.ids, encoding.tokens, encoding.offsets, strict=True
            ):
                if stop > len(LEADING_MARK):
                    ids.append(token_id)
                    tokens.append(token)
                    offsets.append((start + shift, stop + shift))
            end += len(part)
        if self.kind == "bpe":
            blanked = _BLANK.sub(lambda blank: " " * len(blank[0]), text)
            offsets = [_offset_without_space(blanked, *place) for place in zip(tokens, offsets, strict=True)]
        return ids, tokens, offsets

    def _encoded(self, text):
        with token_check.library_errors("tokenizer.text"):
            return self.library.encode(text)

    def ids_of(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Yield the ids of many texts, in which no [MASK] is typed: int32 (position,)."""
        texts = iter(texts)
        while batch := list(islice(texts, BATCH)):
            with token_check.library_errors("tokenizer.texts"):
                encodings = self.library.encode_batch_fast(batch)
            for encoding in encodings:
                yield np.array(encoding.ids, np.int32)

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text of token ids."""
        tokens = [self.token(token_id) for token_id in token_ids]
        return "".join(gap + piece for gap, piece in pieces(self.kind, tokens))

    def with_mask(self) -> "Vocabulary":
        """Return the vocabulary with [MASK]; see `Tokenizer.with_mask`."""
        content = json.loads(self.library.to_str())
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
        return Vocabulary(json.dumps(content))


def _offset_without_space(text, token, offset):
    """Return the offsets of a BPE token without its space; a bare "▁" has no width."""
    begin, end = offset
    begin = end - len(text[begin:end].lstrip(" "))
    return begin, begin if token == SPACE else end
