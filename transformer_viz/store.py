"""Model folders: list, read and write them, so that none is half written or damaged without a word.

A folder holds `config.json`, `parameters.safetensors`, `tokenizer.json`, `card.json` and, written last,
`manifest.json` with the size and sha256 of each. Nothing in it is executed when it is read.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from transformer_viz.config import TransformerConfig

FORMAT_VERSION = 1
"""Version of `manifest.json`; a folder with a higher one was made by a newer program."""

MAX_PARAMETERS = 200_000_000
"""Trained numbers a model may have: 0.8 GB in memory."""

MAX_LAYERS = 256
"""Blocks a model may have; checked before the shapes of its parameters are listed."""

LARGEST = {
    "config.json": 2**20,
    "parameters.safetensors": 4 * MAX_PARAMETERS + 2**24,
    "tokenizer.json": 2**25,
    "card.json": 2**22,
    "manifest.json": 2**16,
}
"""Name -> most bytes of each file in a model folder."""

_PAYLOAD = LARGEST.keys() - {"manifest.json"}
_DESKTOP = {".DS_Store", "Thumbs.db", "desktop.ini"}  # left behind by file managers, never read
_RESERVED = r"(?:con|prn|aux|nul|com\d|lpt\d)"  # devices on Windows
_NAME = re.compile(rf"(?!{_RESERVED}$)[a-z0-9][a-z0-9_-]{{0,63}}")
_TEMPORARY = re.compile(rf"\.tmp-{_NAME.pattern}-(\d+)-[0-9a-f]{{16}}")
_READS = 20
_AGAIN = "Copy the folder again from where it came from, or train the model again."
_MATCH = "Both must come from the same model."
_ADVICE = {
    "read": "Check that you may read it.",
    "written": "Nothing was changed: check the space and your rights there, or choose another folder.",
}


class ModelError(ValueError):
    """A model folder cannot be listed, read or written; says where, what is wrong and the way out."""


@dataclass(frozen=True)
class ModelSummary:
    """One row in the list of models; `problem` says why a model cannot be used, or is None.

    A model with a problem has no `config` and an empty `card`; `size` is in bytes.
    """

    name: str
    config: TransformerConfig | None
    card: dict
    size: int
    problem: str | None


@dataclass(frozen=True)
class StoredModel:
    """All that a model folder holds; `parameters` maps names to finite float32 arrays."""

    name: str
    path: Path
    config: TransformerConfig
    tokenizer: str
    card: dict
    parameters: dict[str, np.ndarray]


def models_folder() -> Path:
    """Return TRANSFORMER_VIZ_MODELS, or `models/` beside the package."""
    return Path(os.environ.get("TRANSFORMER_VIZ_MODELS") or Path(__file__).parent.parent / "models")


def list_models(folder: Path | None = None) -> list[ModelSummary]:
    """Return what is in a folder of models, by name, without reading their parameters.

    Args:
        folder: Where to look; None: `models_folder()`. One that does not exist holds no models.

    Returns:
        A summary of each folder in it, also of a broken one; hidden folders and files are left out.

    Raises:
        ModelError: If `folder` itself cannot be listed.
    """
    folder = _place(folder)
    return [_summary(folder / name) for name in _names(folder)]


def read_model(name_or_path: str | Path, folder: Path | None = None) -> StoredModel:
    """Read a model and check everything in its folder.

    A folder that is being replaced meanwhile gives the old model or the new one, never a mixture.

    Args:
        name_or_path: A name in `folder`; or the path of a model folder: a `Path` to a folder there is, or a
            text with a separator in it or a dot in front.
        folder: Where names are looked up; None: `models_folder()`.

    Raises:
        ModelError: If there is no such model, or its folder is damaged, unfit or of a newer version.
    """
    path = _path(name_or_path, folder)
    return _settled(path, lambda found: _read(found, os.path.basename(os.path.abspath(path))))


def stamp(name_or_path: str | Path, folder: Path | None = None) -> str:
    """Return a text that changes whenever the model is written anew; arguments as in `read_model`.

    Raises:
        ModelError: If there is no such model.
    """
    return _settled(_path(name_or_path, folder), _identity)


def check_writable(name: str, *, folder: Path | None = None, overwrite: bool = False) -> None:
    """Find out before a long training whether `write_model` would be refused; arguments as there.

    Raises:
        ModelError: If the name is unfit or taken, or the folder cannot be written.
    """
    target = _place(folder) / _checked_name(name)
    old = _present(target)
    if os.path.islink(target) or (os.path.exists(target) and old != target):
        raise ModelError(f"{target} is a file or a link, not a folder. Remove it, or choose another name.")
    if old and not overwrite:
        raise ModelError(f"{target} exists already. Choose another name, or allow it to be overwritten.")
    with _errors_named(target, "written"):
        strange = set(os.listdir(old)) - LARGEST.keys() - _DESKTOP if old else ()
        if strange:
            raise ModelError(
                f"{target} holds more than a model and is not overwritten: {_listed(strange)}. "
                "Move that away, or choose another name."
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        probe = _temporary(target)
        probe.mkdir()
        probe.rmdir()


def write_model(
    name: str,
    *,
    config: TransformerConfig,
    tokenizer: str,
    card: dict,
    parameters: dict[str, np.ndarray],
    folder: Path | None = None,
    dtype: str = "float16",
    overwrite: bool = False,
) -> Path:
    """Write a model folder; whatever happens, its place holds the old model or the new one, whole.

    Args:
        name: Up to 64 of a-z, 0-9, "_" and "-".
        config: What the network is built from.
        tokenizer: Text of `tokenizer.json`.
        card: What the model is and where it came from; anything JSON can hold.
        parameters: Name -> array of floats, as in `config.parameter_shapes()`.
        folder: Where the model's folder goes; None: `models_folder()`. Created if need be.
        dtype: "float16" (half the size, about three digits) or "float32" (exact).
        overwrite: Replace a model of that name.

    Returns:
        The model's folder.

    Raises:
        ModelError: If the parts do not fit each other or the folder cannot be written.
    """
    check_writable(name, folder=folder, overwrite=overwrite)
    target = _place(folder) / name
    _check_config(target / "config.json", config)
    _check_vocabulary(target / "tokenizer.json", tokenizer, config)
    arrays = _cast(target / "parameters.safetensors", parameters, config, dtype)
    try:
        texts = {"config.json": config.to_json(), "tokenizer.json": tokenizer, "card.json": _dump(card)}
        files = {file: text.encode() for file, text in texts.items()}
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelError(f"{target} cannot be written as JSON: {_clean(error)}. Correct the card.") from None
    _json_object(target / "card.json", texts["card.json"])
    files["parameters.safetensors"] = save(arrays)
    entries = {
        file: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for file, data in files.items()
    }
    files["manifest.json"] = _dump({"format_version": FORMAT_VERSION, "files": entries}).encode()
    for file, data in files.items():
        _check_size(target / file, len(data))
    _sweep(target.parent)
    _replace(target, files)
    return target


def _place(folder):
    return models_folder() if folder is None else Path(folder)


def _path(name_or_path, folder):
    text = os.fspath(name_or_path)
    is_path = text.startswith(".") or set(text) & {"/", "\\"}
    if is_path or (isinstance(name_or_path, Path) and _present(name_or_path)):
        return Path(text)
    return _place(folder) / _checked_name(text)


def _checked_name(name):
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ModelError(
            "A model's name must be 1 to 64 of a-z, 0-9, '_' and '-', begin with a letter or digit, and be no"
            f" device name of Windows. Received: {_clean(repr(name))}. For a folder give a path: './name'."
        )
    return name


def _names(folder):
    try:
        found = [entry.name for entry in folder.iterdir() if os.path.isdir(entry)]
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise ModelError(f"{_clean(folder)} cannot be listed: {_reason(error)}. {_ADVICE['read']}") from None
    replaced = {name[5:] for name in found if name.startswith(".old-") and _NAME.fullmatch(name[5:])}
    return sorted(replaced.union(name for name in found if not name.startswith(".")))


def _old(path):
    return path.parent / f".old-{path.name}"


def _present(path):
    """Return where the model is: a writer killed between two renames leaves only the old folder."""
    return next((place for place in (path, _old(path), path) if os.path.isdir(place)), None)


def _identity(folder):
    try:
        found = os.stat(folder / "manifest.json")
    except OSError:
        return "none"
    return f"{found.st_ino}-{found.st_mtime_ns}"


def _settled(path, read):
    """Return `read(folder)` from a time in which nobody replaced the folder."""
    for _ in range(_READS):
        found = _present(path)
        if found is None:
            models = ", ".join(_names(path.parent)) or "none"
            raise ModelError(f"There is no model {_clean(path)}. Models in that place: {models}.")
        before = _identity(found)
        try:
            result, error = read(found), None
        except ModelError as caught:
            result, error = None, caught
        if (_present(path), _identity(found)) == (found, before):
            if error:
                raise error
            return result
    raise ModelError(f"{path} is being written over and over. Try again when that has ended.")


def _summary(path):
    try:
        _checked_name(path.name)
        config, card = _settled(path, _config_and_card)
        problem = None
    except ModelError as error:
        config, card, problem = None, {}, str(error)
    size = 0
    with contextlib.suppress(OSError):
        size = sum(file.lstat().st_size for file in (_present(path) or path).iterdir())
    return ModelSummary(path.name, config, card, size, problem)


def _config_and_card(folder):
    hashes = _checked_files(folder)
    config = _config(folder / "config.json", _text(folder / "config.json", hashes))
    return config, _json_object(folder / "card.json", _text(folder / "card.json", hashes))


def _read(folder, name):
    hashes = _checked_files(folder)
    file = folder / "parameters.safetensors"
    tokenizer = _text(folder / "tokenizer.json", hashes)
    with _errors_named(file, "read"), file.open("rb") as stream:
        _check_hash(file, hashlib.file_digest(stream, "sha256"), hashes)
    config, card = _config_and_card(folder)
    parameters = _parameters(file, config)
    _check_vocabulary(folder / "tokenizer.json", tokenizer, config)
    return StoredModel(name, folder, config, tokenizer, card, parameters)


def _checked_files(folder):
    """Return name -> sha256 of the files in the manifest, having checked everything but the hashes."""
    with _errors_named(folder, "read"):
        if folder.is_symlink():
            raise ModelError(f"{folder} is a link. Give the path of the folder itself.")
        sizes = {file.name: _size(file) for file in folder.iterdir() if file.name not in _DESKTOP}
    manifest = folder / "manifest.json"
    if manifest.name not in sizes:
        raise ModelError(f"{manifest} is missing: the folder is no model, or not a whole one. {_AGAIN}")
    files = _manifest_files(manifest)
    for place, names in ((manifest, files.keys()), (folder, sizes.keys() - {manifest.name})):
        if names != _PAYLOAD:
            raise ModelError(
                f"{place} must name exactly the files of a model. Missing: {_listed(_PAYLOAD - names)}; "
                f"unknown: {_listed(names - _PAYLOAD)}. Remove what is unknown. {_AGAIN}"
            )
    for name, entry in files.items():
        if entry["size"] != sizes[name]:
            raise ModelError(
                f"{folder / name} is cut off or changed: it has {sizes[name]} bytes; manifest.json says "
                f"{_clean(entry['size'])}. {_AGAIN}"
            )
    return {name: entry["sha256"] for name, entry in files.items()}


def _manifest_files(manifest):
    """Return what `manifest.json` says of each file; a byte changed in it, even a space, is an error."""
    with _errors_named(manifest, "read"):
        data = manifest.read_bytes()
    try:
        content = json.loads(data)
        version = content["format_version"]
        if type(version) is not int or version < 1 or _dump(content).encode() != data:
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ModelError(f"{manifest} is damaged: it is not as it was written. {_AGAIN}") from None
    if version > FORMAT_VERSION:
        raise ModelError(
            f"{manifest} has format version {_clean(version)}, made by a newer version of Transformer Viz; "
            f"this one reads up to {FORMAT_VERSION}. Update the program."
        )
    files = content.get("files")
    entries = files.values() if isinstance(files, dict) and len(content) == 2 else [None]
    if not all(isinstance(entry, dict) and entry.keys() == {"size", "sha256"} for entry in entries):
        raise ModelError(f"{manifest} must give the size and sha256 of each file, nothing else. {_AGAIN}")
    return files


def _size(file):
    found = file.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise ModelError(f"{_clean(file)} must be a plain file; a link or a folder is not read. {_AGAIN}")
    if file.name in LARGEST:
        _check_size(file, found.st_size)
    return found.st_size


def _check_size(file, size):
    if size > LARGEST[file.name]:
        raise ModelError(
            f"{file} has {size:,} bytes, more than the {LARGEST[file.name]:,} that are read. "
            "Choose a smaller model."
        )


def _check_hash(file, digest, hashes):
    if digest.hexdigest() != hashes[file.name]:
        raise ModelError(f"{file} is damaged: its sha256 is not the one in manifest.json. {_AGAIN}")


def _text(file, hashes):
    with _errors_named(file, "read"):
        data = file.read_bytes()
    _check_hash(file, hashlib.sha256(data), hashes)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ModelError(f"{file} is not UTF-8 text: {error}. {_AGAIN}") from None


def _json_object(file, text):
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise ModelError(f"{file} must hold one JSON object. {_AGAIN}")
    return content


def _config(file, text):
    try:
        config = TransformerConfig.from_json(text)
    except (ValueError, ArithmeticError) as error:
        raise ModelError(f"{file} cannot be used: {_clean(error)}") from None
    _check_config(file, config)
    return config


def _check_config(file, config):
    if config.num_layers > MAX_LAYERS or config.num_parameters > MAX_PARAMETERS:
        raise ModelError(
            f"{file} describes too large a model. Choose at most {MAX_LAYERS} layers and {MAX_PARAMETERS:,} "
            "parameters."
        )


def _parameters(file, config):
    try:
        with safe_open(file, framework="np") as tensors:
            declared = {name: tensors.get_slice(name) for name in tensors.keys()}  # noqa: SIM118  no mapping
            _check_shapes(file, {name: tuple(part.get_shape()) for name, part in declared.items()}, config)
            for name, part in declared.items():
                if part.get_dtype() not in ("F16", "F32"):
                    raise ModelError(f"{file}: `{name}` must be F16 or F32, not {part.get_dtype()}. {_AGAIN}")
            parameters = {name: tensors.get_tensor(name).astype(np.float32, copy=False) for name in declared}
    except ModelError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError, MemoryError) as error:
        raise ModelError(f"{file} cannot be read: {_reason(error)}. {_AGAIN}") from None
    _check_finite(file, parameters)
    return parameters


def _check_shapes(file, shapes, config):
    expected = config.parameter_shapes()
    wrong = sorted(name for name in expected | shapes if shapes.get(name) != expected.get(name))
    if wrong:
        raise ModelError(
            f"{file} does not fit its config: {_listed(wrong)}. Shape of the first: "
            f"{_clean(shapes.get(wrong[0], 'none'))}; expected: {expected.get(wrong[0], 'none')}. {_MATCH}"
        )


def _check_finite(file, arrays):
    for name, array in arrays.items():
        if array.dtype.kind != "f" or not np.isfinite(array).all():
            raise ModelError(
                f"{file}: `{name}` must hold finite floats. If its training diverged, train again with a "
                "lower learning rate."
            )


def _cast(file, parameters, config, dtype):
    if dtype not in ("float16", "float32"):
        raise ModelError(f"`dtype` must be 'float16' or 'float32'. Received: {dtype!r}.")
    arrays = {name: np.asarray(value) for name, value in parameters.items()}
    _check_shapes(file, {name: array.shape for name, array in arrays.items()}, config)
    _check_finite(file, arrays)
    with np.errstate(over="ignore"):
        cast = {name: np.array(array, dtype=dtype, order="C") for name, array in arrays.items()}
    for name, array in cast.items():
        if not np.isfinite(array).all():
            raise ModelError(
                f"{file}: `{name}` holds numbers beyond {np.finfo(dtype).max:g}, the largest {dtype}. "
                "Write it with `dtype` = 'float32', or train again with a lower learning rate."
            )
    return cast


def _check_vocabulary(file, text, config):
    """Check that token ids are the rows of the embedding, where the tokenizer lists them."""
    content = _json_object(file, text)
    model = content.get("model")
    if not isinstance(model, dict) or "vocab" not in model:
        return
    try:
        ids = range(len(model["vocab"])) if isinstance(model["vocab"], list) else model["vocab"].values()
        ids = [*ids, *(token["id"] for token in content.get("added_tokens") or ())]
    except (TypeError, AttributeError, KeyError):
        raise ModelError(f"{file} is not in the format of the `tokenizers` library. {_AGAIN}") from None
    rows = config.vocab_size
    if not all(type(row) is int and 0 <= row < rows for row in ids) or len(set(ids)) != rows:
        raise ModelError(
            f"{file} must number its tokens from 0 to {rows - 1}: its config has `vocab_size` = {rows}. "
            f"Received {len(ids)} numbers. {_MATCH}"
        )


def _replace(target, files):
    needed, temporary = 2 * sum(map(len, files.values())), _temporary(target)
    try:
        with _errors_named(target, "written"):
            free = shutil.disk_usage(target.parent).free
            if free < needed:
                raise ModelError(
                    f"{target} needs {needed / 1e6:.1f} MB while it is written, and {free / 1e6:.1f} MB are "
                    "free. Make space, or choose another folder."
                )
            temporary.mkdir()
            for name, data in files.items():
                with (temporary / name).open("xb") as stream:
                    stream.write(data)
                    stream.flush()
                    os.fsync(stream.fileno())
            _sync_folder(temporary)
            _swap(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _swap(temporary, target):
    """Put the new folder in the place of the old one; on any failure, put the old one back."""
    old = _old(target)
    if target.exists():
        if old.exists():
            _discard(old)
        os.rename(target, old)
    try:
        os.rename(temporary, target)
        _sync_folder(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            if target.exists():
                os.rename(target, temporary)
            if old.exists():
                os.rename(old, target)
        raise
    with contextlib.suppress(OSError):
        _discard(old)


def _discard(old):
    """Remove a folder in such a way that nobody ever finds half of it under its name."""
    trash = _temporary(old.parent / old.name.removeprefix(".old-"))
    os.rename(old, trash)
    shutil.rmtree(trash, ignore_errors=True)


def _temporary(target):
    return target.parent / f".tmp-{target.name}-{os.getpid()}-{secrets.token_hex(8)}"


def _sweep(folder):
    """Remove what killed writers left behind."""
    for place in folder.glob(".tmp-*"):
        match = _TEMPORARY.fullmatch(place.name)
        if match and not _is_alive(int(match[1]), place):
            shutil.rmtree(place, ignore_errors=True)


def _is_alive(pid, place):
    if os.name == "nt":  # os.kill would end the process there
        return time.time() - os.path.getmtime(place) < 24 * 60 * 60
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _sync_folder(folder):
    if os.name == "nt":  # a folder cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # what some network shares answer
            raise
    finally:
        os.close(handle)


@contextlib.contextmanager
def _errors_named(place, done):
    try:
        yield
    except OSError as error:
        raise ModelError(f"{place} cannot be {done}: {_reason(error)}. {_ADVICE[done]}") from None


def _reason(error):
    return _clean(getattr(error, "strerror", None) or str(error) or type(error).__name__)


def _dump(content):
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def _listed(names):
    first = ", ".join(_clean(repr(name)) for name in sorted(names)[:3])
    return (first + ", ..." if len(names) > 3 else first) or "none"


def _clean(text):
    """Return foreign text as one short line that any terminal and page can show."""
    line = "".join(letter if letter.isprintable() else " " for letter in str(text))
    return line if len(line) <= 300 else line[:300] + "..."
