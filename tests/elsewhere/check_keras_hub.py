"""Records the attention of KerasHub's backbones for texts, under three backends: `make check-keras-hub`.

By hand: KerasHub, with its 200 MB of TensorFlow Text, and torch are no dependencies. They are in an
environment of their own, beside what `tv.show` needs. The backbones are small and random, none is fetched.

    python3 -m venv ~/hub
    ~/hub/bin/pip install keras-hub tensorflow torch jax pandas plotly platformdirs psutil
    make check-keras-hub HUB=~/hub/bin/python

A row for each backbone and backend, and for the tutorials' layers of `attention_models.py`: how many layers
were recorded, their shapes, whether their rows sum to 1, and whether the model computes the same meanwhile
and afterwards. All rows are kept in `keras_hub.json`. The exit status is 1 if one of them is wrong.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("keras_hub.json")
BACKENDS = ("tensorflow", "jax", "torch")

TOLERANCE = 1e-3
"""Largest deviation of the sum of a row from 1; that of a row without keys is 0."""

BLOCKS = {"num_layers": 2, "hidden_dim": 16, "intermediate_dim": 24}
SIZES = {"vocabulary_size": 20} | BLOCKS
HEADS = SIZES | {"num_heads": 4}
GROUPED = SIZES | {"num_query_heads": 4, "num_key_value_heads": 2}
EXPERTS = GROUPED | {"num_experts": 3, "top_k": 2}
SMOLLM = {
    "max_position_embeddings": 32,
    "rope_theta": 10_000.0,
    "partial_rotary_factor": 1.0,
    "attention_bias": False,
    "mlp_bias": False,
    "attention_dropout": 0.0,
    "layer_norm_epsilon": 1e-6,
    "rope_layer_enabled_list": [True, False],
    "layer_types": ["full_attention", "full_attention"],
}

CONFIGS = {
    "AlbertBackbone": HEADS | {"embedding_dim": 8},
    "BartBackbone": HEADS,
    "BertBackbone": HEADS,
    "BloomBackbone": HEADS,
    "DebertaV3Backbone": HEADS | {"bucket_size": 4, "max_sequence_length": 8},
    "DistilBertBackbone": HEADS,
    "ElectraBackbone": {"vocab_size": 20, "embedding_dim": 8} | BLOCKS | {"num_heads": 4},
    "ESMBackbone": HEADS,
    "FalconBackbone": SIZES | {"num_attention_heads": 4},
    "GPT2Backbone": HEADS,
    "GPTNeoXBackbone": HEADS | {"rotary_percentage": 0.5},
    "GemmaBackbone": GROUPED | {"head_dim": 4},
    "Gemma3Backbone": GROUPED | {"head_dim": 4, "image_size": 16},
    "GptOssBackbone": EXPERTS | {"head_dim": 4},
    "Llama3Backbone": GROUPED,
    "LlamaBackbone": GROUPED,
    "MistralBackbone": GROUPED,
    "MixtralBackbone": EXPERTS,
    "OPTBackbone": HEADS,
    "Phi3Backbone": GROUPED,
    "Qwen3Backbone": GROUPED | {"head_dim": 4},
    "Qwen3MoeBackbone": EXPERTS | {"head_dim": 4, "moe_intermediate_dim": 8},
    "QwenBackbone": GROUPED,
    "QwenMoeBackbone": EXPERTS | {"moe_intermediate_dim": 8, "shared_expert_intermediate_dim": 8},
    "RobertaBackbone": HEADS,
    "RoformerV2Backbone": HEADS | {"head_size": 4},
    "SmolLM3Backbone": SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2} | SMOLLM,
    "T5Backbone": HEADS,
    "XLMRobertaBackbone": HEADS,
    "XLNetBackbone": HEADS,
}
"""Class in `keras_hub.models` -> the sizes of a small one."""

LAYERS = {"BartBackbone": 6, "T5Backbone": 6}
"""Attentions of two blocks; of the others, two."""


def main(arguments=None):
    """Print the table, and write the file; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="a Python with KerasHub and three backends")
    given, results = parser.parse_args(arguments), {}
    print(
        "{:22} {:11} {:>6}  {:34} {:5} {}".format("model", "backend", "layers", "shapes", "sums", "verdict")
    )
    for backend in BACKENDS:
        for name, row in recorded_by(given.python, backend).items():
            results.setdefault(name, {})[backend] = row
            shapes = " ".join(map(str, row.get("shapes", ())))
            print(
                f"{name:22} {backend:11} {row.get('layers', 0):6}  {shapes:34} "
                f"{'1' if row.get('sums') else '-':5} {row['verdict']}"
            )
    lines = (f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in sorted(results.items()))
    RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return int(any(row["verdict"] != "right" for rows in results.values() for row in rows.values()))


def recorded_by(python, backend):
    """Return name -> row, from a process of another Python."""
    environment = {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT, ROOT / "tests")))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.json")
        program = "import sys, check_keras_hub; check_keras_hub.write(sys.argv[1])"
        command = [python, "-c", program, file]
        environment["PYTHONPATH"] += os.pathsep + str(Path(__file__).parent)
        subprocess.run(command, env=os.environ | environment, check=True)
        return json.loads(file.read_text(encoding="utf-8"))


def write(file):
    """Write the rows of all models under this backend."""
    import attention_models
    import keras
    import keras_hub

    rows = {}
    for name, sizes in CONFIGS.items():
        keras.utils.set_random_seed(3)
        try:
            model = getattr(keras_hub.models, name)(**sizes)
            rows[name] = row(model, inputs_of(model), LAYERS.get(name, SIZES["num_layers"]))
        except Exception as error:
            rows[name] = {"verdict": f"{type(error).__name__}: {error}"[:300]}
    for name, make in attention_models.TUTORIALS.items():
        rows[name] = row(*make(), 1)
    Path(file).write_text(json.dumps(rows), encoding="utf-8")


def inputs_of(model):
    """Return token ids and masks, the last token of the second text being padding."""
    found = {}
    for name in model.input:
        length = 5 if name.startswith("decoder") else 6
        ids = np.arange(2 * length, dtype="int32").reshape(2, length) + 1
        mask = np.ones((2, length), "int32")
        mask[1, -1] = 0
        found[name] = (
            ids if name.endswith("token_ids") else mask if name.endswith("padding_mask") else 0 * ids
        )
    return found


def row(model, inputs, expected):
    """Return what `attention_of` records of a model, and whether it is right."""
    import attention_models

    import transformer_viz as tv

    meanwhile = []

    def watched(*args, training):
        meanwhile.append(model(*args, training=training))
        return meanwhile[0]

    before = attention_models.flat(model(inputs, training=False))
    found = tv.attention_of(watched, inputs)
    after = attention_models.flat(model(inputs, training=False))
    sums = np.concatenate([weights.sum(axis=-1).ravel() for weights in found.values()])
    wrong = {
        "number of layers": len(found) != expected,
        "sums": not ((abs(sums - 1) < TOLERANCE) | (sums == 0)).all(),
        "results": not np.array_equal(before, attention_models.flat(*meanwhile)),
        "results afterwards": not np.array_equal(before, after),
    }
    return {
        "layers": len(found),
        "shapes": sorted({weights.shape for weights in found.values()}),
        "sums": not wrong["sums"],
        "verdict": ", ".join(part for part, is_wrong in wrong.items() if is_wrong) or "right",
    }


if __name__ == "__main__":
    sys.exit(main())
