"""Read a folder of the Hugging Face hub: config.json, safetensors and tokenizer.json.

Nothing in it is executed. Its arrays are read into the layers of this package, whose names they get.
"""

import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil

from transformer_viz import language
from transformer_viz.explorer.no_answer import described_output, why_no_answer
from transformer_viz.language import LANGUAGES
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.fine_tuning import POOLED
from transformer_viz.store.format import (
    ModelError,
    StoredModel,
    check_finite,
    disk_errors,
    printable,
)
from transformer_viz.store.hugging_face.families import BUFFERS, HEADS, Family, Head, classes_of
from transformer_viz.store.hugging_face.files import LARGEST_CONFIG, json_of, problems_of
from transformer_viz.store.hugging_face.origin import origin_of
from transformer_viz.store.hugging_face.settings import Reading, class_name
from transformer_viz.store.hugging_face.tensors import Stored, stored_tensors
from transformer_viz.store.hugging_face.tokenizer_files import gives_segments, tokenizers_of
from transformer_viz.store.hugging_face.way_out import with_way_out
from transformer_viz.text.foreign import special_fields

NEEDED = 1.5
"""Bytes of memory for a byte of parameters: the model, and the tensors of a text."""

MOST_NAMED = 20
"""Most tensors that are named as left out."""

READ = (".json", ".safetensors", ".txt", ".spm", ".model")
"""Suffixes of the files that are read."""

SUFFIXES = {
    "kernel": (".weight", ".decoder.weight"),
    "embeddings": (".weight",),
    "scale": (".weight",),
    "gamma": (".weight", ".gamma"),
    "beta": (".bias", ".beta"),
    "bias": (".decoder.bias", ".bias", ""),
}
"""Kind of a parameter -> endings of the names of their tensors."""

WRITING = ("decoder_start_token_id", "forced_bos_token_id", "eos_token_id")
"""Settings of generation_config.json that hold where config.json lacks them."""

VOCABULARY_CHARS = 2**20
"""Characters of a tokenizer.json that tell the language of its vocabulary."""

_HAN, _KANA, _LATIN = map(re.compile, ("[\u4e00-\u9fff]", "[\u3040-\u30ff]", "[A-Za-z]{2,}"))

_BLOCK = re.compile(r"(encoder|decoder)_(\d+)/")
_PART = re.compile(r"(.*)\[(\d)(//?)(\d)\]")


class Source(NamedTuple):
    """A tensor that holds a parameter, or a part of it.

    Attributes:
        name: Its name.
        part: Match of `_PART`, where the parameter is a part of it; None: it is the whole.
        in_head: Whether it is one of the head's.
    """

    name: str
    part: re.Match | None
    in_head: bool


class Contents(NamedTuple):
    """A folder, read but for its arrays.

    Attributes:
        config: The config.
        family: What its tensors are called.
        head: Which head it has; None: none.
        tokenizer: Text of its tokenizer.json.
        target_tokenizer: The same of the targets of an encoder-decoder.
        tensors: Name -> tensor.
        sources: Name of a parameter -> the tensor that holds it; of some there is none.
        pooled: The same of the layers of `POOLED`, where a model that does not classify has them.
        copies: Name of a tensor -> the one that it must be equal to.
        card: What can be said of it.
        query_scale: What the numbers of a head's query are multiplied by.
        zeros: Endings of the names of parameters that are zero, and of which a file has no tensors.
    """

    config: TransformerConfig
    family: Family
    head: Head | None
    tokenizer: str
    target_tokenizer: str | None
    tensors: dict[str, Stored]
    sources: dict[str, Source]
    pooled: dict[str, Source]
    copies: dict[str, str]
    card: dict[str, Any]
    query_scale: np.ndarray
    zeros: tuple[str, ...]


def is_hugging_face(folder: Path) -> bool:
    """Return whether a folder holds a model of the hub and none of this package.

    Raises:
        ModelError: If that cannot be read.
    """
    file = folder / "config.json"
    with disk_errors(file, "read"):
        if (folder / "manifest.json").exists() or not file.is_file():
            return False
        with file.open("rb") as stream:
            return b'"model_type"' in stream.read(LARGEST_CONFIG)


def files_of(folder: Path) -> list[Path]:
    """Return the files of a folder that are read, in the order of their names.

    Raises:
        OSError: If the folder cannot be listed.
    """
    return sorted(file for file in folder.iterdir() if file.suffix in READ)


