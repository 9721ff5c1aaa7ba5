"""Checks of the fields of a config."""

import dataclasses
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from transformer_viz.language import Phrase, Problem

if TYPE_CHECKING:
    from transformer_viz.network.config import TransformerConfig

TEMPERATURES = (0.01, 100.0)
"""Lowest and highest temperature of a classifier: beyond them, no doubt is left, or nothing else."""

SMALLEST_CAP = 0.01
"""Smallest cap of scores or logits: below it, there is hardly a difference left."""

MAX_QUOTED = 200
"""Characters of a value quoted in an error."""


def check_fields(config: "TransformerConfig", choices: Mapping[str, tuple[str, ...]]) -> None:
    """Check the fields of a config before those left out are computed from others.

    Args:
        config: The config.
        choices: Field -> its allowed values.

    Raises:
        ValueError: If a field has a wrong type or value, or does not fit the architecture.
    """
    _check_types(config, choices)
    _check_ranges(config)
    if config.head_dim is None and config.d_model % config.num_heads:
        raise Problem("config.heads", width=config.d_model, heads=config.num_heads)
    _check_architecture(config)


def check_combinations(config: "TransformerConfig") -> None:
    """Check that the fields of a complete config fit together.

    Raises:
        ValueError: If they do not.
    """
    if config.tie_embeddings and config.target_vocab_size not in (None, config.vocab_size):
        raise Problem("config.tied_sizes", target=config.target_vocab_size, source=config.vocab_size)
    if config.output == "sigmoid" and len(config.labels) != 2:
        raise Problem("config.sigmoid_labels", count=len(config.labels))
    heads_width = config.num_heads * config.value_dim
    if config.num_heads % config.num_kv_heads:
        raise Problem("config.shared_heads", shared=config.num_kv_heads, heads=config.num_heads)
    _check_positions_in_attention(config)
    if max(config.target_start or (0,)) >= (config.target_vocab_size or 1):
        raise Problem("config.target_start", ids=quoted(config.target_start), size=config.target_vocab_size)
    if config.separator and (config.segments < 2 or max(config.separator) >= config.vocab_size):
        raise Problem("config.separator", ids=quoted(config.separator), size=config.vocab_size)
    if not config.first_norm and not config.normalises_inputs:
        raise Problem("config.first_norm", norm=config.norm)
    if config.unlimited_layers:
        _check_unlimited(config)
    if not config.output_projection and heads_width != config.d_model:
        raise Problem("config.projection", heads=heads_width, width=config.d_model)
    name, width = "embedding_dim" if config.projects_embeddings else "d_model", config.embedding_dim
    if config.positions.startswith("sinusoidal") and width % 2:
        raise Problem("config.even", positions=config.positions, name=name, width=width)
    longest = max(config.max_len, config.target_max_len or 0) + config.padding_position
    if config.positions == "one-hot" and longest > width:
        raise Problem("config.one_hot", positions=longest, name=name, width=width)
    if config.tie_embeddings and config.projects_embeddings and not config.output_transform:
        raise Problem("config.tied_width", embedding=width, width=config.d_model)


def _check_positions_in_attention(config):
    if config.positions == "rotary" and (config.rotary_width % 2 or config.rotary_width > config.head_dim):
        raise Problem("config.rotary", width=config.rotary_width, head=config.head_dim)
    pairs = config.rotary_width // 2 if config.positions == "rotary" else 0
    for name in ("rotary_scaling", "window_rotary_scaling"):
        count = len(getattr(config, name))
        if count not in (0, pairs):
            raise Problem("config.scaling", name=name, count=count, pairs=pairs)
    if config.has_relative_bias and not 2 <= config.relative_buckets // 2 < config.relative_reach:
        raise Problem("config.relative", buckets=config.relative_buckets, reach=config.relative_reach)


def _check_unlimited(config):
    """Check the numbers of the blocks without the window that the others have."""
    layers = config.unlimited_layers
    if config.window is None or len(config.stacks) > 1:
        raise Problem("config.unlimited", layers=quoted(layers), architecture=config.architecture)
    if sorted({*layers}) != [*layers] or layers[-1] >= config.num_layers or len(layers) == config.num_layers:
        raise Problem("config.unlimited_layers", layers=quoted(layers), count=config.num_layers)


