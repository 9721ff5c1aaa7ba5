"""What came of the small folders of all model types (hub_types.json), and how it is told."""

import json

import check_hub_types
import numpy as np
import pytest
from check_hub import LOGITS, WEIGHTS
from check_hub_types import RESULTS, result_of
from recorded import TEXTS, changed
from test_check_hub import recorded

from transformer_viz.language import LANGUAGES, Words
from transformer_viz.store.hugging_face.families import FAMILIES

pytestmark = pytest.mark.usefixtures("no_graphs")

ROWS = json.loads(RESULTS.read_text(encoding="utf-8"))
OTHERS = ROWS.pop("no such type")


def test_each_type_that_opens_equals_transformers_in_all_its_folders():
    opened = {name: row for name, row in ROWS.items() if "answers" in row}
    assert {name.partition("/")[0] for name in opened} == FAMILIES.keys()
    assert {name.partition("/")[0] for name, row in opened.items() if "pair" in row} >= {"bert", "roberta"}
    for name, row in opened.items():
        assert row.keys() <= {"answers", "pair"}, name
        for weights, logits in row.values():
            assert weights <= WEIGHTS, name
            assert logits <= LOGITS * 30, name  # a share of the largest, which is not recorded


def test_each_other_folder_is_refused_in_a_sentence():
    refused = {row["refused"].split()[0] for row in ROWS.values() if "refused" in row}
    for words in map(Words, LANGUAGES):
        assert all(words.has(f"error.{code}") for code in refused)
    assert not FAMILIES.keys() & {*OTHERS}
    assert {"deberta-v2", "bloom", "falcon"} <= {*OTHERS}


def test_a_folder_is_compared_refused_or_wrong(copied, monkeypatch):
    folder, pair = copied("bert-masked"), "It was good."
    monkeypatch.setattr(check_hub_types, "TEXT", TEXTS[0])
    np.savez(folder / "answers.npz", **recorded("bert-masked"))
    (folder / "pair.npz").unlink()
    found = result_of(folder)
    assert found.keys() == {"answers"}
    assert max(found["answers"]) < 2e-5
    answers = recorded("bert-masked")
    np.savez(folder / "pair.npz", **answers | {"attentions": answers["attentions"] + np.float32(1e-3)})
    monkeypatch.setattr(check_hub_types, "SECOND", pair)
    assert result_of(folder)["wrong"] == "pair: tokens, weights differ"
    assert result_of(changed(folder, hidden_act="mish")) == {"refused": "hugging.activation mish"}
    assert result_of(changed(folder, model_type="deberta")) == {"refused": "hugging.type"}

    def fail(_):
        raise KeyError("hidden_act")

    monkeypatch.setattr(check_hub_types.tv, "load", fail)
    assert result_of(folder) == {"wrong": "KeyError: 'hidden_act'"}
