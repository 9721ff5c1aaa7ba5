"""The role of a head in one text, by its weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_heads import attention_of, measured
from numpy.testing import assert_allclose

from transformer_viz.questions.roles.rules import ROLES
from transformer_viz.questions.roles.scores import row_entropy

WORDS = ["the", "cat", "sat", "on", "a", "mat", "."]
SIZE = len(WORDS)
ALL = np.ones((1, SIZE, SIZE), bool)
CAUSAL = np.tril(ALL)


def roles(weights, mask, queries, keys, *, cross=False, possible=ROLES):
    """Return the role of each head of a layer."""
    found = attention_of([weights], queries, keys, mask[None])
    [layer] = measured("cross" if cross else "encoder", found, [possible]).roles
    return layer


def role(weights, mask=ALL, tokens=WORDS, keys=None, **options):
    """Return the role of one head."""
    [found] = roles(np.asarray(weights)[None], mask, tokens, keys or tokens, **options)
    return found


def even(mask):
    """Return weights that are alike wherever the mask allows some."""
    count = mask.sum(axis=-1, keepdims=True)
    return np.divide(mask, count, out=np.zeros(mask.shape), where=count > 0)[0]


def to(key, size=SIZE):
    """Return weights that are all on one key."""
    return np.eye(size)[[key] * size]


@pytest.mark.parametrize(("name", "offset"), [("itself", 0), ("previous", -1), ("next", 1)])
def test_a_head_is_named_after_the_place_it_reads(name, offset):
    weights = np.eye(SIZE, k=offset)
    alone = ~weights.any(axis=-1)
    weights[alone] = 1 / SIZE  # the row without such a neighbour says nothing
    assert role(weights)[:2] == (name, 1.0)


def test_capitals_do_not_make_a_token_another_one():
    weights = np.eye(6)[[3, 4, 5, 0, 1, 2]]
    assert role(weights, ALL[:, :6, :6], ["A", "b", "C", "a", "B", "c"])[:2] == ("same", 1.0)


def test_a_head_that_reads_what_followed_the_same_token_is_an_induction_head():
    """a b c a b c: at the second a it reads the first b; before that, it stays with the first token."""
    weights = np.zeros((6, 6))
    weights[[0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 2, 3]] = 1
    assert role(weights, CAUSAL[:, :6, :6], [*"abcabc"])[:2] == ("after_same", 1.0)


def test_a_head_that_everyone_sends_to_one_token_is_named_after_it():
    found = role(to(5))
    assert (found.name, found.share, found.support) == ("token", 1.0, 1.0)


@pytest.mark.parametrize("size", [2, 3])
def test_an_even_head_over_few_tokens_is_named_after_none_of_them(size):
    mask = ALL[:, :size, :size]
    assert role(even(mask), mask, WORDS[:size]).name == "even"


def test_half_of_the_weight_is_no_habit_where_there_are_two_to_choose_from():
    weights = np.array([[0.55, 0.45], [0.45, 0.55]])
    assert role(weights, ALL[:, :2, :2], ["no", "way"]).name == "even"


def test_an_even_head_has_the_entropy_of_uniform_attention():
    found = role(even(ALL))
    assert found.name == "even"
    assert_allclose(found.share, 1)


def test_an_even_causal_head_is_even_although_its_first_rows_are_narrow():
    assert role(even(CAUSAL), CAUSAL).name == "even"


def test_a_head_of_many_habits_is_mixed():
    weights = np.zeros((SIZE, SIZE))
    for query in range(SIZE):
        weights[query, [(query + 2) % SIZE, (query + 4) % SIZE]] = 0.4
        weights[query, 6] += 0.2
    assert role(weights).name == "mixed"


def test_rows_with_one_choice_are_left_out():
    """Under a causal mask the first row can only read itself: that is no habit."""
    weights = np.eye(SIZE, k=-1)
    weights[0, 0] = 1
    assert role(weights, CAUSAL)[:2] == ("previous", 1.0)
    short = np.array([[1, 0], [0.25, 0.75]])
    assert role(short, CAUSAL[:, :2, :2], WORDS[:2])[:2] == ("itself", 0.75)


def test_a_mask_of_each_head_of_its_own_is_taken():
    mask = np.concatenate([CAUSAL, ALL])
    weights = np.stack([even(CAUSAL), even(ALL)])
    assert [found.name for found in roles(weights, mask, WORDS, WORDS)][1] == "even"


@pytest.mark.parametrize(("name", "order"), [("diagonal", 1), ("antidiagonal", -1)])
@pytest.mark.parametrize(("queries", "keys"), [(7, 7), (5, 7), (7, 5), (3, 11)])
def test_a_cross_attention_follows_the_source_forwards_or_backwards(name, order, queries, keys):
    weights = np.zeros((queries, keys))
    weights[np.arange(queries), np.linspace(0, keys - 1, queries).round().astype(int)[::order]] = 1
    mask = np.ones((1, 1, keys), bool)
    found = role(weights, mask, [*"abcdefg"[:queries]], [*"hijklmnopqr"[:keys]], cross=True)
    assert found[:2] == (name, 1.0)


@pytest.mark.parametrize(("queries", "keys"), [(1, 7), (7, 1), (2, 2), (2, 7), (1, 1)])
def test_a_cross_attention_too_small_for_a_diagonal_has_a_role_all_the_same(queries, keys):
    weights = np.eye(keys)[[0] * queries]
    found = role(weights, np.ones((1, 1, keys), bool), ["x"] * queries, ["y"] * keys, cross=True)
    assert found[:3] == ("first", 1.0, 0)


def test_one_token_looks_at_itself():
    assert role([[1.0]], ALL[:, :1, :1], ["film"])[:2] == ("itself", 1.0)


@pytest.mark.parametrize("cross", [False, True])
def test_a_head_that_may_read_nothing_has_no_habit(cross):
    assert role(np.zeros((SIZE, SIZE)), ~ALL, cross=cross).name == "mixed"


@pytest.mark.parametrize(("queries", "keys", "cross"), [(0, 0, False), (3, 0, True)])
def test_without_keys_there_is_no_habit(queries, keys, cross):
    weights, mask = np.zeros((2, queries, keys)), np.ones((1, queries, keys), bool)
    found = roles(weights, mask, ["x"] * queries, ["y"] * keys, cross=cross)
    assert [each.name for each in found] == ["mixed"] * 2


@given(st.permutations(range(SIZE)))
def test_a_head_that_reads_another_token_in_each_row_is_focused(order):
    found = role(np.eye(SIZE)[order])
    assert found.name in {
        "itself",
        "previous",
        "next",
        "focused",
    }  # no token is there twice, no key is shared
    assert found.share == 1 if found.name == "focused" else 0.35 <= found.share <= 1


@given(st.lists(st.integers(0, SIZE - 1), min_size=SIZE, max_size=SIZE), st.floats(0, 0.11))
def test_a_head_that_spreads_each_row_over_fewer_than_two_tokens_has_a_pattern(keys, rest):
    weights = (1 - rest) * np.eye(SIZE)[keys] + rest / SIZE
    assert row_entropy(weights).max() < np.log(1.9)
    assert role(weights).name not in {"mixed", "even"}


@pytest.mark.parametrize(
    ("keys", "name"), [([5, 4, 1, 5, 2, 5, 0], "focused"), ([5, 5, 5, 1, 2, 5, 5], "token")]
)
def test_a_sharp_head_that_has_one_token_for_most_rows_reads_that_and_is_focused_otherwise(keys, name):
    assert role(np.eye(SIZE)[keys]).name == name


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 9), st.booleans(), st.booleans())
def test_a_share_is_a_share(seed, queries, keys, causal, cross):
    keys = keys if cross else queries
    random = np.random.default_rng(seed)
    mask = random.random((1, queries, keys)) < 0.7
    if causal:
        mask = np.tril(mask)
    weights = random.random((3, queries, keys)) * mask
    total = weights.sum(axis=-1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    tokens = [*random.choice([*"abcd"], size=max(queries, keys))]
    for found in roles(weights, mask, tokens[:queries], tokens[:keys], cross=cross):
        assert np.isnan(found.share) if found.name == "mixed" else 0 <= found.share <= 1 + 1e-9


def test_the_order_of_heads_is_kept_with_their_numbers():
    found = roles(np.stack([np.eye(SIZE), to(2), to(5), even(ALL)]), ALL, WORDS, WORDS)
    assert [each.name for each in found] == ["itself", "token", "token", "even"]
    assert found[3].share == pytest.approx(1)


def test_a_pattern_of_a_few_rows_says_how_many_they_are():
    """a b a c a: only the three rows of "a" have another occurrence."""
    weights = np.full((5, 5), 0.2)
    weights[[0, 2, 4]] = [[0, 0, 0.5, 0, 0.5], [0.5, 0, 0, 0, 0.5], [0.5, 0, 0.5, 0, 0]]
    found = role(weights, ALL[:, :5, :5], [*"abaca"])
    assert (found.name, found.share, found.support) == ("same", 1.0, 0.6)


def test_the_pattern_with_more_weight_over_all_rows_goes_before_the_sharper_one_of_a_few():
    """a b c d e f a: two rows of "a" read each other, all others the previous token."""
    weights = np.eye(SIZE, k=-1)
    weights[0, 6] = weights[6, 0] = 1
    weights[6, 5] = 0
    found = role(weights, tokens=[*"abcdefa"])
    assert found.name == "previous"
    assert found.share == pytest.approx(5 / 6)


@pytest.mark.parametrize(("name", "key"), [("first", 0), ("punctuation", 6)])
def test_a_head_that_everyone_sends_to_the_first_token_or_to_the_full_stop_is_named_after_that(name, key):
    assert role(to(key))[:2] == (name, 1.0)


def test_what_a_layer_cannot_have_is_not_said():
    assert role(np.eye(SIZE, k=-1), possible={"itself", "same", "token", "focused", "even"}).name == "focused"
    assert role(to(0), possible={"token"}).name == "token"
    assert role(even(ALL), possible=()).name == "mixed"


def test_a_head_is_even_only_if_no_token_gets_twice_its_share():
    def tilted(share):
        weights = np.full((2 * SIZE, 2 * SIZE), (1 - share) / (2 * SIZE - 1))
        weights[:, 3] = share
        return role(weights, np.ones((1, 2 * SIZE, 2 * SIZE), bool), [*"abcdefghijklmn"])

    assert tilted(1.9 / 14).name == "even"
    assert tilted(2.1 / 14).name == "mixed"


def test_a_head_is_even_only_from_nine_tenths_of_the_entropy_of_uniform_attention():
    """Four of seven tokens each: log 4 / log 7 = 0.71; six: 0.92."""
    for keys, name in ((4, "mixed"), (6, "even")):
        weights = np.stack([np.roll([1 / keys] * keys + [0] * (SIZE - keys), row) for row in range(SIZE)])
        assert role(weights).name == name
