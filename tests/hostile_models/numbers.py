"""Cards of a thousand pages, and files of numbers that lie."""

import json
import struct

import numpy as np
from safetensors.numpy import load, save

from hostile_models.parts import DAMAGED, kind


@kind(DAMAGED)
def card_of_a_thousand_pages(parts, rng):
    many = rng.choice([1_001, 20_000])
    card = rng.choice(
        [
            {"test": {f"figure {i}": i / many for i in range(many)}},
            {"examples": ["example"] * many},
            {"history": [{"loss": 1.0}] * many},
            {"test": {"by_label": {str(i): {} for i in range(many)}}},
            {"source": "x" * 66 * many},
        ]
    )
    return parts.put("card.json", card).zip()


@kind(DAMAGED)
def card_within_cards(parts, rng):
    card = {}
    for _ in range(rng.choice((9, 500))):
        card = {"data": card}
    return parts.put("card.json", card).zip()


@kind(DAMAGED)
def card_nobody_can_write(parts, rng):
    odd = rng.choice(["\ud800", "\x00\x1b[2J", "\u202e\u2028", "<script>alert(1)</script>", "$x$ ![c](d)"])
    value = rng.choice([odd, [odd], {odd: odd}, 10**3000, 1e308, None, {"accuracy": 1e300, odd: 0.5}])
    names = ("task", "test", "validation", "history", "examples", "data", "command", "best_epoch", "versions")
    return parts.put("card.json", {rng.choice(names): value, odd: odd}).zip()


def header(parts):
    data = parts.files["parameters.safetensors"]
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def with_header(parts, content, data, size=None):
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    head = struct.pack("<Q", len(text) if size is None else size)
    return parts.put("parameters.safetensors", head + text + data).zip()


@kind()
def numbers_that_declare_more_than_they_hold(parts, rng):
    content, data = header(parts)
    name = rng.choice(sorted(content.keys() - {"__metadata__"}))
    content[name]["shape"] = rng.choice([[10**9, 10**9], [2**63, 2], [], [-1], [0]])
    return with_header(parts, content, data)


@kind()
def numbers_that_lie_elsewhere(parts, rng):
    content, data = header(parts)
    name = rng.choice(sorted(content.keys() - {"__metadata__"}))
    content[name]["data_offsets"] = rng.choice([[0, 10**12], [2**64, 2**65], [-4, 0], [8, 4]])
    return with_header(parts, content, data)


@kind()
def numbers_of_a_strange_type(parts, rng):
    content, data = header(parts)
    name = rng.choice(sorted(content.keys() - {"__metadata__"}))
    content[name]["dtype"] = rng.choice(["F64", "I32", "BOOL", "PICKLE", 5])
    return with_header(parts, content, data)


@kind()
def invalid_head(parts, rng):
    content, data = header(parts)
    text = rng.choice([b"{", b"[" * 10**5, b"\xff" * 50, b"", json.dumps(content).encode()[:-1]])
    return with_header(parts, text, data, size=rng.choice([None, 2**62, 0, 10**9]))


@kind()
def invalid_numbers(parts, rng):
    arrays = load(parts.files["parameters.safetensors"])
    name = rng.choice(sorted(arrays))
    arrays[name] = np.full_like(arrays[name], rng.choice([np.nan, np.inf, -np.inf]))
    return parts.put("parameters.safetensors", save(arrays)).zip()


@kind()
def eight_bits_that_do_not_fit(parts, rng):
    arrays = load(parts.files["parameters.safetensors"])
    name = rng.choice(sorted(name for name, array in arrays.items() if array.ndim == 2))
    bias = rng.choice(sorted(name for name, array in arrays.items() if array.ndim == 1))
    rows, steps = len(arrays[name]), f"{name}.scale"
    numbers = np.full(arrays[name].shape, rng.choice((-128, 0, 127)), np.int8)
    whole = {name: numbers, steps: np.ones(rows, np.float32)}
    changed = rng.choice(
        [
            {name: numbers},
            {steps: whole[steps]},
            {bias: np.zeros(arrays[bias].shape, np.int8)},
            whole | {f"{bias}.scale": np.ones(1, np.float32)},
            whole | {steps: np.ones((rows, 1), np.float32)},
            whole | {steps: np.ones(10**6, np.float32)},
            whole | {steps: np.ones(rows, np.float16)},
            whole | {steps: np.full(rows, rng.choice((np.nan, np.inf, -1)), np.float32)},
            whole | {name: np.full_like(numbers, 127), steps: np.full(rows, 3e38, np.float32)},
        ]
    )
    return parts.put("parameters.safetensors", save(arrays | changed)).zip()


@kind()
def numbers_of_another_model(parts, rng):
    arrays = load(parts.files["parameters.safetensors"])
    name = rng.choice(sorted(arrays))
    changed = rng.choice([{f"{name}/more": arrays[name]}, {name: np.zeros((2, 3, 5), np.float32)}, {}])
    if not changed:
        del arrays[name]
    return parts.put("parameters.safetensors", save(arrays | changed)).zip()


@kind()
def numbers_cut_off(parts, rng):
    data = parts.files["parameters.safetensors"]
    return parts.put("parameters.safetensors", data[: rng.randrange(len(data))]).zip()


@kind()
def file_changed_after_it_was_signed(parts, rng):
    parts.signed()
    file = rng.choice([file for file in parts.files if file != "manifest.json"])
    data = bytearray(parts.files[file])
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return parts.put(file, bytes(data)).zip(signed=False)


@kind()
def manifest_of_another_world(parts, rng):
    contents = [{}, [], {"format_version": 2}, {"format_version": 1, "files": {}}, {"format_version": 10**30}]
    return parts.signed().put("manifest.json", rng.choice(contents)).zip(signed=False)
