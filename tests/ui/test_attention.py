"""The Attention page: what its workbench answers by a real engine, and the page around it."""

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
from bench import bench_on, held, open_bench, texts_of, told_to
from numpy.testing import assert_allclose, assert_array_equal
from pages import again, open_page, shown
from shelf import place_of
from small_models import write

import transformer_viz as tv
from transformer_viz import store
from transformer_viz.language import Words
from transformer_viz.network.config import END_ID
from transformer_viz.pictures.effects import together_text
from transformer_viz.questions.effects.heads import head_effects
from transformer_viz.store.load import load
from transformer_viz.ui.shell.answers import word_preferences

pytestmark = pytest.mark.usefixtures("engine")


def notes(bench):
    """Return what is to be known of the run, in one text."""
    return "\n".join(texts_of(bench.said["notes"]))


def answer(bench):
    """Return the texts of the answer."""
    return texts_of(bench.said["answer"])


def buttons(bench):
    """Return the buttons of the answer."""
    return [item for item in bench.said["answer"] if "press" in item]


def test_every_head_stands_there_without_a_click(explorer, reviews):
    bench = bench_on(open_page())
    expected = explorer.trace(reviews[0])
    assert bench.said["text"] == reviews[0]
    assert_array_equal(bench.weights(), held([block.attention for block in expected.encoder]))
    assert bench.facts()["keyTokens"] == [*expected.tokens]


def test_heads_are_described_by_what_was_measured_as_soon_as_it_is_kept(models_folder, explorer, reviews):
    shutil.copytree(models_folder / "small", models_folder / "measured")
    try:
        assert not any(open_bench("measured").facts()["usual"])
        found = tv.head_roles(explorer, reviews)
        store.write_head_roles("measured", found)
        usual = open_bench("measured").facts()["usual"]
        assert all(" texts" in said for said in usual)
        for said, role in zip(usual, itertools.chain(*found.usual("encoder")), strict=True):
            none = f"No fixed pattern over 6 texts of about {found.tokens} tokens."
            assert said.startswith(none) == (role.name == "mixed")
    finally:
        shutil.rmtree(models_folder / "measured")


def test_every_head_is_described_in_words():
    facts = open_bench().facts()
    sayings = facts["sayings"]
    assert len(sayings) == 2 * 3
    assert all(saying and "{" not in saying for saying in sayings)
    assert set(facts["figures"]) == {"entropy", "distance", "previous", "role"}


def test_a_run_that_changes_nothing_writes_over_nothing_that_is_being_typed_or_dragged():
    app = again(open_page(text="A dull film.", lang="en"))
    assert told_to(app)["opened"] is None
    assert not app.selectbox(key="model").proto.set_value


def test_another_sentence_is_another_picture_and_prediction(explorer):
    bench = open_bench().say("A dull film.")
    trace = explorer.trace("A dull film.")
    assert_array_equal(bench.weights(), held([block.attention for block in trace.encoder]))
    sentence, *bars = answer(bench)
    assert sentence == f"The model predicts **{trace.labels[trace.probs.argmax()]}**"
    assert [bar["bar"] for bar in bench.said["answer"][1:]] == [float(share) for share in trace.probs]
    assert bars == [f"{name} · {share:.1%}" for name, share in zip(trace.labels, trace.probs, strict=True)]


def test_an_example_is_one_click_away(reviews):
    told = told_to(open_page())
    assert told["examples"] == reviews[: len(told["examples"])]
    assert open_bench(text=told["examples"][2]).facts()["queries"] == 11


def test_an_address_opens_the_same_view(explorer):
    app = open_page(text="A dull film.", layer="2", head="3", view="matrix")
    trace = explorer.trace("A dull film.")
    assert_array_equal(bench_on(app).weights(), held([block.attention for block in trace.encoder]))
    chosen = {name: app.query_params[name] for name in ("layer", "head", "view")}
    assert chosen == {"layer": "2", "head": "3", "view": "matrix"}  # for the views to read


@pytest.mark.parametrize(
    "address", [{"head": "99"}, {"layer": "x"}, {"model": "../../etc"}, {"lang": "../en"}, {"text": "\x00"}]
)
def test_an_address_somebody_made_up_opens_the_page_all_the_same(address):
    assert bench_on(open_page(**address)).facts()["heads"] == 3


