"""Texts and token ids as people give them: one string, tables with gaps, arrays of any framework."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import transformer_viz as tv
from transformer_viz.explorer.decode import generate_all
from transformer_viz.language import sentence_of
from transformer_viz.questions.evaluation.perplexity import evaluate_texts
from transformer_viz.text.texts import each_text, text_or_ids
from transformer_viz.text.tokenizer import Tokenizer

TEXT = "A dull film with a lovely plot."

GAPS = {
    "a list": (["a", None], "Row 1 is no text: None. "),
    "a series": (pd.Series(["a", np.nan], index=[7, 9]), "Row 9 is no text: nan. "),
    "a number": (["a", "b", 3.5], "Row 2 is no text: 3.5. "),
    "pairs": ([("a", "b")], r"Row 0 is no text: \('a', 'b'\). "),
    "a table": (pd.DataFrame({"text": ["a"], "label": [1]}), r"a table, not texts. .*\(text, label\)"),
}


@pytest.mark.parametrize("name", GAPS)
def test_a_row_that_is_no_text_is_named(name):
    texts, sentence = GAPS[name]
    with pytest.raises(ValueError, match=f"^{sentence}" if name != "a table" else sentence) as error:
        list(each_text(texts))
    assert "表格" in sentence_of(error.value, "zh") or "不是文本" in sentence_of(error.value, "zh")


def test_pairs_are_texts_where_there_are_targets():
    pairs = [("a", "b"), "c", ("d", None)]
    assert list(each_text(pairs, pairs=True)) == pairs


def test_a_string_is_one_text_to_all_that_read_many(explorer, writer, translator):
    pd.testing.assert_frame_equal(explorer.predict(TEXT), explorer.predict([TEXT]))
    assert len(explorer.encode(TEXT)) == 1
    assert tv.head_survey(explorer, TEXT).texts == (TEXT,)
    assert tv.head_roles(explorer, TEXT).texts == 1
    assert generate_all(translator, TEXT, max_new=2) == generate_all(translator, [TEXT], max_new=2)
    assert evaluate_texts(writer, TEXT).texts == 1
    ours, theirs = (explorer.head_means(texts) for texts in (TEXT, [TEXT]))
    np.testing.assert_array_equal(ours["encoder"], theirs["encoder"])
    assert "film" in Tokenizer.train(TEXT, 20).vocabulary


def test_a_gap_of_a_table_is_named_by_what_reads_it(explorer):
    with pytest.raises(ValueError, match=r"^Row 4 is no text: nan\. Leave it out, as texts\.dropna\(\)"):
        explorer.predict(pd.Series(["a", np.nan], index=[3, 4]))


IDS = [4, 9, 3]
ARRAYS = {
    "list": IDS,
    "rows": [IDS],
    "numpy": np.array(IDS),
    "numpy rows": np.array([IDS], np.int64),
    "tensorflow": tf.constant([IDS]),
    "jax": jnp.array(IDS),
    "series": pd.Series(IDS),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_token_ids_of_any_framework_are_read(explorer, name):
    assert text_or_ids(ARRAYS[name]) == tuple(IDS)
    assert explorer.trace(ARRAYS[name], keep="logits").token_ids.tolist() == IDS


def test_several_rows_of_token_ids_are_refused(explorer):
    with pytest.raises(ValueError, match=r"token ids of 2 texts, .* Give one row\."):
        explorer.trace(np.ones((2, 3), int))


def test_token_ids_are_cut_as_the_text_is(explorer):
    text = "film " * 50
    of_text, ids = explorer.trace(text, keep="logits"), explorer.tokenizer.encode(text, max_len=99).ids
    of_ids = explorer.trace(ids, keep="logits")
    assert of_ids.tokens == of_text.tokens
    assert (of_ids.num_dropped, of_ids.cut_at) == (of_text.num_dropped, of_text.cut_at) == (27, 23)
    np.testing.assert_array_equal(of_ids.logits, of_text.logits)


@pytest.mark.parametrize("name", ["explorer", "writer", "translator"])
def test_token_ids_of_a_trace_give_that_trace_again(name, request):
    model = request.getfixturevalue(name)
    trace = model.trace(TEXT, keep="logits")
    target = {"target": trace.target_ids} if name == "translator" else {}
    again = model.trace(trace.token_ids, **target, keep="logits")
    assert again.token_ids.tolist() == trace.token_ids.tolist()
    assert again.target_ids.tolist() == trace.target_ids.tolist()
    np.testing.assert_array_equal(again.logits, trace.logits)


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ({"ablate": (0, 1)}, {"ablate": [(0, 1)]}),
        ({"ablate": ("encoder", 0, 1)}, {"ablate": [("encoder", 0, 1)]}),
        ({"cut": (0, 1, 2, 3)}, {"cut": [(0, 1, 2, 3)]}),
        ({"mute": np.array([[0, 1, 2, 3]])}, {"mute": [(0, 1, 2, 3)]}),
    ],
    ids=str,
)
def test_one_head_or_edge_needs_no_list(explorer, one, several):
    assert explorer.request(TEXT, **one) == explorer.request(TEXT, **several)


def test_one_head_alone_is_a_group(explorer):
    assert tv.joint_effect(explorer, TEXT, (0, 1)) == tv.joint_effect(explorer, TEXT, [(0, 1)])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"ablate": 3}, r"^`ablate` must be a list, such as \[\(0, 3\)\]\. Received: 3\.$"),
        ({"cut": "0.3"}, r"^`cut` must be a list, such as .* Received: '0\.3'\.$"),
        ({"ablate": [[]]}, r"^There is no head \(\): it must be \(layer, head\)"),
        ({"ablate": [("encoder", "a", "b")]}, r"^There is no head \('a', 'b'\): it must be"),
        ({"cut": [[(1, 2)]]}, r"^There is no edge \(\(1, 2\),\): it must be"),
    ],
    ids=str,
)
def test_what_is_no_head_or_edge_is_refused_in_a_sentence(explorer, changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        explorer.trace(TEXT, **changes)
