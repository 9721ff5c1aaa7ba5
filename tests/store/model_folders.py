"""A small model folder to write, to damage and to read, for the tests of the store."""

import contextlib
import json

import numpy as np
import pytest
from zipping import signed

from transformer_viz.network.config import TransformerConfig
from transformer_viz.store import ModelError, list_models, write_model

CONFIG = TransformerConfig(vocab_size=11, d_model=6, num_heads=3, ffn_dim=5, max_len=7)
WORDS = {"[PAD]": 0, "[UNK]": 1, **{f"word{i}": i for i in range(2, 11)}}
TOKENIZER = json.dumps({"version": "1.0", "model": {"type": "WordLevel", "vocab": WORDS}})
CARD = {"task": "classification", "title": "影评", "test": {"accuracy": 0.75}}
FILES = ["card.json", "config.json", "manifest.json", "parameters.safetensors", "tokenizer.json"]
PAYLOAD = [name for name in FILES if name != "manifest.json"]
AGAIN = "Copy the folder again from where it came from, or train the model again."
MATCH = "Both must come from the same model."
UNCHANGED = "Nothing was changed: check the space and your rights there, or choose another folder."
NEWER = "made by a newer version of Transformer Viz; this one reads up to 2. Update the program."
NAME_RULE = (
    "A model's name has no spaces and no capitals: letters, digits, '_', '-', at most 64, the first a letter "
    "or digit; and it is no device name of Windows."
)
EMBEDDING = "token_embedding/embeddings"


def parameters(seed=7, config=CONFIG):
    normal = np.random.default_rng(seed).normal
    return {name: normal(size=shape).astype(np.float32) for name, shape in config.parameter_shapes().items()}


def write(folder, name="tiny", **changes):
    parts = {"config": CONFIG, "tokenizer": TOKENIZER, "card": CARD, "parameters": parameters()}
    return write_model(name, folder=folder, **{**parts, "dtype": "float32", **changes})


def write_version(folder, version, **changes):
    """Write a model whose every number and whose card say the same."""
    filled = {name: np.full_like(array, version) for name, array in parameters().items()}
    return write(folder, parameters=filled, card={"version": version}, **changes)


def version_of(model):
    """Return which version a model is, having checked that it is no mixture."""
    values = {float(value) for array in model.parameters.values() for value in array.flat}
    assert values == {model.card["version"]}
    return model.card["version"]


def sign(folder):
    """Make the manifest right again, so that what reads the files behind it is reached."""
    (folder / "manifest.json").write_bytes(signed({name: (folder / name).read_bytes() for name in PAYLOAD}))


def put(folder, name, data):
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    sign(folder)


def read_names(folder):
    return [model.name for model in list_models(folder)]


def leftovers(folder):
    return [entry.name for entry in folder.iterdir() if entry.name.startswith(".")]


@contextlib.contextmanager
def refused(sentence):
    with pytest.raises(ModelError) as error:
        yield
    assert str(error.value) == sentence


@contextlib.contextmanager
def refused_with(*parts):
    with pytest.raises(ModelError) as error:
        yield
    assert [part for part in parts if part not in str(error.value)] == [], str(error.value)


def config_text(**changes):
    return json.dumps({**json.loads(CONFIG.to_json()), **changes})
