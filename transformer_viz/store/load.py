"""Loading: a model by its name, from a folder, or from the hub, ready to be asked."""

from pathlib import Path

import tensorflow as tf

from transformer_viz import store
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.language import Problem
from transformer_viz.network.initial import parameters_to_be_read
from transformer_viz.network.model import Transformer
from transformer_viz.store.hugging_face import PREFIX, with_hub
from transformer_viz.text.tokenizer import tokenizer_of


def load(name_or_path: str | Path) -> Explorer:
    """Load a model by its name in `models/`, from the path of a folder, or from the Hugging Face hub.

    Args:
        name_or_path: A name or a path; or "hf:" and the name of a model of the hub, which is fetched into the
            hub's own cache unless it is there: "hf:google-bert/bert-base-uncased".

    Raises:
        ModelError: If there is no such model, or its folder is damaged.
    """
    called = None
    if isinstance(name_or_path, str) and name_or_path.startswith(PREFIX):
        from transformer_viz.store.hugging_face import hub  # noqa: PLC0415  loads what speaks to the network

        called, name_or_path = hub.name_of(name_or_path), hub.cached_folder(name_or_path)
    try:
        stored = store.read_model(name_or_path)
    except store.ModelError as error:
        raise with_hub(error, name_or_path) from None
    try:
        tokenizer, target = tokenizer_of(stored.config, stored.tokenizer), None
        if stored.target_tokenizer is not None:
            target = tokenizer_of(stored.config, stored.target_tokenizer, is_target=True)
    except ValueError as error:
        reason = error if isinstance(error, Problem) else str(error)
        raise store.ModelError("store.unusable", file=stored.path, reason=reason) from None
    with parameters_to_be_read():
        model = Transformer(stored.config, name="transformer")  # see `network.layers.Dropout`
    for name, variable in model.parameters().items():
        variable.assign(_tensor(stored.parameters[name]))
    kept = {"name": called or stored.name, "card": stored.card, "head_roles": stored.head_roles}
    return Explorer(model, tokenizer, target_tokenizer=target, **kept)


def _tensor(array):
    """Return an array for a variable; TensorFlow copies a transposed one several times faster than NumPy."""
    is_transposed = array.flags.f_contiguous and not array.flags.c_contiguous
    return tf.transpose(array.T) if is_transposed else array
