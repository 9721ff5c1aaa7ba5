"""What `transformers` answers to a text, in a process without TensorFlow: the other half of check_hub.py."""

import inspect
import sys

import numpy as np
import torch
import transformers


def main(folder, file, text, target):
    """Write what a folder's model answers."""
    np.savez(file, **answers(folder, text, target))


def answers(folder, text, target, second=None):
    """Return ids, weights of all layers, vectors, and logits of a folder's model, without batch axis.

    Args:
        folder: The folder.
        text: A text.
        target: What stands behind the start of a target, for an encoder-decoder.
        second: Another text, read behind the first as a pair.
    """
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = getattr(transformers, config.architectures[0])
    model = kind.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    if kind.__name__.endswith("ForMultipleChoice"):  # whose texts have an axis more
        model = model.base_model
    asked = dict(tokenizer(text, second, return_tensors="pt"))
    found = {"ids": asked["input_ids"][0]}
    asked = {name: asked[name] for name in asked if name in inspect.signature(model.forward).parameters}
    layers = {"attentions": "attentions"}
    if config.is_encoder_decoder and not kind.__name__.endswith("EncoderModel"):
        settings = getattr(model, "generation_config", None) or config
        start = [settings.decoder_start_token_id, getattr(settings, "forced_bos_token_id", None)]
        words = tokenizer(target, add_special_tokens=False).input_ids
        found["target"] = [number for number in start if number is not None] + words
        asked["decoder_input_ids"] = torch.tensor([found["target"]])
        layers = {"attentions": "encoder_attentions", "decoder": "decoder_attentions"}
        layers["cross"] = "cross_attentions"
    with torch.no_grad():
        answer = model(**asked, output_attentions=True, output_hidden_states=True)
    found |= {name: torch.cat(getattr(answer, theirs)) for name, theirs in layers.items()}
    hidden = answer.decoder_hidden_states if "decoder" in layers else answer.hidden_states
    found["hidden"] = hidden[-1][0]
    if getattr(answer, "logits", None) is not None:
        found["logits"] = answer.logits[0]
    return {name: np.asarray(array) for name, array in found.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])
