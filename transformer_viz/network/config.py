"""The config of a Transformer, with its checks and its parameter shapes.

Parameter shapes follow from the config alone, without Keras: a model folder can be checked, and a cost
estimated, before a network is built.
"""

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import Any

from transformer_viz.language import Problem, json_reason
from transformer_viz.network.checks import check_combinations, check_fields, listed, quoted
from transformer_viz.network.shapes import parameter_shapes
from transformer_viz.network.signatures import with_fields

CHOICES = {
    "architecture": ("encoder", "encoder-decoder", "decoder"),
    "positions": ("none", "one-hot", "learned", "sinusoidal", "sinusoidal-halves", "rotary", "relative"),
    "norm": ("post", "pre", "sandwich", "none"),
    "norm_kind": ("layer", "rms"),
    "pooling": ("mean", "max", "first", "last", "attention"),
    "activation": ("relu", "gelu", "gelu-tanh", "silu"),
    "pooled_activation": ("none", "tanh", "relu", "gelu"),
    "output": ("softmax", "sigmoid", "tokens", "none"),
    "truncation": ("end", "middle", "beginning"),
}
"""Field -> its allowed values."""

PAD_ID, UNK_ID = 0, 1
"""Token ids of padding and of a word outside the vocabulary, in vocabularies made here."""

START_ID, END_ID = 2, 3
"""Token ids of the beginning and the end of a text, in vocabularies made here that have them."""

MASK_ID = 4
"""Token id of a masked token, in the vocabulary of a masked language model made here."""

NO_ID = -1
"""Token id of a special token that a vocabulary does not have."""

DEFAULT_LABELS = "negative", "positive"
"""Class names of an encoder whose config names none."""

FORMAT_VERSION = 6
"""Version of `config.json`; a higher one comes from a newer release."""

ADDED = {
    "reads_start": 2,
    "temperature": 2,
    **dict.fromkeys(("reads_end", "pad_id", "unk_id", "start_id", "end_id", "mask_id"), 3),
    **dict.fromkeys(("norm_kind", "norm_epsilon", "embedding_norm", "segments", "parallel"), 3),
    **dict.fromkeys(("num_kv_heads", "output_bias", "qk_norm", "rotary_base", "rotary_width"), 3),
    **dict.fromkeys(("gated_ffn", "ffn_bias"), 3),
    **dict.fromkeys(("pooled_activation", "output_transform", "vocabulary_bias", "embedding_dim"), 3),
    **dict.fromkeys(("target_start", "relative_buckets", "relative_reach", "scale_output"), 3),
    **dict.fromkeys(("unlimited_layers", "window_rotary_base", "first_norm", "score_cap", "logit_cap"), 4),
    **dict.fromkeys(("rotary_scaling", "window_rotary_scaling"), 4),
    **dict.fromkeys(("pooled_norm", "relative_bias"), 5),
    **dict.fromkeys(("separator", "embedding_projection"), 6),
}
"""Field -> the version of `config.json` that first has it; older ones mean its default."""


DERIVED: Any = None
"""Default of fields computed from others; None only until `__post_init__` has computed them."""