def test_heads_are_sorted_by_their_effect_on_the_log_odds_and_all_are_ablated_together(explorer):
    bench, effects = open_bench(text="A dull film.", ablates=True), head_effects(explorer, "A dull film.")
    assert_allclose(bench.facts()["figures"]["effect"], effects.log_odds["encoder"].ravel())
    said = together_text(Words("en"), explorer.trace("A dull film."), effects)
    assert said.startswith("Without any head, the probability of “")
    assert said in notes(bench)
    assert bench_on(open_page(text="A dull film.", effects="1")).views == bench.views
    assert "set to zero" not in json.dumps(open_bench(text="A dull film.").views)


def test_ablating_each_head_is_offered_where_there_is_an_answer_and_no_head_is_off():
    assert open_bench().said["ablations"] == "Switch off each head in turn (8 runs)"
    assert open_bench(changes={"ablate": [[0, 1]]}).said["ablations"] == ""


def test_an_unknown_word_is_marked_and_named():
    bench = open_bench(text="A zyzzyva film.")
    assert bench.facts()["keyTokens"][1] == "zyzzyva [UNK]"
    assert notes(bench) == "Not in the model's vocabulary, read as [UNK]: “zyzzyva” (1 of 4 tokens)."


def test_only_unknown_words_are_said_to_say_little():
    assert "None of these words is in the model's vocabulary" in notes(open_bench(text="qwx zyzzyva"))


def test_a_text_that_is_too_long_is_said_to_be_cut():
    assert "The text has 40 tokens; the model read the first 23." in notes(open_bench(text="good " * 40))


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_no_sentence_is_a_hint_and_no_picture(text):
    bench = open_bench(text=text)
    assert bench.views is None
    assert "Type a sentence above" in bench.header["hint"]


def test_a_text_without_words_is_said_to_have_none():
    bench = open_bench(text="<br />", language="zh")
    assert bench.views is None
    assert "这段文本中没有任何词" in bench.header["hint"]


def test_a_model_that_cannot_be_read_is_named_with_the_reason(models_folder):
    changed = models_folder / "changed"
    shutil.copytree(next(folder for folder in models_folder.iterdir() if folder.is_dir()), changed)
    parameters = bytearray((changed / "parameters.safetensors").read_bytes())
    parameters[-1] ^= 1
    (changed / "parameters.safetensors").write_bytes(parameters)
    try:
        problem = open_bench("changed").header["problem"]
        assert problem.startswith("The model cannot be read: ")
        assert "parameters" in problem
        assert str(models_folder) not in problem
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
    bench = open_bench(text=text)
    assert np.isfinite(bench.weights()).all()
    for side in ("queryTokens", "keyTokens"):
        assert not any(set(token) & {"\x00", "\u202e", "\ufeff", "\n"} for token in bench.facts()[side])


def test_what_is_bold_in_a_sentence_is_ours_alone():
    said = notes(open_bench(text="film **x** :red[y] $z$"))
    assert "“:”" in said
    assert "**" not in said


@pytest.fixture
def decoders(translator, writer, models_folder):
    """The two models that write, beside the small classifier."""
    for explorer in (translator, writer):
        write(explorer, models_folder)
    yield
    for explorer in (translator, writer):
        shutil.rmtree(models_folder / explorer.name)


def test_an_encoder_decoder_shows_what_it_writes_and_its_cross_attention(decoders, translator, reviews):
    bench = open_bench("translator")
    written = translator.generate(reviews[0])
    trace = translator.trace(reviews[0], target=written.token_ids[:16])
    assert not written.finished
    said, share = answer(bench)
    assert said == f"The model writes **{trace.target_text} …**"
    assert share.endswith("%")
    cross = np.stack([block.cross_attention.weights for block in trace.decoder])
    assert_allclose(bench.weights("cross"), cross, atol=1e-3)
    assert bench.facts("cross")["queryTokens"][0] == f"[START] → {trace.target_tokens[1]}"


