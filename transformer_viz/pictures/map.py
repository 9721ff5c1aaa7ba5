"""The map of a model: its residual stream from step to step, with what the output layer reads there."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transformer_viz.language import Words
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.tensors import flatten
from transformer_viz.pictures import views
from transformer_viz.pictures.labels import axis_tokens, label_of
from transformer_viz.pictures.output import about_output, answers_of_classes, answers_of_tokens
from transformer_viz.questions.roles.text_patterns import is_punctuation
from transformer_viz.text.special import is_special
from transformer_viz.text.unicode import visible
from transformer_viz.trace.stream import Reading, StreamStep, settled_at, stream_steps
from transformer_viz.trace.trace import Trace

MAX_ROWS = 40
"""Maximum number of tokens shown: the last ones of a decoder, else the first."""

COLOURED = 0.99
"""Share of a tensor's numbers that are within its colour scale."""

OTHER, OWN, FINAL = 0, 1, 2
"""What is read at a place: another label, the token that stands there, or the model's final answer."""


def map_payload(
    trace: Trace,
    config: TransformerConfig,
    reading: Reading | None,
    words: Words,
    beside: Mapping[str, Any] | None = None,
) -> bytes:
    """Return the payload of `map.js`.

    Args:
        trace: A trace with all tensors.
        config: Config of its model.
        reading: What the output layer reads; None: there is none.
        words: Sentences of the visitor's language.
        beside: What else is said of the run; None: nothing.
    """
    arrays, tensors = views.Arrays(), flatten(trace.values)
    places: dict[str, list[StreamStep]] = {}
    for place in stream_steps(config):
        places.setdefault(place.stack, []).append(place)
    last = [*places][-1]
    stacks = []
    for stack, steps in places.items():
        tokens = trace.target_tokens if stack == "decoder" and trace.encoder else trace.tokens
        rows = slice(-MAX_ROWS, None) if stack == "decoder" else slice(MAX_ROWS)
        read = reading if stack == last else None
        shown = [_place(config, words, place, tensors, arrays, rows) for place in steps]
        lengths = [np.linalg.norm(tensors[steps[at].stream], axis=-1) for at in (0, -1)]
        changes = np.abs(lengths[1] - lengths[0])
        if read is not None:
            final = trace.probs.argmax(axis=-1)
            changes = changes_of(read, final)
            ids = trace.target_ids if trace.target_ids.size else trace.token_ids
            for place, (labels, probs) in zip(shown, zip(read.labels, read.probs, strict=True), strict=True):
                place["read"] = _cells(trace, labels, probs, final, ids)[rows]
            shown.append(_output(trace, config, words, arrays, rows))
        labels = [visible(label) for label in axis_tokens(trace, tokens)]
        numbers = range(len(labels))[rows]
        facts = {"stack": stack, "name": words(f"map.{stack}"), "tokens": labels[rows], "of": len(labels)}
        start = start_of(trace, tokens, changes, numbers)
        facts |= {"first": numbers[0], "start": start - numbers[0]}
        if len(labels) > MAX_ROWS:
            some = "map.last" if stack == "decoder" else "map.first"
            facts["some"] = words(some, count=MAX_ROWS, of=len(labels))
        stacks.append(facts | {"places": shown})
    header = {"model": trace.model, "language": words.language, "words": words.under("map"), "stacks": stacks}
    if reading is None:
        header["words"] |= {"hint": words("map.hint_vectors")}
    said = words("map.says.vectors") if reading is None else says(trace, config, words, places[last], reading)
    return views.packed(header | {"says": said, "said": beside}, arrays)


