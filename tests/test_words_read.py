"""How much more than evenly heads read words typical of a label: ratios by hand, and when they are said."""

import numpy as np
import pytest
from made_heads import attention_of, averaged, measured
from numpy.testing import assert_allclose
from small_models import TYPICAL as EXPECTED
from small_models import labelled_reviews

import transformer_viz as tv
from transformer_viz.data import DataError
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.questions.roles.result import HeadRoles
from transformer_viz.questions.roles.rules import FEWEST_TEXTS, MEASURES, measures_of

SIZE = 10
ROUNDED = 6e-4
PLACELESS = [{"itself", "same", "punctuation", "token", "focused", "even"}]
LABELS = ("bad", "good")


def text(ratio=1.0, words=2, **also):
    """Return the weights of a head, which give so many words of "bad" a number of times their even share, and
    the keys in words of each label.
    """
    share = np.full(SIZE, (1 - ratio * words / SIZE) / (SIZE - words))
    share[:words] = ratio / SIZE
    return np.tile(share, (SIZE, 1)), {"words:bad": np.arange(SIZE) < words} | also


def in_text(weights, typical=None, possible=PLACELESS, mask=None):
    """Return the evidence of one head in a text."""
    tokens = [f"t{number}" for number in range(len(weights))]
    return measured("encoder", attention_of([weights[None]], tokens, mask=mask), possible, typical)


def added(*texts, possible=PLACELESS, labels=("bad",)):
    """Return the evidence of one head over texts."""
    return averaged([in_text(*text, possible=possible) for text in texts], possible, labels)


def usual(*texts, **options):
    """Return the usual role of one head over texts."""
    [[role]] = added(*texts, **options).roles
    return role


@pytest.mark.parametrize("ratio", [0.25, 1, 2, 4.5])
def test_a_head_that_gives_words_so_many_times_their_even_share_has_that_ratio(ratio):
    found = added(text(ratio), text(ratio))
    assert_allclose(found.ratio, [[[ratio]]], atol=ROUNDED)
    assert_allclose(found.ratio_spread, 0, atol=ROUNDED)
    number = found.names.index("words:bad")
    assert_allclose(found.share[0, 0, number], ratio / 5, atol=ROUNDED)
    assert_allclose(found.even[0, 0, number], 1 / 5, atol=ROUNDED)


def test_the_ratio_is_averaged_over_the_texts_with_such_words_and_its_spread_is_their_standard_deviation():
    found = added(text(1), text(2.5), text(4), text(1, words=0))
    assert_allclose(found.ratio, [[[2.5]]], atol=ROUNDED)
    assert_allclose(found.ratio_spread, [[[np.std([1, 2.5, 4])]]], atol=ROUNDED)
    assert found.texts[found.names.index("words:bad")] == 3


def test_an_even_head_has_ratio_one_in_texts_with_few_and_with_many_such_words():
    found = added(text(1, words=1), text(1, words=9))
    assert_allclose(found.ratio, [[[1]]], atol=ROUNDED)
    assert_allclose(found.ratio_spread, 0, atol=ROUNDED)


def test_under_a_causal_mask_the_share_is_compared_with_an_even_one_of_earlier_tokens():
    weights = np.tri(SIZE) / np.arange(1, SIZE + 1)[:, None]
    typical = {"words:bad": np.arange(SIZE) == 3}
    found = in_text(weights, typical, mask=np.tri(SIZE, dtype=bool)[None, None])
    assert_allclose(found.ratio, [[[1]]], atol=ROUNDED)


def test_without_such_words_in_any_text_the_ratio_is_unknown_and_not_said():
    found = added(*[text(1, words=0)] * FEWEST_TEXTS)
    assert np.isnan(found.ratio).all()
    assert found.words_read(0, 0) == ()