def _check_types(config, choices):
    for field in dataclasses.fields(config):
        value, kind = getattr(config, field.name), field.type
        if value is None and field.default is None:
            continue
        if kind in (int, int | None):
            good, rule = type(value) is int, Phrase("rule.whole")
        elif kind in (float, float | None):
            good = (type(value) is int or type(value) is float) and abs(value) <= sys.float_info.max
            rule = Phrase("rule.finite")
        elif kind is bool:
            good, rule = type(value) is bool, Phrase("rule.flag")
        elif kind is str:
            names = listed(choices[field.name])
            good, rule = value in choices[field.name], Phrase("rule.choice", choices=names)
        elif kind == tuple[int, ...]:
            whole = isinstance(value, tuple) and all(type(number) is int and number >= 0 for number in value)
            may_be_empty = field.default == ()
            good = whole and (may_be_empty or value != ())
            rule = Phrase("rule.numbers" if may_be_empty else "rule.ids")
        elif kind == tuple[float, ...]:
            good = isinstance(value, tuple) and all(map(is_positive, value))
            rule = Phrase("rule.factors")
        elif config.predicts_tokens or config.output == "none":
            architecture = Phrase("rule.no_labels", architecture=config.architecture)
            without = Phrase("rule.no_tokens", output=config.output)
            good, rule = value == (), architecture if config.has_decoder else without
        else:
            good, rule = _is_labels(value), Phrase("rule.labels")
        if not good:
            raise Problem("setting.rule", name=field.name, rule=rule, received=quoted(value))


def _check_ranges(config):
    sizes = ("max_len", "target_max_len", "d_model", "num_layers", "num_decoder_layers", "num_heads")
    widths = ("embedding_dim", "head_dim", "value_dim", "num_kv_heads", "rotary_width")
    bounds = dict.fromkeys((*sizes, *widths), 1)
    bounds |= {"vocab_size": 2, "target_vocab_size": 2, "ffn_dim": 0, "window": 0, "segments": 0}
    bounds |= dict.fromkeys(("pad_id", "unk_id", "start_id", "end_id", "mask_id"), -1)
    bounds |= {"norm_epsilon": 0, "rotary_base": 1, "relative_buckets": 1, "relative_reach": 1}
    bounds |= {"window_rotary_base": 1, "score_cap": SMALLEST_CAP, "logit_cap": SMALLEST_CAP}
    for name, least in bounds.items():
        value = getattr(config, name)
        if value is not None and value < least:
            raise Problem("setting.least", name=name, least=least, received=quoted(value))
    for name in ("dropout", "embedding_dropout"):
        if not 0 <= getattr(config, name) < 1:
            raise Problem("setting.share", name=name, received=quoted(getattr(config, name)))
    least, most = TEMPERATURES
    if not least <= config.temperature <= most:
        raise Problem("config.temperature", least=least, most=most, received=quoted(config.temperature))


def _check_architecture(config):
    if config.architecture != "encoder-decoder":
        for name in ("target_vocab_size", "target_max_len", "num_decoder_layers", "target_start"):
            if getattr(config, name) is not None:
                raise Problem("config.target", name=name, architecture=config.architecture)
    if config.architecture == "decoder" and config.causal is False:
        raise Problem("config.causal")
    if config.has_decoder and config.output == "sigmoid":
        raise Problem("config.sigmoid", architecture=config.architecture)
    if config.has_decoder and (config.fills_in or config.output == "none"):
        raise Problem("config.tokens", output=config.output, architecture=config.architecture)
    reads = {"decoder": True, "encoder": config.fills_in or None}.get(config.architecture, False)
    if config.reads_start not in (None, reads) and reads is not None and not config.is_foreign:
        raise Problem("config.start", received=config.reads_start)
    if config.predicts_tokens and config.temperature != 1:
        raise Problem("config.no_classes", received=quoted(config.temperature))
    if config.tie_embeddings and not config.predicts_tokens:
        raise Problem("config.tied_labels")


def _is_labels(value):
    return (
        isinstance(value, tuple)
        and len(value) >= 2
        and all(isinstance(label, str) and label.strip() and is_utf8(label) for label in value)
        and len(set(value)) == len(value)
    )


def is_positive(value: Any) -> TypeGuard[float]:
    """Return whether a value from a file is a finite number greater than 0."""
    return type(value) in (int, float) and 0 < value <= sys.float_info.max


def is_utf8(text: str) -> bool:
    """Return whether a text can be written as UTF-8: it has no half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def listed(names: Iterable[str]) -> list[str] | Phrase:
    """Return names in quotation marks, sorted, as they appear in an error."""
    shown = [f"'{name}'" if name.isprintable() else ascii(name) for name in sorted(names)]
    return shown or Phrase("list.none")


def quoted(value: object) -> str:
    """Return a value as quoted in an error: abbreviated, as a file may contain any length."""
    text = repr(value)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}..."
