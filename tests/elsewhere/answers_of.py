"""What `transformers` answers to a text, in a process without TensorFlow: the other half of check_hub.py."""

import sys

import numpy as np
import torch
import transformers


def main(folder, file, text, target):
    """Write ids, weights of all layers, and logits or vectors of a folder's model, without batch axis."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = getattr(transformers, config.architectures[0])
    model = kind.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    answers, asked = {"ids": tokenizer(text).input_ids}, {}
    if config.is_encoder_decoder:
        settings = model.generation_config
        start = [settings.decoder_start_token_id, settings.forced_bos_token_id]
        words = tokenizer(target, add_special_tokens=False).input_ids
        answers["target"] = [number for number in start if number is not None] + words
        asked = {"decoder_input_ids": torch.tensor([answers["target"]])}
    with torch.no_grad():
        ids = torch.tensor([answers["ids"]])
        found = model(ids, output_attentions=True, output_hidden_states=True, **asked)
    layers = {"attentions": "attentions"}
    if config.is_encoder_decoder:
        layers = {"attentions": "encoder_attentions", "decoder": "decoder_attentions"}
        layers["cross"] = "cross_attentions"
    answers |= {name: torch.cat(getattr(found, theirs)) for name, theirs in layers.items()}
    logits = getattr(found, "logits", None)
    answers |= {"hidden": found.last_hidden_state[0]} if logits is None else {"logits": logits[0]}
    np.savez(file, **{name: np.asarray(array) for name, array in answers.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
