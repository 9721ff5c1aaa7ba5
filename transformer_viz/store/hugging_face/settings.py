"""A TransformerConfig from the config.json of a Hugging Face folder."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from transformer_viz.network.checks import is_positive
from transformer_viz.network.config import NO_ID, TransformerConfig
from transformer_viz.network.trace_size import trace_bytes
from transformer_viz.store.format import ModelError, printable
from transformer_viz.store.hugging_face.by_layer import windows
from transformer_viz.store.hugging_face.families import (
    ACTIVATIONS,
    CLASSES,
    FAMILIES,
    Family,
    Head,
    as_encoder,
    classes_of,
)
from transformer_viz.store.hugging_face.rope import rotary
from transformer_viz.store.limits import LARGEST_FIELDS, MAX_TRACE, check_sizes

SHORTEST = 16
"""Tokens of a text below which `max_len` is not reduced for the size of its trace."""


def family_of(file: Path, theirs: Mapping[str, Any]) -> Family:
    """Return the family of a model.

    Args:
        file: Its config.json, for messages.
        theirs: Content of that file.

    Raises:
        ModelError: If its type is unknown, or it has a setting that is not understood.
    """
    kind = theirs.get("model_type")
    family = FAMILIES.get(kind) if isinstance(kind, str) else None
    if family is None:
        raise ModelError(
            "hugging.type", file=file, received=printable(kind), known=", ".join(sorted(FAMILIES))
        )
    if theirs.get("quantization_config"):
        raise ModelError("hugging.quantised", file=file)
    family = as_encoder(family) if _only_reads(file, theirs, family) else family
    wanted = dict(family.required) | {name: theirs.get(other) for name, other in family.equal.items()}
    if head := head_of(family, theirs):
        wanted |= head.required
    if family.settings.get("d_model") == "hidden_size" and "embedding_dim" not in family.settings:
        same = {"embedding_size", "word_embed_proj_dim"} & theirs.keys()
        wanted |= dict.fromkeys(same, theirs.get("hidden_size"))
    for name, value in wanted.items():
        if theirs.get(name, value) not in (value, None):
            raise ModelError(
                "hugging.setting",
                file=file,
                name=name,
                received=printable(theirs[name]),
                wanted=printable(value),
            )
    return family


def _only_reads(file, theirs, family):
    """Return whether a model of a family that writes has no output layer to write with."""
    name, architecture = class_name(theirs), family.fixed["architecture"]
    if architecture == "encoder" or head_of(family, theirs) is not None:
        return False
    if architecture == "decoder":
        return "For" in name or not theirs.get("tie_word_embeddings", family.tied)
    if "For" in name:
        known = ", ".join(family.heads)
        raise ModelError("hugging.head", file=file, received=printable(name), known=known)
    return name.endswith("EncoderModel")


def class_name(theirs: Mapping[str, Any]) -> str:
    """Return the name of the class that a model was saved as; "" if it is not said."""
    named = theirs.get("architectures")
    return named[0] if isinstance(named, list) and named and isinstance(named[0], str) else ""


def query_scale(file: Path, theirs: Mapping[str, Any], config: TransformerConfig) -> np.ndarray:
    """Return what queries are multiplied by, so that scores divided by sqrt(head_dim) are the model's.

    Args:
        file: Its config.json, for messages.
        theirs: Content of that file.
        config: What was read from it.

    Returns:
        float32 (head_dim,).

    Raises:
        ModelError: If a setting is no positive number.
    """
    family, scale = family_of(file, theirs), np.ones(config.head_dim, np.float32)
    if family.unscaled:
        return scale * config.head_dim**0.5
    name = family.query_scalar
    scalar = theirs.get(name, family.defaults.get(name, config.head_dim))
    if not is_positive(scalar):
        facts = {"name": name, "received": printable(scalar), "wanted": config.head_dim}
        raise ModelError("hugging.setting", file=file, **facts)
    if config.positions == "rotary":  # keys are not multiplied, queries twice
        scale[: config.rotary_width] *= rotary(file, theirs, family, vars(config))[1] ** 2
    return scale * (config.head_dim / scalar) ** 0.5


def head_of(family: Family, theirs: Mapping[str, Any]) -> Head | None:
    """Return the head that the architecture's name says the model has.

    None: none that is read. Of classifiers only those are that choose one label, or give a score to one.
    """
    name = class_name(theirs)
    if name.endswith("ForPreTraining") and theirs.get("model_type") == "bert":
        name = "BertForMaskedLM"
    if name.endswith(CLASSES) and theirs.get("problem_type") not in (None, "single_label_classification"):
        return None
    return next((head for ending, head in family.heads.items() if name.endswith(ending)), None)


def config_from(
    file: Path,
    theirs: Mapping[str, Any],
    special: Mapping[str, Any],
    *,
    positions: int | None,
    has_output: bool,
) -> tuple[TransformerConfig, int]:
    """Return the config of a model, and of how many tokens the longest text is that it could read.

    Args:
        file: Its config.json, for messages.
        theirs: Content of that file.
        special: Fields of the config that follow from its tokenizer: ids, and what texts begin and end with.
        positions: Rows of its table of positions; None: it has none.
        has_output: Whether a kernel of its output layer is stored.

    Raises:
        ModelError: If a setting is missing, wrong or not understood.
    """
    family = family_of(file, theirs)
    head = head_of(family, theirs)
    values: dict[str, Any] = dict(family.fixed)
    for ours, name in family.settings.items():
        values[ours] = theirs.get(name, family.defaults.get(name, ...))
        if values[ours] is ...:
            raise ModelError("hugging.no_setting", file=file, name=name)
    values |= {ours: None for ours, name in family.switches.items() if not theirs.get(name)}
    values |= _activation(file, values["activation"])
    if values["ffn_dim"] is None:
        values["ffn_dim"] = 4 * values["d_model"] if type(values["d_model"]) is int else None
    if positions is not None:
        values["max_len"] = positions - family.first_position
    if values["positions"] == "rotary":
        values |= rotary(file, theirs, family, values)[0]
    longest = values["max_len"]
    if type(longest) is int:
        values["max_len"] = min(longest, LARGEST_FIELDS["max_len"])
    values |= windows(file, theirs, family, values)
    values |= {"dropout": 0.0, "embedding_dropout": 0.0, **special, **_head(file, theirs, family, head)}
    values["separator"] = _separator(file, values)
    if values["architecture"] != "encoder":
        values["end_id"] = _first_id(theirs.get("eos_token_id"), values["end_id"])
    if values["architecture"] == "decoder" and values["start_id"] == NO_ID:
        values["start_id"] = _first_id(theirs.get("bos_token_id"), values["end_id"])
    if values["architecture"] == "encoder-decoder":
        first = _first_id(theirs.get("decoder_start_token_id"), _first_id(theirs.get("pad_token_id"), 0))
        forced = _first_id(theirs.get("forced_bos_token_id"), None)
        values["target_start"] = (first,) if forced is None else (first, forced)
        if family.untied_if_stored and has_output:
            values["tie_embeddings"] = False
    config = TransformerConfig(**values)
    try:
        check_sizes(config)
    except ModelError as error:
        raise ModelError("store.unusable", file=file, reason=error) from None
    return _short_enough(config), longest


def _separator(file, values):
    """Return what the tokenizer puts between two texts, if the second has a segment of its own."""
    count, found = values.get("segments", 0), values["separator"]
    if type(count) is not int or count < 2:
        return ()
    if found is None:
        raise ModelError("hugging.pair", file=file)
    return found


def _activation(file, name):
    """Return the fields of the feed-forward layer's activation; T5 says with it whether there is a gate."""
    gated = {}
    if isinstance(name, str) and name.startswith("gated-"):
        gated, name = {"gated_ffn": True}, name.removeprefix("gated-")
        name = "gelu_new" if name == "gelu" else name
    if name not in ACTIVATIONS:
        known = ", ".join(sorted(ACTIVATIONS))
        raise ModelError("hugging.activation", file=file, received=printable(name), known=known)
    return {"activation": ACTIVATIONS[name]} | gated


