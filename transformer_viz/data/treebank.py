"""Treebanks: sentences whose words have parts of speech and syntactic relations."""

from pathlib import Path
from typing import NamedTuple

import conllu
from conllu.exceptions import ParseException

from transformer_viz.data.files import DataError, Source

ROOT = -1
"""Governor of a word that depends on no other."""


class ParsedSentence(NamedTuple):
    """A sentence with its dependency tree (Nivre et al., 2020).

    Attributes:
        text: The sentence.
        words: (start, end) of each syntactic word in it; parts of a contraction whose letters are not those
            of the text ("au": "à", "le") have the place of the whole.
        kinds: Universal part of speech of each word: "NOUN".
        governors: Index of the word that each depends on, or `ROOT`.
        relations: Relation of each to its governor, without subtype: "nsubj".
    """

    text: str
    words: tuple[tuple[int, int], ...]
    kinds: tuple[str, ...]
    governors: tuple[int, ...]
    relations: tuple[str, ...]


def read_treebank(path: str | Path) -> list[ParsedSentence]:
    """Read a treebank in the CoNLL-U format (https://universaldependencies.org/format.html).

    Args:
        path: The file, plain or gzip.

    Raises:
        DataError: If it cannot be read, is no CoNLL-U, or has no sentence.
    """
    path = Path(path)
    try:
        found = [_sentence(each) for each in conllu.parse(Source(path).data.decode("utf-8-sig"))]
    except (ParseException, KeyError, TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("treebank.format", path=path, reason=str(error) or type(error).__name__) from None
    if not found:
        raise DataError("treebank.empty", path=path)
    return found


def _sentence(rows):
    """Return one sentence; rows of empty nodes ("8.1"), which are not in the text, are left out."""
    words = [row for row in rows if isinstance(row["id"], int)]
    wholes = {row["id"][0]: row for row in rows if not isinstance(row["id"], int) and row["id"][1] == "-"}
    within = {number for first, row in wholes.items() for number in range(first, row["id"][2] + 1)}
    written = [*wholes.values(), *(row for row in words if row["id"] not in within)]
    written.sort(key=lambda row: row["id"][0] if isinstance(row["id"], tuple) else row["id"])
    text = rows.metadata.get("text") or " ".join(row["form"] for row in written)
    places, at, whole, last = [], 0, (0, 0), 0
    for row in words:
        if row["id"] in wholes:
            whole, last = _place(text, wholes[row["id"]]["form"], at), wholes[row["id"]]["id"][2]
        if row["id"] <= last:
            start = text.find(row["form"], max(at, whole[0]), whole[1])
            place = whole if start < 0 else (start, start + len(row["form"]))
        else:
            place = _place(text, row["form"], at)
        places.append(place)
        at = max(at, place[1]) if place != whole or row["id"] == last else at
    return ParsedSentence(
        text,
        tuple(places),
        tuple(row["upos"] for row in words),
        tuple(row["head"] - 1 for row in words),
        tuple(row["deprel"].partition(":")[0] for row in words),
    )


def _place(text, form, at):
    """Return the place of a word in the text, at or after a character."""
    start = text.find(form, at)
    if start < 0:
        raise ValueError(f"“{form}” is not in “{text}”")
    return start, start + len(form)
