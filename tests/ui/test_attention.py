"""The Attention page, run by Streamlit's own test harness against a real engine."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from made_traces import unpack
from numpy.testing import assert_allclose, assert_array_equal
from pages import again, open_page, shown, views_on
from shelf import place_of
from small_models import write

import transformer_viz as tv
from transformer_viz import store
from transformer_viz.inspection.explorer import load
from transformer_viz.language import Words
from transformer_viz.pictures.effects import together_text
from transformer_viz.questions.effects.heads import head_effects
from transformer_viz.ui.shell.answers import word_preferences
from transformer_viz.values.config import END_ID

pytestmark = pytest.mark.usefixtures("engine")


def type_sentence(app, text):
    app.text_input(key="sentence").set_value(text).run()
    assert not app.exception
    return app


def lens(app):
    """Return what the views on the page are given: the header, and kind of attention -> its arrays."""
    [component] = views_on(app)
    return unpack(component.proto.bytes)


def facts(app, kind="encoder"):
    """Return what the header says of one kind of attention."""
    return next(found for found in lens(app)[0]["attentions"] if found["kind"] == kind)


def weights(app, kind="encoder"):
    """Return the weights that the views are given, float16 (layer, head, query, key)."""
    return lens(app)[1][kind]["weights"]


def held(layers):
    """Return the weights of layers as the views hold them."""
    return np.stack([layer.weights for layer in layers]).astype(np.float16)


def test_every_head_stands_there_without_a_click(explorer, reviews):
    app = open_page()
    expected = explorer.trace(reviews[0])
    assert app.text_input(key="sentence").value == reviews[0]
    assert_array_equal(weights(app), held([block.attention for block in expected.encoder]))
    assert facts(app)["keyTokens"] == [*expected.tokens]


def test_heads_are_described_by_what_was_measured_as_soon_as_it_is_kept(models_folder, explorer, reviews):
    shutil.copytree(models_folder / "small", models_folder / "measured")
    try:
        assert not any(facts(open_page(model="measured"))["usual"])
        found = tv.head_roles(explorer, reviews)
        store.write_head_roles("measured", found)
        usual = facts(open_page(model="measured"))["usual"]
        assert all(" texts" in said for said in usual)
        for said, role in zip(usual, itertools.chain(*found.usual("encoder")), strict=True):
            none = f"No fixed pattern over 6 texts of about {found.tokens} tokens."
            assert said.startswith(none) == (role.name == "mixed")
    finally:
        shutil.rmtree(models_folder / "measured")


def test_every_head_is_described_in_words():
    app = open_page()
    sayings = facts(app)["sayings"]
    assert len(sayings) == 2 * 3
    assert all(saying and "{" not in saying for saying in sayings)
    assert set(facts(app)["figures"]) == {"entropy", "distance", "previous", "role"}


def test_a_run_that_changes_nothing_writes_over_nothing_that_is_being_typed_or_dragged():
    app = again(open_page(text="A dull film.", lang="en"))
    assert not app.text_input(key="sentence").proto.set_value
    assert not app.selectbox(key="model").proto.set_value
    masks = again(open_page("masks", pads="2"))
    assert not masks.slider(key="pads").proto.set_value


def test_another_sentence_is_another_picture_and_prediction(explorer):
    app = type_sentence(open_page(), "A dull film.")
    trace = explorer.trace("A dull film.")
    assert_array_equal(weights(app), held([block.attention for block in trace.encoder]))
    best = trace.probs.argmax()
    assert f"The model predicts **{trace.labels[best]}**" in shown(app)
    bars = [bar.proto.text for bar in app.get("progress")]
    assert bars == [f"{name} · {share:.1%}" for name, share in zip(trace.labels, trace.probs, strict=True)]


def test_an_example_is_one_click_away(reviews):
    app = open_page()
    app.button(key="example-2").click().run()
    assert app.text_input(key="sentence").value == reviews[2]
    assert facts(app)["queries"] == 11


def test_an_address_opens_the_same_view(explorer):
    app = open_page(text="A dull film.", layer="2", head="3", view="matrix")
    trace = explorer.trace("A dull film.")
    assert_array_equal(weights(app), held([block.attention for block in trace.encoder]))
    chosen = {name: app.query_params[name] for name in ("layer", "head", "view")}
    assert chosen == {"layer": "2", "head": "3", "view": "matrix"}  # for the views to read


@pytest.mark.parametrize(
    "address", [{"head": "99"}, {"layer": "x"}, {"model": "../../etc"}, {"lang": "../en"}, {"text": "\x00"}]
)
def test_an_address_somebody_made_up_opens_the_page_all_the_same(address):
    assert facts(open_page(**address))["heads"] == 3


def test_heads_are_sorted_by_their_effect_on_the_log_odds_and_all_are_ablated_together(explorer):
    app, effects = (
        open_page(text="A dull film.", effects="1", lang="en"),
        head_effects(explorer, "A dull film."),
    )
    assert_allclose(lens(app)[0]["attentions"][0]["figures"]["effect"], effects.log_odds["encoder"].ravel())
    said = together_text(Words("en"), explorer.trace("A dull film."), effects)
    assert said.startswith("Without any head, the probability of “")
    assert said in [caption.value.replace("\\", "") for caption in app.caption]
    assert "set to zero" not in shown(open_page(text="A dull film.", lang="en"))


def test_an_unknown_word_is_marked_and_named():
    app = type_sentence(open_page(), "A zyzzyva film.")
    assert facts(app)["keyTokens"][1] == "zyzzyva [UNK]"
    assert "Not in the model's vocabulary, read as [UNK]: “zyzzyva” (1 of 4 tokens)." in shown(app)


def test_only_unknown_words_are_said_to_say_little():
    app = type_sentence(open_page(), "qwx zyzzyva")
    assert "None of these words is in the model's vocabulary" in shown(app)


def test_a_text_that_is_too_long_is_said_to_be_cut():
    app = type_sentence(open_page(), "good " * 40)
    assert "The text has 40 tokens; the model read the first 23." in shown(app)


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_no_sentence_is_a_hint_and_no_picture(text):
    app = type_sentence(open_page(), text)
    assert not views_on(app)
    assert "Type a sentence above" in shown(app)


def test_a_text_without_words_is_said_to_have_none():
    app = type_sentence(open_page(lang="zh"), "<br />")
    assert not views_on(app)
    assert "这段文本中没有任何词" in shown(app)


def test_a_model_that_cannot_be_read_is_named_with_the_reason(models_folder):
    changed = models_folder / "changed"
    shutil.copytree(next(folder for folder in models_folder.iterdir() if folder.is_dir()), changed)
    parameters = bytearray((changed / "parameters.safetensors").read_bytes())
    parameters[-1] ^= 1
    (changed / "parameters.safetensors").write_bytes(parameters)
    try:
        app = open_page(model="changed")
        assert app.error[0].value.startswith("The model cannot be read: ")
        assert "parameters" in app.error[0].value
    finally:
        shutil.rmtree(changed)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "good film " * 100_000,
        "😀👩‍👩‍👧‍👦 film",
        "\x00",
        "film \u202e tnet",
        "مرحبا بالعالم",
        "一部好电影。",
        "<script>alert(1)</script> <b>good</b><br />film",
        "$x$ `y` **z** [a](http://b) :red[c] \\d",
        "e" + "\u0301" * 300,
        "a\ufeffb \u2028 c\r\nd",
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_whatever_a_person_types_gives_a_picture(text):
    app = type_sentence(open_page(), text)
    assert np.isfinite(weights(app)).all()
    for side in ("queryTokens", "keyTokens"):
        assert not any(set(token) & {"\x00", "\u202e", "\ufeff", "\n"} for token in facts(app)[side])


def test_markdown_in_a_word_is_shown_as_it_was_typed():
    app = type_sentence(open_page(), "film :red[x] $y$")
    assert r"“\:”" in shown(app)


@pytest.fixture
def decoders(translator, writer, models_folder):
    """The two models that write, beside the small classifier."""
    for explorer in (translator, writer):
        write(explorer, models_folder)
    yield
    for explorer in (translator, writer):
        shutil.rmtree(models_folder / explorer.name)


def test_an_encoder_decoder_shows_what_it_writes_and_its_cross_attention(decoders, translator, reviews):
    app = open_page(model="translator")
    written = translator.generate(reviews[0])
    trace = translator.trace(reviews[0], target=written.token_ids[:16])
    assert not written.finished
    assert f"The model writes **{trace.target_text} …**" in shown(app)
    cross = np.stack([block.cross_attention.weights for block in trace.decoder])
    assert_allclose(weights(app, "cross"), cross, atol=1e-3)
    assert facts(app, "cross")["queryTokens"][0] == f"[START] → {trace.target_tokens[1]}"


def test_each_attention_of_an_encoder_decoder_is_a_choice(decoders, translator, reviews):
    app = open_page(model="translator")
    app.text_input(key="target").set_value("one two three").run()
    assert "The model continues with **" in shown(app)
    trace = translator.trace(reviews[0], target="one two three")
    assert [found["name"] for found in lens(app)[0]["attentions"]] == [
        "encoder self-attention",
        "masked self-attention",
        "cross-attention",
    ]
    expected = {
        kind: np.stack([layer.weights for layer in found.layers]) for kind, found in trace.kinds().items()
    }
    for kind in ("encoder", "decoder", "cross"):
        assert_allclose(weights(app, kind), expected[kind], atol=1e-3)
    assert_array_equal(lens(app)[1]["decoder"]["mask"][0, 0], np.tril(np.ones((4, 4), bool)))
    assert "distance" not in facts(app, "cross")["figures"]  # rows and columns are of two texts


def test_a_target_belongs_to_its_text(decoders, reviews):
    app = open_page(model="translator")
    app.text_input(key="target").set_value("one two three").run()
    assert app.query_params["target"] == "one two three"
    app.button(key="example-1").click().run()
    assert app.text_input(key="target").value == ""
    assert "target" not in app.query_params
    app.text_input(key="target").set_value("one two three").run()
    type_sentence(app, "A lovely film")
    assert app.text_input(key="target").value == ""
    assert "The model writes **" in shown(app)


@pytest.mark.quick("film-one", "A lovely film-one two three four five six seven")
@pytest.mark.parametrize("target", ["one", "one two three four five six seven"])
@pytest.mark.parametrize("text", ["film", "A lovely film"])
def test_a_translation_of_a_word_or_two_is_shown_too(decoders, text, target):
    app = open_page(model="translator", text=text, target=target)
    assert facts(app, "cross")["sayings"]


def test_a_decoder_shows_its_next_token_and_gaps_for_what_comes_later(decoders, writer):
    app = type_sentence(open_page(model="writer"), "A lovely film")
    trace = writer.trace("A lovely film")
    assert f"{trace.probs[-1].max():.1%}" in app.button(key="append-0").label
    assert_array_equal(lens(app)[1]["decoder"]["mask"][0, 0], np.tril(np.ones((4, 4), bool)))
    assert_allclose(weights(app, "decoder")[1], trace.decoder[1].self_attention.weights, atol=1e-3)


def test_a_press_on_a_likely_token_appends_it_to_the_text(decoders, writer):
    app = type_sentence(open_page(model="writer"), "A lovely film  ")
    probs = writer.trace("A lovely film").probs[-1]
    likeliest = np.argsort(-probs)[:4]
    buttons = [app.button(key=f"append-{number}") for number in range(4)]
    expected = [f"{writer.labels[i]} · {probs[i]:.1%}" for i in likeliest]
    assert [button.label.replace("\\", "") for button in buttons] == expected
    assert not any(button.disabled for button in buttons)
    buttons[2].click().run()
    assert app.text_input(key="sentence").value == f"A lovely film {writer.labels[likeliest[2]]}"
    assert facts(app, "decoder")["keyTokens"][-1] == writer.labels[likeliest[2]]


@pytest.fixture
def ending(writer, models_folder):
    """A decoder, "ends", for which [END] is the likeliest next token everywhere."""
    parameters = {name: np.array(value.numpy()) for name, value in writer.model.parameters().items()}
    parameters["decoder_norm/beta"] += 9 * parameters["token_embedding/embeddings"][END_ID]
    store.write_model(
        "ends",
        config=writer.config,
        tokenizer=writer.tokenizer.to_json(),
        card={},
        parameters=parameters,
        folder=models_folder,
    )
    yield
    shutil.rmtree(models_folder / "ends")


def test_the_end_of_a_text_cannot_be_appended(ending):
    app = type_sentence(open_page(model="ends"), "A lovely film")
    assert [app.button(key=f"append-{number}").disabled for number in range(4)] == [True, False, False, False]
    assert "[END]" in app.button(key="append-0").label.replace("\\", "")


def test_a_text_that_is_cut_is_not_continued(decoders):
    app = type_sentence(open_page(model="writer"), "film " * 40)
    assert "The model continues with **" in shown(app)
    assert not [button.key for button in app.button if (button.key or "").startswith("append")]


def test_another_model_brings_its_own_example_unless_something_was_typed(decoders, models_folder):
    app = open_page(model="small")
    card = json.loads((models_folder / "writer" / "card.json").read_text())
    app.selectbox(key="model").set_value("writer").run()
    assert app.text_input(key="sentence").value == card["examples"][0]
    type_sentence(app, "A dull film")
    app.selectbox(key="model").set_value("small").run()
    assert app.text_input(key="sentence").value == "A dull film"


def test_every_language_says_everything():
    app = open_page(lang="zh")
    assert "模型预测" in shown(app)
    assert lens(app)[0]["words"]["views"]["matrix"] == "矩阵"
    assert facts(app)["sayings"][0].endswith("。")
    app.segmented_control(key="lang").set_value("en").run()
    assert "The model predicts" in shown(app)
    assert lens(app)[0]["words"]["views"]["matrix"] == "Matrix"


def test_chinese_is_shown_by_words_and_the_address_keeps_that(models_folder):
    shutil.copytree(place_of("hotel-zh"), models_folder / "hotel-zh")
    try:
        app = open_page(model="hotel-zh", text="房间干净，服务员好。")
        assert facts(app)["keyTokens"] == [*"房间干净，服务员好。"]
        app.button_group(key="looks").set_value(["words"]).run()
        assert app.query_params["looks"] == "words"
        app = open_page(model="hotel-zh", text="房间干净，服务员好。", looks="words", lang="zh")
        assert facts(app)["keyTokens"] == ["房间", "干净", "，", "服务员", "好", "。"]
        assert_allclose(weights(app).sum(axis=-1), 1, atol=0.005)
        assert facts(app)["usual"][0].endswith("这里每个词算作一个词元。")
    finally:
        shutil.rmtree(models_folder / "hotel-zh")


def test_a_killed_engine_is_one_sentence_and_the_picture(engine):
    app = open_page()
    os.kill(engine.pid, signal.SIGKILL)
    type_sentence(app, "A clever plot, funny and warm.")
    assert "The engine had stopped and was restarted. Nothing was lost." in shown(app)
    assert weights(app).shape == (2, 3, 8, 8)
    type_sentence(app, "A clever plot.")
    assert "The engine had stopped" not in shown(app)


def test_a_damaged_model_is_named_and_the_others_work(models_folder):
    damaged = models_folder / "broken"
    damaged.mkdir()
    try:
        app = open_page()
        assert "manifest" in app.warning[0].value
        assert facts(app)["heads"] == 3
    finally:
        damaged.rmdir()


def test_without_any_model_the_page_says_how_to_train_one(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path))
    app = open_page()
    assert "There is no model to inspect yet" in shown(app)
    assert "transformer_viz train" in app.code[0].value


def test_a_process_that_has_shown_every_page_holds_neither_keras_nor_tensorflow(models_folder):
    code = """