def test_each_attention_of_an_encoder_decoder_is_a_choice(decoders, translator, reviews):
    bench = open_bench("translator", target="one two three")
    assert answer(bench)[0].startswith("The model continues with **")
    trace = translator.trace(reviews[0], target="one two three")
    assert [found["name"] for found in bench.views["attentions"]] == [
        "encoder self-attention",
        "masked self-attention",
        "cross-attention",
    ]
    expected = {
        kind: np.stack([layer.weights for layer in found.layers]) for kind, found in trace.kinds().items()
    }
    for kind in ("encoder", "decoder", "cross"):
        assert_allclose(bench.weights(kind), expected[kind], atol=1e-3)
    assert_array_equal(bench.arrays["decoder"]["mask"][0, 0], np.tril(np.ones((4, 4), bool)))
    assert "distance" not in bench.facts("cross")["figures"]  # rows and columns are of two texts


def test_a_target_belongs_to_its_text(decoders, reviews):
    bench = bench_on(open_page(model="translator", target="one two three"))
    assert bench.state["target"] == bench.said["target"] == "one two three"
    bench.act("text", text="A lovely film")
    assert bench.state["target"] == ""
    assert bench.state["before"]["target"] == "one two three"
    assert answer(open_bench("translator", text="A lovely film"))[0].startswith("The model writes **")
    assert open_bench("small", target="one two three").state["target"] == ""  # it reads none


@pytest.mark.quick("film-one", "A lovely film-one two three four five six seven")
@pytest.mark.parametrize("target", ["one", "one two three four five six seven"])
@pytest.mark.parametrize("text", ["film", "A lovely film"])
def test_a_translation_of_a_word_or_two_is_shown_too(decoders, text, target):
    assert open_bench("translator", text=text, target=target).facts("cross")["sayings"]


def test_a_decoder_shows_its_next_token_and_gaps_for_what_comes_later(decoders, writer):
    bench = open_bench("writer", text="A lovely film")
    trace = writer.trace("A lovely film")
    assert f"{trace.probs[-1].max():.1%}" in buttons(bench)[0]["press"]
    assert_array_equal(bench.arrays["decoder"]["mask"][0, 0], np.tril(np.ones((4, 4), bool)))
    assert_allclose(bench.weights("decoder")[1], trace.decoder[1].self_attention.weights, atol=1e-3)


def test_a_press_on_a_likely_token_appends_it_to_the_text(decoders, writer):
    bench = open_bench("writer", text="A lovely film  ")
    probs = writer.trace("A lovely film").probs[-1]
    likeliest = np.argsort(-probs)[:4]
    expected = [f"{writer.labels[i]} · {probs[i]:.1%}" for i in likeliest]
    assert [button["press"] for button in buttons(bench)] == expected
    assert not any(button["off"] for button in buttons(bench))
    bench.act(**buttons(bench)[2]["act"])
    assert bench.state["text"] == f"A lovely film {writer.labels[likeliest[2]]}"
    assert bench.facts("decoder")["keyTokens"][-1] == writer.labels[likeliest[2]]
    assert "before" not in bench.said


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
    offered = buttons(open_bench("ends", text="A lovely film"))
    assert [button["off"] for button in offered] == [True, False, False, False]
    assert "[END]" in offered[0]["press"]


def test_a_text_that_is_cut_is_not_continued(decoders):
    bench = open_bench("writer", text="film " * 40)
    assert answer(bench)[0].startswith("The model continues with **")
    assert not buttons(bench)


def test_each_model_tells_its_own_examples_and_whether_it_reads_a_target(decoders, models_folder):
    app = open_page(model="small")
    for name, has_target in (("writer", False), ("translator", True), ("small", False)):
        app.selectbox(key="model").set_value(name)
        told = told_to(again(app))
        card = json.loads((models_folder / name / "card.json").read_text())
        assert told["examples"] == card["examples"]
        assert (told["model"], told["hasTarget"], told["isLive"]) == (name, has_target, not has_target)


def test_every_language_says_everything():
    app = open_page(lang="zh")
    bench = bench_on(app)
    assert answer(bench)[0].startswith("模型预测")
    assert bench.views["words"]["views"]["matrix"] == "矩阵"
    assert bench.facts()["sayings"][0].endswith("。")
    assert told_to(app)["words"]["sentence.label"] == "句子"
    app.segmented_control(key="lang").set_value("en").run()
    bench = bench_on(app)
    assert answer(bench)[0].startswith("The model predicts")
    assert bench.views["words"]["views"]["matrix"] == "Matrix"
    assert told_to(app)["words"]["sentence.label"] == "Sentence"


