"""Fine-tuning: the config of a model trained from a parent, and which parameters it inherits.

A model may keep the task of its parent. From a language model, a decoder or an encoder that predicts
masked tokens, a classifier can be made as well (Radford et al., 2018, section 3.2; Devlin et al., 2019,
section 3.2): its stack, which in a classifier is called the encoder, computes exactly what the parent's did.
From a decoder, a masked language model can be made (BehnamGhader et al., 2024, section 2): it loses the
causal mask, and its vocabulary gains [MASK]. From a model made elsewhere, a classifier can be made, which
reads texts and pools them as its family does.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_viz.language import Problem
from transformer_viz.network.checks import listed
from transformer_viz.network.config import MASK_ID, TransformerConfig
from transformer_viz.network.shapes import in_other_stack

CHOSEN = {
    "labels",
    "output",
    "pooling",
    "pooled_activation",
    "pooled_norm",
    "dropout",
    "embedding_dropout",
    "max_len",
    "target_max_len",
    "truncation",
    "causal",
    "reads_start",
}
"""Fields that may differ from those of the parent; all others belong to its parameters."""

CLASSIFIER = ("classifier/kernel", "classifier/bias")
"""Parameters of a classifier's outputs."""

POOLED = ("pooled", "pooled_norm")
"""Layers between the pooled vector and the outputs of a classifier."""

HEADS = ("pooling", *POOLED, "classifier", "output")
"""Layers after the stack: the output head."""

DROPOUT = 0.1
"""Dropout with which a model made elsewhere is trained on (Devlin et al., 2019, appendix A.2): it is read
without any.
"""


def child_config(parent: TransformerConfig, *, classifies: bool, **changes: Any) -> TransformerConfig:
    """Return the config of a model fine-tuned from a parent.

    A classifier made from a language model keeps its mask and the [START] at the beginning of each text; its
    output is a softmax over the labels, one made from a classifier has the output of that, unless `changes`
    has another. With the output "tokens", a decoder becomes a masked language model, with one more token:
    [MASK]. From a model made elsewhere, only a classifier can be made. The temperature is 1: that of the
    parent belongs to other parameters.

    Args:
        parent: Config of the model to fine-tune.
        classifies: Whether the new model is a classifier; otherwise it has the parent's task.
        **changes: Fields of `CHOSEN`.

    Raises:
        ValueError: If the parent cannot become such a model, or a field is fixed by its parameters.
    """
    fields: dict[str, Any] = {"temperature": 1.0}
    if parent.is_foreign and not parent.dropout:
        fields |= {"dropout": DROPOUT, "embedding_dropout": DROPOUT}
    if classifies:
        output = parent.output if parent.output in ("sigmoid", "softmax") else "softmax"
        fields |= {"architecture": "encoder", "output": output, "labels": None, "tie_embeddings": False}
        fields |= {"causal": parent.causal, "reads_start": parent.reads_start}
        fields |= {"output_transform": False, "vocabulary_bias": False}
    elif parent.is_foreign:
        raise Problem("parent.only_classes")
    elif not parent.predicts_tokens:
        raise Problem("parent.classifier")
    elif parent.architecture == "decoder" and changes.get("output") == "tokens":
        fields |= {"architecture": "encoder", "vocab_size": parent.vocab_size + 1}
    if classifies and parent.architecture == "encoder-decoder":
        raise Problem("parent.translator")
    child = parent.replace(**fields | changes)
    inherited(parent, child)
    return child


def longest_text(parent: TransformerConfig, tokens: int) -> int:
    """Return `max_len` of a child for texts of so many tokens: at most the number of learned positions."""
    return min(tokens, parent.max_len) if parent.positions == "learned" else tokens


def inherited(parent: TransformerConfig, child: TransformerConfig) -> dict[str, str]:
    """Return name -> the parent's name of each parameter that a child inherits; its others are new.

    The output head is inherited only if its outputs have the same meaning: the same labels, in any order, or
    tokens. A model made elsewhere may have the layers of `POOLED` without outputs.

    Raises:
        ValueError: If the child's config does not fit the parent's.
    """
    _check_fits(parent, child)
    shapes, names = child.parameter_shapes(), {}
    known = {*parent.parameter_shapes()}
    if parent.is_foreign:
        known |= {name for name in shapes if name.partition("/")[0] in POOLED}
    for name in shapes:
        if name.partition("/")[0] in ("classifier", "output") and not _same_outputs(parent, child):
            continue
        is_moved = parent.architecture == "decoder" and not child.has_decoder
        former = in_other_stack(name) if is_moved else name
        if former in known:
            names[name] = former
    return names


