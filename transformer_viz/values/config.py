"""The config of a Transformer, with its checks and its parameter shapes.

Parameter shapes follow from the config alone, without Keras: a model folder can be checked, and a cost
estimated, before a network is built.
"""

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import Any

from transformer_viz.language import Phrase, Problem, json_reason

CHOICES = {
    "architecture": ("encoder", "encoder-decoder", "decoder"),
    "positions": ("none", "one-hot", "learned", "sinusoidal", "sinusoidal-halves"),
    "norm": ("post", "pre", "none"),
    "pooling": ("mean", "max", "first", "attention"),
    "activation": ("relu", "gelu"),
    "output": ("softmax", "sigmoid", "tokens"),
    "truncation": ("end", "middle", "beginning"),
}
"""Field -> its allowed values."""

PAD_ID, UNK_ID = 0, 1
"""Token ids of padding and of a word outside the vocabulary."""

START_ID, END_ID = 2, 3
"""Token ids of the beginning and the end of a text, in vocabularies of models that predict tokens."""

MASK_ID = 4
"""Token id of a masked token, in the vocabulary of a masked language model."""

MAX_QUOTED = 200
"""Characters of a value quoted in an error."""

FORMAT_VERSION = 1
"""Version of `config.json`; a higher one comes from a newer release."""


