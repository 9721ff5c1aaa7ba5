"""Gaps: tokens of a text replaced by [MASK], filled in, and put back."""

from itertools import product
from typing import NamedTuple, Self

from transformer_viz.text.kinds import pieces
from transformer_viz.text.tokenizer import Tokenizer


class Change(NamedTuple):
    """A changed part of a text: its place, in characters, and what stood there."""

    begin: int
    end: int
    original: str


class ChangedText(NamedTuple):
    """A text whose changes can each be undone, in any order.

    >>> changed = ChangedText("not good").replaced(4, 8, "[MASK]")
    >>> changed.text, changed.restored(*changed.changes).text
    ('not [MASK]', 'not good')
    """

    text: str
    changes: tuple[Change, ...] = ()

    def replaced(self, begin: int, end: int, new: str) -> Self:
        """Return a copy with other characters, at least one, from `begin` to `end`.

        Changes that overlap become one; what equals the original is no change.
        """
        touched = [each for each in self.changes if each.begin < end and begin < each.end]
        first = min([begin, *(each.begin for each in touched)])
        last = max([end, *(each.end for each in touched)])
        original = self.text[first:last]
        for each in reversed(touched):
            original = original[: each.begin - first] + each.original + original[each.end - first :]
        shown = self.text[first:begin] + new + self.text[end:last]
        own = [Change(first, first + len(shown), original)] if shown != original else []
        return self._written(first, last, shown, touched, own)

    def restored(self, change: Change) -> Self:
        """Return a copy without one of its changes."""
        return self._written(change.begin, change.end, change.original, [change], [])

    def change_at(self, begin: int, end: int) -> Change | None:
        """Return the change that covers a place; None: it is not changed."""
        covers = (each for each in self.changes if each.begin <= begin and end <= each.end)
        return next(covers, None)

    def _written(self, begin, end, shown, gone, new):
        moved = len(shown) - (end - begin)
        kept = [
            each if each.end <= begin else Change(each.begin + moved, each.end + moved, each.original)
            for each in self.changes
            if each not in gone
        ]
        return self._replace(
            text=self.text[:begin] + shown + self.text[end:], changes=tuple(sorted([*kept, *new]))
        )


def filled(tokenizer: Tokenizer, changed: ChangedText, begin: int, token: str) -> ChangedText:
    """Return a text with a token in place of a [MASK], spaced so that it is read as this token.

    Spaces beside it are added or removed only where the text would be tokenized differently otherwise. Where
    no spelling is read as this token, as "s" behind a word whose plural is a token of its own, it is written
    as its kind prescribes.

    Args:
        tokenizer: A tokenizer with a [MASK].
        changed: The text, cleaned.
        begin: Where the [MASK] begins.
        token: An entry of the vocabulary, no special token.
    """
    end, gapped = begin + len(tokenizer.mask), tokenizer.encode(changed.text)
    wanted = list(gapped.tokens)
    wanted[gapped.offsets.index((begin, end))] = token
    [_, (gap, characters)] = pieces(tokenizer.kind, [tokenizer.mask, token])
    tight = len(changed.text[:begin].rstrip())
    spellings = product(((begin, ""), (tight, ""), (tight, " ")), ("", " "))
    for (start, before), after in spellings:
        tried = changed.replaced(start, end, before + characters + after)
        if list(tokenizer.encode(tried.text).tokens) == wanted:
            return tried
    return changed.replaced(tight, end, gap * bool(tight) + characters)
