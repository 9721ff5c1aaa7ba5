"""A TransformerConfig from the config.json of a Hugging Face folder."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from transformer_viz.language import Problem
from transformer_viz.network.checks import is_positive
from transformer_viz.network.config import NO_ID, TransformerConfig
from transformer_viz.network.trace_size import trace_bytes
from transformer_viz.store.format import printable
from transformer_viz.store.hugging_face.families import (
    ACTIVATIONS,
    CLASSES,
    FAMILIES,
    FULL,
    SLIDING,
    Family,
    Head,
    as_encoder,
    classes_of,
)
from transformer_viz.store.hugging_face.rope import rotary_fields
from transformer_viz.store.limits import LARGEST_FIELDS, MAX_LAYERS, MAX_TRACE, check_sizes

SHORTEST = 16
"""Tokens of a text below which `max_len` is not reduced for the size of its trace."""

KINDS = {"global": FULL, "local": SLIDING}
"""GPT-Neo's names of kinds of blocks -> those of others."""

FULL_BLOCKS = {
    "first": lambda layer, number: layer % number == 0,
    "last": lambda layer, number: (layer + 1) % number == 0,
    "below": lambda layer, number: layer < number,
}
"""Rule of `Family.mixed` -> whether a block has no window."""


class Reading:
    """What the config.json of a model says, in the terms of its family and of our config.

    Args:
        theirs: Content of the file.

    Attributes:
        theirs: The same.
        family: Its family; of a model that could write but has no output layer to do so, as an encoder.
        head: What stands behind its last block; None: nothing that is read.

    Raises:
        ValueError: If its type is unknown, or a setting is missing, wrong or not understood. Properties and
            methods raise the same.
    """

    def __init__(self, theirs: Mapping[str, Any]):
        kind = theirs.get("model_type")
        if not isinstance(kind, str) or kind not in FAMILIES:
            raise Problem("hugging.type", received=printable(kind), known=", ".join(sorted(FAMILIES)))
        if theirs.get("quantization_config"):
            raise Problem("hugging.quantised")
        self.theirs, self.family = theirs, FAMILIES[kind]
        self.head = _head_of(self.family, theirs)
        if self._only_reads():
            self.family = as_encoder(self.family)
            self.head = _head_of(self.family, theirs)
        self._check_required()

    def _only_reads(self):
        """Return whether a model of a family that writes has no output layer to write with."""
        name, architecture = class_name(self.theirs), self.family.fixed["architecture"]
        if architecture == "encoder" or self.head is not None:
            return False
        if architecture == "decoder":
            return "For" in name or not self.is_tied
        if "For" in name:
            raise Problem("hugging.head", received=printable(name), known=", ".join(self.family.heads))
        return name.endswith("EncoderModel")

    def _check_required(self):
        """Check the settings of which only one value is understood."""
        family, theirs = self.family, self.theirs
        wanted = {**family.required, **{name: theirs.get(other) for name, other in family.equal.items()}}
        wanted |= self.head.required if self.head else {}
        if family.settings.get("d_model") == "hidden_size" and "embedding_dim" not in family.settings:
            same = {"embedding_size", "word_embed_proj_dim"} & theirs.keys()
            wanted |= dict.fromkeys(same, theirs.get("hidden_size"))
        for name, value in wanted.items():
            if theirs.get(name, value) not in (value, None):
                raise _not_understood(name, theirs[name], value)

    def setting(self, name: str, other: Any = None) -> Any:
        """Return a setting; where the file leaves it out, the family's default, or else `other`."""
        return self.theirs.get(name, self.family.defaults.get(name, other))

    @property
    def is_tied(self) -> Any:
        """Whether the output layer is the token embedding; as the file says it, of any type."""
        return self.theirs.get("tie_word_embeddings", self.family.tied)

    @cached_property
    def fields(self) -> dict[str, Any]:
        """The fields of our config that are settings of theirs, or the same in the whole family."""
        values = dict(self.family.fixed)
        for ours, name in self.family.settings.items():
            values[ours] = self.setting(name, ...)
            if values[ours] is ...:
                raise Problem("hugging.no_setting", name=name)
        values |= {ours: None for ours, name in self.family.switches.items() if not self.theirs.get(name)}
        values |= _activation(values["activation"])
        if values["ffn_dim"] is None:
            values["ffn_dim"] = 4 * values["d_model"] if type(values["d_model"]) is int else None
        return values

    @cached_property
    def rotary(self) -> tuple[dict[str, Any], float]:
        """The fields of rotary positions, and what rotated queries and keys are multiplied by."""
        if self.fields["positions"] != "rotary":
            return {}, 1.0
        return rotary_fields(self.theirs, self.family, self.fields)

    @cached_property
    def windows(self) -> dict[str, Any]:
        """The fields of the window of self-attention, and of which blocks are without it."""
        window, count = self.fields.get("window"), self.fields["num_layers"]
        if type(count) is not int or not 0 < count <= MAX_LAYERS:
            return {}  # and the config is refused
        kinds = self._kinds_of_blocks(window, count)
        known = isinstance(kinds, list) and len(kinds) == count and {*map(str, kinds)} <= {FULL, SLIDING}
        if not known or (window is None and SLIDING in kinds):
            raise Problem("hugging.layer_types")
        unlimited = tuple(layer for layer, kind in enumerate(kinds) if kind == FULL)
        if len(unlimited) == count:
            return {"window": None}
        if type(window) is int:  # with a causal mask it counts the token itself, otherwise both sides
            both = self.fields["architecture"] == "encoder" and not self.fields.get("causal")
            window = window // 2 if both else window - 1
        return {"window": window, "unlimited_layers": unlimited}

    def _kinds_of_blocks(self, window, count):
        """Return what the file lists as the kind of each block, or else what the family's rule says."""
        listed = [self.theirs[name] for name in self.family.kinds if self.theirs.get(name) is not None]
        kinds: Any = listed[0] if listed else None
        if isinstance(kinds, list):
            kinds = [KINDS.get(str(kind), kind) for kind in kinds]
        if self.family.mixed is None:
            if isinstance(kinds, list) and len({*map(str, kinds)}) > 1:
                raise Problem("hugging.layer_types")
            return [SLIDING if window is not None else FULL] * count
        if kinds is not None or window is None:
            return [FULL] * count if kinds is None else kinds
        name, default, rule = self.family.mixed
        number = self.theirs.get(name, default)
        if type(number) is not int or number < (rule != "below"):
            raise Problem("hugging.layer_types")
        return [FULL if FULL_BLOCKS[rule](layer, number) else SLIDING for layer in range(count)]

    @cached_property
    def output(self) -> dict[str, Any]:
        """The fields of the output layer, and of the one that a classifier of the family has."""
        if self.family.fixed["architecture"] == "decoder":
            return {"tie_embeddings": self.is_tied} | self._pooling()
        if self.family.fixed["architecture"] == "encoder-decoder":
            scaled = self.family.scales_output and self.theirs.get("scale_decoder_outputs", self.is_tied)
            return {"tie_embeddings": self.is_tied, "scale_output": scaled}
        if self.head is None:
            return {"output": "none"} | self._pooling()
        fields = {**self.head.fields, **self._pooling()}
        if fields["output"] == "tokens":
            return fields | {"tie_embeddings": self.is_tied}
        named = self.theirs.get("id2label")
        labels = named if isinstance(named, dict) and named else {"0": "LABEL_0", "1": "LABEL_1"}
        ordered = sorted(labels, key=lambda key: int(key) if re.fullmatch(r"\d+", key) else -1)
        names = tuple(labels[key] for key in ordered)
        if len(names) == 1:  # a score, as of a pair of texts; `transformers` shows its sigmoid
            return fields | {"output": "sigmoid", "labels": (f"not {names[0]}", *names)}
        return fields | {"labels": names}

    def _pooling(self):
        """Return the fields of how the classifiers of the family pool a text."""
        head = classes_of(self.family)
        if head is None:
            return {}
        fields = {name: value for name, value in head.fields.items() if name != "output"}
        if head.pooling:
            received = self.theirs.get(head.pooling, "cls")
            if received not in ("cls", "mean"):
                raise _not_understood(head.pooling, received, "cls, mean")
            fields["pooling"] = "mean" if received == "mean" else "first"
        return fields

    def config(
        self, special: Mapping[str, Any], *, positions: int | None, has_output: bool
    ) -> tuple[TransformerConfig, int]:
        """Return the config of the model, and of how many tokens the longest text is that it could read.

        Args:
            special: Fields that follow from its tokenizer: ids, and what texts begin and end with.
            positions: Rows of its table of positions; None: it has none.
            has_output: Whether a kernel of its output layer is stored.
        """
        values = {**self.fields, "dropout": 0.0, "embedding_dropout": 0.0}
        if positions is not None:
            values["max_len"] = positions - self.family.first_position
        values |= self.rotary[0]
        longest = values["max_len"]
        if type(longest) is int:
            values["max_len"] = min(longest, LARGEST_FIELDS["max_len"])
        values |= {**self.windows, **special, **self.output}
        values["separator"] = _separator(values)
        if values["architecture"] != "encoder":
            values["end_id"] = self._first_id("eos_token_id", values["end_id"])
        if values["architecture"] == "decoder" and values["start_id"] == NO_ID:
            values["start_id"] = self._first_id("bos_token_id", values["end_id"])
        if values["architecture"] == "encoder-decoder":
            first = self._first_id("decoder_start_token_id", self._first_id("pad_token_id", 0))
            forced = self._first_id("forced_bos_token_id", None)
            values["target_start"] = (first,) if forced is None else (first, forced)
            if self.family.untied_if_stored and has_output:
                values["tie_embeddings"] = False
        config = TransformerConfig(**values)
        check_sizes(config)
        return _short_enough(config), longest

    def _first_id(self, name, other):
        value = self.theirs.get(name)
        first = value[0] if isinstance(value, list) and value else value
        return first if type(first) is int and first >= 0 else other

    def query_scale(self, config: TransformerConfig) -> np.ndarray:
        """Return what queries are multiplied by, so that scores divided by sqrt(head_dim) are the model's.

        Returns:
            float32 (head_dim,).
        """
        scale = np.ones(config.head_dim, np.float32)
        if self.family.unscaled:
            return scale * config.head_dim**0.5
        scalar = self.setting(self.family.query_scalar, config.head_dim)
        if not is_positive(scalar):
            raise _not_understood(self.family.query_scalar, scalar, config.head_dim)
        scale[: config.rotary_width] *= self.rotary[1] ** 2  # keys are not multiplied, queries twice
        return scale * (config.head_dim / scalar) ** 0.5


