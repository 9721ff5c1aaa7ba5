"""The field's terms with their definitions; the tips of the pages are among them."""

from transformer_viz.language.words import Words

TOPICS = {
    "tokens": (
        "token",
        "tokenizer",
        "sub_word",
        "vocabulary",
        "start_end",
        "mask_token",
        "pad_token",
        "unknown_token",
        "class_token",
        "separator_token",
        "embedding",
    ),
    "positions": (
        "position_encoding",
        "sinusoidal",
        "learned_positions",
        "rotary",
        "alibi",
        "relative_bias",
    ),
    "attention": (
        "attention",
        "query",
        "key",
        "value",
        "attention_score",
        "softmax",
        "attention_weight",
        "self_attention",
        "cross_attention",
        "head",
        "multi_head",
        "mask",
        "causal_mask",
        "padding_mask",
        "window_mask",
        "entropy",
    ),
    "layers": (
        "layer",
        "residual_stream",
        "layer_norm",
        "post_norm",
        "pre_norm",
        "feed_forward",
        "encoder",
        "decoder",
        "encoder_decoder",
        "language_model",
        "masked_language_model",
    ),
    "answers": (
        "logit",
        "probability",
        "log_odds",
        "greedy",
        "temperature",
        "top_k",
        "top_p",
        "beam_search",
    ),
    "figures": (
        "accuracy",
        "token_accuracy",
        "exact_match",
        "loss",
        "perplexity",
        "bits_per_byte",
        "bleu",
        "bleu_one_reference",
        "calibration_error",
        "uniform_accuracy",
        "headless_accuracy",
        "induction_score",
        "previous_token_score",
    ),
    "explaining": (
        "effect",
        "estimate",
        "ablation",
        "mean_ablation",
        "activation_patching",
        "logit_lens",
        "rollout",
        "previous_token_head",
        "same_token_head",
        "induction_head",
        "focused_head",
        "even_head",
    ),
    "training": (
        "cross_entropy",
        "epoch",
        "batch",
        "learning_rate",
        "warm_up",
        "weight_decay",
        "dropout",
        "label_smoothing",
        "gradient_clipping",
        "early_stopping",
        "ema",
        "fine_tuning",
    ),
}
"""Topic -> its terms, as they build on each other: keys of `gloss.TERM`, the definition, and of its name."""


def glossary(language: str) -> dict[str, list[tuple[str, str]]]:
    """Return the glossary in a language: name of each topic -> its terms, each with its definition.

    Args:
        language: A key of `LANGUAGES`.

    Raises:
        ValueError: If there is no such language.

    >>> glossary("en")["Answers and writing"][3]
    ('greedy decoding', 'Writes the likeliest token at each step.')
    """
    words = Words(language)
    return {
        words(f"glossary.{topic}"): [(_name(words, term), words(f"gloss.{term}")) for term in terms]
        for topic, terms in TOPICS.items()
    }


def _name(words, term):
    """Return the name of a term; figures of merit have theirs from the pages."""
    return words(f"term.{term}" if words.has(f"term.{term}") else f"figure.{term}")
