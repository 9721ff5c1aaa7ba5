"""Which parameters a model inherits from its parent, and which of them are trained."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.fine_tuning import child_config, inherited, inherited_values, trained_parameters
from transformer_viz.trace.softmax import label_logits, softmax

SIZES = {"vocab_size": 13, "d_model": 14, "num_heads": 2, "ffn_dim": 11, "num_layers": 3, "max_len": 17}
DECODER = TransformerConfig(
    architecture="decoder", norm="pre", final_norm=True, positions="learned", tie_embeddings=True, **SIZES
)
MASKED = TransformerConfig(output="tokens", **SIZES)
CLASSIFIER = TransformerConfig(labels=("no", "yes"), pooling="attention", **SIZES)
TRANSLATOR = TransformerConfig(architecture="encoder-decoder", **SIZES | {"num_layers": 1})


def test_a_decoder_becomes_a_classifier_that_reads_what_it_read():
    child = child_config(DECODER, classifies=True)
    assert (child.architecture, child.causal, child.reads_start) == ("encoder", True, True)
    assert child_config(DECODER, classifies=True, causal=False).causal is False
    names = inherited(DECODER, child)
    assert names["token_embedding/embeddings"] == "token_embedding/embeddings"
    assert names["position_embedding/embeddings"] == "position_embedding/embeddings"
    assert names["encoder_2/attention/query/kernel"] == "decoder_2/self_attention/query/kernel"
    assert names["encoder_0/attention_norm/gamma"] == "decoder_0/self_attention_norm/gamma"
    assert names["encoder_norm/beta"] == "decoder_norm/beta"
    assert sorted(names.values()) == sorted(DECODER.parameter_shapes())
    assert child.parameter_shapes().keys() - names.keys() == {"classifier/kernel", "classifier/bias"}


def test_a_masked_language_model_becomes_a_classifier_without_its_output():
    child = child_config(MASKED, classifies=True, pooling="attention", dropout=0.5)
    assert (child.causal, child.reads_start, child.dropout) == (False, True, 0.5)
    names = inherited(MASKED, child)
    assert MASKED.parameter_shapes().keys() - names.values() == {"output/kernel", "output/bias"}
    new = {f"{layer}/{part}" for layer in ("classifier", "pooling") for part in ("kernel", "bias")}
    assert child.parameter_shapes().keys() - names.keys() == new


def test_a_decoder_becomes_a_masked_language_model_with_one_more_token():
    child = child_config(DECODER, classifies=False, output="tokens")
    assert (child.architecture, child.causal, child.vocab_size) == ("encoder", False, 14)
    assert child.fills_in
    assert child.parameter_shapes().keys() == inherited(DECODER, child).keys()
    parameters = {name: np.random.default_rng(0).random(s) for name, s in DECODER.parameter_shapes().items()}
    arrays = inherited_values(parameters, DECODER, child)
    assert {name: array.shape for name, array in arrays.items()} == child.parameter_shapes()
    name = "token_embedding/embeddings"
    assert_array_equal(np.delete(arrays[name], 4, axis=0), parameters[name])
    assert_array_equal(arrays[name][4], parameters[name].mean(axis=0))


@pytest.mark.parametrize("parent", [DECODER, MASKED, TRANSLATOR], ids=lambda config: config.architecture)
def test_a_model_that_goes_on_with_its_task_takes_over_everything(parent):
    child = child_config(parent, classifies=False, dropout=0.3)
    assert child == parent.replace(dropout=0.3)
    assert inherited(parent, child) == {name: name for name in parent.parameter_shapes()}


def test_a_classifier_keeps_its_head_for_the_same_labels_alone():
    same = child_config(CLASSIFIER, classifies=True, labels=("no", "yes"))
    assert inherited(CLASSIFIER, same).keys() == CLASSIFIER.parameter_shapes().keys()
    for labels in (("yes", "nope"), ("no", "yes", "perhaps")):
        other = child_config(CLASSIFIER, classifies=True, labels=labels)
        new = other.parameter_shapes().keys() - inherited(CLASSIFIER, other).keys()
        assert new == {"classifier/kernel", "classifier/bias"}


@pytest.mark.parametrize(
    ("output", "labels", "order"), [("softmax", ("a", "b", "c"), "cab"), ("sigmoid", ("a", "b"), "ba")]
)
def test_for_the_same_labels_in_another_order_each_keeps_its_probability(output, labels, order):
    parent = CLASSIFIER.replace(output=output, labels=labels, temperature=1.7)
    child = child_config(parent, classifies=True, labels=tuple(order))
    assert (child.output, child.temperature) == (output, 1.0)
    random = np.random.default_rng(3)
    before = {name: random.normal(size=shape) for name, shape in parent.parameter_shapes().items()}
    after, hidden = inherited_values(before, parent, child), random.normal(size=(4, parent.d_model))
    assert after.keys() == before.keys()

    def probs(values, config):
        logits = hidden @ values["classifier/kernel"] + values["classifier/bias"]
        return dict(zip(config.labels, softmax(label_logits(config, logits)).T, strict=True))

    expected, found = probs(before, parent), probs(after, child)
    assert list(found) == list(order)
    for label in labels:
        assert_allclose(found[label], expected[label], atol=1e-6)


def test_shorter_texts_take_over_the_first_of_the_learned_positions():
    child = child_config(DECODER, classifies=True, max_len=5)
    parameters = {name: np.random.default_rng(0).random(s) for name, s in DECODER.parameter_shapes().items()}
    arrays = inherited_values(parameters, DECODER, child)
    assert_array_equal(
        arrays["position_embedding/embeddings"], parameters["position_embedding/embeddings"][:5]
    )
    assert {name: array.shape for name, array in arrays.items()}.items() <= child.parameter_shapes().items()


def test_computed_positions_may_become_more():
    assert child_config(MASKED, classifies=True, max_len=170).max_len == 170


HEAD = ["classifier/kernel", "classifier/bias"]


def test_only_the_last_layers_are_trained():
    config = child_config(DECODER, classifies=True)
    names = list(config.parameter_shapes())
    assert trained_parameters(config, None) == names
    assert trained_parameters(config, 0) == HEAD
    last = [name for name in names if name.startswith("encoder_2/")]
    assert len(last) == 16
    assert trained_parameters(config, 1) == [*last, "encoder_norm/gamma", "encoder_norm/beta", *HEAD]
    frozen = {"token_embedding/embeddings", "position_embedding/embeddings"}
    assert set(names) - set(trained_parameters(config, 3)) == frozen


def test_of_an_encoder_decoder_the_decoder_comes_last():
    trained = trained_parameters(TRANSLATOR, 1)
    assert {name.partition("/")[0] for name in trained} == {"decoder_0", "output"}
    assert {name.partition("/")[0] for name in trained_parameters(TRANSLATOR, 2)} == {
        "encoder_0",
        "decoder_0",
        "output",
    }


FREE = (
    "'causal', 'dropout', 'embedding_dropout', 'labels', 'max_len', 'output', "
    "'pooled_activation', 'pooled_norm', 'pooling', 'reads_start', 'target_max_len', 'truncation'"
)

ERRORS = {
    "A classifier can only become a classifier. Use data with labels, or start from a language model.": (
        lambda: child_config(CLASSIFIER, classifies=False)
    ),
    "An encoder-decoder cannot become a classifier. Use pairs of texts, or start from a language model or a "
    "classifier.": lambda: child_config(TRANSLATOR, classifies=True),
    "The parameters of the parent fix 'norm', 'num_layers': leave them as they are. "
    f"You may choose {FREE}.": lambda: child_config(DECODER, classifies=True, num_layers=2, norm="post"),
    f"The parameters of the parent fix 'output': leave them as they are. You may choose {FREE}.": (
        lambda: inherited(CLASSIFIER, MASKED.replace(pooling="attention"))
    ),
    "A config has no field 'heads'. ": lambda: child_config(DECODER, classifies=True, heads=2),
    "The parent has learned 17 positions: `max_len` can be at most 17. Received: 18.": (
        lambda: child_config(DECODER, classifies=True, max_len=18)
    ),
    "`trainable_layers` must be a whole number from 0 to 3, the number of layers. Received: 4.": (
        lambda: trained_parameters(MASKED, 4)
    ),
    "With `tie_embeddings`, the output layer is the frozen token embedding, and nothing is left to train. "
    "Set `trainable_layers` to 1 or more.": lambda: trained_parameters(DECODER, 0),
}


@pytest.mark.parametrize("message", ERRORS, ids=lambda text: text[:40])
def test_what_does_not_fit_is_one_sentence(message):
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole message is compared
        ERRORS[message]()
    assert str(error.value)[: len(message)] == message
