"""What a family of models is, and the names that many share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from transformer_viz.network.shapes import in_other_stack

Layers = dict[str, str | tuple[str, ...]]

CLASSES = "ForSequenceClassification"
"""Ending of the names of classifiers."""

FULL, SLIDING = "full_attention", "sliding_attention"
"""Their names of blocks without a window and with one."""

ONE_BASE = {"rotary_base": (FULL, "rope_theta", 10_000.0)}
"""Bases of rotary positions that are the same in all blocks."""


class Pieces(NamedTuple):
    """The SentencePiece model that a folder may have in place of a tokenizer.json.

    Attributes:
        file: Its name.
        convert: Makes a tokenizer.json of it and of what tokenizer_config.json says.
    """

    file: str
    convert: Callable[[bytes, Mapping[str, Any]], str]


@dataclass(frozen=True)
class Head:
    """What stands behind the last block of a model, to answer with.

    Attributes:
        layers: Our layer -> theirs, prefix included.
        fields: Field of our config -> its value.
        required: Name of their setting -> the only value that is understood, as in `Family`.
        pooling: Name of their setting that says what is classified: the first token ("cls") or the "mean".
    """

    layers: Layers
    fields: Mapping[str, Any] = field(default_factory=dict)
    required: Mapping[str, Any] = field(default_factory=dict)
    pooling: str = ""


@dataclass(frozen=True)
class Family:
    """What the models of some `model_type`s have in common.

    Attributes:
        layers: Our layer -> theirs, without the prefix of the base model.
        prefixes: What may stand before the names of the base model's tensors.
        settings: Field of our config -> name of theirs.
        fixed: Field of our config -> its value in this family.
        defaults: Name of their setting -> its value where a file leaves it out.
        required: Name of their setting -> the only value that is understood; a file may leave it out.
        equal: Name of their setting -> another that has the same value in what is understood.
        heads: Ending of an architecture's name ("ForMaskedLM") -> its head.
        first_position: Rows of the table of positions that no text uses.
        transposed: Whether kernels of the base model are stored as (output, input), as by torch's linear
            layers; those of heads always are.
        gain_offset: Added to the gains of the normalisation.
        tied: Whether the output layer is the token embedding where a file does not say.
        untied_if_stored: Whether an output layer in the file counts, whatever its settings say.
        scales_output: Whether the vectors in front of a tied output layer are divided by sqrt(d_model).
        wordpiece: Whether its tokens can be made from a vocab.txt.
        sentence_pieces: Whether they can be made from source.spm, target.spm and vocab.json.
        pieces: From which SentencePiece model alone they can be made; None: from none.
        unscaled: Whether scores are not divided by sqrt(head_dim).
        query_scalar: Name of their setting whose root divides the scores instead.
        zeros: Ending of the name of a parameter of ours -> their setting without which it is zero; "": it is
            in all models.
        switches: Field of our config -> their setting without which it is None.
        kinds: Names of their settings that list the kinds of blocks; the first that a file has holds.
        mixed: Which blocks have no window where no such list says it: name of their setting of a
            number n, its default, and whether it is the "first" or the "last" of n blocks each time, or all
            "below" n. None: all blocks are alike.
        rotary_bases: Field of our config -> the kind of block whose base it is, name of their setting where
            `rope_parameters` does not have it, and its default.
        computed_positions: Whether the table of positions is computed where a file does not have it: sines,
            then cosines.
    """

    layers: Layers
    prefixes: tuple[str, ...]
    settings: dict[str, str]
    fixed: dict[str, Any] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    required: Mapping[str, Any] = field(default_factory=dict)
    equal: Mapping[str, str] = field(default_factory=dict)
    heads: Mapping[str, Head] = field(default_factory=dict)
    first_position: int = 0
    transposed: bool = True
    gain_offset: float = 0.0
    tied: bool = True
    untied_if_stored: bool = False
    scales_output: bool = False
    wordpiece: bool = False
    sentence_pieces: bool = False
    pieces: Pieces | None = None
    unscaled: bool = False
    query_scalar: str = ""
    zeros: Mapping[str, str] = field(default_factory=dict)
    switches: Mapping[str, str] = field(default_factory=dict)
    kinds: tuple[str, ...] = ("layer_types",)
    mixed: tuple[str, int, str] | None = None
    rotary_bases: Mapping[str, tuple[str, str, float]] = field(default_factory=lambda: ONE_BASE)
    computed_positions: bool = False


LAST_TOKEN = Head({"classifier": "score"}, {"output": "softmax", "pooling": "last"})
"""Head of the classifiers of language models."""


def classes_of(family: Family) -> Head | None:
    """Return the head of a family's classifiers; None: it has none."""
    is_decoder = family.fixed["architecture"] == "decoder"
    return family.heads.get(CLASSES) or (LAST_TOKEN if is_decoder else None)


def as_encoder(family: Family) -> Family:
    """Return a family that writes as one that only reads: its stack is called the encoder, as in classifiers.

    Of an encoder-decoder the encoder is left. The classifiers of language models read the last token.
    """
    is_decoder = family.fixed["architecture"] == "decoder"
    if is_decoder:
        layers = {in_other_stack(ours): theirs for ours, theirs in family.layers.items()}
    else:
        layers = {
            ours: theirs
            for ours, theirs in family.layers.items()
            if not ours.startswith(("decoder", "target"))
        }
    return replace(
        family,
        layers=layers,
        prefixes=tuple(dict.fromkeys([*family.prefixes, ""])),  # models of vectors have none
        settings={ours: theirs for ours, theirs in family.settings.items() if ours != "num_decoder_layers"},
        fixed={**family.fixed, "architecture": "encoder", "causal": is_decoder},
        heads={CLASSES: LAST_TOKEN} if is_decoder else {},
        zeros={**family.zeros, "classifier/bias": ""},
    )


def block(stack: str, layers: Layers) -> Layers:
    """Return the layers of a block of a stack, with a place for its number."""
    return {f"{stack}_{{}}/{ours}": theirs for ours, theirs in layers.items()}


SIZES = {
    "vocab_size": "vocab_size",
    "max_len": "max_position_embeddings",
    "d_model": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "ffn_dim": "intermediate_size",
}
"""Field of a config -> its name in most families."""
