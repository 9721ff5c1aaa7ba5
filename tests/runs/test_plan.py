"""What a training begins with, for the page and the command alike."""

import pytest

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.presets import PRESETS
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.plan import FINE_TUNING, Material, cost_of, plan
from transformer_viz.training.runs.recipes import RECIPES, Reading, Recipe

READING = Reading("bpe", keep_case=True, max_len=48)
PARENT = TransformerConfig(d_model=16, num_heads=2, positions="learned", max_len=20, labels=("bad", "good"))


def test_a_new_model_is_that_of_the_recipe_for_texts_as_they_are_read():
    recipe = RECIPES["labels"]
    begun = plan(recipe, reading=READING, changes={"num_heads": 4}, settings={"test_share": 0.2})
    assert begun.preset == recipe.preset
    assert begun.config == recipe.config(max_len=48, num_heads=4)
    assert begun.settings == recipe.training(test_share=0.2)


def test_another_preset_keeps_the_settings_of_the_recipe_and_alone_it_has_its_own():
    begun = plan(RECIPES["labels"], preset="position-attention", reading=READING)
    assert begun.config == PRESETS["position-attention"].replace(max_len=48)
    assert begun.settings == RECIPES["labels"].training()
    assert plan(Recipe("position-attention"))[:2] == ("position-attention", PRESETS["position-attention"])


def test_a_target_in_another_script_has_a_vocabulary_of_its_own():
    begun = plan(RECIPES["pairs"], reading=READING._replace(target_tokens="characters"))
    assert not begun.config.tie_embeddings
    assert plan(RECIPES["pairs"], reading=READING).config.tie_embeddings


def test_what_fills_in_masks_is_packed():
    assert plan(Recipe("bert-mini")).settings.pack
    assert not plan(Recipe("gpt-mini")).settings.pack


def test_a_fine_tuned_model_has_the_positions_of_its_parent_and_learns_more_slowly():
    begun = plan(RECIPES["labels"], parent=PARENT, reading=READING, settings={"learning_rate": 0.1})
    assert (begun.preset, begun.config.max_len, begun.config.d_model) == ("", 20, 16)
    assert begun.settings == RECIPES["labels"].training(**FINE_TUNING)
    with pytest.raises(ValueError, match="`num_heads`"):
        plan(RECIPES["labels"], parent=PARENT, changes={"num_heads": 4})


def test_the_cost_is_that_of_the_vocabulary_and_the_lengths_of_the_data():
    begun = plan(RECIPES["labels"], reading=READING)
    job = TrainingJob(config=begun.config, settings=begun.settings, data="reviews.csv", rows=1000)
    few = Material("reviews.csv", "labels", 1000, [], 500, 12.0, {}, READING)
    many = few._replace(vocab=5000)
    width = begun.config.d_model
    assert cost_of(job, many).parameters - cost_of(job, few).parameters == 4500 * width
    assert (
        cost_of(job, few._replace(tokens=10**6)).step_flops
        == cost_of(job, few._replace(tokens=48)).step_flops
    )
    assert cost_of(job, few._replace(tokens=24)).step_flops > cost_of(job, few).step_flops
