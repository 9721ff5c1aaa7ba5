"""What PyTorch's encoder and decoder layers answer, for the parameters and inputs given here.

`python tests/parity/torch_layers.py` writes `torch_layers.npz`, so that machines without PyTorch, whose Linux
package brings gigabytes of GPU libraries, hold the layers against its answers too.
"""

from pathlib import Path

import numpy as np

RECORDED = Path(__file__).with_suffix(".npz")
D_MODEL, NUM_HEADS, FFN_DIM = 21, 3, 17
MASK = np.tril(np.ones((5, 5), bool))
MASK[3, 1] = False
READABLE = np.array([[True] * 7, [True] * 4 + [False] * 3])


def inputs():
    """Return the target (batch, 5, d_model) and the memory (batch, 7, d_model)."""
    random = np.random.default_rng(5)
    return [random.normal(size=(2, length, D_MODEL)).astype("f4") for length in (5, 7)]


def parameters(shapes):
    """Return name -> array for the parameters of a block, as the package names them."""
    random = np.random.default_rng(6)
    return {name: random.normal(scale=0.4, size=shape).astype("f4") for name, shape in shapes.items()}


def answer(kind, norm, values):
    """Return what PyTorch's layer makes of the inputs: float32 (batch, 5, d_model)."""
    import torch

    layer_class = {"encoder": torch.nn.TransformerEncoderLayer, "decoder": torch.nn.TransformerDecoderLayer}
    layer = layer_class[kind](
        D_MODEL,
        NUM_HEADS,
        FFN_DIM,
        dropout=0.0,
        activation="relu" if norm == "post" else "gelu",
        layer_norm_eps=1e-6,
        batch_first=True,
        norm_first=norm == "pre",
    )
    layer.load_state_dict({name: torch.tensor(array) for name, array in renamed(kind, values).items()})
    target, memory = map(torch.tensor, inputs())
    with torch.no_grad():
        if kind == "encoder":
            result = layer(target, src_mask=torch.tensor(~MASK))
        else:
            readable = torch.tensor(~READABLE)
            result = layer(target, memory, tgt_mask=torch.tensor(~MASK), memory_key_padding_mask=readable)
    return result.numpy()


def renamed(kind, values):
    """Return the parameters under PyTorch's names and in its layout: outputs first, projections stacked."""
    ours = {"encoder": ["attention"], "decoder": ["self_attention", "cross_attention"]}[kind]
    theirs, names = {}, {"self_attn": ours[0]} | ({"multihead_attn": ours[1]} if len(ours) == 2 else {})
    for name, own in names.items():
        for part, suffix in (("kernel", "weight"), ("bias", "bias")):
            stacked = [values[f"{own}/{each}/{part}"].T for each in ("query", "key", "value")]
            theirs[f"{name}.in_proj_{suffix}"] = np.concatenate(stacked)
            theirs[f"{name}.out_proj.{suffix}"] = values[f"{own}/output/{part}"].T
    for number, own in ((1, "hidden"), (2, "output")):
        theirs[f"linear{number}.weight"] = values[f"ffn/{own}/kernel"].T
        theirs[f"linear{number}.bias"] = values[f"ffn/{own}/bias"]
    for number, own in enumerate((*ours, "ffn"), start=1):
        theirs[f"norm{number}.weight"] = values[f"{own}_norm/gamma"]
        theirs[f"norm{number}.bias"] = values[f"{own}_norm/beta"]
    return theirs


def block_shapes(kind, norm):
    """Return the config of a one-block model and the shapes of that block's parameters."""
    from transformer_viz.network.config import TransformerConfig

    config = TransformerConfig(
        architecture={"encoder": "encoder", "decoder": "encoder-decoder"}[kind],
        d_model=D_MODEL,
        num_heads=NUM_HEADS,
        ffn_dim=FFN_DIM,
        norm=norm,
        activation="relu" if norm == "post" else "gelu",
        positions="none",
        dropout=0.0,
    )
    prefix = f"{kind}_0/"
    shapes = config.parameter_shapes().items()
    return config, {name.removeprefix(prefix): shape for name, shape in shapes if name.startswith(prefix)}


if __name__ == "__main__":
    answers = {
        f"{kind}-{norm}": answer(kind, norm, parameters(block_shapes(kind, norm)[1]))
        for kind in ("encoder", "decoder")
        for norm in ("post", "pre")
    }
    np.savez_compressed(RECORDED, **answers)