def never_written(config: "TransformerConfig") -> tuple[int, ...]:
    """Return the ids of tokens that a decoder never writes: [PAD], and those it starts with but the end."""
    start = config.target_start or (config.start_id,)
    return tuple({config.pad_id, *start} - {NO_ID, config.end_id})


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
        activation: Activation of the feed-forward layer; "gelu-tanh" approximates it, as GPT-2 does.
        positions: Position table added to the token embedding; "sinusoidal" alternates sine and
            cosine (the paper), "sinusoidal-halves" puts all sines first (tensor2tensor). "rotary" adds
            nothing: queries and keys are rotated by angles that grow with the position (Su et al., 2021).
            "relative" adds a bias to each score of self-attention, by the distance from query to key: one for
            each head and bucket of distances, the same in all blocks of a stack (Raffel et al., 2020).
        padding_position: Count positions from 1 and give [PAD] position 0, an extra row of the table.
        scale_embedding: Multiply token embeddings by sqrt(d_model) (section 3.4).
        norm: Layer normalisation "post" (after the addition, as in the paper), "pre" (before each
            sub-layer), "sandwich" (before each sub-layer, and of its output before the addition; Ding et al.,
            2021, CogView, section 2.4) or "none".
        final_norm: Another layer normalisation after the last block, as in GPT-2.
        residual: Residual connections: add each sub-layer's output to its input.
        attention_bias: Bias in the query, key, value and output projections.
        output_projection: The paper's W^O; False: heads are only concatenated.
        mask_padding: Exclude [PAD] from attention and pooling.
        causal: Causal mask in the encoder's self-attention; a decoder's always has one. None: False, for a
            "decoder" True.
        reads_start: Begin the input with [START], as models that predict tokens do; None: only those. A
            classifier made from such a model goes on reading what that model has read.
        window: Largest distance in self-attention, on both sides (Beltagy et al., 2020); None: unlimited.
        pooling: How the vectors of all positions become one: their "mean" or "max", the "first", the "last"
            that is no [PAD], or "attention", which weights them by the softmax of a learned score (Yang et
            al., 2016).
        output: "softmax" over the labels or the vocabulary; one "sigmoid" for the second of two labels; or
            "tokens": a masked language model, an encoder with logits over the vocabulary at every position,
            which predicts the tokens behind [MASK] (Devlin et al., 2019). "none": an encoder that ends with
            the vectors of its last layer.
        labels: Class names of an encoder, in the order of the outputs; None: "negative" and "positive", or
            none.
        temperature: The probabilities of the classes are softmax(logits / temperature) (Guo et al., 2017,
            section 4.2): above 1, less certain; the prediction is the same. From 0.01 to 100; 1 for models
            that predict tokens.
        tie_embeddings: Share the token embedding with the target and the output layer (section 3.4).
        dropout: On the pooled vector, and on each sub-layer's output before the addition.
        embedding_dropout: On the sum of token embedding and position (section 5.4).
        reads_end: End the input as its tokenizer does, with one or more special tokens, such as BERT's [SEP].
        pad_id: Token id of padding; `NO_ID` in models made elsewhere: texts have none, batches are padded
            with it. The fields from here on are those that only models made elsewhere change.
        unk_id: Token id of a word outside the vocabulary; `NO_ID` where there is none.
        start_id: Token id of the beginning of a text; `NO_ID` where there is none.
        end_id: Token id of its end; `NO_ID` where there is none.
        mask_id: Token id of [MASK]; `NO_ID` where there is none.
        norm_kind: "layer" normalisation (Ba et al., 2016), or "rms", which only divides by the root of the
            mean square (Zhang and Sennrich, 2019).
        norm_epsilon: Added to the variance or the mean square in normalisation.
        embedding_norm: Normalise the sum of the embeddings, as BERT does.
        segments: Rows of a table added to the embeddings, that tell a second sentence from the first (Devlin
            et al., 2019); 0: none.
        separator: Token ids behind which the second sentence begins, whose tokens get the second row of that
            table; (): all get the first.
        parallel: Attention and feed-forward layer read the same residual stream (Wang and Komatsuzaki, 2021).
        num_kv_heads: Heads of keys and values, each shared by as many query heads (Ainslie et al., 2023);
            None: `num_heads`.
        output_bias: Bias in the output projection of attention; None: `attention_bias`.
        qk_norm: Normalise the query and the key of each head.
        rotary_base: Base of the wavelengths of "rotary" positions.
        rotary_width: Leading numbers of a head's query and key that they rotate; None: `head_dim`.
        gated_ffn: Multiply the hidden layer of the feed-forward layer by an activated gate (Shazeer, 2020).
        ffn_bias: Bias in the feed-forward layer.
        pooled_activation: A dense layer with this activation between the pooled vector and the classes.
        pooled_norm: Normalise what this layer returns, or without it the pooled vector.
        output_transform: A dense layer with `activation` and normalisation in front of the logits over the
            vocabulary, as in BERT.
        vocabulary_bias: Bias of these logits if `tie_embeddings`.
        embedding_dim: Width of the token, position and segment embeddings. If it differs from `d_model`, a
            dense layer brings their sum to that width (Lan et al., 2020, section 3.1), and
            `output_transform` brings it back; None: `d_model`.
        embedding_projection: Whether there is such a layer where the widths are the same, as in ALBERT.
        target_start: Token ids with which the target of an encoder-decoder begins; None: `start_id`.
        relative_bias: The bias of "relative" positions beside others, as in MPNet (Song et al., 2020).
        relative_buckets: Rows of the table of "relative" positions.
        relative_reach: Distance from which on they are all in the last bucket.
        scale_output: Divide the vectors in front of the logits over the vocabulary by sqrt(d_model), as T5
            does where it shares the token embedding with the output layer.
        unlimited_layers: Numbers, from 0, of the blocks whose self-attention has no `window` although the
            others have one (Gemma Team, 2024, Gemma 2, section 2).
        window_rotary_base: `rotary_base` of the blocks that have the window; None: the same (Gemma Team,
            2025, Gemma 3, section 2).
        rotary_scaling: Factors by which the wavelengths of "rotary" positions are multiplied, one for each
            pair of numbers (RoPE scaling), in a model whose context was extended after pre-training (Chen et
            al., 2023, Positional Interpolation, section 2.3); (): all are 1.
        window_rotary_scaling: `rotary_scaling` of the blocks that have the window; None: the same.
        first_norm: Whether the first self-attention of a stack reads normalised embeddings, with `norm` "pre"
            or "sandwich". ModernBERT's reads them as they are: `embedding_norm` has normalised them (Warner
            et al., 2024, section 2.1).
        score_cap: The scores s of attention are replaced by cap * tanh(s / cap), before the mask; None: they
            stay (Gemma Team, 2024, Gemma 2, section 2).
        logit_cap: The same for the logits over the vocabulary.

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
    reads_start: bool = DERIVED
    window: int | None = None
    pooling: str = "mean"
    output: str = "softmax"
    labels: tuple[str, ...] = DERIVED
    temperature: float = 1.0
    tie_embeddings: bool = False
    dropout: float = 0.1
    embedding_dropout: float = 0.0
    reads_end: bool = False
    pad_id: int = PAD_ID
    unk_id: int = UNK_ID
    start_id: int = START_ID
    end_id: int = END_ID
    mask_id: int = MASK_ID
    norm_kind: str = "layer"
    norm_epsilon: float = 1e-6
    embedding_norm: bool = False
    segments: int = 0
    separator: tuple[int, ...] = ()
    parallel: bool = False
    num_kv_heads: int = DERIVED
    output_bias: bool = DERIVED
    qk_norm: bool = False
    rotary_base: float = 10_000.0
    rotary_width: int = DERIVED
    gated_ffn: bool = False
    ffn_bias: bool = True
    pooled_activation: str = "none"
    pooled_norm: bool = False
    output_transform: bool = False
    vocabulary_bias: bool = False
    embedding_dim: int = DERIVED
    embedding_projection: bool = False
    target_start: tuple[int, ...] = DERIVED
    relative_bias: bool = False
    relative_buckets: int = 32
    relative_reach: int = 128
    scale_output: bool = False
    unlimited_layers: tuple[int, ...] = ()
    window_rotary_base: float = DERIVED
    rotary_scaling: tuple[float, ...] = ()
    window_rotary_scaling: tuple[float, ...] = DERIVED
    first_norm: bool = True
    score_cap: float | None = None
    logit_cap: float | None = None

    def __post_init__(self):
        lists = ("labels", "separator", "target_start", "unlimited_layers", "rotary_scaling")
        for name in (*lists, "window_rotary_scaling"):
            if isinstance(getattr(self, name), list):
                object.__setattr__(self, name, tuple(getattr(self, name)))
        check_fields(self, CHOICES)
        for name, value in self._derived().items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value())
        check_combinations(self)

    @property
    def num_outputs(self) -> int:
        """Width of the logits: number of labels, 1 for a sigmoid, 0 for none, or size of the vocabulary."""
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
    def has_position_table(self) -> bool:
        """Whether positions are vectors that are added to the token embeddings."""
        return self.positions != "none" and not self.positions_in_attention

    @property
    def has_relative_bias(self) -> bool:
        """Whether a bias by the distance from query to key is added to the scores of self-attention."""
        return self.positions == "relative" or self.relative_bias

    @property
    def positions_in_attention(self) -> bool:
        """Whether positions act on the scores of self-attention, with nothing added to the embeddings."""
        return self.positions in ("rotary", "relative")

    @property
    def has_fixed_scores(self) -> bool:
        """Whether the score of two words in the first layer is the same in every text.

        Without positions and segments its queries and keys follow from the two tokens alone.
        """
        return self.positions == "none" and not self.has_relative_bias and not self.segments

    @property
    def normalises_inputs(self) -> bool:
        """Whether sub-layers read normalised vectors."""
        return self.norm in ("pre", "sandwich")

    @property
    def projects_embeddings(self) -> bool:
        """Whether a dense layer brings the embeddings to the width of the residual stream."""
        return self.embedding_projection or self.embedding_dim != self.d_model

    @property
    def is_foreign(self) -> bool:
        """Whether the model was made elsewhere: its vocabulary has ids of its own for special tokens."""
        return self.pad_id == NO_ID

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

    def window_of(self, layer: int) -> int | None:
        """Return the `window` of one block's self-attention; None: unlimited."""
        return None if layer in self.unlimited_layers else self.window

    def rotary_of(self, layer: int) -> tuple[float, tuple[float, ...]]:
        """Return `rotary_base` and `rotary_scaling` as they are in one block."""
        if self.window_of(layer) is None:
            return self.rotary_base, self.rotary_scaling
        return self.window_rotary_base, self.window_rotary_scaling

    def replace(self, **changes: Any) -> "TransformerConfig":
        """Return a copy with some fields changed, and checked.

        Fields that were computed from others, such as `head_dim`, are computed again.
        """
        for name, value in self._derived().items():
            if getattr(self, name) == value():
                changes.setdefault(name, None)
        unknown = changes.keys() - {field.name for field in dataclasses.fields(self)}
        if unknown:
            raise Problem("config.no_field", unknown=listed(unknown), fields=listed(self.__dict__))
        return dataclasses.replace(self, **changes)

    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return name -> shape of every parameter, in the order the model creates them."""
        return parameter_shapes(self)

    def to_json(self) -> str:
        """Return the text of `config.json`."""
        return json.dumps({"format_version": FORMAT_VERSION, **dataclasses.asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "TransformerConfig":
        """Read the result of `to_json`.

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
            raise Problem("config.version", version=quoted(version), newest=FORMAT_VERSION)
        names = {field.name for field in dataclasses.fields(cls)}
        names -= {name for name, first in ADDED.items() if version < first}
        if values.keys() != names:
            missing, unknown = listed(names - values.keys()), listed(values.keys() - names)
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
            "reads_start": lambda: not self.has_encoder or self.fills_in,
            "labels": lambda: () if self.predicts_tokens or self.output == "none" else DEFAULT_LABELS,
            "num_kv_heads": lambda: self.num_heads,
            "output_bias": lambda: self.attention_bias,
            "rotary_width": lambda: self.head_dim,
            "embedding_dim": lambda: self.d_model,
            "target_start": lambda: (self.start_id,) if translates else None,
            "window_rotary_base": lambda: self.rotary_base,
            "window_rotary_scaling": lambda: self.rotary_scaling,
        }


with_fields(TransformerConfig)(TransformerConfig.replace)