@pytest.mark.parametrize(("texts", "name"), [(FEWEST_TEXTS - 1, "mixed"), (FEWEST_TEXTS, "words")])
def test_a_ratio_is_said_from_a_least_number_of_texts_with_such_words(texts, name):
    role = usual(*[text(4)] * texts, *[text(1, words=0)] * 50)
    assert role.name == name
    assert [read.label for read in role.words] == ["bad"] * (name == "words")


@pytest.mark.parametrize(("ratio", "said"), [(1.4, 0), (1.6, 1)])
def test_a_ratio_is_said_if_it_is_larger_than_for_nearly_even_attention(ratio, said):
    assert len(added(*[text(ratio)] * FEWEST_TEXTS).words_read(0, 0)) == said


@pytest.mark.parametrize(("many", "said"), [(48, 0), (52, 1)])
def test_a_ratio_is_said_if_half_of_the_texts_have_it(many, said):
    found = added(*[text(4)] * many, *[text(1.2)] * (FEWEST_TEXTS - many))
    assert found.ratio > 2
    assert len(found.words_read(0, 0)) == said


def test_a_ratio_is_not_said_if_the_other_half_of_the_texts_pulls_the_mean_down():
    found = added(*[text(1.7)] * 52, *[text(0.2)] * (FEWEST_TEXTS - 52))
    assert found.held[0, 0, found.names.index("words:bad")] > 0.5
    assert found.words_read(0, 0) == ()


def test_of_several_labels_all_that_are_read_more_than_evenly_are_said_the_most_first():
    weights = np.tile([0.16, 0.16, 0.3, 0.2, *[0.18 / 6] * 6], (SIZE, 1))
    keys = {"words:bad": np.arange(SIZE) < 2, "words:good": np.isin(np.arange(SIZE), [2, 3])}
    keys["words:fair"] = np.arange(SIZE) == 9
    found = added(*[(weights, keys)] * FEWEST_TEXTS, labels=("bad", "good", "fair"))
    role = found.roles[0][0]
    assert [(read.label, read.ratio, read.texts) for read in role.words] == [
        ("good", 2.5, FEWEST_TEXTS),
        ("bad", 1.6, FEWEST_TEXTS),
    ]
    assert role.measure == "words:good"
    assert_allclose(role.share, 0.5, atol=ROUNDED)
    frame = HeadRoles(FEWEST_TEXTS, {"encoder": found}, dict.fromkeys(("bad", "good", "fair"), ("x",)))
    assert list(frame.to_frame()["words"]) == ["good 2.5 ± 0.0, bad 1.6 ± 0.0"]


def test_a_place_that_a_head_attends_to_goes_before_the_words_it_reads_and_these_before_its_shape():
    weights, keys = text(4)
    mixed = 0.5 * np.eye(SIZE, k=-1) + 0.5 * weights
    mixed[0] = weights[0]
    every = [(mixed, keys)] * FEWEST_TEXTS
    assert usual(*every, possible=[set(MEASURES["encoder"])]).name == "previous"
    assert usual(*every).name == "words"
    without = [(mixed, {"words:bad": np.zeros(SIZE, bool)})] * FEWEST_TEXTS
    assert usual(*without).name == "focused"


@pytest.mark.parametrize(("ratio", "name"), [(3, "words"), (1, "nearby")])
def test_words_that_a_head_reads_say_more_than_that_they_are_nearby(ratio, name):
    size = 40
    distance = np.abs(np.subtract.outer(range(size), range(size)))
    words = np.arange(size) % 5 == 0
    weights = (distance <= 3) * np.where(words, ratio, 1.0)
    texts = [(weights / weights.sum(axis=-1, keepdims=True), {"words:bad": words})] * FEWEST_TEXTS
    assert usual(*texts, possible=[set(MEASURES["encoder"])]).name == name


def test_one_text_alone_names_no_head_after_words():
    weights, keys = text(4)
    found = in_text(weights, keys)
    assert found.names == measures_of("encoder", ["bad"])
    assert found.roles == in_text(weights).roles


TYPICAL = {"bad": ("dull", "story"), "good": ("film", "lovely")}
TEXTS = ["A dull story, a film.", "A lovely film, a dull plot.", "Great music!"]


