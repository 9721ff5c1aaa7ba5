"""The recorded models of the hub (record.py), and the texts that they were asked about."""

import ast
import json
from pathlib import Path

import pytest

from transformer_viz import store

HERE = Path(__file__).parent
FOLDERS = sorted((HERE / "models").iterdir())
CONFIGS = {folder: store.read_config(folder) for folder in FOLDERS}


def texts():
    """Return the texts of record.py, which cannot be imported without torch."""
    tree = ast.parse((HERE / "record.py").read_text(encoding="utf-8"))
    [found] = [node for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "TEXTS"]
    return ast.literal_eval(found.value)


TEXTS = texts()


def on(folders):
    """Parametrize a test with `folder`."""
    return pytest.mark.parametrize("folder", folders, ids=lambda folder: folder.name)


def having(feature):
    """Parametrize a test with the folders whose config has a feature, a function of it."""
    return on([folder for folder, config in CONFIGS.items() if feature(config)])


def one_of_each(kind):
    """Parametrize a test with one folder of each kind, a function of a folder and its config."""
    return on(
        [*{kind(folder, config): folder for folder, config in reversed(CONFIGS.items())}.values()][::-1]
    )


def tokenizer_kind(folder, config):
    """Return how a folder's tokenizer splits texts and what stands around them: all but its vocabulary."""
    file = folder / "tokenizer.json"
    if not file.exists():
        return "Marian's own files"
    parts = json.loads(file.read_text(encoding="utf-8"))
    names = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
    steps = json.dumps([parts["model"]["type"], *map(parts.get, names)])
    return steps, config.reads_start, config.reads_end


def changed(folder, **values):
    """Change values of a folder's config.json, or leave out those that are ...; return the folder."""
    file = folder / "config.json"
    content = json.loads(file.read_text()) | values
    file.write_text(json.dumps({name: value for name, value in content.items() if value is not ...}))
    return folder
