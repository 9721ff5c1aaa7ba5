"""Models whose matrices are stored in eight bits, and files that only seem to be such models."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from model_folders import (
    AGAIN,
    CARD,
    CONFIG,
    EMBEDDING,
    MATCH,
    NEWER,
    parameters,
    put,
    refused,
    refused_with,
    write,
)
from safetensors.numpy import load_file, save

from transformer_viz import store
from transformer_viz.network.presets import PRESETS
from transformer_viz.store import read_model
from transformer_viz.store.eight_bit import SCALE, quantise, restore

KERNEL, BIAS = "classifier/kernel", "classifier/bias"
FLOATS = st.floats(-(2.0**120), 2.0**120, width=32)
MATRICES = arrays_of.arrays(np.float32, arrays_of.array_shapes(min_dims=2, max_dims=2), elements=FLOATS)


@pytest.fixture
def model(tmp_path):
    return write(tmp_path / "models", dtype="int8")


def rewritten(model, folder):
    read = read_model(model)
    return write(folder, parameters=read.parameters, dtype="int8")


def in_eight_bits(row):
    """Return a row after being stored, number by number."""
    fraction, exponent = math.frexp(max(map(abs, row)) / 127)
    step = math.ldexp(math.ceil(fraction * 2**16), exponent - 16)
    assert all(abs(round(number / step)) <= 127 for number in row)
    return [round(number / step) * step for number in row]


def test_a_matrix_comes_back_within_half_a_step_of_its_row(model):
    read = read_model(model).parameters
    for name, array in parameters().items():
        assert read[name].dtype == np.float32
        if array.ndim == 2:
            assert read[name].tolist() == [in_eight_bits(row) for row in array.tolist()]
            largest = np.abs(array).max(axis=1, keepdims=True)
            assert (np.abs(read[name] - array) <= largest / 254 * (1 + 2**-14)).all()
            assert (np.abs(read[name]).max(axis=1) >= np.abs(array).max(axis=1) * (1 - 2**-14)).all()


def test_everything_else_is_stored_as_in_a_model_of_float16(model, tmp_path):
    half = read_model(write(tmp_path / "half", dtype="float16"))
    read = read_model(model)
    assert (read.config, read.tokenizer, read.card) == (half.config, half.tokenizer, half.card)
    for name, array in half.parameters.items():
        if array.ndim == 1:
            np.testing.assert_array_equal(read.parameters[name], array)


def test_what_was_read_is_written_byte_for_byte(model, tmp_path):
    again = rewritten(model, tmp_path / "again")
    for file in model.iterdir():
        assert (again / file.name).read_bytes() == file.read_bytes()


@given(MATRICES)
def test_any_matrix_is_within_half_a_step_and_quantised_to_the_same_again(matrix):
    numbers, scale = quantise(matrix)
    restored = restore(numbers, scale)
    exact = restored.astype(np.float64)
    assert (exact == numbers * scale[:, None].astype(np.float64)).all()
    assert (np.abs(exact - matrix) <= scale[:, None].astype(np.float64) / 2 * (1 + 2**-16)).all()
    again, same = quantise(restored)
    assert (again.tobytes(), same.tobytes()) == (numbers.tobytes(), scale.tobytes())


def test_rows_of_zeros_and_of_the_smallest_numbers_do_no_harm(tmp_path):
    matrix = parameters()[EMBEDDING]
    matrix[0], matrix[1], matrix[2] = 0, 1e-45, 1e-6
    read = read_model(write(tmp_path, parameters={**parameters(), EMBEDDING: matrix}, dtype="int8"))
    assert (read.parameters[EMBEDDING][:2] == 0).all()
    np.testing.assert_allclose(read.parameters[EMBEDDING][2], 1e-6, rtol=2**-14)


def test_memory_layout_and_precision_do_not_matter(model, tmp_path):
    strange = {name: np.asfortranarray(array.astype(np.float64)) for name, array in parameters().items()}
    path = write(tmp_path / "strange", parameters=strange, dtype="int8")
    file = "parameters.safetensors"
    assert (path / file).read_bytes() == (model / file).read_bytes()
    half = {name: array.astype(np.float16) for name, array in parameters().items()}
    single = {name: array.astype(np.float32) for name, array in half.items()}
    paths = [
        write(tmp_path, f"of{i}", parameters=each, dtype="int8") for i, each in enumerate((half, single))
    ]
    assert (paths[0] / file).read_bytes() == (paths[1] / file).read_bytes()


def test_a_file_holds_a_byte_for_each_number_of_a_matrix(model):
    found = load_file(model / "parameters.safetensors")
    shapes = CONFIG.parameter_shapes()
    matrices = {name for name, shape in shapes.items() if len(shape) == 2}
    assert found.keys() == shapes.keys() | {name + SCALE for name in matrices}
    for name, shape in shapes.items():
        size = math.prod(shape) + 4 * shape[0] if name in matrices else 2 * math.prod(shape)
        assert found[name].nbytes + (found[name + SCALE].nbytes if name in matrices else 0) == size


def test_a_model_of_a_usual_size_takes_little_more_than_half_of_float16(tmp_path):
    config = CONFIG.replace(d_model=96, ffn_dim=384)
    sizes = [
        (path / "parameters.safetensors").stat().st_size
        for dtype in ("float16", "int8")
        for path in [write(tmp_path, dtype, config=config, parameters=parameters(config=config), dtype=dtype)]
    ]
    assert sizes[1] < 0.56 * sizes[0]


def test_only_a_folder_in_eight_bits_has_a_version_that_older_programs_refuse(model, tmp_path, monkeypatch):
    def version(path):
        return json.loads((path / "manifest.json").read_text())["format_version"]

    assert version(model) == 2
    for dtype in ("float16", "float32"):
        assert version(write(tmp_path, dtype, dtype=dtype)) == 1
    store.write_in_card("tiny", {"source": "x"}, model.parent)
    assert version(model) == 2
    monkeypatch.setattr(store.manifest, "FORMAT_VERSION", 1)
    newer = NEWER.replace("up to 2", "up to 1")
    with refused(f"{model / 'manifest.json'} has format version 2, {newer}"):
        read_model(model)


def test_a_model_in_eight_bits_is_copied_packed_and_listed(model, tmp_path):
    store.duplicate_model("tiny", "copy", model.parent)
    (tmp_path / "other").mkdir()
    store.unpack_model(store.pack_model("tiny", model.parent), folder=tmp_path / "other")
    for path in (model.parent / "copy", tmp_path / "other" / "tiny"):
        assert (
            read_model(path).parameters[EMBEDDING].tobytes()
            == read_model(model).parameters[EMBEDDING].tobytes()
        )
    assert [summary.problem for summary in store.list_models(model.parent)] == [None, None]


def test_numbers_beyond_what_is_stored_are_refused(tmp_path):
    def changed(name, value):
        return {**parameters(), name: np.full(CONFIG.parameter_shapes()[name], value)}

    assert read_model(write(tmp_path, "large", parameters=changed(KERNEL, 7e4), dtype="int8")).card == CARD
    largest = np.finfo(np.float32).max
    for name, value, sentence in (
        (BIAS, 7e4, "`classifier/bias` holds numbers beyond 65504, the largest float16."),
        (KERNEL, 1e300, "`classifier/kernel` holds numbers beyond 3.40282e+38, the largest float32."),
        (KERNEL, largest, "`classifier/kernel` holds numbers beyond 3.40282e+38, the largest float32."),
    ):
        with refused_with(sentence):
            write(tmp_path, parameters=changed(name, value), dtype="int8")


def test_no_parameter_can_have_the_name_of_a_step():
    configs = [
        *PRESETS.values(),
        *(PRESETS["vaswani-tiny"].replace(tie_embeddings=tie) for tie in (True, False)),
    ]
    configs += [
        CONFIG.replace(positions="learned", pooling="attention", norm=norm) for norm in ("pre", "post")
    ]
    assert not [name for config in configs for name in config.parameter_shapes() if "." in name]


SHAPES = "does not fit its config: '{name}'. Shape of the first: {found}; expected: {expected}. " + MATCH
STEPS = "`classifier/kernel.scale` must hold finite floats, none of them negative. " + AGAIN
HOSTILE = {
    "no steps": (
        lambda good: good.pop(KERNEL + SCALE),
        SHAPES.format(name=KERNEL + SCALE, found="none", expected="(6,)"),
    ),
    "steps of nothing": (
        lambda good: good.update({BIAS + SCALE: np.ones(2, np.float32)}),
        SHAPES.format(name=BIAS + SCALE, found="(2,)", expected="none"),
    ),
    "steps of floats": (
        lambda good: good.update({KERNEL: np.zeros((6, 2), np.float32)}),
        SHAPES.format(name=KERNEL + SCALE, found="(6,)", expected="none"),
    ),
    "steps for columns": (
        lambda good: good.update({KERNEL + SCALE: np.ones(2, np.float32)}),
        SHAPES.format(name=KERNEL + SCALE, found="(2,)", expected="(6,)"),
    ),
    "a matrix of steps": (
        lambda good: good.update({KERNEL + SCALE: np.ones((6, 1), np.float32)}),
        SHAPES.format(name=KERNEL + SCALE, found="(6, 1)", expected="(6,)"),
    ),
    "another shape": (
        lambda good: good.update({KERNEL: np.ones((2, 6), np.int8)}),
        SHAPES.format(name=KERNEL, found="(2, 6)", expected="(6, 2)"),
    ),
    "steps in half precision": (
        lambda good: good.update({KERNEL + SCALE: np.ones(6, np.float16)}),
        f"`classifier/kernel.scale` has the type F16; here it can be F32. {AGAIN}",
    ),
    "steps in eight bits": (
        lambda good: good.update({KERNEL + SCALE: np.ones(6, np.int8)}),
        f"`classifier/kernel.scale` has the type I8; here it can be F32. {AGAIN}",
    ),
    "a bias in eight bits": (
        lambda good: good.update({BIAS: np.ones(2, np.int8)}),
        f"`classifier/bias` has the type I8; here it can be F16, F32. {AGAIN}",
    ),
    "unsigned": (
        lambda good: good.update({KERNEL: np.ones((6, 2), np.uint8)}) or good.pop(KERNEL + SCALE),
        f"`classifier/kernel` has the type U8; here it can be F16, F32, I8. {AGAIN}",
    ),
    "a negative step": (lambda good: good[KERNEL + SCALE].put(3, -1e-9), STEPS),
    "no number": (lambda good: good[KERNEL + SCALE].put(5, np.nan), STEPS),
    "an infinite step": (lambda good: good[KERNEL + SCALE].put(0, np.inf), STEPS),
    "an infinite product": (
        lambda good: good.update({KERNEL + SCALE: np.full(6, 3e38, np.float32)}),
        "`classifier/kernel` must hold finite floats. If its training diverged, train again with a lower "
        "learning rate.",
    ),
}


@pytest.mark.parametrize(("change", "sentence"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_file_that_breaks_the_format_is_refused(model, change, sentence):
    file = model / "parameters.safetensors"
    arrays = load_file(file)
    change(arrays)
    put(model, file.name, save(arrays))
    with refused_with(str(file), sentence):
        read_model(model)


def test_steps_of_zero_and_the_number_that_is_never_written_are_read(model):
    file = model / "parameters.safetensors"
    arrays = load_file(file)
    arrays[KERNEL][0], arrays[KERNEL + SCALE][:2] = -128, (0.5, 0)
    put(model, file.name, save(arrays))
    read = read_model(model).parameters[KERNEL]
    assert (read[0] == -64).all()
    assert (read[1] == 0).all()


def test_nothing_is_read_before_all_shapes_and_types_are_checked(model, monkeypatch):
    """A step too many must be found in the head of the file."""
    file = model / "parameters.safetensors"
    put(model, file.name, save(load_file(file) | {f"{KERNEL}.scale.scale": np.ones(1, np.float32)}))
    monkeypatch.setattr(store.read, "_parameter", lambda *arguments: pytest.fail("read"))
    with refused_with("'classifier/kernel.scale.scale'. Shape of the first: (1,); expected: none"):
        read_model(model)