def identity(folder: Path) -> str:
    """Return a text that changes whenever a file of the folder is rewritten.

    Raises:
        OSError: If the folder cannot be listed.
    """
    found = [(file.name, file.stat()) for file in files_of(folder)]
    return ";".join(f"{name}-{each.st_ino}-{each.st_mtime_ns}-{each.st_size}" for name, each in found)


def read_contents(folder: Path) -> Contents:
    """Read a folder but for its arrays.

    Raises:
        ModelError: If a file is missing, damaged or not understood.
    """
    theirs = _settings(folder)
    try:
        return _contents(folder, theirs)
    except ModelError as error:
        raise with_way_out(error, folder, theirs) from None


def _contents(folder, theirs):
    file = folder / "config.json"
    with problems_of(file):
        reading = Reading(theirs)
    family, head = reading.family, reading.head
    tokenizer, target_tokenizer = tokenizers_of(folder, family)
    with problems_of(folder):
        special = special_fields(tokenizer)
    if special["separator"] and not gives_segments(folder):
        special["separator"] = ()
    tensors = stored_tensors(folder)
    with problems_of(file):
        config, longest = reading.config(
            special, positions=_positions(family, tensors), has_output=_has_output(head, tensors)
        )
        scale = reading.query_scale(config)
    card = {
        **origin_of(folder),
        "family": theirs["model_type"],
        "task": _task(config),
        "examples": _examples(theirs["model_type"], config, tokenizer),
    }
    if longest > config.max_len:
        card["longest"] = longest
    if config.output == "none":
        card["other_output"] = described_output(printable(class_name(theirs)), theirs.get("problem_type"))
        why = why_no_answer(card)
        card["limits"] = {reader: language.sentence_of(why, reader) for reader in LANGUAGES}
    sources, copies, others = _sources(config, family, head, tensors)
    used = {source.name for source in sources.values()}
    card["left_out"] = _left_out(folder, family, head, tensors.keys() - used - copies.keys() - others)
    writes = target_tokenizer if config.architecture == "encoder-decoder" else None
    zeros = tuple(ending for ending, name in family.zeros.items() if not reading.setting(name))
    pooled = _pooled(config, family, tensors)
    return Contents(
        config, family, head, tokenizer, writes, tensors, sources, pooled, copies, card, scale, zeros
    )


def read_folder(folder: Path, name: str) -> StoredModel:
    """Read a model with its parameters, and with `Contents.pooled`, from which a classifier can be made.

    Raises:
        ModelError: If the folder is damaged or not understood, or the model is too large for the memory.
    """
    found = read_contents(folder)
    copied = sum(math.prod(each.shape) for each in found.tensors.values() if each.dtype != "F32")
    needed = int(4 * (NEEDED * found.config.num_parameters + copied))
    free = psutil.virtual_memory().available
    if needed > free:
        raise ModelError("hugging.memory", place=folder, needed=needed / 1e9, free=free / 1e9)
    _check_copies(folder, found)
    parameters = _parameters(folder, found)
    parameters |= {name: _read(found, name, source) for name, source in found.pooled.items()}
    check_finite(folder, parameters)
    return StoredModel(
        name, folder, found.config, found.tokenizer, found.card, parameters, found.target_tokenizer
    )


def _positions(family, tensors):
    """Return the rows of the table of positions; None: there is none."""
    names = (
        f"{prefix}{theirs}.weight"
        for prefix in family.prefixes
        for theirs in _names(family.layers, "position_embedding")
    )
    found = (tensors[name].shape for name in names if name in tensors)
    return next((shape[0] for shape in found if shape), None)


def _has_output(head, tensors):
    """Return whether a kernel of the output layer is stored."""
    return head is not None and any(f"{theirs}.weight" in tensors for theirs in _names(head.layers, "output"))


def _names(layers, ours) -> tuple[str, ...]:
    """Return what a layer may be called; nothing if the table has none."""
    theirs = layers.get(ours, ())
    return (theirs,) if isinstance(theirs, str) else theirs


def _settings(folder):
    """Return the content of config.json; how a target begins, newer folders say in generation_config.json."""
    found, file = json_of(folder / "config.json", LARGEST_CONFIG), folder / "generation_config.json"
    writing = json_of(file, LARGEST_CONFIG) if file.is_file() else {}
    return found | {name: writing.get(name) for name in WRITING if found.get(name) is None}


def _task(config):
    """Return the task as cards of this package name it; "" without an output layer."""
    if config.output == "none":
        return ""
    if config.architecture == "encoder-decoder":
        return "sequence to sequence"
    return "next token" if config.has_decoder else "hidden tokens" if config.fills_in else "classification"