def inherited_values(
    parameters: Mapping[str, np.ndarray], parent: TransformerConfig, child: TransformerConfig
) -> dict[str, np.ndarray]:
    """Return name -> array of the parameters that a child inherits.

    Of learned positions these are the first ones. The embedding of a new [MASK] is the mean of all others.
    The outputs of a classifier follow the order of the child's labels.

    Args:
        parameters: Name -> array of the parent.
        parent: Its config.
        child: Config of the child.

    Raises:
        ValueError: As `inherited`.
    """
    shapes = child.parameter_shapes()
    sources = inherited(parent, child).items()
    found = {name: parameters[source] for name, source in sources if source in parameters}
    if child.fills_in and not parent.fills_in:
        tokens = found["token_embedding/embeddings"]
        found["token_embedding/embeddings"] = np.insert(tokens, MASK_ID, tokens.mean(axis=0), axis=0)
    if parent.labels != child.labels:
        found |= {name: _reordered(found[name], parent, child) for name in found if name in CLASSIFIER}
    return {name: array[: shapes[name][0]] for name, array in found.items()}


def trained_parameters(config: TransformerConfig, layers: int | None) -> list[str]:
    """Return the names of the parameters to train; the others are frozen.

    Args:
        config: The config.
        layers: Only the output head and this many of the last blocks, with what follows them; None: all
            parameters. Token and position embeddings are then frozen.

    Raises:
        ValueError: If there are not so many blocks, or nothing is left to train.
    """
    names = list(config.parameter_shapes())
    if layers is None:
        return names
    blocks = [f"{stack}_{number}" for stack, count in config.stacks.items() for number in range(count)]
    if type(layers) is not int or not 0 <= layers <= len(blocks):
        raise Problem("parent.layers", most=len(blocks), received=repr(layers))
    first = (*blocks[len(blocks) - layers :], *HEADS)  # names are in the order of computation
    begin = next((place for place, name in enumerate(names) if name.partition("/")[0] in first), None)
    if begin is None:
        raise Problem("parent.no_head")
    return names[begin:]


def learning_rate_factors(config: TransformerConfig, decay: float) -> dict[str, float]:
    """Return name -> factor of the learning rate of each parameter.

    Args:
        config: The config.
        decay: As `TrainingSettings.layer_decay`; 0: all factors are 1.
    """
    blocks = [f"{stack}_{number}" for stack, count in config.stacks.items() for number in range(count)]
    below, factors = len(blocks) + 1, {}  # names are in the order of computation
    for name in config.parameter_shapes():
        layer = name.partition("/")[0]
        if layer in blocks:
            below = len(blocks) - blocks.index(layer)
        elif layer in HEADS or layer in ("transform", "transform_norm"):
            below = 0
        factors[name] = decay**below if decay else 1.0
    return factors


def are_alike(parameters: Mapping[str, np.ndarray], config: TransformerConfig) -> bool:
    """Return whether all blocks of a stack have equal parameters: they are one, applied several times.

    As in ALBERT (Lan et al., 2020, section 3.1).
    """
    groups = alike_groups(config)
    return bool(groups) and all(
        np.array_equal(parameters[name], parameters[first]) for first, *others in groups for name in others
    )


def alike_groups(config: TransformerConfig) -> list[list[str]]:
    """Return the names of the same parameter in all blocks of a stack; nothing if there is one block."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name in config.parameter_shapes():
        layer, _, rest = name.partition("/")
        stack, _, number = layer.rpartition("_")
        if stack in config.stacks and number.isdigit():
            groups.setdefault((stack, rest), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def _check_fits(parent, child):
    """Check that a child's config differs from its parent's only where it may."""
    free = CHOSEN
    if parent.predicts_tokens != child.predicts_tokens:
        to_classes = {"architecture", "tie_embeddings", "output_transform", "vocabulary_bias"}
        free = free | to_classes if parent.reads_start or parent.is_foreign else free - {"output"}
    elif parent.architecture == "decoder" and child.fills_in:
        free = free | {"architecture"}
        parent = parent.replace(vocab_size=parent.vocab_size + 1)
    names = [field.name for field in dataclasses.fields(parent) if field.name not in free | {"temperature"}]
    if fixed := [name for name in names if getattr(parent, name) != getattr(child, name)]:
        raise Problem("parent.fixed", fields=listed(fixed), free=listed(CHOSEN))
    for name in ("max_len", "target_max_len") if parent.positions == "learned" else ():
        if (getattr(child, name) or 0) > (most := getattr(parent, name) or 0):
            raise Problem("parent.longer", name=name, most=most, received=getattr(child, name))


def _same_outputs(parent, child):
    if (parent.predicts_tokens, parent.output) != (child.predicts_tokens, child.output):
        return False
    return sorted(parent.labels or ()) == sorted(child.labels or ())


def _reordered(array, parent, child):
    """Return the parameters of a classifier's outputs in the order of the child's labels."""
    if child.output == "sigmoid":  # one logit, of the second of two labels
        return -array
    return array[..., [parent.labels.index(label) for label in child.labels]]
