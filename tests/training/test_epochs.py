"""The models of some epochs are kept beside the best one, to be compared with it."""

import pytest
from numpy.testing import assert_array_equal

from transformer_viz import store
from transformer_viz.network.presets import PRESETS
from transformer_viz.store.load import load
from transformer_viz.training.job import run_job
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import list_runs
from transformer_viz.training.runs.settings import TrainingSettings

CONFIG = PRESETS["single-block"].replace(d_model=16, num_heads=2, ffn_dim=8)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of five epochs."""
    folder = tmp_path_factory.mktemp("epochs")
    data = folder / "reviews.csv"
    lines = [f"a lovely film number {i},good\na dull film number {i},bad" for i in range(120)]
    data.write_text("text,label\n" + "\n".join(lines) + "\n")
    settings = TrainingSettings(epochs=5, learning_rate=0.01)
    run_job(TrainingJob(config=CONFIG, settings=settings, data=data, test=data), runs=folder / "runs")
    [run] = list_runs(folder / "runs")
    return run


def test_those_of_powers_of_two_are_kept_and_the_untrained_one(trained):
    assert trained.kept_epochs() == [0, 1, 2, 4]


def test_each_is_a_model_of_its_own(trained, tmp_path):
    sure = []
    for epoch in (0, 1, 4):
        path = trained.save(f"after-{epoch}", folder=tmp_path, epoch=epoch)
        trace = load(path).trace("a lovely film")
        sure.append(float(trace.probs[trace.labels.index("good")]))
    best = load(trained.save("best", folder=tmp_path)).trace("a lovely film")
    assert sure[0] < sure[1] < sure[2]
    assert best.probs.max() > 0.9


def test_its_card_says_which_epoch_and_nothing_of_the_best_one(trained, tmp_path):
    saved, best = (
        store.read_model(trained.save(name, folder=tmp_path, epoch=epoch))
        for name, epoch in (("first", 1), ("best", None))
    )
    assert saved.card["epoch"] == 1
    assert saved.card["history"] == best.card["history"][:1]
    assert {"test", "best_epoch"} <= best.card.keys()
    assert not {"test", "best_epoch", "calibration"} & saved.card.keys()
    rows, [epoch] = best.card["validation"]["rows"], saved.card["history"]
    assert saved.card["validation"] == {"rows": rows, "accuracy": epoch["val_accuracy"]}
    untrained = store.read_model(trained.save("untrained", folder=tmp_path, epoch=0))
    assert "validation" not in untrained.card
    assert saved.head_roles is None
    assert saved.tokenizer == best.tokenizer


def test_the_temperature_of_the_best_one_is_given_to_no_other(trained, tmp_path):
    best = store.read_model(trained.model)
    kept = {"folder": trained.path, "overwrite": True, "dtype": "float32", "tokenizer": best.tokenizer}
    kept |= {"parameters": best.parameters, "card": best.card | {"calibration": {"temperature": 1.7}}}
    store.write_model("model", config=best.config.replace(temperature=1.7), **kept)
    first, again = (
        store.read_model(trained.save(name, folder=tmp_path, epoch=epoch))
        for name, epoch in (("first", 1), ("again", None))
    )
    store.write_model("model", config=best.config, **kept | {"card": best.card})
    assert (again.config.temperature, again.card["calibration"]["temperature"]) == (1.7, 1.7)
    assert first.config.temperature == 1
    assert "calibration" not in first.card


def test_the_best_one_is_saved_as_before(trained, tmp_path):
    saved = store.read_model(trained.save("best", folder=tmp_path, dtype="float32"))
    own = store.read_model(trained.model)
    assert saved.card == own.card
    for name, value in own.parameters.items():
        assert_array_equal(saved.parameters[name], value)


def test_an_epoch_that_was_rolled_back_is_not_offered(trained):
    (trained.epochs / "8").mkdir()
    assert trained.kept_epochs() == [0, 1, 2, 4]


def test_a_run_without_them_has_none(tmp_path):
    assert TrainingRun(tmp_path).kept_epochs() == []
