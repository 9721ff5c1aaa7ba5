"""Families of models in Hugging Face folders, as tables: what their tensors and settings are called.

A layer of ours -> the layer of theirs that holds its arrays; `{}` is the number of a block. Behind it may
stand which part of a fused array it is: `[0/3]` the first of three (queries, keys and values), `[0/2]` the
first half, `[0//3]` the first of three in each head. Of several names, the first that a file has holds.
"""

from transformer_viz.store.hugging_face.families.decoders import (
    GEMMA,
    GEMMA2,
    GEMMA3,
    GPT2,
    GPT_NEO,
    GPT_NEOX,
    LLAMA,
    MISTRAL,
    OPT,
    PHI,
    PHI3,
    QWEN2,
    QWEN3,
    STABLELM,
    STARCODER2,
)
from transformer_viz.store.hugging_face.families.encoder_decoders import BART, MARIAN, MBART, MT5, PEGASUS, T5
from transformer_viz.store.hugging_face.families.encoders import (
    ALBERT,
    BERT,
    CAMEMBERT,
    DATA2VEC,
    DISTILBERT,
    ELECTRA,
    MODERNBERT,
    MPNET,
    ROBERTA,
    XLM_ROBERTA,
)
from transformer_viz.store.hugging_face.families.family import (
    CLASSES,
    FULL,
    SLIDING,
    Family,
    Head,
    as_encoder,
    classes_of,
)

__all__ = [
    "ACTIVATIONS",
    "BUFFERS",
    "CLASSES",
    "FAMILIES",
    "FULL",
    "HEADS",
    "SLIDING",
    "Family",
    "Head",
    "as_encoder",
    "classes_of",
]

FAMILIES = {
    "bert": BERT,
    "albert": ALBERT,
    "distilbert": DISTILBERT,
    "electra": ELECTRA,
    "roberta": ROBERTA,
    "xlm-roberta": XLM_ROBERTA,
    "camembert": CAMEMBERT,
    "data2vec-text": DATA2VEC,
    "mpnet": MPNET,
    "modernbert": MODERNBERT,
    "gpt2": GPT2,
    "opt": OPT,
    "gpt_neo": GPT_NEO,
    "gpt_neox": GPT_NEOX,
    "llama": LLAMA,
    "mistral": MISTRAL,
    "qwen2": QWEN2,
    "qwen3": QWEN3,
    "gemma": GEMMA,
    "gemma2": GEMMA2,
    "gemma3_text": GEMMA3,
    "starcoder2": STARCODER2,
    "stablelm": STABLELM,
    "phi": PHI,
    "phi3": PHI3,
    "bart": BART,
    "mbart": MBART,
    "pegasus": PEGASUS,
    "marian": MARIAN,
    "t5": T5,
    "mt5": MT5,
}
"""`model_type` in a config.json -> its family."""

ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "gelu_fast": "gelu-tanh",
    "silu": "silu",
    "swish": "silu",
}
"""Their name of an activation -> ours."""

HEADS = (
    *("cls", "pooler", "classifier", "qa_outputs", "lm_head", "score", "embed_out", "final_logits_bias"),
    *("predictions", "sop_classifier", "generator_predictions", "generator_lm_head"),
    *("discriminator_predictions", "sequence_summary", "classification_head", "multiple_choice_head"),
    *("vocab_transform", "vocab_layer_norm", "vocab_projector", "pre_classifier"),
)
"""Names of layers behind the last block of any family: without them, attention and vectors are the same."""

BUFFERS = ("position_ids", "rotary_emb.inv_freq", "attn.bias", "attn.masked_bias", "attention.bias")
BUFFERS += ("attention.masked_bias", "EncDecAttention.relative_attention_bias.weight")
"""Endings of names of tensors that are not used: no parameters, or, of T5's cross-attention, never read."""
