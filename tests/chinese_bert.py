"""A small BERT as the Chinese ones of the hub are: characters, and parts of words behind ## (vocab.txt)."""

import json

import numpy as np
from safetensors.numpy import save_file

SPECIAL = ["[PAD]", *(f"[unused{i}]" for i in range(1, 5)), "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CHARACTERS = "这家酒店的房间很干净不脏也吵好坏服务差早餐大小我们住了一晚下次还来，。！"
PARTS = ["wifi", "good", "##ly", "##s", "a", "b", "##b"]
WIDTH = 24


def write_chinese_bert(folder):
    """Write a BertForMaskedLM with random parameters, of two layers, and return its folder."""
    words = [*SPECIAL, *CHARACTERS, *PARTS]
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    config = {"model_type": "bert", "architectures": ["BertForMaskedLM"], "vocab_size": len(words)}
    config |= {
        "hidden_size": WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 40,
    }
    config |= {"max_position_embeddings": 64, "pad_token_id": 0, "type_vocab_size": 2}
    (folder / "config.json").write_text(json.dumps(config))
    random = np.random.default_rng(3)

    def normal(*shape):
        return random.normal(scale=0.1, size=shape).astype(np.float32)

    def dense(name, width, units):
        return {f"{name}.weight": normal(units, width), f"{name}.bias": normal(units)}

    def norm(name):
        return {f"{name}.weight": 1 + normal(WIDTH), f"{name}.bias": normal(WIDTH)}

    tensors = {
        "bert.embeddings.word_embeddings.weight": normal(len(words), WIDTH),
        "bert.embeddings.position_embeddings.weight": normal(64, WIDTH),
        "bert.embeddings.token_type_embeddings.weight": normal(2, WIDTH),
        **norm("bert.embeddings.LayerNorm"),
        "cls.predictions.bias": normal(len(words)),
        **dense("cls.predictions.transform.dense", WIDTH, WIDTH),
        **norm("cls.predictions.transform.LayerNorm"),
    }
    for layer in ("bert.encoder.layer.0", "bert.encoder.layer.1"):
        for part in ("query", "key", "value"):
            tensors |= dense(f"{layer}.attention.self.{part}", WIDTH, WIDTH)
        tensors |= dense(f"{layer}.attention.output.dense", WIDTH, WIDTH)
        tensors |= norm(f"{layer}.attention.output.LayerNorm")
        tensors |= dense(f"{layer}.intermediate.dense", WIDTH, 40) | dense(f"{layer}.output.dense", 40, WIDTH)
        tensors |= norm(f"{layer}.output.LayerNorm")
    save_file(tensors, folder / "model.safetensors")
    return folder
