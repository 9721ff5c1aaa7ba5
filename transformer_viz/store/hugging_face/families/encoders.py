"""BERT and the families that grew from it."""

from dataclasses import replace

from transformer_viz.store.hugging_face.families.family import (
    CLASSES,
    FULL,
    SIZES,
    SLIDING,
    Family,
    Head,
    Pieces,
    block,
)
from transformer_viz.text.piece_files import albert_json, camembert_json, xlm_roberta_json

MASKED = "ForMaskedLM"

ENCODER = {"architecture": "encoder", "positions": "learned", "norm": "post", "embedding_norm": True}


def masked(transform: str, norm: str, output: str) -> Head:
    """Return the head that fills gaps, from the names of its layers."""
    fields = {"output": "tokens", "output_transform": True, "vocabulary_bias": True}
    return Head({"transform": transform, "transform_norm": norm, "output": output}, fields)


def classes(pooled: str, classifier: str, activation: str = "tanh") -> Head:
    """Return the head that classifies what a layer with an activation makes of the first token."""
    fields = {"output": "softmax", "pooling": "first", "pooled_activation": activation}
    return Head({"pooled": pooled, "classifier": classifier}, fields)


BERT = Family(
    layers={
        "token_embedding": "embeddings.word_embeddings",
        "position_embedding": "embeddings.position_embeddings",
        "segment_embedding": "embeddings.token_type_embeddings",
        "embedding_norm": "embeddings.LayerNorm",
        **block(
            "encoder",
            {
                "attention/query": "encoder.layer.{}.attention.self.query",
                "attention/key": "encoder.layer.{}.attention.self.key",
                "attention/value": "encoder.layer.{}.attention.self.value",
                "attention/output": "encoder.layer.{}.attention.output.dense",
                "attention_norm": "encoder.layer.{}.attention.output.LayerNorm",
                "ffn/hidden": "encoder.layer.{}.intermediate.dense",
                "ffn/output": "encoder.layer.{}.output.dense",
                "ffn_norm": "encoder.layer.{}.output.LayerNorm",
            },
        ),
    },
    prefixes=("bert.", ""),
    settings=SIZES
    | {"activation": "hidden_act", "norm_epsilon": "layer_norm_eps", "segments": "type_vocab_size"},
    fixed=ENCODER,
    defaults={"layer_norm_eps": 1e-12, "type_vocab_size": 2, "hidden_act": "gelu"},
    required={"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False},
    heads={
        MASKED: masked(
            "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions"
        ),
        CLASSES: classes("bert.pooler.dense", "classifier"),
    },
    wordpiece=True,
)

NARROW = {"embedding_dim": "embedding_size"}

ELECTRA = replace(
    BERT,
    layers=BERT.layers | {"embedding_projection": "embeddings_project"},
    prefixes=("electra.", ""),
    settings=BERT.settings | NARROW,
    defaults=BERT.defaults | {"embedding_size": 128},
    heads={
        MASKED: masked("generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head"),
        CLASSES: classes("classifier.dense", "classifier.out_proj", "gelu"),
    },
)

ALBERT = replace(
    BERT,
    layers=BERT.layers
    | {"embedding_projection": "encoder.embedding_hidden_mapping_in"}
    | block(
        "encoder",
        {
            name: f"encoder.albert_layer_groups.0.albert_layers.0.{theirs}"  # the same in all blocks
            for name, theirs in {
                "attention/query": "attention.query",
                "attention/key": "attention.key",
                "attention/value": "attention.value",
                "attention/output": "attention.dense",
                "attention_norm": "attention.LayerNorm",
                "ffn/hidden": "ffn",
                "ffn/output": "ffn_output",
                "ffn_norm": "full_layer_layer_norm",
            }.items()
        },
    ),
    prefixes=("albert.", ""),
    settings=BERT.settings | NARROW,
    fixed=BERT.fixed | {"embedding_projection": True},
    defaults=BERT.defaults | {"hidden_act": "gelu_new", "embedding_size": 128},
    required={**BERT.required, "num_hidden_groups": 1, "inner_group_num": 1},
    heads={
        MASKED: masked("predictions.dense", "predictions.LayerNorm", "predictions"),
        CLASSES: classes("albert.pooler", "classifier"),
    },
    wordpiece=False,
    pieces=Pieces("spiece.model", albert_json),
)

ROBERTA = replace(
    BERT,
    prefixes=("roberta.", ""),
    defaults=BERT.defaults | {"layer_norm_eps": 1e-5, "type_vocab_size": 1},
    heads={
        MASKED: masked("lm_head.dense", "lm_head.layer_norm", "lm_head"),
        CLASSES: classes("classifier.dense", "classifier.out_proj"),
    },
    first_position=2,
    wordpiece=False,
)

MPNET = replace(
    ROBERTA,
    layers={ours: theirs for ours, theirs in ROBERTA.layers.items() if ours != "segment_embedding"}
    | {"encoder_relative_bias": "encoder.relative_attention_bias"}
    | block(
        "encoder",
        {
            "attention/query": "encoder.layer.{}.attention.attn.q",
            "attention/key": "encoder.layer.{}.attention.attn.k",
            "attention/value": "encoder.layer.{}.attention.attn.v",
            "attention/output": "encoder.layer.{}.attention.attn.o",
            "attention_norm": "encoder.layer.{}.attention.LayerNorm",
        },
    ),
    prefixes=("mpnet.", ""),
    settings={ours: theirs for ours, theirs in ROBERTA.settings.items() if ours != "segments"},
    fixed=ROBERTA.fixed | {"relative_bias": True, "relative_buckets": 32, "relative_reach": 128},
    defaults={"layer_norm_eps": 1e-12, "hidden_act": "gelu"},
    required={"relative_attention_num_buckets": 32},
)

XLM_ROBERTA = replace(ROBERTA, pieces=Pieces("sentencepiece.bpe.model", xlm_roberta_json))

CAMEMBERT = replace(ROBERTA, pieces=Pieces("sentencepiece.bpe.model", camembert_json))

DATA2VEC = replace(
    ROBERTA,
    prefixes=("data2vec_text.", ""),
    defaults=ROBERTA.defaults | {"layer_norm_eps": 1e-12, "type_vocab_size": 2},
)

DISTILBERT = Family(
    layers={
        "token_embedding": "embeddings.word_embeddings",
        "position_embedding": "embeddings.position_embeddings",
        "embedding_norm": "embeddings.LayerNorm",
        **block(
            "encoder",
            {
                "attention/query": "transformer.layer.{}.attention.q_lin",
                "attention/key": "transformer.layer.{}.attention.k_lin",
                "attention/value": "transformer.layer.{}.attention.v_lin",
                "attention/output": "transformer.layer.{}.attention.out_lin",
                "attention_norm": "transformer.layer.{}.sa_layer_norm",
                "ffn/hidden": "transformer.layer.{}.ffn.lin1",
                "ffn/output": "transformer.layer.{}.ffn.lin2",
                "ffn_norm": "transformer.layer.{}.output_layer_norm",
            },
        ),
    },
    prefixes=("distilbert.", ""),
    settings={
        "vocab_size": "vocab_size",
        "max_len": "max_position_embeddings",
        "d_model": "dim",
        "num_layers": "n_layers",
        "num_heads": "n_heads",
        "ffn_dim": "hidden_dim",
        "activation": "activation",
    },
    fixed=ENCODER | {"norm_epsilon": 1e-12},
    defaults={"activation": "gelu"},
    heads={
        MASKED: masked("vocab_transform", "vocab_layer_norm", "vocab_projector"),
        CLASSES: classes("pre_classifier", "classifier", "relu"),
    },
    wordpiece=True,
)

MODERNBERT = Family(
    layers={
        "token_embedding": "embeddings.tok_embeddings",
        "embedding_norm": "embeddings.norm",
        "encoder_norm": "final_norm",
        **block(
            "encoder",
            {
                "attention/query": "layers.{}.attn.Wqkv[0/3]",
                "attention/key": "layers.{}.attn.Wqkv[1/3]",
                "attention/value": "layers.{}.attn.Wqkv[2/3]",
                "attention/output": "layers.{}.attn.Wo",
                "attention_norm": "layers.{}.attn_norm",
                "ffn/gate": "layers.{}.mlp.Wi[0/2]",
                "ffn/hidden": "layers.{}.mlp.Wi[1/2]",
                "ffn/output": "layers.{}.mlp.Wo",
                "ffn_norm": "layers.{}.mlp_norm",
            },
        ),
    },
    prefixes=("model.", ""),
    settings=SIZES
    | {
        "activation": "hidden_activation",
        "norm_epsilon": "norm_eps",
        "window": "local_attention",
        "attention_bias": "attention_bias",
        "ffn_bias": "mlp_bias",
    },
    fixed={
        "architecture": "encoder",
        "positions": "rotary",
        "norm": "pre",
        "first_norm": False,
        "final_norm": True,
        "embedding_norm": True,
        "gated_ffn": True,
    },
    defaults={
        "hidden_activation": "gelu",
        "norm_eps": 1e-5,
        "local_attention": 128,
        "attention_bias": False,
        "mlp_bias": False,
        "norm_bias": False,
        "classifier_bias": False,
        "decoder_bias": True,
    },
    required={"rope_scaling": None},
    equal={"classifier_activation": "hidden_activation"},
    heads={
        MASKED: masked("head.dense", "head.norm", "decoder"),
        CLASSES: Head(
            layers={"pooled": "head.dense", "pooled_norm": "head.norm", "classifier": "classifier"},
            fields={"output": "softmax", "pooled_activation": "gelu", "pooled_norm": True},
            required={"classifier_activation": "gelu"},
            pooling="classifier_pooling",
        ),
    },
    zeros={
        "/beta": "norm_bias",
        "transform/bias": "classifier_bias",
        "pooled/bias": "classifier_bias",
        "output/bias": "decoder_bias",
    },
    mixed=("global_attn_every_n_layers", 3, "first"),
    rotary_bases={
        "rotary_base": (FULL, "global_rope_theta", 160_000.0),
        "window_rotary_base": (SLIDING, "local_rope_theta", 10_000.0),
    },
)
