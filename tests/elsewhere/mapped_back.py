"""A classifier fine-tuned from a folder of the hub, written as such a folder again."""

import json
import shutil

import numpy as np
from safetensors.numpy import load_file, save_file

from transformer_viz import store
from transformer_viz.store.hugging_face import read_contents


def write_back(child, template, folder):
    """Write a classifier into a copy of the folder of a classifier of its family; return the copy.

    Args:
        child: Folder of the fine-tuned model.
        template: Folder of the hub that has all tensors of such a classifier.
        folder: Where to write.
    """
    shutil.copytree(template, folder)
    found, trained = read_contents(template), store.read_model(child)
    tensors = load_file(template / "model.safetensors")
    parts = {}
    for name, source in found.sources.items():
        array = trained.parameters[name]
        if name.endswith("kernel") and (source.in_head or found.family.transposed):
            array = array.T
        if source.part is None:
            tensors[source.name] = array
        else:
            parts.setdefault((source.name, name.endswith("kernel")), {})[int(source.part[2])] = array
        if name == "position_embedding/embeddings":  # rows that no text of the child has keep their values
            first, rows = found.family.first_position, load_file(template / "model.safetensors")[source.name]
            tensors[source.name] = np.concatenate([rows[:first], array, rows[first + len(array) :]])
    for (stored, is_kernel), some in parts.items():
        axis = 0 if found.family.transposed or not is_kernel else 1
        tensors[stored] = np.concatenate([some[number] for number in sorted(some)], axis=axis)
    save_file(
        {name: np.ascontiguousarray(array) for name, array in tensors.items()}, folder / "model.safetensors"
    )
    config = json.loads((folder / "config.json").read_text())
    labels = trained.config.labels
    config |= {"id2label": dict(enumerate(labels)), "label2id": {name: i for i, name in enumerate(labels)}}
    (folder / "config.json").write_text(json.dumps(config))
    return folder
