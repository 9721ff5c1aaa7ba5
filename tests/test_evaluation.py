import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from running_app import ROOT

from transformer_viz.data import DataError
from transformer_viz.data.tasks import TASKS
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.network.config import END_ID, TransformerConfig
from transformer_viz.network.model import Transformer
from transformer_viz.questions.effects.heads import head_effects
from transformer_viz.questions.evaluation.measure import (
    bleu,
    evaluate,
    evaluate_generation,
    previous_token_scores,
)
from transformer_viz.questions.evaluation.perplexity import evaluate_texts
from transformer_viz.questions.roles.scores import previous_token_score
from transformer_viz.store.load import load
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.trace.interventions import all_heads


@pytest.fixture(scope="module", params=["softmax", "sigmoid"])
def answers(request):
    """A real model that answers "good" where one word is, however many "bad" stand beside it, and "bad" else.

    Its one head looks at "good" alone; the logits are (0, 4) there, (4, 0) elsewhere. With uniform attention
    the majority decides, without heads it is always "bad".
    """
    config = TransformerConfig(
        **{"vocab_size": 4, "max_len": 8, "d_model": 2, "num_layers": 1, "num_heads": 1, "ffn_dim": 0},
        **{"norm": "none", "residual": False, "attention_bias": False, "output_projection": False},
        **{"positions": "none", "output": request.param, "labels": ("bad", "good"), "dropout": 0.0},
    )
    model, tokenizer = Transformer(config), Tokenizer.train(["good bad"], 4)
    bad, good = tokenizer.encode("bad good", max_len=2).ids
    embedding = np.zeros((4, 2))
    embedding[bad], embedding[good] = [1, 0], [0, 1]
    sided = [[4, 0], [0, 4]] if request.param == "softmax" else [[-4], [4]]
    parameters = {
        "token_embedding/embeddings": embedding,
        "encoder_0/attention/query/kernel": [[60, 0], [60, 0]],
        "encoder_0/attention/key/kernel": [[0, 0], [1, 0]],
        "encoder_0/attention/value/kernel": np.eye(2),
        "classifier/kernel": sided,
        "classifier/bias": [0.1, 0] if request.param == "softmax" else [-0.1],
    }
    assert parameters.keys() == model.parameters().keys()
    for name, variable in model.parameters().items():
        variable.assign(parameters[name])
    card = {"label_values": {"bad": "0", "good": "1"}}
    return Explorer(model, tokenizer, name="answers", card=card)


def rows(*pairs):
    return pd.DataFrame(pairs, columns=["text", "label"])


def test_counts_by_hand(answers):
    result = evaluate(
        answers, rows(("good", "1"), ("good", "1"), ("good", "0"), ("bad", "1"), ("bad", "bad"))
    )
    assert (result.rows, result.accuracy) == (5, 0.6)
    assert result.confusion.to_dict("index") == {"bad": {"bad": 1, "good": 1}, "good": {"bad": 1, "good": 2}}
    assert_allclose(result.by_label.loc["good", ["precision", "recall", "f1"]].astype(float), 2 / 3)
    assert_allclose(result.by_label.loc["bad", ["precision", "recall", "f1"]].astype(float), 1 / 2)
    assert list(result.by_label["rows"]) == [2, 3]


def test_precision_and_recall_are_not_each_other(answers):
    texts = rows(*[("good", "1")] * 3, *[("good", "0")] * 2, ("bad", "1"), ("bad", "0"))
    result = evaluate(answers, texts)
    assert result.confusion.to_dict("index") == {"bad": {"bad": 1, "good": 2}, "good": {"bad": 1, "good": 3}}
    found = result.by_label.astype(float)
    assert_allclose(found.loc["good", ["precision", "recall", "f1", "rows"]], [3 / 5, 3 / 4, 2 / 3, 4])
    assert_allclose(found.loc["bad", ["precision", "recall", "f1", "rows"]], [1 / 2, 1 / 3, 2 / 5, 3])


def test_a_label_that_is_never_predicted_has_precision_zero(answers):
    result = evaluate(answers, rows(("good", "good"), ("good", "bad")))
    assert result.by_label.loc["bad", "precision"] == 0


def test_a_strange_label_is_named_with_its_row(answers):
    with pytest.raises(DataError, match=r"Row 2 has the label '7', which 'answers' does not know"):
        evaluate(answers, rows(("good", "1"), ("good", "7")))


