"""The Evaluation page of models that write, run by Streamlit's own test harness against a real engine."""

import pages
import pandas as pd
import pytest
from pages import shown
from shelf import place_of
from streamlit.testing.v1 import AppTest

from transformer_viz.questions.evaluation.predictions import of_pairs, of_texts
from transformer_viz.store.load import load
from transformer_viz.training.runs.uploads import keep_upload
from transformer_viz.ui.shell.upload import file_key

pytestmark = pytest.mark.usefixtures("engine", "shipped")

DIGITS = pd.DataFrame({"source": ["1 2 3", "4 5 6 7", "8 1"], "target": ["3 2 1", "7 6 5 4", "8 1"]})


def opened(frame, model, **address):
    upload = keep_upload(frame.to_csv(index=False).encode(), "rows.csv")
    app = AppTest.from_file(pages.APP, default_timeout=pages.PATIENCE)
    app.session_state[file_key("evaluation")] = upload, "rows.csv"
    for key, value in ({"model": model} | address).items():
        app.query_params[key] = value
    return pages.go_to_page(app, "evaluation")


def test_a_translator_writes_for_each_row_and_the_least_likely_stands_first():
    app = opened(DIGITS, "reverse-digits", lang="en")
    expected = of_pairs(load(place_of("reverse-digits")), DIGITS.rename(columns={"source": "text"}))
    expected = expected.sort_values("log_likelihood")
    [table] = app.dataframe
    assert table.value["output"].tolist() == expected["output"].tolist()
    assert table.value["text"].tolist()[0] == "8 1"  # its target is not its reverse
    assert table.value["log-likelihood"].tolist() == pytest.approx(expected["log_likelihood"], abs=1e-4)
    assert "**66.7%** of 3 outputs equal their target" in shown(app)


def test_a_language_model_finds_the_unlikeliest_text():
    texts = ["1 2 3 1 2 3", "3 1 2 9 9 4", "5 5 5 5"]
    app = opened(pd.DataFrame({"text": texts}), "induction", lang="zh")
    rows = pd.DataFrame({"text": texts, "target": ""}, dtype=object)
    expected = of_texts(load(place_of("induction")), rows).sort_values("log_likelihood")
    [table] = app.dataframe
    assert table.value.iloc[:, 0].tolist() == expected["text"].tolist()
    assert table.value.iloc[:, 2].tolist() == pytest.approx(expected["log_likelihood"], abs=1e-4)
    assert "3 行的困惑度为" in shown(app)