def test_roles_hold_the_weight_on_typical_words_in_each_text(explorer):
    roles = tv.head_roles(explorer, TEXTS, words=TYPICAL)
    assert roles.words == TYPICAL
    found = roles.kinds["encoder"]
    for label, places in (("bad", ([1, 2], [5])), ("good", ([5], [1, 2]))):
        ratios = []
        for each, keys in zip(TEXTS[:2], places, strict=True):
            layers = np.stack([block.attention.weights for block in explorer.trace(each).encoder])
            ratios.append(layers[..., keys].sum(-1).mean(-1) * layers.shape[-1] / len(keys))
        number = [*TYPICAL].index(label)
        assert_allclose(found.ratio[..., number], np.mean(ratios, axis=0), atol=1e-3)
        assert_allclose(found.ratio_spread[..., number], np.std(ratios, axis=0), atol=1e-3)
        assert found.texts[found.names.index(f"words:{label}")] == 2


def test_without_words_those_that_are_kept_with_the_model_are_measured(explorer):
    kept = tv.head_roles(explorer, TEXTS, words=TYPICAL)
    again = Explorer(explorer.model, explorer.tokenizer, name="small", head_roles=kept)
    assert tv.head_roles(again, TEXTS) == kept
    assert tv.head_survey(again, TEXTS).roles == kept
    assert tv.head_roles(again, TEXTS, words={}).words == {}
    assert tv.head_roles(explorer, TEXTS).words == {}


def test_a_survey_has_the_share_of_typical_words_in_each_text(explorer):
    kept = tv.head_roles(explorer, TEXTS, words=TYPICAL)
    survey = tv.head_survey(Explorer(explorer.model, explorer.tokenizer, head_roles=kept), TEXTS)
    shares = survey.shares_of("encoder", 1, 2, "words:bad")
    weights = explorer.trace(TEXTS[0]).encoder[1].attention.weights[2]
    assert_allclose(shares[0], weights[:, 1:3].sum(-1).mean(), atol=1e-5)
    assert np.isnan(shares[2])
    assert "words:good" in survey.to_frame().columns


def test_the_words_typical_of_each_label_are_counted_in_labelled_texts(explorer):
    words = tv.typical_words(explorer, labelled_reviews())
    assert list(words) == ["bad", "good"]  # in the order of the model, which has a third label
    assert {label: set(each) for label, each in words.items()} == {
        label: set(each) for label, each in EXPECTED.items()
    }


def test_labels_may_be_the_values_of_the_training_file(explorer):
    card = {"label_values": {"bad": "0", "fair": "1", "good": "2"}}
    named = Explorer(explorer.model, explorer.tokenizer, card=card)
    rows = labelled_reviews().replace({"label": {"bad": "0", "good": "2"}})
    assert tv.typical_words(named, rows) == tv.typical_words(explorer, labelled_reviews())


def test_a_label_that_is_not_the_models_is_refused(explorer):
    with pytest.raises(DataError, match="has the label 'worse'"):
        tv.typical_words(explorer, labelled_reviews().replace({"label": {"bad": "worse"}}))


def test_words_that_the_model_cannot_read_are_typical_of_nothing(explorer):
    rows = labelled_reviews()
    assert tv.typical_words(explorer, rows.assign(text=rows["text"].str.replace("dull", "xyzzy"))) == {
        "good": tv.typical_words(explorer, rows)["good"]
    }


def test_of_many_rows_a_sample_is_counted_and_always_the_same(explorer, monkeypatch):
    monkeypatch.setattr("transformer_viz.questions.roles.words.MOST_TEXTS", 239)
    words = tv.typical_words(explorer, labelled_reviews())
    assert words == tv.typical_words(explorer, labelled_reviews()) != {}
    monkeypatch.setattr("transformer_viz.questions.roles.words.MOST_TEXTS", 60)
    assert tv.typical_words(explorer, labelled_reviews()) == {}