def test_accuracy_with_uniform_attention_and_without_heads_by_hand(answers):
    """The head finds each "good", the majority only one, and without heads the answer is "bad"."""
    texts = rows(
        ("good bad bad", "good"), ("good good bad", "good"), ("bad", "bad"), ("bad good bad", "good")
    )
    result = evaluate(answers, texts)
    assert (result.accuracy, result.uniform_accuracy, result.headless_accuracy) == (1, 0.5, 0.25)


def test_the_calibration_is_of_the_probabilities_that_it_predicts_with(answers):
    texts = rows(*[("good", "good")] * 3, ("good", "bad"))
    found, logit = evaluate(answers, texts).calibration, 3.9
    assert_allclose(found.error, 1 / (1 + np.exp(-logit)) - 0.75, rtol=1e-5)
    assert_allclose(found.best_temperature, logit / np.log(3), rtol=1e-5)
    calibrated = with_temperature(answers, found.best_temperature)
    assert_allclose(calibrated.predict(["good"])["prob_good"], 0.75, rtol=1e-5)
    assert_allclose(calibrated.trace("good").probs, [0.25, 0.75], rtol=1e-5)
    assert_allclose(calibrated.trace("good").logits, answers.trace("good").logits)
    assert_allclose(evaluate(calibrated, texts).calibration.error, 0, atol=1e-6)
    assert_allclose(head_effects(calibrated, "good").answer, [0.75, np.log(3)], rtol=1e-5)


def with_temperature(explorer, temperature):
    """Return the same model with another temperature."""
    model = Transformer(explorer.config.replace(temperature=temperature))
    for name, variable in explorer.model.parameters().items():
        model.parameters()[name].assign(variable)
    return Explorer(model, explorer.tokenizer)


def test_controls_of_a_translator_are_its_token_accuracy_under_the_same_changes(translator):
    pairs = pd.DataFrame({"text": ["A lovely film.", "A dull plot."], "target": ["one two", "three"]})
    result = evaluate_generation(translator, pairs)
    heads = all_heads(translator.config)
    for found, changes in (
        (result.token_accuracy, {}),
        (result.uniform_accuracy, {"patterns": dict.fromkeys(heads, "uniform")}),
        (result.headless_accuracy, {"ablate": heads}),
    ):
        right = []
        for text, target in pairs.itertuples(index=False):
            trace = translator.trace(text, target=target, **changes)
            right += (trace.probs.argmax(axis=-1) == [*trace.target_ids[1:], END_ID]).tolist()
        assert found == np.mean(right)


def test_controls_of_a_language_model_are_its_token_accuracy_under_the_same_changes(writer, reviews):
    """Texts are packed into rows, in which they do not read one another: here there is one per row."""
    text = reviews[2]
    result, heads = evaluate_texts(writer, [text]), all_heads(writer.config)
    for found, changes in (
        (result.token_accuracy, {}),
        (result.uniform_accuracy, {"patterns": dict.fromkeys(heads, "uniform")}),
        (result.headless_accuracy, {"ablate": heads}),
    ):
        trace = writer.trace(text, **changes)
        assert found == np.mean(trace.probs.argmax(axis=-1) == [*trace.token_ids[1:], END_ID])
    assert result.uniform_accuracy != result.headless_accuracy
    pair = pd.DataFrame({"text": [text[:30]], "target": [text[31:]]})  # joined to the same text
    joined = evaluate_generation(writer, pair)
    assert joined[-3:] == result[-3:]
    assert_allclose(joined.perplexity, result.perplexity, rtol=1e-6)


def test_the_card_of_a_shipped_model_gives_what_it_does_on_the_rows_of_its_task():
    explorer, dates = load(ROOT / "models" / "dates"), TASKS["dates"]
    seen = [text for text, _ in dates.pairs(20_000)]
    rows = pd.DataFrame(dates.pairs(1_000, seed=1, unlike=seen), columns=["text", "target"])
    measured = evaluate_generation(explorer, rows)._asdict()
    assert measured.pop("perplexity") == pytest.approx(1, abs=0.2)  # cards give it for language models
    assert {name: explorer.card["test"][name] for name in measured} == pytest.approx(measured, abs=1e-3)


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