import sys
import pages
from transformer_viz.ui.shell.server import shared_engine
if __name__ == "__main__":
    assert len(pages.views_on(pages.open_page())) == 1
    assert len(pages.views_on(pages.open_page("masks"))) == 3  # the choice of an attention, panels, bars
    assert len(pages.views_on(pages.open_page("positions"))) == 3
    assert pages.open_page("models").dataframe
    print(*sorted({"keras", "tensorflow", "torch", "jax"} & sys.modules.keys()))
    shared_engine().close()
"""
    script = models_folder.parent / "show_pages.py"
    script.write_text(code)
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")])}
    command = [sys.executable, str(script)]
    shown = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (shown.returncode, shown.stdout.strip()) == (0, ""), shown.stderr


SHELF = Path(__file__).parents[2] / "models"
PREFERRED = "Which words each head prefers, in any text"


@pytest.fixture
def two_of_the_shelf(models_folder):
    names = "attention-only", "hotel-zh"
    for name in names:
        shutil.copytree(place_of(name), models_folder / name)
    yield
    for name in names:
        shutil.rmtree(models_folder / name)


@pytest.mark.usefixtures("two_of_the_shelf")
def test_the_words_that_heads_prefer_are_listed_where_they_are_the_same_in_every_text():
    app = open_page(model="attention-only")
    [box] = [box for box in app.expander if box.label == PREFERRED]
    rows = box.table[0].value
    assert list(rows["Head"]) == [str(head) for head in range(1, 9)]
    assert rows["Most weight"][1].startswith("7\u00a0×40.7, waste\u00a0×13.3, awful\u00a0×13.2")
    assert r", i\'ll" in rows["Least weight"][3]  # an apostrophe is no Markdown
    assert {text.count("×") for text in (*rows["Most weight"], *rows["Least weight"])} == {10}
    box.selectbox[0].set_value("not").run()
    [box] = [box for box in app.expander if box.label == PREFERRED]
    for text, head in zip(
        box.table[0].value["Least weight"], word_preferences("attention-only", "not"), strict=True
    ):
        assert text.startswith(f"{head.words[-1]}\u00a0×{head.ratios[-1]:.2f}")
    assert PREFERRED not in {box.label for box in open_page(model="hotel-zh").expander}


def test_a_text_in_another_script_is_said_to_be_foreign_and_a_model_that_reads_it_is_offered(shipped):
    app = open_page(model="hotel-zh", text="The room was clean.")
    assert "“hotel\\-zh” reads texts in Chinese characters. This one is in Latin letters" in shown(app)
    app.button(key="open-reader").click()
    assert again(app).selectbox(key="model").value == "attention-only"
    assert facts(app)["keyTokens"][:3] == ["the", "room", "was"]
    assert "so its answer means little" not in shown(app)
    app = open_page(model="attention-only", text="房间很干净。", lang="zh")
    assert "“attention\\-only”读的是用拉丁字母写的文本，这段用的是汉字" in shown(app)
    assert app.button(key="open-reader").label == r"打开“hotel\-zh”"
    assert "so its answer means little" not in shown(
        open_page(model="hotel-zh", text="住了 5 天，wifi 很好。")
    )
    assert "so its answer means little" not in shown(open_page(model="reverse-digits", text="1 2 3"))


def test_a_model_that_gives_two_labels_the_same_probability_is_undecided(shipped):
    explorer = load(place_of("hotel-zh"))
    texts = ["".join(pair) for pair in itertools.product("房间早餐服务位置价格", "好差脏贵远小大新旧吵")]
    probs = explorer.predict(texts)["prob_好评"]
    undecided, sure = texts[(probs - 0.5).abs().idxmin()], texts[probs.idxmax()]
    assert abs(explorer.predict(undecided)["prob_好评"].item() - 0.5) < 0.05
    assert "The model is **undecided**" in shown(open_page(model="hotel-zh", text=undecided))
    assert "The model predicts **好评**" in shown(open_page(model="hotel-zh", text=sure))
