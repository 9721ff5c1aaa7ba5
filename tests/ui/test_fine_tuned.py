"""A classifier made from a decoder, which reads [START], on every page that looks into one."""

import shutil

import pytest
from bench import open_bench, texts_of
from pages import open_page
from small_models import REVIEWS, with_random_parameters, write

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.network.config import START_ID, TransformerConfig
from transformer_viz.network.fine_tuning import child_config
from transformer_viz.text.tokenizer import NoTokensError, Tokenizer

TEXT = "What a lovely film, not dull at all."

pytestmark = pytest.mark.usefixtures("engine", "reader")


@pytest.fixture(scope="module")
def reader(models_folder):
    tokenizer = Tokenizer.train(REVIEWS, 90, kind="bpe", markers=True)
    decoder = TransformerConfig(
        architecture="decoder",
        vocab_size=tokenizer.vocab_size,
        max_len=31,
        d_model=14,
        num_layers=2,
        num_heads=2,
        tie_embeddings=True,
    )
    config = child_config(decoder, classifies=True, labels=("dull", "fine", "lovely"))
    explorer = Explorer(with_random_parameters(config), tokenizer, name="reader")
    write(explorer, models_folder)
    yield explorer
    shutil.rmtree(models_folder / "reader")


def test_the_attention_page_predicts_what_the_model_predicts(reader):
    trace = reader.trace(TEXT)
    assert trace.token_ids[0] == START_ID
    said, *bars = texts_of(open_bench("reader", text=TEXT).said["answer"])
    best = trace.probs.argmax()
    assert said == f"The model predicts **{trace.labels[best]}**"
    assert f"{trace.labels[best]} · {trace.probs[best]:.1%}" in bars


def test_the_masks_page_can_show_it_the_words_after(reader):
    bench = open_bench("reader", text=TEXT, experiment={"page": "masks", "mask": "none"})
    best = f"{reader.trace(TEXT, attention_mask='none').probs.max():.1%}"
    assert any(best in said for said in texts_of(bench.said["answer"]))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_positions_page_shuffles_all_but_the_beginning(lang):
    app = open_page("positions", model="reader", text=TEXT, lang=lang)
    assert not app.error
    assert not app.exception


def test_a_text_without_words_is_not_classified(reader):
    with pytest.raises(NoTokensError):
        reader.trace(" ")
