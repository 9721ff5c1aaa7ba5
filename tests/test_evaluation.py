import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from transformer_viz.analysis import previous_token_score
from transformer_viz.data import DataError
from transformer_viz.inspection.evaluation import bleu, evaluate, previous_token_scores


class Answers:
    """An explorer that answers what each text says, to make the counts known beforehand."""

    name = "answers"
    card = {"label_values": {"bad": "0", "good": "1"}}  # noqa: RUF012

    class config:  # noqa: N801
        labels = ("bad", "good")

    def predict(self, texts, progress):
        return pd.DataFrame({"text": texts, "label": list(texts)})


def rows(*pairs):
    return pd.DataFrame(pairs, columns=["text", "label"])


def test_counts_by_hand():
    result = evaluate(
        Answers(), rows(("good", "1"), ("good", "1"), ("good", "0"), ("bad", "1"), ("bad", "bad"))
    )
    assert (result.rows, result.accuracy) == (5, 0.6)
    assert result.confusion.to_dict("index") == {"bad": {"bad": 1, "good": 1}, "good": {"bad": 1, "good": 2}}
    assert_allclose(result.by_label.loc["good", ["precision", "recall", "f1"]].astype(float), 2 / 3)
    assert_allclose(result.by_label.loc["bad", ["precision", "recall", "f1"]].astype(float), 1 / 2)
    assert list(result.by_label["rows"]) == [2, 3]


def test_a_label_that_is_never_predicted_has_precision_zero():
    result = evaluate(Answers(), rows(("good", "good"), ("good", "bad")))
    assert result.by_label.loc["bad", "precision"] == 0


def test_a_strange_label_is_named_with_its_row():
    with pytest.raises(DataError, match=r"Row 2 has the label '7', which 'answers' does not know"):
        evaluate(Answers(), rows(("good", "1"), ("good", "7")))


def test_a_real_explorer_is_measured_as_it_predicts(explorer, reviews):
    labels = explorer.predict(reviews)["label"]
    result = evaluate(explorer, pd.DataFrame({"text": reviews, "label": labels}))
    assert result.accuracy == 1


def test_any_right_translation_counts():
    written = ["le chat dort sur le lit", "il pleut"]
    one = [["un chat dort sur le lit"], ["il pleut"]]
    both = [["un chat dort sur le lit", "le chat dort sur le lit"], ["il pleut"]]
    assert bleu(written, one)[0] < bleu(written, both)[0] == pytest.approx(100)
    assert "nrefs:var" in bleu(written, both)[1]
    assert "nrefs:1" in bleu(written, one)[1]


def test_chinese_is_counted_by_character():
    score, signature = bleu(["我们的冰箱坏了。"], [["我们的冰箱坏了。"]])
    assert score == pytest.approx(100)
    assert "tok:zh" in signature


def test_previous_token_scores_are_of_every_head(writer):
    texts = ["a lovely film", "not good"]
    expected = [
        [previous_token_score(block.self_attention.weights) for block in writer.trace(text).decoder]
        for text in texts
    ]
    assert_allclose(previous_token_scores(writer, texts), np.mean(expected, axis=0), rtol=1e-6)
