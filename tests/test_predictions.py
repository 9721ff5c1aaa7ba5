"""Files of which every row is predicted: what is written, and that nothing is lost when it is interrupted."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from small_models import write

from transformer_viz.cli.main import main
from transformer_viz.data import DataError
from transformer_viz.data.options import ReadOptions
from transformer_viz.language import Problem
from transformer_viz.network.config import END_ID
from transformer_viz.questions.evaluation import predictions
from transformer_viz.questions.evaluation.predictions import predict_file

ROWS = 25


@pytest.fixture
def texts(reviews):
    """Texts of different lengths, some of which a spreadsheet would take for formulas."""
    words = " ".join(reviews).split()
    random = np.random.default_rng(1)
    found = [" ".join(random.choice(words, 1 + number % 9)) for number in range(ROWS)]
    return ["=" + found[0], "-" + found[1], "@" + found[2], *found[3:]]


@pytest.fixture
def file(tmp_path, texts, explorer):
    """Those texts with labels, of which each third is wrong."""
    labels = explorer.predict(texts)["label"].tolist()
    labels = ["bad" if n % 3 == 0 and label != "bad" else label for n, label in enumerate(labels)]
    path = tmp_path / "in.csv"
    pd.DataFrame({"text": texts, "label": labels}).to_csv(path, index=False)
    return path


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(predictions, "BLOCK", 4)
    monkeypatch.setattr(predictions, "PART", 3)  # two for each block


class StoppedError(Exception):
    """Raised to interrupt."""


def stopping_after(parts):
    left = [parts]

    def keep_going():
        if not left[0]:
            raise StoppedError
        left[0] -= 1

    return keep_going


@pytest.mark.usefixtures("small_blocks")
def test_each_row_is_what_the_model_predicts_of_its_text(explorer, file, texts, tmp_path):
    found = predict_file(explorer, file, tmp_path / "out.csv")
    expected = explorer.predict(texts)
    written = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
    rows = pd.read_csv(file)
    assert [*written] == ["text", "label", "predicted", "probability", "prob_bad", "prob_fair", "prob_good"]
    assert written["text"].str.lstrip("'").tolist() == texts
    assert written["predicted"].tolist() == expected["label"].tolist()
    assert_allclose(written.filter(like="prob_"), expected.filter(like="prob_"), atol=1e-5)
    assert_allclose(written["probability"], expected.filter(like="prob_").max(axis=1), atol=1e-5)
    assert (found.rows, found.resumed) == (ROWS, 0)
    assert found.accuracy == (rows["label"] == expected["label"]).mean()
    assert 0 < found.accuracy < 1
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_a_file_for_a_spreadsheet_holds_no_formula(explorer, file, texts, tmp_path):
    predict_file(explorer, file, tmp_path / "out.csv")
    data = (tmp_path / "out.csv").read_bytes()
    assert data.startswith("\ufefftext,".encode())
    written = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)["text"]
    assert written.tolist() == [f"'{text}" if text[0] in "=-@" else text for text in texts]
    predict_file(explorer, file, tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["text"] for line in lines] == texts


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_whatever_interrupts_it_the_file_is_the_same(explorer, file, tmp_path, suffix):
    whole, out = tmp_path / f"whole{suffix}", tmp_path / f"out{suffix}"
    accuracy = predict_file(explorer, file, whole).accuracy
    for parts in range(13):
        with pytest.raises(StoppedError):
            predict_file(explorer, file, out, keep_going=stopping_after(parts))
        assert not out.exists()
        if parts == 6:  # killed while it wrote a block
            with out.with_name(f".{out.name}.part").open("ab") as part:
                part.write(b"half a r")
        found = predict_file(explorer, file, out)
        assert (found.resumed, found.accuracy) == (4 * (parts // 2), accuracy)
        assert out.read_bytes() == whole.read_bytes()
        out.unlink()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("change", ["rows", "model", "state"])
def test_another_file_or_model_begins_anew(explorer, file, tmp_path, change):
    out = tmp_path / "out.csv"
    with pytest.raises(StoppedError):
        predict_file(explorer, file, out, keep_going=stopping_after(3))
    if change == "rows":
        file.write_text(file.read_text() + "a lovely film,good\n")
    elif change == "state":
        out.with_name(".out.csv.state").write_text("{")
    variable = next(iter(explorer.model.parameters().values()))
    before = variable.numpy()
    try:
        if change == "model":
            variable.assign(before + 1)
        assert predict_file(explorer, file, out).resumed == 0
    finally:
        variable.assign(before)


def test_a_column_that_only_looks_like_labels_is_left_alone(explorer, file, texts, tmp_path):
    file.write_text(
        pd.DataFrame({"text": texts, "label": ["north", "south"] * 12 + ["north"]}).to_csv(index=False)
    )
    found = predict_file(explorer, file, tmp_path / "out.csv")
    assert found.accuracy is None
    assert "label" not in pd.read_csv(tmp_path / "out.csv")
    with pytest.raises(DataError, match="north"):
        predict_file(explorer, file, tmp_path / "out.csv", {"label": "label"})


def test_a_row_without_its_label_is_refused_and_not_read_as_a_file_without_labels(explorer, file, tmp_path):
    file.write_text(file.read_text() + "a lovely film,\n")
    with pytest.raises(DataError, match="line 27"):
        predict_file(explorer, file, tmp_path / "out.csv")


def test_rows_that_cannot_be_used_are_counted(explorer, file, tmp_path):
    file.write_text(file.read_text() + ",good\n")
    with pytest.raises(DataError, match="line 27"):
        predict_file(explorer, file, tmp_path / "out.csv")
    with pytest.raises(DataError, match="line 27"):
        predict_file(explorer, file, tmp_path / "out.csv", {"label": "label"})
    found = predict_file(
        explorer, file, tmp_path / "out.csv", {"label": "label"}, ReadOptions(skip_bad_rows=True)
    )
    assert found.rows == ROWS
    assert found.source.attrs["bad_rows"].count == 1


def test_a_translator_s_output_stands_beside_how_likely_the_target_is(translator, tmp_path):
    rows = [("A lovely film.", "one two"), ("A dull plot.", "six three"), ("lovely", "nine")]
    path, out = tmp_path / "pairs.csv", tmp_path / "out.jsonl"
    pd.DataFrame(rows, columns=["text", "target"]).to_csv(path, index=False)
    predict_file(translator, path, out)
    for (text, target), line in zip(rows, out.read_text().splitlines(), strict=True):
        found = json.loads(line)
        assert (found["text"], found["target"]) == (text, target)
        assert found["output"] == translator.generate(text, keep=None).text
        trace = translator.trace(text, target=target)
        ids = translator.target_tokenizer.encode(target, max_len=16).ids
        expected = np.log(trace.probs[np.arange(len(ids) + 1), [*ids, END_ID]]).mean()
        assert_allclose(found["log_likelihood"], expected, atol=1e-4)


def test_a_language_model_says_how_likely_each_text_is(writer, texts, tmp_path):
    path, out = tmp_path / "texts.txt", tmp_path / "out.csv"
    path.write_text("\n".join(texts[3:]))
    predict_file(writer, path, out)
    written = pd.read_csv(out)
    for text, tokens, mean in zip(texts[3:], written["tokens"], written["log_likelihood"], strict=True):
        trace = writer.trace(text)
        ids = [*trace.token_ids[1:], END_ID]
        assert tokens == len(ids)
        assert_allclose(mean, np.log(trace.probs[np.arange(len(ids)), ids]).mean(), atol=1e-4)


def test_a_file_that_cannot_be_written_is_named(explorer, file, tmp_path):
    with pytest.raises(Problem, match=r"out\.txt cannot be written: the name must end in"):
        predict_file(explorer, file, tmp_path / "out.txt")
    with pytest.raises(Problem, match="missing"):
        predict_file(explorer, file, tmp_path / "missing" / "out.csv")


def test_the_command_says_what_it_wrote_and_goes_on_where_it_was_stopped(
    explorer, file, tmp_path, monkeypatch, capsys, small_blocks
):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path))
    write(explorer, tmp_path)
    command = ["predict", "--model", "small", "--data", str(file), "--out", str(tmp_path / "out.csv")]
    with pytest.raises(StoppedError):
        predict_file(explorer, file, tmp_path / "out.csv", keep_going=stopping_after(4))
    assert main([*command, "--lang", "en"]) == 0
    said = capsys.readouterr()
    assert f"out.csv: {ROWS} rows." in said.out
    assert "accuracy" in said.out
    assert "8 rows were there already." in said.out
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == ROWS
    assert main(["predict", "--model", "small", "--data", str(file), "--lang", "en"]) == 2
    assert "--data and --out belong together" in capsys.readouterr().err
