"""What to do with models of others that cannot be read here: what a folder is, and lines that help."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer_viz.store.format import ModelError, disk_errors, printable
from transformer_viz.store.hugging_face.files import LARGEST_CONFIG, json_of

SHOWN = {
    f"hugging.{code}"
    for code in (
        "type",
        "setting",
        "quantised",
        "activation",
        "rope",
        "layer_types",
        "head",
        "unknown",
        "pair",
    )
}
"""Codes of refusals of models that `transformers` computes: their attention can be shown all the same."""

PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")

_CHECKPOINT = re.compile(r"checkpoint-(\d+)")


def with_way_out(error: ModelError, folder: Path, theirs: Mapping[str, Any]) -> ModelError:
    """Return a refusal together with the lines that show the attention of the model, if there are any.

    Args:
        error: The refusal.
        folder: Folder of the model.
        theirs: Content of its config.json.
    """
    if error.code not in SHOWN:
        return error
    return ModelError("hugging.shown_elsewhere", reason=error, lines=lines_to_show(folder, theirs))


def lines_to_show(folder: Path | str, theirs: Mapping[str, Any]) -> str:
    """Return lines of Python that show the attention of any model of `transformers`.

    Args:
        folder: Its folder, or its name on the hub.
        theirs: Content of its config.json.
    """
    encoder = ".get_encoder()" if theirs.get("is_encoder_decoder") is True else ""
    return "\n".join(
        (
            "import transformer_viz as tv",
            "from transformers import AutoModel, AutoTokenizer",
            "",
            f"name = {str(folder)!r}",
            "tokenizer = AutoTokenizer.from_pretrained(name)",
            f'model = AutoModel.from_pretrained(name, attn_implementation="eager"){encoder}.eval()',
            'inputs = tokenizer("The film was not good.", return_tensors="pt")',
            "output = model(**inputs, output_attentions=True)",
            "tv.show(output.attentions, tokenizer.convert_ids_to_tokens(inputs.input_ids[0]))",
        )
    )


def lines_to_convert(folder: Path | str, theirs: Mapping[str, Any]) -> str:
    """Return lines of Python that write a model whose weights are a pickle as a folder that can be read.

    Arguments as for `lines_to_show`.
    """
    named = theirs.get("architectures")
    kind = named[0] if isinstance(named, list) and named else ""
    kind = kind if isinstance(kind, str) and kind.isidentifier() else "AutoModel"
    new = re.split(r"[/\\]", str(folder))[-1] + "-safetensors"
    return "\n".join(
        (
            f"from transformers import AutoTokenizer, {kind}",
            f"{kind}.from_pretrained({str(folder)!r}).save_pretrained({new!r})",
            f"AutoTokenizer.from_pretrained({str(folder)!r}).save_pretrained({new!r})",
        )
    )


def refusal_of(folder: Path) -> ModelError | None:
    """Return what a folder without weights that can be read is instead; None if it is nothing known.

    An adapter, a GGUF, checkpoints of a training alone, or a model whose weights are a pickle.

    Raises:
        ModelError: If it cannot be listed.
    """
    with disk_errors(folder, "read"):
        names = sorted(file.name for file in folder.iterdir())
    if "adapter_config.json" in names:
        adapter = json_of(folder / "adapter_config.json", LARGEST_CONFIG)
        base = printable(adapter.get("base_model_name_or_path") or "?")
        return ModelError("hugging.adapter", place=folder, base=base)
    if files := [name for name in names if name.endswith(".gguf")]:
        return ModelError("hugging.gguf", place=folder, name=printable(files[0]))
    if pickles := [name for name in PICKLES if name in names]:
        config = folder / "config.json"
        theirs = json_of(config, LARGEST_CONFIG) if config.is_file() else {}
        lines = lines_to_convert(folder, theirs)
        return ModelError("hugging.pickle", place=folder, name=pickles[0], lines=lines)
    steps = {int(match[1]): name for name in names if (match := _CHECKPOINT.fullmatch(name))}
    if steps:
        return ModelError("hugging.checkpoints", place=folder, last=folder / steps[max(steps)])
    return None
