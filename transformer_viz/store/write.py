"""Write model folders atomically."""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from transformer_viz.language import Problem
from transformer_viz.network.config import TransformerConfig
from transformer_viz.questions.roles.result import HeadRoles
from transformer_viz.store.card import card_text
from transformer_viz.store.eight_bit import SCALE, quantise
from transformer_viz.store.folders import existing_folder, new_folder, sweep, temporary_in, write_flushed
from transformer_viz.store.format import (
    DESKTOP,
    HEAD_ROLES,
    LARGEST,
    TARGET,
    VERSIONS,
    ModelError,
    check_finite,
    check_shapes,
    check_size,
    check_tokenizers,
    checked_name,
    disk_errors,
    dump,
    hidden_model,
    name_list,
    printable,
)
from transformer_viz.store.limits import check_config
from transformer_viz.store.places import folder_of_models
from transformer_viz.store.quota import QuotaLike, check_quota, check_space


def check_writable(
    name: str, *, folder: Path | None = None, overwrite: bool = False, quota: QuotaLike = None
) -> None:
    """Check before a long training whether `write_model` would succeed; arguments as there.

    Missing folders are not created.

    Raises:
        ModelError: If the name is invalid or taken, or the folder is full or cannot be written.
    """
    target = _free_place(name, folder, overwrite)
    with disk_errors(target, "written"):
        there = next(filter(os.path.lexists, target.parents), target.parents[-1])
        probe = temporary_in(there)
        probe.mkdir()
        probe.rmdir()
    check_quota(target, 1, quota)


def check_target(name: str, *, folder: Path | None = None, overwrite: bool = False) -> Path:
    """Return the path for a model of that name, whatever the quota; its folder is created if necessary.

    Raises:
        ModelError: As `check_writable`.
    """
    target = _free_place(name, folder, overwrite)
    with disk_errors(target, "written"):
        target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _free_place(name, folder, overwrite):
    """Return the path of a model of that name, unless something else occupies it."""
    target = folder_of_models(folder) / checked_name(name)
    old = existing_folder(target)
    if os.path.islink(target) or (os.path.exists(target) and old != target):
        raise ModelError("store.no_folder", place=target)
    if (taken := target if old else hidden_model(target)) and not overwrite:
        raise ModelError("store.taken", place=taken)
    with disk_errors(target, "written"):
        strange = set(os.listdir(old)) - LARGEST.keys() - DESKTOP if old else ()
        if strange:
            raise ModelError("store.not_overwritten", place=target, names=name_list(strange))
    return target


def write_model(  # noqa: PLR0913  the files of a folder, by name
    name: str,
    *,
    config: TransformerConfig,
    tokenizer: str,
    card: dict,
    parameters: dict[str, np.ndarray],
    target_tokenizer: str | None = None,
    head_roles: HeadRoles | None = None,
    folder: Path | None = None,
    dtype: str = "float16",
    overwrite: bool = False,
    quota: QuotaLike = None,
) -> Path:
    """Write a model folder atomically.

    Args:
        name: Up to 64 of a-z, 0-9, "_" and "-".
        config: Config of the network.
        tokenizer: Text of `tokenizer.json`.
        card: Description and origin of the model, as JSON values. A card that is too large loses its largest
            parts, as `card.fitted` describes.
        parameters: Name -> array of floats, as in `config.parameter_shapes()`.
        target_tokenizer: For an encoder-decoder, the text of `tokenizer_target.json`.
        head_roles: What its heads usually do; None: unknown.
        folder: Folder of models; None: `models_folder()`. Created if necessary.
        dtype: "float16" (half the size, about three digits), "float32" (exact) or "int8" (a quarter of the
            size: matrices in eight bits, as in `eight_bit.quantise`, everything else in float16).
        overwrite: Replace a model of that name; a shipped one of an installed package is hidden by the new
            one.
        quota: Bytes for all models of the folder, or a `Quota`; None: for `models_folder()`
            TRANSFORMER_VIZ_MODELS_BYTES, or 4 GB; any other folder is unlimited.

    Returns:
        The model's folder.

    Raises:
        ModelError: If the parts do not fit each other or the folder cannot be written.
    """
    target = check_target(name, folder=folder, overwrite=overwrite)
    check_config(target / "config.json", config)
    tokenizers = {"tokenizer.json": tokenizer}
    if target_tokenizer is not None:
        tokenizers[TARGET] = target_tokenizer
    check_tokenizers(target, tokenizers, config)
    arrays = _cast(target / "parameters.safetensors", parameters, config, dtype)
    texts = {"config.json": config.to_json(), "card.json": card_text(target / "card.json", card)} | tokenizers
    if head_roles is not None:
        texts[HEAD_ROLES] = head_roles_text(target / HEAD_ROLES, head_roles, config)
    try:
        files = {file: text.encode() for file, text in texts.items()}
    except UnicodeEncodeError as error:
        raise ModelError("store.surrogates", place=target, reason=printable(error)) from None
    files["parameters.safetensors"] = save(arrays)
    for file, data in files.items():
        check_size(target / file, len(data))
    sweep(target.parent)
    write_files(target, with_manifest(files, VERSIONS[dtype]), quota)
    return target