def _head(file, theirs, family, head):
    """Return the fields of the output layer, and of the one that a classifier of the family has."""
    is_tied = theirs.get("tie_word_embeddings", family.tied)
    if family.fixed["architecture"] == "decoder":
        return {"tie_embeddings": is_tied} | _pooling(file, theirs, family)
    if family.fixed["architecture"] == "encoder-decoder":
        scaled = theirs.get("scale_decoder_outputs", is_tied) if family.scales_output else False
        return {"tie_embeddings": is_tied, "scale_output": scaled}
    if head is None:
        return {"output": "none"} | _pooling(file, theirs, family)
    fields = dict(head.fields)
    if fields["output"] == "tokens":
        return fields | {"tie_embeddings": is_tied} | _pooling(file, theirs, family)
    fields |= _pooling(file, theirs, family)
    named = theirs.get("id2label")
    labels = named if isinstance(named, dict) and named else {"0": "LABEL_0", "1": "LABEL_1"}
    ordered = sorted(labels, key=lambda key: int(key) if re.fullmatch(r"\d+", key) else -1)
    names = tuple(labels[key] for key in ordered)
    if len(names) == 1:  # a score, as of a pair of texts; `transformers` shows its sigmoid
        return fields | {"output": "sigmoid", "labels": (f"not {names[0]}", *names)}
    return fields | {"labels": names}


def _pooling(file, theirs, family):
    """Return the fields of how the classifiers of a family pool a text."""
    head = classes_of(family)
    if head is None:
        return {}
    fields = {name: value for name, value in head.fields.items() if name != "output"}
    if head.pooling:
        received = theirs.get(head.pooling, "cls")
        if received not in ("cls", "mean"):
            facts = {"name": head.pooling, "received": printable(received), "wanted": "cls, mean"}
            raise ModelError("hugging.setting", file=file, **facts)
        fields["pooling"] = "mean" if received == "mean" else "first"
    return fields


def _first_id(value, other):
    first = value[0] if isinstance(value, list) and value else value
    return first if type(first) is int and first >= 0 else other


def _short_enough(config):
    """Return the config with texts so short that the trace of the longest is not too large."""
    while trace_bytes(config) > MAX_TRACE and config.max_len > SHORTEST:
        config = config.replace(max_len=config.max_len // 2)
    return config
