"""Two traces compared: aligned tokens, and differences equal to those worked out by hand."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from shelf import shelved

import transformer_viz as tv
from transformer_viz.language import Problem, Words
from transformer_viz.pictures.changes import acts_of
from transformer_viz.pictures.compared import compared_attentions
from transformer_viz.trace.comparison import align

TEXT, OTHER = "This film was good.", "This film was not good."


@pytest.fixture(scope="module")
def judge():
    """A shipped classifier of four layers."""
    return shelved("imdb-sentiment")


@pytest.fixture(scope="module")
def translator():
    """A shipped encoder-decoder."""
    return shelved("translate-en-fr")


@pytest.mark.parametrize(
    ("a", "b", "rows"),
    [
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("abc", "abxc", [(0, 0), (1, 1), (-1, 2), (2, 3)]),
        ("abxc", "abc", [(0, 0), (1, 1), (2, -1), (3, 2)]),
        ("abc", "axc", [(0, 0), (1, 1), (2, 2)]),
        ("abc", "axyc", [(0, 0), (1, -1), (-1, 1), (-1, 2), (2, 3)]),
        ("aba", "ab", [(0, 0), (1, 1), (2, -1)]),
        ("ab", "cd", [(0, 0), (1, 1)]),
        ("", "ab", [(-1, 0), (-1, 1)]),
        ("", "", []),
    ],
)
def test_tokens_are_aligned_by_what_was_added_taken_away_and_replaced(a, b, rows):
    assert align(a, b).tolist() == [[*row] for row in rows]


def test_shuffled_tokens_are_aligned_with_themselves():
    order = (0, 3, 1, 2)
    shuffled = [("abcd")[i] for i in order]
    assert align("abcd", shuffled, orders=(None, order)).tolist() == [[0, 0], [1, 2], [2, 3], [3, 1]]
    assert align(shuffled, "abcd", orders=(order, None)).tolist() == [[0, 0], [2, 1], [3, 2], [1, 3]]


def test_two_runs_of_one_text_differ_by_the_difference_of_every_tensor(judge):
    a, b = judge.trace(TEXT), judge.trace(TEXT, ablate=[(0, 3), (2, 1)])
    found = tv.compare(a, b)
    assert found.tokens == a.tokens
    for number, (before, after) in enumerate(zip(a.encoder, b.encoder, strict=True)):
        block = found.encoder[number]
        for name in ("query", "key", "value", "scores", "weights", "context", "output"):
            difference = getattr(after.attention, name) - getattr(before.attention, name)
            assert_array_equal(getattr(block.attention, name), difference)
        assert_array_equal(block.resid_post, after.resid_post - before.resid_post)
        assert_array_equal(block.ffn.hidden, after.ffn.hidden - before.ffn.hidden)
    assert_array_equal(found.logits, b.logits - a.logits)
    assert_array_equal(found.probs, b.probs - a.probs)
    assert np.abs(found.encoder[3].attention.weights).max() > 0.01


def test_a_token_without_counterpart_has_no_difference_and_the_others_have_theirs(judge):
    a, b = judge.trace(TEXT), judge.trace(OTHER)
    found = tv.compare(a, b)
    added = found.tokens.index("▁not")
    assert found.tokens == b.tokens
    assert found.rows[added].tolist() == [-1, added]
    for layer in range(4):
        ours, theirs = a.encoder[layer].attention.weights, b.encoder[layer].attention.weights
        expected = np.full_like(theirs, np.nan)
        for query, (i, j) in enumerate(found.rows):
            for key, (m, n) in enumerate(found.rows):
                if min(i, j, m, n) >= 0:
                    expected[:, query, key] = theirs[:, j, n] - ours[:, i, m]
        assert_array_equal(found.encoder[layer].attention.weights, expected)
        assert_array_equal(found.kinds()["encoder"].layers[layer].weights, expected)
        assert_array_equal(np.isnan(found.encoder[layer].resid_post).all(axis=1), found.rows[:, 0] < 0)


def test_a_replaced_token_names_both(judge):
    found = tv.compare(judge.trace("This film was good."), judge.trace("This film was bad."))
    assert "▁good → ▁bad" in found.tokens
    assert not np.isnan(found.encoder[0].attention.weights).any()


def test_the_weight_moved_is_the_total_variation_of_the_rows(judge):
    a, b = judge.trace(TEXT), judge.trace(OTHER)
    found = tv.compare(a, b)
    for layer in range(4):
        for head in range(8):
            moved = []
            for i, j in found.rows:
                if min(i, j) < 0:
                    continue
                before = {m: a.encoder[layer].attention.weights[head, i, m] for m in range(len(a.tokens))}
                total = 0
                for m, n in found.rows:
                    one = before[m] if m >= 0 else 0
                    other = b.encoder[layer].attention.weights[head, j, n] if n >= 0 else 0
                    total += abs(other - one) / 2
                moved.append(total)
            assert math.isclose(found.moved["encoder"][layer, head], np.mean(moved), abs_tol=1e-5)
    assert not tv.compare(a, a).moved["encoder"].any()


def test_texts_without_a_common_query_move_no_weight(judge):
    a, b = judge.trace([40]), judge.trace([50, 51, 52])
    rows = tv.compare(a, b).rows
    assert (rows >= 0).all(axis=1).sum() == 1  # [START]
    assert tv.compare(a, b).moved["encoder"].shape == (4, 8)


def test_the_answer_is_that_of_a_before_and_after(judge):
    a, b = judge.trace(TEXT), judge.trace(OTHER)
    change = tv.compare(a, b).answer()
    assert a.labels[change.label] == "positive"
    assert (change.before, change.after) == (a.probs[1], b.probs[1])
    assert change.likeliest == (0, b.probs[0])
    temperature = judge.config.temperature
    expected = (b.logits[1] - b.logits[0] - a.logits[1] + a.logits[0]) / temperature
    assert_allclose(change.log_odds, expected, rtol=1e-4)


def test_log_odds_tell_apart_what_is_certain(judge):
    a = judge.trace("A wonderful, brilliant, beautiful and moving film. I loved it. The best!")
    sure = a.__class__(**{**vars(a), "probs": np.array([1e-12, 1.0], np.float32)})
    surer = a.__class__(**{**vars(a), "probs": np.array([1e-15, 1.0], np.float32)})
    assert_allclose(tv.compare(sure, surer).answer().log_odds, math.log(1e3), rtol=1e-3)


def test_both_outputs_of_a_translator_are_aligned(translator):
    a, b = translator.trace("I love you."), translator.trace("I do not love you.")
    found = tv.compare(a, b)
    assert found.answer() is None
    cross = found.decoder[0].cross_attention.weights
    assert cross.shape[1:] == (len(found.target_tokens), len(found.tokens))
    common = [i for i, (one, other) in enumerate(found.target_rows) if min(one, other) >= 0]
    query, (i, j) = common[0], found.target_rows[common[0]]
    key, (m, n) = next((k, pair) for k, pair in enumerate(found.rows) if min(pair) >= 0)
    ours, theirs = (each.decoder[0].cross_attention.weights for each in (a, b))
    assert_array_equal(cross[:, query, key], theirs[:, j, n] - ours[:, i, m])
    assert found.logits.shape[0] == len(found.target_tokens)
    assert found.decoder[0].resid_post.shape[0] == len(found.target_tokens)
    assert found.encoder[0].resid_post.shape[0] == len(found.tokens)


def test_the_table_has_both_sides_and_their_difference(judge):
    frame = tv.compare(judge.trace(TEXT), judge.trace(OTHER)).to_frame()
    assert len(frame) == 4 * 8 * 7 * 7
    assert frame.difference.equals(frame.b - frame.a)
    assert frame[frame.key_token == "▁not"].a.isna().all()
    assert not frame.b.isna().any()


def test_the_table_of_a_writer_has_the_tokens_of_its_text(writer):
    a, b = writer.trace("A lovely film."), writer.trace("A lovely film.", ablate=[(0, 1)])
    frame = tv.compare(a, b).to_frame()
    size = len(a.tokens)
    assert frame.kind.unique().tolist() == ["decoder"]
    assert frame.query_token[: size * size].tolist() == np.repeat(a.tokens, size).tolist()
    assert frame.key_token[: size * size].tolist() == [*a.tokens] * size
    assert (
        frame.a.tolist()
        == np.concatenate([each.self_attention.weights for each in a.decoder]).ravel().tolist()
    )


def test_models_with_other_heads_are_not_compared_head_by_head(judge, translator):
    other = shelved("single-block").trace(TEXT)
    found = tv.compare(judge.trace(TEXT), other)
    assert found.answer().label == 1  # the labels are the same
    with pytest.raises(Problem, match="different layers and heads"):
        found.sides()
    found = tv.compare(judge.trace(TEXT), translator.trace(TEXT))
    assert found.answer() is None
    with pytest.raises(Problem, match="different layers and heads"):
        found.kinds()


def test_answers_with_other_labels_are_not_compared(judge):
    hotel = shelved("hotel-zh").trace("房间很干净")
    found = tv.compare(judge.trace(TEXT), hotel)
    assert found.answer() is None
    with pytest.raises(Problem, match="different labels"):
        _ = found.probs


def captions(judge, language="en", **changes):
    """Return the captions of the heads of layer 1 with some changes, beside those without."""
    comparison = tv.compare(judge.trace(TEXT), judge.trace(TEXT, **changes))
    words, request = Words(language), judge.request(TEXT, **changes)
    acts = acts_of(words, judge.config, request, judge.request(TEXT), comparison.b)
    return comparison, compared_attentions(comparison, words, acts)["encoder"].captions[0]


def test_a_head_that_is_off_is_said_to_compute_weights_whose_output_is_replaced(judge):
    _, said = captions(judge, ablate=[(0, 1)])
    assert said[1].startswith("Switched off: its weights are still computed, its output is set to zero.")
    _, said = captions(judge, "zh", ablate=[(0, 1)])
    assert said[1].startswith("已关闭：权重照算，但输出置零。")
    _, said = captions(judge, ablate=[(0, 1)], reference="own")
    assert "its output is replaced by its mean over the text." in said[1]


def test_a_head_whose_weight_moved_says_how_much_and_where_to(judge):
    comparison, said = captions(judge, positions="none")
    moved = comparison.moved["encoder"][0]
    for share, sentence in zip(moved, said, strict=True):
        written = f"{share:.0%}" if share >= 0.01 else f"{share:.1%}"
        assert sentence.startswith(f"{written} of the weight moved: more on “")
        assert "”, less on “" in sentence
