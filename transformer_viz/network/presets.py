"""Presets: configs of well-known teaching models and papers."""

from transformer_viz.network.config import TransformerConfig

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

_VASWANI = TransformerConfig(
    architecture="encoder-decoder",
    vocab_size=37_000,
    max_len=256,
    d_model=512,
    num_layers=6,
    num_heads=8,
    ffn_dim=2048,
    attention_bias=False,
    scale_embedding=True,
    tie_embeddings=True,
    dropout=0.1,
    embedding_dropout=0.1,
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
    "encoder-guide": TransformerConfig(
        vocab_size=20_000,
        max_len=256,
        d_model=128,
        num_layers=4,
        num_heads=8,
        ffn_dim=512,
        positions="sinusoidal-halves",
        scale_embedding=True,
        causal=True,
        embedding_dropout=0.1,
    ),
    "vaswani-base": _VASWANI,
    "vaswani-tiny": _VASWANI.replace(
        vocab_size=4_000, max_len=64, d_model=64, num_layers=2, num_heads=4, ffn_dim=256
    ),
    "gpt-mini": TransformerConfig(
        architecture="decoder",
        vocab_size=8_000,
        max_len=128,
        d_model=128,
        num_layers=4,
        num_heads=4,
        ffn_dim=512,
        activation="gelu",
        positions="learned",
        norm="pre",
        final_norm=True,
        tie_embeddings=True,
        embedding_dropout=0.1,
    ),
    "bert-mini": TransformerConfig(
        vocab_size=8_000,
        max_len=128,
        d_model=128,
        num_layers=4,
        num_heads=4,
        ffn_dim=512,
        activation="gelu",
        positions="learned",
        norm="pre",
        final_norm=True,
        output="tokens",
        tie_embeddings=True,
        embedding_dropout=0.1,
    ),
}
"""Name -> config.

attention-only
    Multi-head attention over word embeddings, mean pooling and one sigmoid: no positions, no mask, no
    normalisation. The first model of many IMDB tutorials. Observe how [PAD] absorbs attention in short
    reviews, and how little changes when words are swapped.

position-attention
    The same with positions (sinusoids in the layout of tensor2tensor) and a padding mask. Compare it with the
    first on the same review: what does the mask change, and which heads prefer neighbours?

single-block
    The same attention inside one post-norm Transformer block with a feed-forward layer: residual connections
    and layer normalisation (Vaswani et al., 2017, section 3.1). Observe how much attention adds to the
    residual stream.

six-layers-learned
    Six post-norm blocks with learned positions, each head as wide as the model; trained with warm-up and
    gradient clipping (global norm 1). Observe how heads differ between the first layers and the last, and
    what the position table has learned: neighbouring rows should be similar.

encoder-guide
    The encoder of the usual guides: embeddings scaled by the square root of d_model, sinusoids, padding and
    causal masks, and the paper's learning rate schedule (section 5.3). Observe the triangle of the causal
    mask, and remove the mask.

vaswani-base
    The encoder-decoder of the 2017 paper (Vaswani et al., table 3, "base"): 6 + 6 blocks, one table for both
    vocabularies and the output, label smoothing 0.1. Observe the cross-attention: to which source words does
    the decoder attend as it generates each word?

vaswani-tiny
    The same for a classroom: 2 + 2 blocks of width 64, which learn to reverse digits or to rewrite dates
    within minutes on a laptop. Observe how the diagonal in the cross-attention forms during training.

gpt-mini
    A decoder-only language model: pre-norm blocks, learned positions, gelu, one table for input and output
    (Radford et al., 2019). Look for previous-token heads and, on repeated text, for induction heads (Olsson
    et al., 2022).

bert-mini
    A masked language model: the same blocks without the causal mask (Devlin et al., 2019, who use post-norm).
    Observe how [MASK] attends to both sides.
"""
