"""A model that fills in hidden tokens, on every page that looks into one."""

import shutil

import numpy as np
import pytest
from pages import open_page, shown
from small_models import REVIEWS, with_random_parameters, write

from transformer_viz.inspection.explorer import Explorer
from transformer_viz.pictures.labels import label_of
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.ui.shell.language import escaped
from transformer_viz.values.config import TransformerConfig

TEXT = "What a [MASK] film, not [MASK] at all."


pytestmark = pytest.mark.usefixtures("engine", "filler")


@pytest.fixture(scope="module")
def filler(models_folder):
    config = TransformerConfig(
        vocab_size=90, max_len=31, d_model=14, num_layers=2, num_heads=2, output="tokens", tie_embeddings=True
    )
    tokenizer = Tokenizer.train(REVIEWS, 90, kind="bpe", mask=True)
    config = config.replace(vocab_size=tokenizer.vocab_size)
    explorer = Explorer(with_random_parameters(config), tokenizer, name="filler")
    write(explorer, models_folder)
    yield explorer
    shutil.rmtree(models_folder / "filler")


def test_the_attention_page_says_what_stands_in_each_gap(filler):
    app = open_page(model="filler", text=TEXT)
    trace = filler.trace(TEXT)
    assert len(trace.gaps) == 2
    said = shown(app)
    for place in trace.gaps:
        best = trace.probs[place].argmax()
        assert (
            f"the model predicts **{escaped(label_of(trace, best))}**, with an estimated probability of"
            in said
        )
        assert f"**{trace.probs[place].max():.1%}**" in said
    assert "▁" not in said


def test_without_a_gap_the_page_says_how_to_make_one():
    assert "in place of a word, and the model predicts the word." in shown(
        open_page(model="filler", text="A film.")
    )


def test_the_masks_page_says_what_becomes_of_what_is_filled_in(filler):
    app = open_page("masks", model="filler", text=TEXT, mask="causal")
    own, causal = filler.trace(TEXT).probs, filler.trace(TEXT, attention_mask="causal").probs
    others = (own.argmax(axis=-1) != causal.argmax(axis=-1)).sum()
    assert f"At **{others}** of {len(own)} positions the model now predicts another token" in shown(app)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_positions_page_shuffles_all_but_the_beginning(lang):
    app = open_page("positions", model="filler", text=TEXT, lang=lang)
    said = shown(app)
    assert {"en": "first gap", "zh": "第一个空缺"}[lang] in said


def test_the_models_page_shows_it():
    assert "filler" in shown(open_page("models", model="filler"))


def test_no_class_is_claimed_for_it(filler):
    with pytest.raises(ValueError, match="predicts tokens, not classes"):
        filler.predict([TEXT])
    assert np.isclose(filler.trace(TEXT).probs.sum(axis=-1), 1).all()
