"""Writes what `transformers` answers under masks, without heads, and to pairs, with `record.py`'s models.

    python tests/elsewhere/record_changes.py            all of them
    python tests/elsewhere/record_changes.py NAME...    those that are named

By hand, where torch and transformers are installed: it opens the folders beside it and adds changes.npz to
each, and pair.npz to some; nothing else in them is touched.
"""

import functools
import inspect
import re
import sys

import numpy as np
import tokenizers
import torch
import transformers
from record import HERE, MODELS

LENGTH = 11
"""Tokens of a text: more than a window holds, and few numbers to keep."""

ALLOWED = 0.5
"""Share of the edges that a mask allows, beside those of each token to itself."""

ABLATED = ((0, 1), (1, 2), (1, 3))
"""Layer and head that are left out; of an encoder-decoder in the encoder, decoder and cross-attention."""

PAIRS = ("bert-masked", "albert-classes", "roberta", "xlm-roberta", "distilbert", "modernbert-masked")
"""Models that are asked about a pair of texts, too: they differ in what stands between, and in segments."""

PAIR = ("The film", "It was good.")

WITHOUT = {
    "modernbert-mean": "pools by the mask, which must have two axes",
    "gpt-neo": "adds its windows to any mask",
}
"""Models of which no masks are recorded -> why."""

MARKS = {"mbart-25": 2}
"""Models whose texts end with more than one special token -> how many."""

OUTPUT = re.compile(
    r"\b(self_attn|attention|attn|SelfAttention|encoder_attn|EncDecAttention)"
    r"(\.output)?\.(dense|out_lin|out_proj|o_proj|c_proj|Wo|o)$"
)
"""Name of the layer that reads the contexts of all heads."""


def main(names):
    """Add a file to the folders of some models; of all if none is named."""
    for name in names or MODELS:
        kind, folder = MODELS[name][0], HERE / name
        model = getattr(transformers, kind).from_pretrained(folder, attn_implementation="eager").eval()
        if name in PAIRS:
            with torch.no_grad():
                np.savez_compressed(folder / "pair.npz", **pair(model, folder))
        if name in WITHOUT:
            continue
        with torch.no_grad():
            np.savez_compressed(folder / "changes.npz", **changes(model, np.load(folder / "answers.npz")))
        print(name)


def changes(model, answers):
    """Return what a model answers to its first text under random masks, and with some heads left out."""
    ids = answers["ids"][:1]
    ends = MARKS.get(model.config.name_or_path.rpartition("/")[2], 1)  # of others the last token may be one
    ids = np.hstack([ids[:, : LENGTH - ends], ids[:, -ends:]])
    sides = {"attention_mask": (ids, ids)}
    if "target" in answers:
        target = answers["target"][:1]
        sides |= {"target_attention_mask": (target, target), "cross_attention_mask": (target, ids)}
    random, heads = np.random.default_rng(int(answers["ids"].sum())), answers["attentions"].shape[2]
    masks = {}
    for name, (queries, keys) in sides.items():
        shape = (heads, queries.shape[1], keys.shape[1])
        masks[name] = (random.random(shape) < ALLOWED) | np.eye(*shape[1:], dtype=bool)
    texts = [torch.tensor(queries) for queries, keys in sides.values() if queries is keys]
    under_masks = answer(model, texts, [added(mask) for mask in masks.values()])
    handles = ablate(model, len(sides), heads)
    without_heads = answer(model, texts, [None] * len(sides))
    for handle in handles:
        handle.remove()
    return {
        "ids": ids,
        **({"target": target} if "target" in answers else {}),
        **masks,
        "ablated": np.array(ABLATED[: len(sides)]),
        **{f"masked_{name}": array for name, array in under_masks.items()},
        **{f"ablated_{name}": array for name, array in without_heads.items()},
    }


def pair(model, folder):
    """Return the ids of a pair of texts, by the tokenizer's own template, and what a model answers to it."""
    found = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).encode(*PAIR)
    asked = {"input_ids": torch.tensor([found.ids])}
    if "token_type_ids" in inspect.signature(model.forward).parameters:
        asked["token_type_ids"] = torch.tensor([found.type_ids])
    answer = model(**asked, output_attentions=True)
    weights, logits = torch.cat(answer.attentions).numpy(), answer.logits[0].numpy()
    return {"texts": PAIR, "ids": found.ids, "attentions": weights, "logits": logits}


def added(mask):
    """Return a mask as what is added to the scores, with a batch axis."""
    lowest = torch.finfo(torch.float32).min
    return torch.where(torch.tensor(mask), 0.0, lowest)[None]


def answer(model, texts, masks):
    """Return the weights of all layers, and logits or vectors, without batch axis."""
    asked = {"output_attentions": True, "output_hidden_states": True}
    if model.config.is_encoder_decoder:
        (ids, target), (mask, target_mask, cross_mask) = texts, masks
        memory = model.get_encoder()(ids, attention_mask=mask, output_attentions=True, return_dict=True)
        found = model(
            encoder_outputs=memory,
            attention_mask=cross_mask,
            decoder_input_ids=target,
            decoder_attention_mask=target_mask,
            use_cache=False,
            **asked,
        )
        kept = {"attentions": memory.attentions, "decoder": found.decoder_attentions}
        kept["cross"] = found.cross_attentions
        hidden = found.decoder_hidden_states[-1]
    else:
        if model.config.model_type == "opt":  # counts positions from a mask that is not this one
            asked["position_ids"] = torch.arange(texts[0].shape[1])[None]
        found = model(texts[0], attention_mask=masks[0], **asked)
        kept, hidden = {"attentions": found.attentions}, found.hidden_states[-1]
    arrays = {name: torch.cat(layers).numpy() for name, layers in kept.items()}
    logits = getattr(found, "logits", None)
    return arrays | ({"hidden": hidden[0].numpy()} if logits is None else {"logits": logits[0].numpy()})


def ablate(model, kinds, heads):
    """Leave heads out: their part of what the output layer reads becomes zero; return what undoes it."""
    found = {kind: [] for kind in ("encoder", "decoder", "cross")[:kinds]}
    for name, layer in model.named_modules():
        if attention := OUTPUT.search(name):
            is_cross = attention[1] in ("encoder_attn", "EncDecAttention")
            stack = "decoder" if kinds > 1 and re.search(r"\bdecoder\.", name) else "encoder"
            found["cross" if is_cross else stack].append(layer)
    handles = []
    for layers, (number, head) in zip(found.values(), ABLATED, strict=False):
        assert layers
        shared, calls = len(layers) == 1, []  # ALBERT's one layer is called for each block
        hook = functools.partial(_without, head=head, heads=heads, at=number if shared else 0, calls=calls)
        handles.append(layers[0 if shared else number].register_forward_pre_hook(hook))
    return handles


def _without(_, inputs, *, head, heads, at, calls):
    [contexts] = inputs
    calls.append(len(calls))
    if calls[-1] != at:
        return None
    parts = contexts.clone().unflatten(-1, (heads, -1))
    parts[..., head, :] = 0
    return (parts.flatten(-2),)


if __name__ == "__main__":
    main(sys.argv[1:])
