import numpy as np
import pytest

from transformer_viz.config import PAD_ID, START_ID, UNK_ID, TransformerConfig
from transformer_viz.runs import TrainingJob, TrainingSettings
from transformer_viz.training.lesson import Labels, Pairs, crop, hide

RANDOM = np.random.default_rng(2)


def test_word_dropout_hides_its_share_of_words_and_no_padding():
    ids = RANDOM.integers(4, 30, (200, 20))
    ids[:, 15:] = PAD_ID
    hidden = hide(ids, 0.3, RANDOM)
    assert (hidden[:, 15:] == PAD_ID).all()
    assert abs((hidden[:, :15] == UNK_ID).mean() - 0.3) < 0.02
    ids[:, 0] = START_ID
    assert (hide(ids, 0.9, RANDOM)[:, 0] == START_ID).all()
    assert hide(ids, 0.0, RANDOM) is ids


def test_a_crop_is_a_part_of_its_text():
    text = np.arange(40)
    crops = [crop(text, RANDOM) for _ in range(300)]
    assert all((np.diff(part) == 1).all() for part in crops)
    assert (min(map(len, crops)), max(map(len, crops))) == (8, 40)
    assert {part[0] for part in crops} > set(range(20))
    for short in ([], [7], [7, 8]):
        assert list(crop(np.array(short), RANDOM)) == short


@pytest.mark.parametrize(
    ("kind", "task", "architecture"),
    [(Labels, "parity", "encoder"), (Pairs, "copy", "encoder-decoder"), (Pairs, "repeat", "decoder")],
)
def test_every_epoch_has_every_row_once_in_an_order_of_its_own(kind, task, architecture):
    settings = TrainingSettings(batch_size=16)
    config = TransformerConfig(architecture=architecture, max_len=64)
    lesson = kind(TrainingJob(config=config, settings=settings, data=task, rows=120))

    def rows(epoch):
        batches = [answers for _, answers in lesson.batches(settings, epoch)]
        assert len(batches) == settings.steps_per_epoch(lesson.num_rows)
        return [tuple(np.atleast_1d(row)[np.atleast_1d(row) != PAD_ID]) for batch in batches for row in batch]

    first, again, other = rows(0), rows(0), rows(1)
    assert first == again
    assert first != other
    assert sorted(first) == sorted(other)
    assert len(first) == lesson.num_rows
    assert len(lesson.probes) == 3
