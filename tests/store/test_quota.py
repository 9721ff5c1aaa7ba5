"""All models of a folder together take no more than they may."""

import time

import pytest
from model_folders import CARD, leftovers, parameters, read_names, refused, refused_with, write

from transformer_viz import store
from transformer_viz.store import Quota, QuotaError, quota, read_model
from transformer_viz.store.folders import DAY


def size_of(folder):
    return sum(file.stat().st_size for file in folder.iterdir())


@pytest.fixture
def full(model, monkeypatch):
    """A folder of models that has room for one model and a half."""
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(model.parent))
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS_BYTES", str(size_of(model) * 3 // 2))
    return model


def grow(folder):
    """Write, duplicate and unpack one model more."""
    yield lambda: write(folder, "more")
    yield lambda: store.duplicate_model("tiny", "more", folder)
    yield lambda: store.unpack_model(store.pack_model("tiny", folder), name="more", folder=folder)


@pytest.mark.parametrize("way", range(3))
def test_a_model_too_much_is_refused_whichever_way_it_comes(full, way):
    size = f"{size_of(full) / 1e6:.1f} MB"
    with refused(
        f"The model needs {size}, and those in {full.parent} take {size} of "
        f"{size_of(full) * 3 // 2 / 1e6:.1f} MB. Delete some first; the largest: 'tiny' ({size})."
    ):
        [*grow(full.parent)][way]()
    assert (read_names(full.parent), leftovers(full.parent)) == (["tiny"], [])


def test_a_model_may_replace_itself(full):
    write(full.parent, overwrite=True)
    assert read_model(full).card == CARD


def test_what_was_deleted_counts_until_the_trash_is_emptied(full):
    store.delete_model("tiny", full.parent)
    with pytest.raises(QuotaError, match=r"Deleted ones take 0\.0 MB until they are removed") as error:
        write(full.parent, "more")
    assert error.value.trash > 0
    store.empty_trash(full.parent, older_than=0)
    write(full.parent, "more")
    assert read_names(full.parent) == ["more"]


def test_what_was_deleted_more_than_a_day_ago_is_in_nobodys_way(full):
    deleted = store.delete_model("tiny", full.parent).path
    old = deleted.with_name(f".trash-tiny-{int(time.time()) - DAY}-{'0' * 16}")
    deleted.rename(old)
    write(full.parent, "more")
    assert (read_names(full.parent), leftovers(full.parent)) == (["more"], [])


def test_what_to_do_is_said_where_nothing_is_left_to_delete(full, monkeypatch):
    size = f"{size_of(full) / 1e6:.1f} MB"
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS_BYTES", "1")
    store.delete_model("tiny", full.parent)
    begin = f"The model needs {size}, and those in {full.parent} take"
    with refused(
        f"{begin} {size} of 0.0 MB. Deleted ones take {size} until they are removed after a day. "
        "Empty the trash to make room now."
    ):
        write(full.parent, "more")
    store.empty_trash(full.parent, older_than=0)
    with refused(f"{begin} 0.0 MB of 0.0 MB. Choose a smaller one."):
        write(full.parent, "more")


def test_a_full_folder_is_known_before_a_long_training(full, monkeypatch):
    store.check_writable("more", folder=full.parent)
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS_BYTES", str(size_of(full)))
    with refused_with("The model needs 0.0 MB, and those in"):
        store.check_writable("more", folder=full.parent)


def test_a_full_folder_can_be_tidied_up(full, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS_BYTES", "1")
    store.rename_model("tiny", "small", full.parent)
    store.restore_model(store.delete_model("small", full.parent))
    store.delete_model("small", full.parent)
    assert read_names(full.parent) == []


def test_a_folder_may_have_a_quota_of_its_own_and_others_have_none(model, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(model.parent / "elsewhere"))
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS_BYTES", "1")
    write(model.parent, "second")
    for refuse in (
        lambda: write(model.parent, "third", quota=2 * size_of(model)),
        lambda: store.duplicate_model("tiny", "third", model.parent, quota=2 * size_of(model)),
        lambda: store.unpack_model(
            store.pack_model("tiny", model.parent), name="third", folder=model.parent, quota=9
        ),
    ):
        with refused_with("The model needs"):
            refuse()
    assert read_names(model.parent) == ["second", "tiny"]


def test_only_what_belongs_to_models_counts(full):
    (full.parent / "train.sh").write_text("#" * 10**6)
    (full.parent / ".git").mkdir()
    (full.parent / ".git" / "objects").write_text("#" * 10**6)
    assert quota.sizes(full.parent) == {"tiny": size_of(full)}
    assert quota.sizes(full.parent / "none") == {}


@pytest.mark.parametrize("text", ["-1", "4 GB", "1e9", "x"])
def test_a_quota_that_is_no_number_is_said(full, monkeypatch, text):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS_BYTES", text)
    with refused(
        "TRANSFORMER_VIZ_MODELS_BYTES must be a whole number of bytes, such as 4000000000. "
        f"Received: {text!r}."
    ):
        write(full.parent, "more")


def test_without_a_word_four_gigabytes_are_allowed(full, monkeypatch):
    monkeypatch.delenv("TRANSFORMER_VIZ_MODELS_BYTES")
    assert store.quota_of(full.parent) == 4_000_000_000
    write(full.parent, "more", parameters=parameters(1))


def test_what_is_used_is_known(full):
    assert store.usage() == (size_of(full), 0, size_of(full) * 3 // 2)
    size = size_of(full)
    store.delete_model("tiny")
    assert store.usage() == (size, size, size * 3 // 2)
    assert store.usage(full.parent / "elsewhere") == (0, 0, None)


@pytest.fixture
def visitors(model, tmp_path):
    """The folders of models of two owners, who together have room for three models and a half."""
    folders = [tmp_path / "visitors" / owner / "models" for owner in ("ann", "bob")]
    for folder in folders:
        write(folder, "first")
    return folders


def shared(folder, models, model, own=10**6):
    return Quota(int(models * size_of(model)), own, folder.parents[1])


def test_owners_together_take_no_more_than_they_may(visitors, model):
    ann, bob = visitors
    quota = shared(ann, 3.5, model)
    write(ann, "second", quota=quota)
    for write_more in (
        lambda: write(bob, "second", quota=quota),
        lambda: store.duplicate_model("first", "second", bob, quota=quota),
        lambda: store.unpack_model(store.pack_model("first", bob), name="second", folder=bob, quota=quota),
        lambda: store.check_writable("second", folder=bob, quota=shared(bob, 3, model)),
    ):
        with pytest.raises(QuotaError, match="The models of all visitors in") as error:
            write_more()
        assert error.value.is_shared
    assert (read_names(bob), leftovers(bob)) == (["first"], [])
    write(bob, "first", overwrite=True, quota=quota)


def test_old_trash_of_one_owner_is_not_in_the_way_of_another(visitors, model):
    ann, bob = visitors
    store.delete_model("first", ann).path.rename(ann / f".trash-first-1-{'0' * 16}")
    write(bob, "second", quota=shared(bob, 2.5, model))
    assert (read_names(bob), leftovers(ann)) == (["first", "second"], [])


def test_each_owner_has_a_limit_too(visitors, model):
    [_, bob] = visitors
    with pytest.raises(QuotaError, match="Delete some first; the largest: 'first'") as error:
        write(bob, "second", quota=shared(bob, 9, model, own=3 * size_of(model) // 2))
    assert not error.value.is_shared
    assert store.usage(bob, shared(bob, 9, model, own=77)) == (size_of(bob / "first"), 0, 77)
