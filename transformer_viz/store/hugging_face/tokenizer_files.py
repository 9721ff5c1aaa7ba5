"""The tokenizer of a Hugging Face folder: its tokenizer.json, or what older folders have in its place."""

from pathlib import Path

from transformer_viz.store.format import ModelError, disk_errors, json_object, sentence_of
from transformer_viz.store.hugging_face.families import Family
from transformer_viz.text.sentence_pieces import unigram_json
from transformer_viz.text.wordpiece import wordpiece_json

LARGEST_TOKENIZER = 2**26
"""Bytes of a file of a tokenizer."""


def tokenizers_of(folder: Path, family: Family) -> tuple[str, str]:
    """Return the texts of the tokenizer.json of a text and of a target; mostly, they are the same.

    Raises:
        ModelError: If a file is missing, damaged or not understood.
    """
    if (folder / "tokenizer.json").is_file() or not family.sentence_pieces:
        text = _tokenizer(folder, family)
        return text, text
    file = folder / "vocab.json"
    if not file.is_file():
        raise ModelError("hugging.no_tokenizer", place=folder)
    ids, found = json_object(file, _text(file)), []
    for side in (folder / "source.spm", folder / "target.spm"):
        if not side.is_file():
            raise ModelError("hugging.no_pieces", place=folder, name=side.name)
        with disk_errors(side, "read"):
            try:
                found.append(unigram_json(_checked_size(side).read_bytes(), ids))
            except ValueError as error:
                raise ModelError("store.unusable", file=side, reason=sentence_of(error)) from None
    return found[0], found[1]


def _tokenizer(folder, family):
    """Return the text of a folder's tokenizer.json, or of the one that its vocab.txt stands for."""
    file, vocabulary = folder / "tokenizer.json", folder / "vocab.txt"
    if not file.is_file() and family.wordpiece and vocabulary.is_file():
        lines = _text(vocabulary).removesuffix("\n").split("\n")
        settings = folder / "tokenizer_config.json"
        found = json_object(settings, _text(settings)) if settings.is_file() else {}
        try:
            return wordpiece_json(lines, lower=found.get("do_lower_case") is not False)
        except ValueError as error:
            raise ModelError("store.unusable", file=vocabulary, reason=sentence_of(error)) from None
    if not file.is_file():
        raise ModelError("hugging.no_tokenizer", place=folder)
    return _text(file)


def _text(file):
    with disk_errors(file, "read"):
        return _checked_size(file).read_text(encoding="utf-8", errors="replace")


def _checked_size(file):
    """Return a file of a tokenizer, if it is not too large."""
    if file.stat().st_size > LARGEST_TOKENIZER:
        raise ModelError("store.size", file=file, size=file.stat().st_size, most=LARGEST_TOKENIZER)
    return file
