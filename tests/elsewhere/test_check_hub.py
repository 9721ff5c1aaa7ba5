"""The comparison with models of the hub, with recorded answers in place of the process that has torch."""

from pathlib import Path

import check_hub
import numpy as np
import pytest
from check_hub import TEXT, Row, answered, checked, compared, main
from recorded import TEXTS

import transformer_viz as tv

MODELS = Path(__file__).parent / "models"

pytestmark = pytest.mark.usefixtures("no_graphs")

LAYERS = ("attentions", "decoder", "cross")


def recorded(name):
    """Return the recorded answers to the first text as answers_of.py would write them."""
    found = np.load(MODELS / name / "answers.npz")
    last = "logits" if "logits" in found else "hidden"
    return {kind: found[kind][0] for kind in ("ids", "target", *LAYERS, last) if kind in found}


@pytest.mark.parametrize("name", ["bert-masked", "bert", "gpt2", "t5"])
def test_answers_of_transformers_are_equal_and_changed_ones_are_named(name):
    explorer, answers = tv.load(MODELS / name), recorded(name)
    row = compared(name, explorer, answers, TEXTS[0])
    assert (row.model, row.tokens, row.verdict) == (name, True, "equal")
    assert 0 < row.weights < 2e-6
    assert 0 < row.logits < 2e-5
    assert compared(name, explorer, answers, TEXTS[1]).verdict == "tokens differ"
    last = "logits" if "logits" in answers else "hidden"
    for kind, says in (*((layer, "weights") for layer in LAYERS if layer in answers), (last, last)):
        found = answers | {kind: answers[kind] + np.float32(1e-3)}
        assert compared(name, explorer, found, TEXTS[0]).verdict == f"{says} differ"
    cut = compared(name, explorer, answers | {"attentions": answers["attentions"][:1]}, TEXTS[0])
    assert (cut.weights, cut.verdict) == (np.inf, "weights differ")
    empty = answers | {last: np.full_like(answers[last], np.nan)}
    assert compared(name, explorer, empty, TEXTS[0]).verdict == f"{last} differ"


def test_a_row_for_each_model_and_a_status_that_says_whether_all_are_equal(monkeypatch, capsys):
    monkeypatch.setattr(check_hub, "TEXT", TEXTS[0])
    monkeypatch.setattr(check_hub, "answered", lambda folder, _: recorded(folder.name))
    folders = [str(MODELS / name) for name in ("bert-masked", "gpt2")]
    assert main(folders) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["model", "tokens", "weights", "logits", "verdict"]
    assert [row.split()[:2] for row in rows] == [[folder, "equal"] for folder in folders]
    assert all(row.endswith("  equal") for row in rows)
    monkeypatch.setattr(check_hub, "answered", lambda *_: "transformers: no such class")
    assert main(folders[:1]) == 1
    assert capsys.readouterr().out.splitlines()[1].split(None, 4)[1:] == [
        *("-", "-", "-", "transformers: no such class")
    ]


def test_a_folder_that_cannot_be_read_has_its_sentence_for_a_verdict(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "deberta"}')
    row = checked(str(tmp_path), "no python is asked")
    assert "models of type deberta cannot be read" in row.verdict
    assert row == Row(str(tmp_path), verdict=row.verdict)


def test_the_other_process_gets_folder_file_and_texts_and_its_last_words_are_kept(tmp_path):
    python, said = tmp_path / "python", tmp_path / "said.npz"
    np.savez(said, ids=np.arange(3))
    python.write_text(f'#!/bin/sh\n[ "$2" = folder ] && [ "$4" = "{TEXT}" ] && cp {said} "$3"\n')
    python.chmod(0o755)
    assert answered("folder", python)["ids"].tolist() == [0, 1, 2]
    python.write_text("#!/bin/sh\necho first >&2; echo 'No module named torch' >&2; exit 1\n")
    assert answered("folder", python) == "transformers: No module named torch"
    python.write_text("#!/bin/sh\n")
    assert answered("folder", python) == "transformers: no answer"
