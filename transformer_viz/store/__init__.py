"""Model folders: list, read, write and manage them, atomically and with checks of their integrity.

A folder holds `config.json`, `parameters.safetensors`, `tokenizer.json`, `card.json`, for an encoder-decoder
`tokenizer_target.json`, if they were measured `roles.json`, and, written last, `manifest.json` with the
size and SHA-256 of each. Reading it never executes code. Parameters are stored in float32 or float16,
matrices also in eight bits (`eight_bit`); the version of the manifest then makes older programs refuse them.
"""

from transformer_viz.store.folders import empty_trash
from transformer_viz.store.foreign import refused_files
from transformer_viz.store.format import ModelError, ModelSummary, StoredModel, is_path
from transformer_viz.store.limits import check_limits
from transformer_viz.store.listing import find_model, list_models
from transformer_viz.store.manage import (
    Deleted,
    delete_model,
    duplicate_model,
    rename_model,
    restore_model,
    write_head_roles,
    write_in_card,
)
from transformer_viz.store.pack import pack_model, unpack_model
from transformer_viz.store.places import models_folder, shelves
from transformer_viz.store.quota import Quota, QuotaError, Usage, check_quota, quota_of, usage
from transformer_viz.store.read import (
    files_to_copy,
    read_config,
    read_files,
    read_hash,
    read_head_roles,
    read_model,
    read_tokenizer,
    stamp,
)
from transformer_viz.store.write import check_writable, write_model

__all__ = [
    "Deleted",
    "ModelError",
    "ModelSummary",
    "Quota",
    "QuotaError",
    "StoredModel",
    "Usage",
    "check_limits",
    "check_quota",
    "check_writable",
    "delete_model",
    "duplicate_model",
    "empty_trash",
    "files_to_copy",
    "find_model",
    "is_path",
    "list_models",
    "models_folder",
    "pack_model",
    "quota_of",
    "read_config",
    "read_files",
    "read_hash",
    "read_head_roles",
    "read_model",
    "read_tokenizer",
    "refused_files",
    "rename_model",
    "restore_model",
    "shelves",
    "stamp",
    "unpack_model",
    "usage",
    "write_head_roles",
    "write_in_card",
    "write_model",
]