def _examples(kind, config, tokenizer):
    if kind == "t5" and config.has_decoder:
        return ["translate English to German: The cat sat on the mat because it was tired."]
    is_chinese = _is_chinese(tokenizer)
    if config.fills_in or kind == "bart":
        mask = "[MASK]" if '"[MASK]"' in tokenizer else "<mask>"
        if is_chinese:
            return [f"小猫趴在垫子上，因为它{mask}了。"]
        return [f"The cat sat on the {mask} because it was tired."]
    if not config.has_encoder:
        return ["小猫趴在垫子上。小猫" if is_chinese else "The cat sat on the mat. The cat"]
    return ["小猫趴在垫子上，因为它累了。" if is_chinese else "The cat sat on the mat because it was tired."]


def _is_chinese(tokenizer):
    """Return whether the vocabulary of a tokenizer.json is mostly Chinese."""
    begin = tokenizer[:VOCABULARY_CHARS]
    chinese, japanese, latin = (len(pattern.findall(begin)) for pattern in (_HAN, _KANA, _LATIN))
    return chinese > latin and chinese > 10 * japanese


def _sources(config, family, head, tensors) -> tuple[dict[str, Source], dict[str, str], set[str]]:
    """Return `Contents.sources`, `Contents.copies`, and tensors that such a model itself does not use.

    Where nothing is shared, a tensor that would be, such as BART's "shared", is stored for nothing.
    """
    sources, copies = {}, {}
    for name in config.parameter_shapes():
        for source in _candidates(family, head, tensors, name):
            first = sources.setdefault(name, source)
            if source is not first:
                copies[source.name] = first.name
    embedding = sources.get("token_embedding/embeddings")
    if config.tie_embeddings and embedding is not None:
        for shared in ("target_token_embedding/embeddings", "output/kernel"):
            copies |= {each.name: embedding.name for each in _candidates(family, head, tensors, shared)}
    used = {source.name for source in sources.values()}
    copies = {copy: other for copy, other in copies.items() if copy not in used}
    return (sources, copies, set()) if config.tie_embeddings else (sources, {}, {*copies})


def _pooled(config, family, tensors) -> dict[str, Source]:
    """Return the tensors of `POOLED` that a model has although it does not classify, such as BERT's pooler.

    A model of vectors has them without the prefix of the base model.
    """
    head = classes_of(family)
    if head is None or not (config.predicts_tokens or config.output == "none"):
        return {}
    found = {}
    for layer in POOLED:
        for theirs in _names(head.layers, layer):
            places = (theirs, _without_prefix(family, theirs))
            for kind in ("gamma", "beta") if layer == "pooled_norm" else ("kernel", "bias"):
                shape = (config.d_model,) * (2 if kind == "kernel" else 1)
                stored = [f"{place}{ending}" for place in places for ending in SUFFIXES[kind]]
                known = [name for name in stored if name in tensors and tensors[name].shape == shape]
                found |= {f"{layer}/{kind}": Source(known[0], None, in_head=True)} if known else {}
    return found


def _candidates(family, head, tensors, name):
    """Return the tensors that may hold a parameter; the first does."""
    layer, _, kind = name.rpartition("/")
    block = _BLOCK.match(layer)
    own = _names(family.layers, _BLOCK.sub(r"\1_{}/", layer))
    layers = [(f"{prefix}{theirs}", False) for theirs in own for prefix in family.prefixes]
    if head:
        layers += [(theirs, True) for theirs in _names(head.layers, layer)]
    for each, in_head in layers:
        theirs = each.format(block[2] if block else "")
        part = _PART.fullmatch(theirs)
        for suffix in SUFFIXES[kind]:
            stored = f"{part[1] if part else theirs}{suffix}"
            if stored in tensors:
                yield Source(stored, part, in_head)


def _left_out(folder, family, head, names):
    """Return the names of tensors of heads that are not read.

    Raises:
        ModelError: If another tensor is not read: the model would be computed without it.
    """
    names = {name for name in names if not name.endswith(BUFFERS)}
    used = [each for layer in (head.layers if head else ()) for each in _names(head.layers, layer)]
    others = [
        each
        for other in family.heads.values()
        for layer in other.layers
        for each in _names(other.layers, layer)
    ]
    left = {
        name
        for name in names
        if not _is_in(name, used) and _is_in(_without_prefix(family, name), (*HEADS, *others))
    }
    if unknown := sorted(names - left):
        raise ModelError("hugging.unknown", place=folder, name=printable(unknown[0]), count=len(unknown))
    return [printable(name) for name in sorted(left)[:MOST_NAMED]]


