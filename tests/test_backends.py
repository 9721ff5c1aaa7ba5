"""The forward pass under every installed backend of Keras, each in a process of its own."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from running_app import ROOT

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.tensors import flatten

BACKENDS = [name for name in ("tensorflow", "jax", "torch") if importlib.util.find_spec(name)]

SIZES = {"vocab_size": 43, "max_len": 23, "d_model": 14, "num_layers": 2, "num_heads": 3, "head_dim": 5}
SIZES |= {"value_dim": 7, "ffn_dim": 11}
CONFIGS = {
    "encoder": TransformerConfig(**SIZES, pooling="attention", positions="sinusoidal-halves", window=2),
    "encoder-decoder": TransformerConfig(
        **SIZES, architecture="encoder-decoder", num_decoder_layers=3, tie_embeddings=True, activation="gelu"
    ),
    "decoder": TransformerConfig(
        **SIZES,
        architecture="decoder",
        norm="pre",
        final_norm=True,
        positions="learned",
        padding_position=True,
    ),
}

TOKEN_IDS, TARGET_IDS = np.array([[5, 17, 3, 41, 8, 0, 0]], np.int32), np.array([[2, 9, 30, 0]], np.int32)

SCRIPT = """
import sys
import keras, numpy as np
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.model import Transformer
from transformer_viz.network.tensors import flatten

folder, name = sys.argv[1:]
asked = dict(np.load(f"{folder}/{name}.npz"))
model = Transformer(TransformerConfig.from_json(open(f"{folder}/{name}.json").read()))
for path, variable in model.parameters().items():
    variable.assign(asked[path])
ids = [asked[side] for side in ("token_ids", "target_ids") if side in asked]
trace = {key: keras.ops.convert_to_numpy(value) for key, value in flatten(model.trace(*ids)).items()}
np.savez(f"{folder}/{name}-{keras.backend.backend()}.npz", **trace)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Configs, parameters and token ids, written down for other processes."""
    folder, random = tmp_path_factory.mktemp("backends"), np.random.default_rng(3)
    for name, config in CONFIGS.items():
        (folder / f"{name}.json").write_text(config.to_json())
        shapes = config.parameter_shapes().items()
        asked = {path: random.normal(scale=0.5, size=shape).astype("f4") for path, shape in shapes}
        sides = {"token_ids": TOKEN_IDS} | ({"target_ids": TARGET_IDS} if name == "encoder-decoder" else {})
        np.savez(folder / f"{name}.npz", **asked, **sides)
    return folder


@pytest.mark.quick("encoder-decoder-tensorflow", "encoder-decoder-jax", "decoder-jax")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CONFIGS)
def test_every_tensor_is_the_same_under_every_backend(folder, backend, name):
    from transformer_viz.network.model import Transformer

    environment = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", SCRIPT, str(folder), name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    asked = dict(np.load(folder / f"{name}.npz"))
    model = Transformer(CONFIGS[name])
    for path, variable in model.parameters().items():
        variable.assign(asked[path])
    ids = [asked[side] for side in ("token_ids", "target_ids") if side in asked]
    found, expected = np.load(folder / f"{name}-{backend}.npz"), flatten(model.trace(*ids))
    assert set(found.files) == expected.keys()
    for key, tensor in expected.items():
        assert_allclose(found[key], tensor, atol=2e-5, err_msg=key)


@pytest.mark.skipif("jax" not in BACKENDS, reason="JAX is not installed")
def test_tensorflow_starts_without_jax_which_can_be_imported_afterwards():
    code = (
        "import sys; from transformer_viz.network.startup import import_with_keras\n"
        "import_with_keras('explorer.explorer')\n"
        "print('tensorflow' in sys.modules, 'jax' in sys.modules)\n"
        "import jax; print(jax.numpy.ones(3).sum())"
    )
    environment = os.environ | {"KERAS_BACKEND": "tensorflow"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.splitlines() == ["True False", "3.0"]


OTHER_BACKEND = """
import os
import transformer_viz as tv
try:
    tv.load("imdb-sentiment")
except ValueError as error:
    print(error)
import app
print(os.environ["KERAS_BACKEND"])
os.environ["KERAS_BACKEND"] = "torch"
from transformer_viz.cli.main import main
raise SystemExit(main(["predict", "--model", "imdb-sentiment", "--text", "good"]))
"""


def test_under_another_backend_python_is_told_so_and_programs_work():
    shelf = str(ROOT / "models")
    environment = os.environ | {
        "KERAS_BACKEND": "torch",
        "PYTHONPATH": str(ROOT),
        "TRANSFORMER_VIZ_MODELS": shelf,
    }
    done = subprocess.run(
        [sys.executable, "-c", OTHER_BACKEND], check=False, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    told, of_the_app, *answer = done.stdout.splitlines()
    assert told == (
        "Models are computed with TensorFlow, but Keras computes with torch here: start Python again with "
        "KERAS_BACKEND=tensorflow. Only tv.attention_of, tv.AttentionHistory and tv.Transformer work under "
        "every backend."
    )
    assert of_the_app == "tensorflow"
    assert "positive" in "".join(answer)
