import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.data.cloze import mask_tokens
from transformer_viz.network.config import MASK_ID, PAD_ID, START_ID, TransformerConfig

CONFIG = TransformerConfig(vocab_size=500, output="tokens")


def rows(count=400, length=64):
    random = np.random.default_rng(1)
    ids = random.integers(MASK_ID + 1, CONFIG.vocab_size, (count, length)).astype(np.int32)
    ids[random.random(ids.shape) < 0.05] = START_ID
    ids[-1, 20:] = PAD_ID
    return ids


def filled(cloze):
    """Return whether each gap is one, and the rows with every gap filled in."""
    real = cloze.targets != PAD_ID
    ids = cloze.token_ids.copy()
    ids[np.nonzero(real)[0], cloze.positions[real]] = cloze.targets[real]
    return real, ids


def test_filled_in_the_rows_are_what_they_were():
    ids = rows()
    real, again = filled(mask_tokens(ids, CONFIG, np.random.default_rng(2)))
    assert_array_equal(again, ids)
    assert real.any(axis=1).all()


def test_fifteen_in_a_hundred_tokens_are_gaps_and_no_beginning_or_padding():
    ids = rows()
    cloze = mask_tokens(ids, CONFIG, np.random.default_rng(2))
    real, _ = filled(cloze)
    can = ~np.isin(ids, (PAD_ID, START_ID))
    assert_allclose(real.sum() / can.sum(), 0.15, atol=0.01)
    assert not np.isin(cloze.targets[real], (PAD_ID, START_ID)).any()
    assert real[-1].sum() == np.ceil(0.15 * can[-1].sum())  # a row that is mostly padding has fewer gaps
    hit = np.zeros_like(can)
    hit[np.nonzero(real)[0], cloze.positions[real]] = True
    assert hit.sum() == real.sum()  # no token is a gap twice
    assert abs(hit[:-1, :20].sum() / can[:-1, :20].sum() - hit[:-1, 44:].sum() / can[:-1, 44:].sum()) < 0.03


def test_of_the_gaps_eight_in_ten_are_masked_one_is_another_token_and_one_stays():
    ids = rows()
    cloze = mask_tokens(ids, CONFIG, np.random.default_rng(2))
    real, _ = filled(cloze)
    shown = np.take_along_axis(cloze.token_ids, cloze.positions, axis=1)[real]
    targets = cloze.targets[real]
    assert_allclose((shown == MASK_ID).mean(), 0.8, atol=0.02)
    assert_allclose((shown == targets).mean(), 0.1, atol=0.02)
    other = shown[(shown != MASK_ID) & (shown != targets)]
    assert_allclose(len(other) / len(shown), 0.1, atol=0.02)
    assert other.min() > MASK_ID
    assert len(np.unique(other)) > 100


def test_the_gaps_follow_from_the_random_numbers_alone():
    ids = rows()
    first, again, other = (mask_tokens(ids, CONFIG, np.random.default_rng(seed)) for seed in (5, 5, 6))
    for one, two in zip(first, again, strict=True):
        assert_array_equal(one, two)
    assert not np.array_equal(first.token_ids, other.token_ids)


def test_every_token_is_a_gap_at_some_time():
    ids, random, hit = rows(4), np.random.default_rng(3), 0
    for _ in range(80):
        hit = hit + (mask_tokens(ids, CONFIG, random).token_ids == MASK_ID)
    assert (hit > 0)[~np.isin(ids, (PAD_ID, START_ID))].all()