def _is_in(name, layers):
    """Return whether a tensor is one of some layers or of their parts."""
    return any(name == layer or name.startswith(f"{layer}.") for layer in layers)


def _without_prefix(family, name):
    """Return the name of a tensor without what stands before those of the base model."""
    return name.removeprefix(next(filter(name.startswith, family.prefixes), ""))


def _check_copies(folder, found):
    """Check that tensors that a model shares are equal where a folder has them twice."""
    for copy, other in found.copies.items():
        first, second = found.tensors[other], found.tensors[copy]
        if first.shape != second.shape or not np.array_equal(first.read(), second.read()):
            facts = {"name": printable(copy), "other": printable(other)}
            raise ModelError("hugging.copy", place=folder, **facts)


def _parameters(folder, found):
    """Return name -> array of all parameters."""
    parameters = {}
    for name, shape in found.config.parameter_shapes().items():
        try:
            theirs, array = _parameter(found, name)
        except ValueError as error:  # a fused array of another size
            if isinstance(error, ModelError):
                raise
            raise ModelError("hugging.no_tensor", place=folder, name=name) from None
        if array is None:
            array = _left_to_compute(found, name, shape)
        if array is None:
            raise ModelError("hugging.no_tensor", place=folder, name=name)
        if array.shape != shape:
            facts = {"name": printable(theirs), "found": printable(array.shape), "expected": printable(shape)}
            raise ModelError("hugging.shape", place=folder, **facts)
        parameters[name] = array
    return parameters


def _left_to_compute(found, name, shape):
    """Return an array that a file need not have; None: it needs it."""
    config = found.config
    is_plain = name == "output/bias" and (config.has_decoder or not config.tie_embeddings)
    if is_plain or name.endswith(found.zeros):
        return np.zeros(shape, np.float32)  # a layer without bias
    if found.family.computed_positions and name.endswith("position_embedding/embeddings"):
        rows, width = shape
        angles = np.arange(rows)[:, None] / 10_000 ** (np.arange(0, width, 2) / width)
        return np.hstack([np.sin(angles), np.cos(angles)]).astype(np.float32)[:, :width]
    return None


def _parameter(found, name) -> tuple[str, np.ndarray | None]:
    """Return the name of their tensor and our array of it; "" and None if there is no such tensor."""
    source = found.sources.get(name)
    return ("", None) if source is None else (source.name, _read(found, name, source))


def _read(found, name, source) -> np.ndarray:
    """Return our array of a parameter."""
    array, kind = found.tensors[source.name].read(), name.rpartition("/")[2]
    if kind == "kernel" and source.in_head:
        return array.T
    return _converted(found, name, kind, array, source.part)


def _converted(found, name, kind, array, part):
    """Return their array in our form."""
    config, family = found.config, found.family
    if part is not None:
        array = _part(array, int(part[2]), int(part[4]), config, family, in_heads=part[3] == "//")
    if kind == "kernel" and family.transposed:
        array = array.T
    if kind in ("gamma", "scale") and family.gain_offset:
        array = array + np.float32(family.gain_offset)
    if name.endswith("position_embedding/embeddings"):
        array = array[family.first_position :][: config.max_len]
    scaled = ("/query_norm/scale",) if config.qk_norm else ("/query/kernel", "/query/bias")
    if name.endswith(scaled) and not np.all(found.query_scale == 1):
        array = array * np.resize(found.query_scale, array.shape[-1])
    if name == "output/bias":
        array = array.reshape(array.shape[-1:])  # BART's has a batch axis
    return array


def _part(array, number, count, config, family, *, in_heads):
    """Return one part of a fused array: queries, keys or values, or a half."""
    axis = 0 if family.transposed else array.ndim - 1
    if not in_heads and count == 2:
        return np.split(array, count, axis=axis)[number]
    if not in_heads:
        widths = np.array([config.num_heads, config.num_kv_heads, config.num_kv_heads]) * config.head_dim
        if widths.sum() != array.shape[axis]:
            raise ValueError
        return np.split(array, widths.cumsum()[:2], axis=axis)[number]
    heads = array.reshape(config.num_heads, count, -1, *array.shape[1:])[:, number]
    return heads.reshape(-1, *array.shape[1:])