def write_files(target: Path, files: dict[str, bytes], quota: QuotaLike = None) -> None:
    """Write the folder of a model of these files; arguments and errors as of `new_model`."""
    with new_model(target, sum(map(len, files.values())), quota) as temporary:
        for name, data in files.items():
            write_flushed(temporary / name, data)


@contextlib.contextmanager
def new_model(target: Path, size: int, quota: QuotaLike = None) -> Iterator[Path]:
    """Yield an empty hidden folder to fill, and rename it into place unless the block fails.

    Args:
        target: Final path; an existing folder is replaced.
        size: Bytes to be written; twice as many must be free.
        quota: As in `quota.quota_of`.

    Raises:
        ModelError: If the disk or the quota is full, or writing fails.
    """
    with disk_errors(target, "written"):
        check_quota(target, size, quota)
        check_space(target, 2 * size)
        with new_folder(target) as temporary:
            yield temporary


def head_roles_text(file: Path, head_roles: HeadRoles, config: TransformerConfig) -> str:
    """Return the text of `roles.json`.

    Raises:
        ModelError: If these are the roles of another model's heads.
    """
    try:
        head_roles.check(config)
    except Problem as error:
        raise ModelError("store.unusable", file=file, reason=error) from None
    return head_roles.to_json()


def with_manifest(files: dict[str, bytes], version: int) -> dict[str, bytes]:
    """Return the files of a model with their manifest of this version, which is to be written last."""
    entries = {
        file: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for file, data in files.items()
    }
    return files | {"manifest.json": dump({"format_version": version, "files": entries}).encode()}


def _cast(file, parameters, config, dtype):
    if dtype not in VERSIONS:
        raise ModelError("store.dtype_choice", dtypes=", ".join(VERSIONS), received=repr(dtype))
    arrays = {name: np.asarray(value) for name, value in parameters.items()}
    check_shapes(file, {name: array.shape for name, array in arrays.items()}, config.parameter_shapes())
    check_finite(file, arrays)
    cast = {}
    for name, array in arrays.items():
        if dtype == "int8" and array.ndim == 2:
            cast[name], cast[name + SCALE] = quantise(array)
            with np.errstate(over="ignore"):
                _check_range(file, name, 127 * cast[name + SCALE])
        else:
            with np.errstate(over="ignore"):
                cast[name] = np.array(array, dtype="float16" if dtype == "int8" else dtype, order="C")
            _check_range(file, name, cast[name])
    return cast


def _check_range(file, name, array):
    """Check that no number became infinite when it was cast."""
    if not np.isfinite(array).all():
        largest, dtype = float(np.finfo(array.dtype).max), str(array.dtype)
        raise ModelError("store.range", file=file, name=printable(name), largest=largest, dtype=dtype)