def test_chinese_is_shown_by_words_and_the_address_keeps_that(models_folder):
    shutil.copytree(place_of("hotel-zh"), models_folder / "hotel-zh")
    try:
        bench = open_bench("hotel-zh", text="房间干净，服务员好。")
        assert bench.facts()["keyTokens"] == [*"房间干净，服务员好。"]
        assert "words" in dict(bench.said["looks"])
        app = open_page(model="hotel-zh", text="房间干净，服务员好。", looks="words", lang="zh")
        bench = bench_on(app)
        assert bench.facts()["keyTokens"] == ["房间", "干净", "，", "服务员", "好", "。"]
        assert_allclose(bench.weights().sum(axis=-1), 1, atol=0.005)
        assert bench.facts()["usual"][0].endswith("这里每个词算作一个词元。")
    finally:
        shutil.rmtree(models_folder / "hotel-zh")


def test_a_killed_engine_is_one_sentence_and_the_picture(engine):
    bench = open_bench()
    os.kill(engine.pid, signal.SIGKILL)
    bench.say("A clever plot, funny and warm.")
    assert bench.header["hint"] == "The engine had stopped and was restarted. Nothing was lost."
    assert bench.weights().shape == (2, 3, 8, 8)
    assert "hint" not in bench.say("A clever plot.").header


def test_a_damaged_model_is_named_and_the_others_work(models_folder):
    damaged = models_folder / "broken"
    damaged.mkdir()
    try:
        app = open_page()
        assert "manifest" in app.warning[0].value
        assert bench_on(app).facts()["heads"] == 3
        assert "manifest" in shown(open_page(model="broken"))
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
from bench import bench_on
from transformer_viz.ui.shell.server import shared_engine
if __name__ == "__main__":
    assert len(pages.views_on(pages.open_page())) == 1
    for page in ("masks", "positions", "map"):
        bench_on(pages.open_page(page))
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
    bench_on(app)
    app.session_state["vocabulary"] = True  # open
    [box] = [box for box in again(app).expander if box.label == PREFERRED]
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


FOREIGN = "so its answer means little"


def test_a_text_in_another_script_is_said_to_be_foreign_and_a_model_that_reads_it_is_offered(shipped):
    said, offer = open_bench("hotel-zh", text="The room was clean.").said["notes"][:2]
    assert said["said"].startswith(
        "“hotel-zh” reads texts in Chinese characters. This one is in Latin letters"
    )
    assert said["warns"]
    assert offer["open"] == "attention-only"
    bench = open_bench(offer["open"], text="The room was clean.")
    assert bench.facts()["keyTokens"][:3] == ["the", "room", "was"]
    assert FOREIGN not in notes(bench)
    said, offer = open_bench("attention-only", text="房间很干净。", language="zh").said["notes"][:2]
    assert said["said"].startswith("“attention-only”读的是用拉丁字母写的文本，这段用的是汉字")
    assert offer["press"] == "打开“hotel-zh”"
    assert FOREIGN not in notes(open_bench("hotel-zh", text="住了 5 天，wifi 很好。"))
    assert FOREIGN not in notes(open_bench("reverse-digits", text="1 2 3"))


def test_a_model_that_gives_two_labels_the_same_probability_is_undecided(shipped):
    explorer = load(place_of("hotel-zh"))
    texts = ["".join(pair) for pair in itertools.product("房间早餐服务位置价格", "好差脏贵远小大新旧吵")]
    probs = explorer.predict(texts)["prob_好评"]
    undecided, sure = texts[(probs - 0.5).abs().idxmin()], texts[probs.idxmax()]
    assert abs(explorer.predict(undecided)["prob_好评"].item() - 0.5) < 0.05
    assert answer(open_bench("hotel-zh", text=undecided))[0] == "The model is **undecided**"
    assert answer(open_bench("hotel-zh", text=sure))[0] == "The model predicts **好评**"
