"""What the heads usually do, kept with a model: written, read, packed, and refused if it does not fit."""

import numpy as np
import pytest
from model_folders import CARD, FILES, PAYLOAD, refused, refused_with, write
from old_roles import first_version, second_version, third_version
from small_models import write as write_small
from zipping import signed

import transformer_viz as tv
from transformer_viz import store
from transformer_viz.questions.roles.result import HeadRoles, KindRoles
from transformer_viz.questions.roles.rules import measures_of
from transformer_viz.service import admission

WORDS = {"positive": ("lovely", "great")}
DAMAGED = (
    "The roles of heads are damaged, or were not written by this program. Copy them again from where they "
    "came from, or compute them again."
)


def some(heads=3, seed=7, words=WORDS):
    """Return roles of one layer with random numbers."""
    names, random = measures_of("encoder", words), np.random.default_rng(seed)
    ones = np.ones(len(names))
    ratios = 9 * random.random((2, 1, heads, len(words)))
    shares = random.random((4, 1, heads, len(names)))
    numbers = KindRoles(names, *shares, ones, 9 * ones.astype(int), *ratios)
    return HeadRoles(9, {"encoder": numbers}, words)


@pytest.fixture
def kept(model):
    store.write_head_roles("tiny", some(), model.parent)
    return model


def put_roles(model, text):
    """Write roles that the manifest knows, whatever they are."""
    files = {name: (model / name).read_bytes() for name in PAYLOAD} | {"roles.json": text.encode()}
    (model / "roles.json").write_text(text)
    (model / "manifest.json").write_bytes(signed(files))


def test_a_model_has_no_roles_until_they_are_written(model):
    assert store.read_head_roles(model) is None
    assert store.read_model(model).head_roles is None
    before = store.stamp(model)
    assert store.write_head_roles("tiny", some(), model.parent) == model / "roles.json"
    assert store.read_head_roles(model) == store.read_model(model).head_roles == some()
    assert store.stamp(model) != before
    assert sorted(file.name for file in model.iterdir()) == sorted([*FILES, "roles.json"])
    assert store.read_model(model).card == CARD


def test_roles_are_replaced_and_go_with_the_parameters_they_were_measured_of(kept):
    store.write_head_roles("tiny", some(seed=8), kept.parent)
    assert store.read_head_roles(kept) == some(seed=8) != some()
    write(kept.parent, overwrite=True)
    assert store.read_head_roles(kept) is None


def test_roles_are_written_with_a_new_model_if_they_are_of_its_heads(tmp_path):
    assert store.read_head_roles(write(tmp_path, head_roles=some())) == some()
    with refused_with("roles.json cannot be used", "encoder 1 x 2; in this model: encoder 1 x 3"):
        write(tmp_path, "other", head_roles=some(heads=2))
    assert [model.name for model in store.list_models(tmp_path)] == ["tiny"]


def test_roles_stay_with_a_model_that_is_copied_renamed_packed_and_described(kept):
    folder = kept.parent
    store.duplicate_model("tiny", "copy", folder)
    store.rename_model("copy", "other", folder)
    store.write_in_card("other", {"source": "x"}, folder)
    store.unpack_model(store.pack_model("other", folder), name="again", folder=folder)
    assert store.read_head_roles("again", folder) == some()
    assert [model.error for model in store.list_models(folder)] == [None] * 3
    store.restore_model(store.delete_model("again", folder))
    assert store.read_head_roles("again", folder) == some()


def test_roles_of_an_uploaded_model_are_admitted_and_loaded_with_it(explorer, reviews, tmp_path):
    write_small(explorer, tmp_path)
    measured = tv.head_roles(explorer, reviews)
    store.write_head_roles("small", measured, tmp_path)
    assert admission.admit_model(store.pack_model("small", tmp_path), folder=tmp_path / "admitted") == "small"
    assert tv.load(tmp_path / "admitted" / "small").head_roles == measured


def test_roles_of_other_heads_are_refused_before_anything_is_written(model):
    fit = "Layers x heads there: encoder 1 x 2; in this model: encoder 1 x 3. Compute them again."
    with refused_with(f"{model / 'roles.json'} cannot be used", fit):
        store.write_head_roles("tiny", some(heads=2), model.parent)
    assert store.read_head_roles(model) is None
    put_roles(model, some(heads=2).to_json())
    for read in (store.read_head_roles, store.read_model):
        with refused_with(f"{model / 'roles.json'} cannot be used", fit):
            read(model)


def test_words_of_other_labels_are_refused(model):
    other = some(words={"fair": ("film",)})
    with refused_with("words typical of the labels 'fair'; this model has 'negative', 'positive'"):
        store.write_head_roles("tiny", other, model.parent)
    put_roles(model, other.to_json())
    with refused_with("words typical of the labels 'fair'; this model has 'negative', 'positive'"):
        store.read_head_roles(model)


@pytest.mark.parametrize(
    ("written", "words"), [(first_version, {}), (second_version, WORDS), (third_version, WORDS)]
)
def test_roles_that_an_earlier_version_wrote_are_read_without_what_it_did_not_measure(model, written, words):
    put_roles(model, written(some(words=words)))
    found = store.read_head_roles(model)
    assert found is not None
    assert found.words == words
    after, before = found.kinds["encoder"], some(words=words).kinds["encoder"]
    for number, name in enumerate(after.names):
        kept = before.share[..., before.names.index(name)].round(3)
        unknown = name == "nearby" and written is not third_version
        np.testing.assert_array_equal(after.share[..., number], np.nan if unknown else kept)


@pytest.mark.parametrize("text", ["", "{}", "[" * 9999, '{"format_version": 1}'])
def test_damaged_roles_are_named(model, text):
    put_roles(model, text)
    for read in (store.read_head_roles, store.read_model):
        with refused(f"{model / 'roles.json'} cannot be used: {DAMAGED}"):
            read(model)


def test_a_changed_byte_is_noticed(kept):
    text = (kept / "roles.json").read_text()
    (kept / "roles.json").write_text(text.replace("9", "8", 1))
    with refused_with("roles.json"):
        store.read_head_roles(kept)


def test_roles_that_the_manifest_does_not_name_are_refused(model):
    (model / "roles.json").write_text(some().to_json())
    with refused_with("must name exactly the files of a model"):
        store.read_model(model)


def test_roles_that_are_too_large_are_not_read(model):
    put_roles(model, " " * (2**20 + 1))
    with refused_with("roles.json has 1,048,577 bytes, more than the 1,048,576 that are read."):
        store.read_head_roles(model)


def test_roles_of_a_model_that_is_not_there_are_an_error(tmp_path):
    with refused_with("There is no model"):
        store.read_head_roles("none", tmp_path)
    with refused_with("There is no model"):
        store.write_head_roles("none", some(), tmp_path)
