"""Model folders: list, read and write them, so that none is half written or damaged without a word.

A folder holds `config.json`, `parameters.safetensors`, `tokenizer.json`, `card.json`, for an encoder-decoder
`tokenizer_target.json`, and, written last, `manifest.json` with the size and sha256 of each. Nothing in it is
executed when it is read.
"""

from transformer_viz.store.format import ModelError, ModelSummary, StoredModel, models_folder
from transformer_viz.store.read import list_models, read_model, stamp
from transformer_viz.store.write import check_writable, write_model

__all__ = [
    "ModelError",
    "ModelSummary",
    "StoredModel",
    "check_writable",
    "list_models",
    "models_folder",
    "read_model",
    "stamp",
    "write_model",
]