DERIVED: Any = None
"""Default of fields computed from others; None only until `__post_init__` has computed them."""


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Every size and switch of one Transformer (Vaswani et al., 2017, section 3).

    Attributes:
        architecture: "encoder": one stack, which classifies a text. "encoder-decoder": a second stack
            generates a target and attends to the output of the first (section 3.1). "decoder": one stack
            with masked self-attention, which predicts the next token (Radford et al., 2018).
        vocab_size: Rows of the token embedding; id 0 is [PAD], id 1 is [UNK].
        target_vocab_size: The same for the target of an encoder-decoder; None: `vocab_size`.
        max_len: Longest input in tokens.
        target_max_len: Longest target of an encoder-decoder in tokens; None: `max_len`.
        truncation: Part removed from a longer text: its "end", its "beginning", or its "middle" (a quarter
            of `max_len` is kept from the beginning and three quarters from the end).
        d_model: Width of the residual stream.
        num_layers: Blocks in the encoder, or in the decoder of a "decoder".
        num_decoder_layers: Blocks in the decoder of an encoder-decoder; None: `num_layers`.
        num_heads: Attention heads in each block.
        head_dim: Width of one head's query and key (the paper's d_k); None: d_model // num_heads.
        value_dim: Width of one head's value (the paper's d_v); None: the same as `head_dim`.
        ffn_dim: Width of the feed-forward layer; 0: no such layer.
        activation: Activation of the feed-forward layer.
        positions: Position table added to the token embedding; "sinusoidal" alternates sine and
            cosine (the paper), "sinusoidal-halves" puts all sines first (tensor2tensor).
        padding_position: Count positions from 1 and give [PAD] position 0, an extra row of the table.
        scale_embedding: Multiply token embeddings by sqrt(d_model) (section 3.4).
        norm: Layer normalisation "post" (after the addition, as in the paper), "pre" (before each
            sub-layer) or "none".
        final_norm: Another layer normalisation after the last block, as in GPT-2.
        residual: Residual connections: add each sub-layer's output to its input.
        attention_bias: Bias in the query, key, value and output projections.
        output_projection: The paper's W^O; False: heads are only concatenated.
        mask_padding: Exclude [PAD] from attention and pooling.
        causal: Causal mask in the encoder's self-attention; a decoder's always has one. None: False, for a
            "decoder" True.
        window: Largest distance in self-attention, on both sides (Beltagy et al., 2020); None: unlimited.
        pooling: How the vectors of all positions become one; "attention" weights them by the softmax of a
            learned score (Yang et al., 2016).
        output: "softmax" over the labels or the vocabulary; one "sigmoid" for the second of two labels; or
            "tokens": a masked language model, an encoder with logits over the vocabulary at every position,
            which predicts the tokens behind [MASK] (Devlin et al., 2019).
        labels: Class names of an encoder, in the order of the outputs; None: "negative" and "positive".
        tie_embeddings: Share the token embedding with the target and the output layer (section 3.4).
        dropout: On the pooled vector, and on each sub-layer's output before the addition.
        embedding_dropout: On the sum of token embedding and position (section 5.4).

    Raises:
        ValueError: If a value is out of range or two values conflict; names the fields.
    """

    architecture: str = "encoder"
    vocab_size: int = 20_000
    target_vocab_size: int = DERIVED
    max_len: int = 256
    target_max_len: int = DERIVED
    truncation: str = "end"
    d_model: int = 128
    num_layers: int = 1
    num_decoder_layers: int = DERIVED
    num_heads: int = 8
    head_dim: int = DERIVED
    value_dim: int = DERIVED
    ffn_dim: int = 512
    activation: str = "relu"
    positions: str = "sinusoidal"
    padding_position: bool = False
    scale_embedding: bool = False
    norm: str = "post"
    final_norm: bool = False
    residual: bool = True
    attention_bias: bool = True
    output_projection: bool = True
    mask_padding: bool = True
    causal: bool = DERIVED
    window: int | None = None
    pooling: str = "mean"
    output: str = "softmax"
    labels: tuple[str, ...] = DERIVED
    tie_embeddings: bool = False
    dropout: float = 0.1
    embedding_dropout: float = 0.0

    def __post_init__(self):
        if isinstance(self.labels, list):
            object.__setattr__(self, "labels", tuple(self.labels))
        self._check_types()
        self._check_ranges()
        if self.head_dim is None:
            self._check_division()
        self._check_architecture()
        for name, value in self._derived().items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value())
        self._check_combinations()

    @property
    def num_outputs(self) -> int:
        """Width of the logits: number of labels, 1 for a sigmoid, or size of the vocabulary."""
        if self.predicts_tokens:
            return self.target_vocab_size or self.vocab_size
        return 1 if self.output == "sigmoid" else len(self.labels)

    @property
    def has_encoder(self) -> bool:
        """Whether there is an encoder stack."""
        return self.architecture != "decoder"

    @property
    def has_decoder(self) -> bool:
        """Whether there is a decoder stack, which predicts the next token."""
        return self.architecture != "encoder"

    @property
    def fills_in(self) -> bool:
        """Whether the model is a masked language model: an encoder that predicts the tokens behind [MASK]."""
        return self.output == "tokens"

    @property
    def predicts_tokens(self) -> bool:
        """Whether the model has logits over the vocabulary at every position."""
        return self.has_decoder or self.fills_in

    @property
    def reads_start(self) -> bool:
        """Whether the input begins with [START]."""
        return not self.has_encoder or self.fills_in

    @property
    def stacks(self) -> dict[str, int]:
        """Stack -> number of blocks, in the order of computation."""
        if self.architecture == "encoder-decoder":
            return {"encoder": self.num_layers, "decoder": self.num_decoder_layers}
        return {self.architecture: self.num_layers}

    @property
    def num_parameters(self) -> int:
        """Number of parameters, computed from the shapes."""
        return sum(math.prod(shape) for shape in self.parameter_shapes().values())

    def replace(self, **changes: Any) -> "TransformerConfig":
        """Return a copy with some fields changed, and checked.

        Fields that were computed from others, such as `head_dim`, are computed again.
        """
        for name, value in self._derived().items():
            if getattr(self, name) == value():
                changes.setdefault(name, None)
        unknown = changes.keys() - {field.name for field in dataclasses.fields(self)}
        if unknown:
            raise Problem("config.no_field", unknown=_listed(unknown), fields=_listed(self.__dict__))
        return dataclasses.replace(self, **changes)

    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return name -> shape of every parameter, in the order the model creates them."""
        shapes = {}
        for side in ("", "target_") if self.architecture == "encoder-decoder" else ("",):
            size, length = getattr(self, f"{side}vocab_size"), getattr(self, f"{side}max_len")
            if not (side and self.tie_embeddings):
                shapes[f"{side}token_embedding/embeddings"] = (size, self.d_model)
            if self.positions == "learned":
                rows = length + self.padding_position
                shapes[f"{side}position_embedding/embeddings"] = (rows, self.d_model)
        for stack, count in self.stacks.items():
            for layer in range(count):
                block = self._block_shapes(stack).items()
                shapes |= {f"{stack}_{layer}/{name}": shape for name, shape in block}
            if self.final_norm:
                shapes |= self._norm_shapes(f"{stack}_norm")
        if self.predicts_tokens:
            return (
                shapes if self.tie_embeddings else shapes | _dense("output", self.d_model, self.num_outputs)
            )
        if self.pooling == "attention":
            shapes |= _dense("pooling", self.d_model, 1)
        return shapes | _dense("classifier", self.d_model, self.num_outputs)

    def to_json(self) -> str:
        """Return the text of `config.json`."""
        return json.dumps({"format_version": FORMAT_VERSION, **dataclasses.asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "TransformerConfig":
        """Read what `to_json` wrote.

        Raises:
            ValueError: If the text is not a valid config, or comes from a newer version.
        """
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Problem("config.json", reason=json_reason(error)) from None
        if not isinstance(values, dict):
            raise Problem("config.object")
        version = values.pop("format_version", None)
        if type(version) is not int or version < 1:
            raise Problem("config.no_version")
        if version > FORMAT_VERSION:
            raise Problem("config.version", version=_quoted(version), newest=FORMAT_VERSION)
        names = {field.name for field in dataclasses.fields(cls)}
        if values.keys() != names:
            missing, unknown = _listed(names - values.keys()), _listed(values.keys() - names)
            raise Problem("config.fields", missing=missing, unknown=unknown)
        return cls(**values)

    def _derived(self):
        """Return field -> function that computes its default from other fields, in order."""
        translates = self.architecture == "encoder-decoder"
        return {
            "head_dim": lambda: None if self.d_model % self.num_heads else self.d_model // self.num_heads,
            "value_dim": lambda: self.head_dim,
            "num_decoder_layers": lambda: self.num_layers if translates else None,
            "target_vocab_size": lambda: self.vocab_size if translates else None,
            "target_max_len": lambda: self.max_len if translates else None,
            "causal": lambda: not self.has_encoder,
            "labels": lambda: () if self.predicts_tokens else ("negative", "positive"),
        }

    def _block_shapes(self, stack) -> dict[str, tuple[int, ...]]:
        names = {"encoder": ["attention"], "decoder": ["self_attention"]}[stack]
        if len(self.stacks) == 2 and stack == "decoder":
            names.append("cross_attention")
        shapes = {}
        for name in names:
            shapes |= {f"{name}/{part}": shape for part, shape in self._attention_shapes().items()}
            if self.norm != "none":
                shapes |= self._norm_shapes(f"{name}_norm")
        if self.ffn_dim:
            shapes |= _dense("ffn/hidden", self.d_model, self.ffn_dim)
            shapes |= _dense("ffn/output", self.ffn_dim, self.d_model)
            if self.norm != "none":
                shapes |= self._norm_shapes("ffn_norm")
        return shapes

    def _attention_shapes(self):
        shapes = {}
        for name, width in (("query", self.head_dim), ("key", self.head_dim), ("value", self.value_dim)):
            shapes |= _dense(name, self.d_model, self.num_heads * width, self.attention_bias)
        if self.output_projection:
            shapes |= _dense("output", self.num_heads * self.value_dim, self.d_model, self.attention_bias)
        return shapes

    def _norm_shapes(self, name):
        return {f"{name}/gamma": (self.d_model,), f"{name}/beta": (self.d_model,)}

    def _check_types(self):
        for field in dataclasses.fields(self):
            value, kind = getattr(self, field.name), field.type
            if value is None and field.default is None:
                continue
            if kind in (int, int | None):
                good, rule = type(value) is int, Phrase("rule.whole")
            elif kind is float:
                is_finite = type(value) is float and math.isfinite(value)
                good, rule = is_finite or type(value) is int, Phrase("rule.finite")
            elif kind is bool:
                good, rule = type(value) is bool, Phrase("rule.flag")
            elif kind is str:
                choices = _listed(CHOICES[field.name])
                good, rule = value in CHOICES[field.name], Phrase("rule.choice", choices=choices)
            elif self.predicts_tokens:
                architecture = Phrase("rule.no_labels", architecture=self.architecture)
                good, rule = value == (), Phrase("rule.no_tokens") if self.fills_in else architecture
            else:
                good, rule = _is_labels(value), Phrase("rule.labels")
            if not good:
                raise Problem("setting.rule", name=field.name, rule=rule, received=_quoted(value))

    def _check_ranges(self):
        sizes = ("max_len", "target_max_len", "d_model", "num_layers", "num_decoder_layers", "num_heads")
        bounds = dict.fromkeys((*sizes, "head_dim", "value_dim"), 1)
        bounds |= {"vocab_size": 2, "target_vocab_size": 2, "ffn_dim": 0, "window": 0}
        for name, least in bounds.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise Problem("setting.least", name=name, least=least, received=_quoted(value))
        for name in ("dropout", "embedding_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise Problem("setting.share", name=name, received=_quoted(getattr(self, name)))

    def _check_division(self):
        if self.d_model % self.num_heads:
            raise Problem("config.heads", width=self.d_model, heads=self.num_heads)

    def _check_architecture(self):
        if self.architecture != "encoder-decoder":
            for name in ("target_vocab_size", "target_max_len", "num_decoder_layers"):
                if getattr(self, name) is not None:
                    raise Problem("config.target", name=name, architecture=self.architecture)
        if self.architecture == "decoder" and self.causal is False:
            raise Problem("config.causal")
        if self.has_decoder and self.output == "sigmoid":
            raise Problem("config.sigmoid", architecture=self.architecture)
        if self.has_decoder and self.fills_in:
            raise Problem("config.tokens", architecture=self.architecture)
        if self.tie_embeddings and not self.predicts_tokens:
            raise Problem("config.tied_labels")

    def _check_combinations(self):
        if self.tie_embeddings and self.target_vocab_size not in (None, self.vocab_size):
            raise Problem("config.tied_sizes", target=self.target_vocab_size, source=self.vocab_size)
        if self.output == "sigmoid" and len(self.labels) != 2:
            raise Problem("config.sigmoid_labels", count=len(self.labels))
        heads_width = self.num_heads * self.value_dim
        if not self.output_projection and heads_width != self.d_model:
            raise Problem("config.projection", heads=heads_width, width=self.d_model)
        if self.positions.startswith("sinusoidal") and self.d_model % 2:
            raise Problem("config.even", positions=self.positions, width=self.d_model)
        longest = max(self.max_len, self.target_max_len or 0) + self.padding_position
        if self.positions == "one-hot" and longest > self.d_model:
            raise Problem("config.one_hot", positions=longest, width=self.d_model)


def _dense(name, inputs, outputs, bias=True):
    kernel = {f"{name}/kernel": (inputs, outputs)}
    return kernel | {f"{name}/bias": (outputs,)} if bias else kernel


def _is_labels(value):
    return (
        isinstance(value, tuple)
        and len(value) >= 2
        and all(isinstance(label, str) and label.strip() and _is_utf8(label) for label in value)
        and len(set(value)) == len(value)
    )


def _is_utf8(text):
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _listed(names):
    listed = ", ".join(f"'{name}'" if name.isprintable() else ascii(name) for name in sorted(names))
    return listed or Phrase("list.none")


def _quoted(value):
    """Return a value as quoted in an error: abbreviated, as a file may contain any length."""
    text = repr(value)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}..."
