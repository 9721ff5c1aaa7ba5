"""What a training keeps in the card of how well effects are estimated."""

import pytest

from transformer_viz.network.config import TransformerConfig
from transformer_viz.training.evaluator import EFFECT_TEXTS, LEAST_SECONDS, Evaluator
from transformer_viz.training.labelled_texts import LabelledTexts
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.settings import TrainingSettings

CONFIG = TransformerConfig(d_model=8, num_heads=2, ffn_dim=8, norm="pre", max_len=32)


@pytest.fixture(scope="module")
def evaluator():
    settings = TrainingSettings(validation=0.1)
    dataset = LabelledTexts(TrainingJob(config=CONFIG, settings=settings, data="parity", rows=1200))
    return Evaluator(dataset, settings)


def test_each_layer_has_its_agreement_over_validation_texts_and_the_card_says_how_many(evaluator):
    asked = []
    found = evaluator.effects(60, lambda: asked.append(None))
    assert 1 < found["effects_texts"] == len(asked) <= EFFECT_TEXTS
    rows = {(row["what"], row["layer"]): row for row in found["effects"]}
    assert {"cells", "heads", "words"} == {what for what, _ in rows}
    heads = rows["heads", 0]
    assert heads["count"] == CONFIG.num_heads * found["effects_texts"]
    assert 0.5 < heads["correlation"] <= 1


def test_a_short_training_measures_nothing_and_one_that_is_stopped_stops(evaluator):
    assert evaluator.effects(LEAST_SECONDS - 1) is None

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluator.effects(60, stop)
