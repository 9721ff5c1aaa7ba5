import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from transformer_viz.store.card import MAX_BYTES, fitted
from transformer_viz.training import labelled_texts
from transformer_viz.training.labelled_texts import MOST_LABELS, LabelledTexts
from transformer_viz.training.model_card import LONGEST_EXAMPLE, MANY_EPOCHS, short_probes, thinned
from transformer_viz.training.runs.folder import _card_of_epoch


def test_long_texts_that_were_watched_become_no_examples():
    texts = ["short", "x" * LONGEST_EXAMPLE, "x" * (LONGEST_EXAMPLE + 1)]
    dataset = SimpleNamespace(probes=[(text, None) for text in texts])
    assert short_probes(dataset) == texts[:2]


def history(epochs):
    """Return the metrics of so many epochs, of which each says which it is."""
    names = ("loss", "accuracy", "val_loss", "val_accuracy")
    return [dict.fromkeys(names, 1 / number) for number in range(1, epochs + 1)]


def test_a_history_that_is_not_long_is_kept_as_it_is():
    assert thinned(history(MANY_EPOCHS), 7) == history(MANY_EPOCHS)


@pytest.mark.parametrize("epochs", [MANY_EPOCHS + 1, 1_000, 5_000])
def test_of_a_long_training_a_card_keeps_the_first_the_best_the_last_and_those_whose_models_are_kept(epochs):
    kept = thinned(history(epochs), 173)
    numbers = [row["epoch"] for row in kept]
    assert numbers == sorted(set(numbers))
    assert {1, 2, 4, 8, 16, 32, 64, 128, 256, 173, epochs} <= {*numbers}
    assert len(kept) < MANY_EPOCHS + 20
    assert max(np.diff(numbers)) <= epochs / MANY_EPOCHS + 1
    assert all(row["loss"] == 1 / row["epoch"] for row in kept)
    assert len(json.dumps(kept)) < MAX_BYTES / 2
    card = _card_of_epoch({"history": kept, "validation": {"rows": 9}, "best_epoch": 173}, 256)
    assert card["validation"] == {"rows": 9, "accuracy": 1 / 256}
    assert card["history"][-1]["epoch"] == card["epoch"] == 256


@pytest.mark.parametrize("count", [3, 20, 21, 500])
def test_labels_that_are_many_have_metrics_of_the_most_frequent_and_no_confusion_matrix(monkeypatch, count):
    labels, rows = [f"label {number}" for number in range(count)], np.random.default_rng(1).permutation(count)
    by_label = pd.DataFrame({"precision": 0.123456789, "recall": 0.5, "f1": 0.5, "rows": rows}, index=labels)
    result = SimpleNamespace(
        accuracy=0.5,
        uniform_accuracy=0.4,
        headless_accuracy=0.3,
        calibration=SimpleNamespace(error=0.1),
        by_label=by_label,
        confusion=pd.DataFrame(0, labels, labels),
    )
    monkeypatch.setattr(labelled_texts, "evaluate", lambda *arguments, **options: result)
    found = LabelledTexts.test_metrics(SimpleNamespace(test=[1], _test_facts={"rows": 9}), None, None)
    assert ("confusion" in found) == (count <= 20)
    kept = {row["rows"] for row in found["by_label"].values()}
    assert kept == {*sorted(rows)[-MOST_LABELS:]}
    assert fitted({"test": found}) == {"test": found}
