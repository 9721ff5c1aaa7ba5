"""The systems people learn Transformers from, each as a config."""

from transformer_viz.config import TransformerConfig

_ATTENTION_ONLY = TransformerConfig(
    vocab_size=20_000,
    max_len=80,
    d_model=128,
    num_heads=8,
    ffn_dim=0,
    positions="none",
    norm="none",
    residual=False,
    attention_bias=False,
    output_projection=False,
    mask_padding=False,
    output="sigmoid",
    dropout=0.5,
)

PRESETS = {
    "attention-only": _ATTENTION_ONLY,
    "position-attention": _ATTENTION_ONLY.replace(positions="sinusoidal-halves", mask_padding=True),
    "single-block": _ATTENTION_ONLY.replace(norm="post", residual=True, ffn_dim=128, dropout=0.1),
    "six-layers-learned": TransformerConfig(
        vocab_size=50_000,
        max_len=256,
        d_model=128,
        num_layers=6,
        num_heads=8,
        head_dim=128,
        ffn_dim=256,
        positions="learned",
        attention_bias=False,
    ),
}
"""Name -> config of the systems people learn Transformers from.

- attention-only: bare multi-head attention over word embeddings, no positions, no mask: the smallest
  thing that attends. Look at how [PAD] soaks up attention.
- position-attention: the same, told where words stand and what is padding. Compare with the first.
- single-block: the same attention inside one post-norm Transformer block with a feed-forward layer.
- six-layers-learned: six blocks, heads as wide as the model, learned positions. Look at how heads
  differ between the layers.
"""
