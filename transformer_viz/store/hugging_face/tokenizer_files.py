"""The tokenizer of a Hugging Face folder: its tokenizer.json, or what older folders have in its place."""

from pathlib import Path

from transformer_viz.store.format import ModelError
from transformer_viz.store.hugging_face.families import Family
from transformer_viz.store.hugging_face.files import (
    LARGEST_TOKENIZER,
    bytes_of,
    json_of,
    problems_of,
    text_of,
)
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
        content = bytes_of(side, LARGEST_TOKENIZER)
        with problems_of(side):
            found.append(unigram_json(content, ids))
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
        settings = _settings(folder)
        with problems_of(vocabulary):
            return wordpiece_json(lines, lower=settings.get("do_lower_case") is not False)
    if family.pieces is not None and (pieces := folder / family.pieces.file).is_file():
        content, settings = bytes_of(pieces, LARGEST_TOKENIZER), _settings(folder)
        with problems_of(pieces):
            return family.pieces.convert(content, settings)
    raise ModelError("hugging.no_tokenizer", place=folder)


def _settings(folder):
    """Return what tokenizer_config.json says; older folders lack it, and name the class in config.json."""
    found = {}
    for name in ("config.json", "tokenizer_config.json"):
        file = folder / name
        found |= json_of(file, LARGEST_TOKENIZER) if file.is_file() else {}
    return found