def start_of(trace: Trace, tokens: Sequence[str], changes: np.ndarray, numbers: Sequence[int]) -> int:
    """Return the position that is followed first.

    It is that of the first [MASK] of a masked language model, else of the word, neither special nor
    punctuation, that changes most from the first step to the last; without a word, the first position.

    Args:
        trace: The trace.
        tokens: The tokens of a stack.
        changes: float (position,): `changes_of` what is read, else of the length of each vector.
        numbers: Positions among which to choose, in ascending order.
    """
    if gaps := [number for number in trace.gaps.tolist() if number in numbers]:
        return gaps[0]
    words = [each for each in numbers if not is_special(tokens[each]) and not is_punctuation(tokens[each])]
    return max(words or numbers[:1], key=lambda number: changes[number])


def changes_of(reading: Reading, final: np.ndarray) -> np.ndarray:
    """Return how much nearer to the final answer each position comes: float (position,), from -2 to 2.

    The probability of what is read counts as negative before it is the final answer, which of a classifier is
    the same everywhere.
    """
    signed = np.where(reading.labels == final, reading.probs, -reading.probs)
    return signed[-1] - signed[0]


def says(
    trace: Trace, config: TransformerConfig, words: Words, places: list[StreamStep], reading: Reading
) -> str:
    """Return from which step on most positions have the model's answer, in this text."""
    final = np.broadcast_to(trace.probs.argmax(axis=-1), reading.labels.shape[1:])
    counted = trace.gaps if len(trace.gaps) else slice(None)  # the positions whose answer is asked for
    answers = np.vstack([reading.labels, final])[:, counted]
    settled = settled_at(answers)
    step = int(np.sort(settled)[len(settled) // 2])  # the first at which more than half have settled
    if step == len(places):
        return words("map.says.output", label=label_of(trace, int(final[0])))
    facts = {"step": _since(config, words, places[step])}
    facts |= {"have": int((settled <= step).sum()), "of": len(settled)}
    if not config.predicts_tokens:
        return words("map.says.class", label=label_of(trace, int(final[0])), **facts)
    if len(settled) == 1:
        return words("map.says.single", label=label_of(trace, int(answers[-1, 0])), **facts)
    return words("map.says.tokens", **facts)


def _since(config, words, place):
    """Return the name of the layer of a step, or of the step itself if it is in none or in the only one."""
    if place.layer is None or config.stacks[place.stack] == 1:
        return step_name(config, words, place)
    return words("map.says.layer", layer=place.layer + 1)


def step_name(config: TransformerConfig, words: Words, place: StreamStep) -> str:
    """Return the name of a step within a sentence, with its layer if there are several."""
    name = words(f"map.step.{place.part}")
    if place.layer is None or config.stacks[place.stack] == 1:
        return name
    return words("map.in_layer", step=name, layer=place.layer + 1)


def _place(config, words, place, tensors, arrays, rows) -> dict[str, Any]:
    """Return a place for `map.js`, with its tensors."""
    made = [(_tensor_name(config, words, what), tensors[name]) for what, name in place.made]
    stream, is_norm = tensors[place.stream], place.part.endswith("_norm")
    if not is_norm and place.part != "embedding":
        made.append((words("map.tensor.stream"), stream))
    masked = place.stack == "decoder" or config.causal
    title = "map.part.masked" if place.part == "self" and masked else f"map.part.{place.part}"
    if is_norm:  # the sum in front of it is drawn
        title = "map.part.embedding_norm"
    return {
        "part": place.part,
        "layer": place.layer,
        "title": words(title),
        "step": step_name(config, words, place),
        "about": _about(config, words, place),
        "how": "" if place.layer is None else _how(config, words, place),
        "skipped": config.residual and place.layer is not None and not is_norm,
        "normed": any(what == "normed" for what, _ in place.made),
        "renormed": any(what == "output" for what, _ in place.made),
        "kind": {"self": place.stack, "cross": "cross"}.get(place.part),
        "lengths": [float(length) for length in np.linalg.norm(stream[rows], axis=-1)],
        "stream": _tensor(arrays, "", stream, rows),
        "tensors": [_tensor(arrays, name, array, rows) for name, array in made],
    }


def _about(config, words, place):
    """Return what the step computes."""
    if place.part == "ffn":
        about = words("map.about.ffn_gated" if config.gated_ffn else "map.about.ffn")
        return words("map.about.ffn_parallel", about=about) if config.parallel else about
    return words(f"map.about.{_kind(config, place)}")


def _kind(config, place):
    """Return which of the sentences about steps is that of this one."""
    if place.part.endswith("_norm"):
        return "embedding_norm"
    if place.part == "positions" and config.projects_embeddings:
        return "positions_projected"
    if place.part == "positions" and config.embedding_norm:
        return "positions_normed"
    if place.part == "self" and config.has_relative_bias:
        return "self_relative"
    if place.part == "self" and config.positions == "rotary":
        return "self_rotary"
    return place.part


def _tensor_name(config, words, what):
    """Return what a tensor of a step is."""
    is_rms = what == "normed" and config.norm_kind == "rms"
    return words("map.tensor.normed_rms" if is_rms else f"map.tensor.{what}")


def _tensor(arrays, name, array, rows) -> dict[str, Any]:
    """Return a tensor for `map.js`; its colours end where few numbers are larger, as some are far larger."""
    shown = array[rows]
    return {
        "name": name,
        "shape": array.shape,
        "at": arrays.add(np.clip(shown, -views.LARGEST, views.LARGEST), np.float16),
        "zeros": float((shown == 0).mean()),
        "limits": [float(shown.min()), float(shown.max())],
        "end": float(np.quantile(np.abs(shown), COLOURED)),
    }


def _how(config, words, place):
    """Return what the step does to the stream, in a word: it adds, normalises or replaces."""
    if place.part.endswith("_norm"):
        return words("map.how.normed")
    return words("map.how.added" if config.residual else "map.how.replaced")


def _output(trace, config, words, arrays, rows) -> dict[str, Any]:
    """Return the output layer for `map.js`: the model's own answers, of a classifier a single one."""
    made = "normed" if config.final_norm else "input"
    tensors = [_tensor(arrays, _tensor_name(config, words, made), trace.values.final, rows)]
    if config.pooling == "attention" and trace.values.pooling_weights is not None:
        share = trace.values.pooling_weights[:, None]
        tensors.append(_tensor(arrays, words("map.tensor.shares"), share, rows))
    if trace.values.pooled is not None:
        pooled = _tensor(arrays, words("map.tensor.pooled"), trace.values.pooled[None], slice(None))
        tensors.append(pooled | {"rows": [words("map.pooled")]})
    place = {
        "part": "output",
        "layer": None,
        "title": words("map.part.output"),
        "step": words("map.step.output"),
        "about": about_output(trace, config, words),
        "how": "",
        "skipped": False,
        "normed": False,
        "renormed": False,
        "kind": None,
        "lengths": [],
        "stream": None,
        "tensors": tensors,
    }
    if trace.probs.ndim == 1:
        number = int(trace.probs.argmax())
        cells = [_cell(trace, number, trace.probs[number], FINAL)]
        return place | {"read": cells, "whole": True, "answers": answers_of_classes(trace, config, words)}
    final = zip(trace.probs.argmax(axis=-1), trace.probs.max(axis=-1), strict=True)
    cells = [_cell(trace, number, prob, FINAL) for number, prob in final]
    return place | {"read": cells[rows], "whole": False, "answers": answers_of_tokens(trace, words, rows)}


def _cells(trace, labels, probs, final, ids):
    """Return what is read at each position of one place."""
    is_own = (labels == ids) & (trace.probs.ndim == 2)
    kinds = np.where(labels == final, FINAL, np.where(is_own, OWN, OTHER))
    return [_cell(trace, *cell) for cell in zip(labels, probs, kinds, strict=True)]


def _cell(trace, label, prob, kind):
    return {"label": label_of(trace, int(label)), "prob": float(prob), "kind": int(kind)}
