"""The steps of a model in one line, as its config says: the pages show where in the model they are."""

from typing import Any

from transformer_viz.language import Words
from transformer_viz.network.config import TransformerConfig
from transformer_viz.trace.stream import StreamStep, stream_steps


def pipeline_of(config: TransformerConfig, words: Words) -> dict[str, Any]:
    """Return the steps of a model for `pipeline.js`.

    Args:
        config: Config of the model.
        words: Sentences of the visitor's language.

    Returns:
        label: what the line is. tokens: name of its beginning. stacks: of each, its name ("" if there is only
        one), its number of layers, the steps in front of its blocks and those of a block. output: the steps
        behind the last block.
    """
    places, stacks = stream_steps(config), []
    for stack, layers in config.stacks.items():
        own = [place for place in places if place.stack == stack]
        stacks.append(
            {
                "stack": stack,
                "name": words(f"map.{stack}") if len(config.stacks) > 1 else "",
                "layers": layers,
                "begin": [_step(place, config, words) for place in own if place.layer is None],
                "block": [
                    step for place in own if place.layer == 0 for step in _in_block(place, config, words)
                ],
            }
        )
    last = {"part": "output", "kind": None}
    norm = last | {"title": words("pipeline.norm"), "is_norm": True}
    output = [norm] if config.final_norm else []
    if config.num_outputs:
        output.append(last | {"title": words("map.part.output")})
    label, tokens = words("pipeline.label"), words("pipeline.tokens")
    return {"label": label, "tokens": tokens, "stacks": stacks, "output": output}


def _in_block(place: StreamStep, config: TransformerConfig, words: Words) -> list[dict[str, Any]]:
    """Return a step of a block, between the normalisations of its input and its output if it has them."""
    step = _step(place, config, words)
    norm = [step | {"title": words("pipeline.norm"), "kind": None, "is_norm": True}]
    return [*norm * config.normalises_inputs, step, *norm * (config.norm == "sandwich")]


def _step(place, config, words):
    masked = place.part == "self" and (place.stack == "decoder" or config.causal)
    return {
        "part": place.part,
        "title": words(f"map.part.{'masked' if masked else place.part}"),
        "kind": {"self": place.stack, "cross": "cross"}.get(place.part),
    }