def class_name(theirs: Mapping[str, Any]) -> str:
    """Return the name of the class that a model was saved as; "" if it is not said."""
    named = theirs.get("architectures")
    return named[0] if isinstance(named, list) and named and isinstance(named[0], str) else ""


def _head_of(family: Family, theirs: Mapping[str, Any]) -> Head | None:
    """Return the head that the class's name says the model has; None: none that is read.

    Of classifiers, only single-label ones and scores are read.
    """
    name = class_name(theirs)
    if name.endswith("ForPreTraining") and theirs.get("model_type") == "bert":
        name = "BertForMaskedLM"
    if name.endswith(CLASSES) and theirs.get("problem_type") not in (None, "single_label_classification"):
        return None
    return next((head for ending, head in family.heads.items() if name.endswith(ending)), None)


def _not_understood(name, received, wanted):
    facts = {"received": printable(received), "wanted": printable(wanted)}
    return Problem("hugging.setting", name=name, **facts)


def _separator(values):
    """Return what the tokenizer puts between two texts, if the second has a segment of its own."""
    count, found = values.get("segments", 0), values["separator"]
    if type(count) is not int or count < 2:
        return ()
    if found is None:
        raise Problem("hugging.pair")
    return found


def _activation(name):
    """Return the fields of the feed-forward layer's activation; T5 says with it whether there is a gate."""
    gated = {}
    if isinstance(name, str) and name.startswith("gated-"):
        gated, name = {"gated_ffn": True}, name.removeprefix("gated-")
        name = "gelu_new" if name == "gelu" else name
    if not isinstance(name, str) or name not in ACTIVATIONS:
        known = ", ".join(sorted(ACTIVATIONS))
        raise Problem("hugging.activation", received=printable(name), known=known)
    return {"activation": ACTIVATIONS[name]} | gated


def _short_enough(config):
    """Return the config with texts so short that the trace of the longest is not too large."""
    while trace_bytes(config) > MAX_TRACE and config.max_len > SHORTEST:
        config = config.replace(max_len=config.max_len // 2)
    return config
