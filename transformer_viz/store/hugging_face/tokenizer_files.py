"""The tokenizer of a Hugging Face folder: its tokenizer.json, or what older folders have in its place."""

import contextlib
from pathlib import Path

from transformer_viz.store.format import ModelError, disk_errors, sentence_of
from transformer_viz.store.hugging_face.families import Family
from transformer_viz.store.hugging_face.files import LARGEST_TOKENIZER, checked_size, json_of, text_of
from transformer_viz.text.sentence_pieces import unigram_json
from transformer_viz.text.wordpiece import wordpiece_json


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
    ids, found = json_of(file, LARGEST_TOKENIZER), []
    for side in (folder / "source.spm", folder / "target.spm"):
        if not side.is_file():
            raise ModelError("hugging.no_pieces", place=folder, name=side.name)
        with disk_errors(side, "read"), _unusable(side):
            found.append(unigram_json(checked_size(side, LARGEST_TOKENIZER).read_bytes(), ids))
    return found[0], found[1]


def gives_segments(folder: Path) -> bool:
    """Return whether a model is told the segments of its tokens: tokenizer_config.json may leave them out."""
    names = _settings(folder).get("model_input_names")
    return not isinstance(names, list) or "token_type_ids" in names


def _tokenizer(folder, family):
    """Return the text of a folder's tokenizer.json, or of the one that an older file stands for."""
    file, vocabulary = folder / "tokenizer.json", folder / "vocab.txt"
    if file.is_file():
        return text_of(file, LARGEST_TOKENIZER)
    if family.wordpiece and vocabulary.is_file():
        lines = text_of(vocabulary, LARGEST_TOKENIZER).removesuffix("\n").split("\n")
        with _unusable(vocabulary):
            return wordpiece_json(lines, lower=_settings(folder).get("do_lower_case") is not False)
    if family.pieces is not None and (pieces := folder / family.pieces.file).is_file():
        with disk_errors(pieces, "read"), _unusable(pieces):
            return family.pieces.convert(
                checked_size(pieces, LARGEST_TOKENIZER).read_bytes(), _settings(folder)
            )
    raise ModelError("hugging.no_tokenizer", place=folder)


def _settings(folder):
    """Return what tokenizer_config.json says; older folders lack it, and name the class in config.json."""
    found = {}
    for name in ("config.json", "tokenizer_config.json"):
        file = folder / name
        found |= json_of(file, LARGEST_TOKENIZER) if file.is_file() else {}
    return found


@contextlib.contextmanager
def _unusable(file):
    """Raise what is wrong with a file as a `ModelError` with its name."""
    try:
        yield
    except ModelError:
        raise
    except ValueError as error:
        raise ModelError("store.unusable", file=file, reason=sentence_of(error)) from None
