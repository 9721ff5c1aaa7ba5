"""BERT and the families that grew from it."""

from dataclasses import replace

from transformer_viz.store.hugging_face.families.family import SIZES, Family, Pieces, block
from transformer_viz.text.piece_files import albert_json, camembert_json, xlm_roberta_json

MASKED, CLASSES = "ForMaskedLM", "ForSequenceClassification"

ENCODER = {"architecture": "encoder", "positions": "learned", "norm": "post", "embedding_norm": True}
TRANSFORMED = {"output": "tokens", "output_transform": True, "vocabulary_bias": True}
POOLED = {"output": "softmax", "pooling": "first"}

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
        MASKED: {
            "transform": "cls.predictions.transform.dense",
            "transform_norm": "cls.predictions.transform.LayerNorm",
            "output": "cls.predictions",
        },
        CLASSES: {"pooled": "bert.pooler.dense", "classifier": "classifier"},
    },
    head_fields={MASKED: TRANSFORMED, CLASSES: POOLED | {"pooled_activation": "tanh"}},
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
        MASKED: {
            "transform": "generator_predictions.dense",
            "transform_norm": "generator_predictions.LayerNorm",
            "output": "generator_lm_head",
        },
        CLASSES: {"pooled": "classifier.dense", "classifier": "classifier.out_proj"},
    },
    head_fields={MASKED: TRANSFORMED, CLASSES: POOLED | {"pooled_activation": "gelu"}},
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
    defaults=BERT.defaults | {"hidden_act": "gelu_new", "embedding_size": 128},
    required={**BERT.required, "num_hidden_groups": 1, "inner_group_num": 1},
    heads={
        MASKED: {
            "transform": "predictions.dense",
            "transform_norm": "predictions.LayerNorm",
            "output": "predictions",
        },
        CLASSES: {"pooled": "albert.pooler", "classifier": "classifier"},
    },
    wordpiece=False,
    pieces=Pieces("spiece.model", albert_json),
)

ROBERTA = replace(
    BERT,
    prefixes=("roberta.", ""),
    defaults=BERT.defaults | {"layer_norm_eps": 1e-5, "type_vocab_size": 1},
    heads={
        MASKED: {"transform": "lm_head.dense", "transform_norm": "lm_head.layer_norm", "output": "lm_head"},
        CLASSES: {"pooled": "classifier.dense", "classifier": "classifier.out_proj"},
    },
    first_position=2,
    wordpiece=False,
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
        MASKED: {
            "transform": "vocab_transform",
            "transform_norm": "vocab_layer_norm",
            "output": "vocab_projector",
        },
        CLASSES: {"pooled": "pre_classifier", "classifier": "classifier"},
    },
    head_fields={MASKED: TRANSFORMED, CLASSES: POOLED | {"pooled_activation": "relu"}},
    wordpiece=True,
)
