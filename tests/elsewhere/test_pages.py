"""Models of the Hugging Face hub on every page of the app."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from bench import bench_on, open_bench, texts_of
from numpy.testing import assert_allclose, assert_array_equal
from pages import array, components, figures, open_page, shown
from playwright.sync_api import expect

from transformer_viz.language import Words
from transformer_viz.pictures.map import map_payload
from transformer_viz.pictures.output import LIKELIEST
from transformer_viz.questions.logit_lens import reading_of
from transformer_viz.store.format import ModelSummary
from transformer_viz.store.load import load
from transformer_viz.ui.shell.language import escaped
from transformer_viz.ui.workbench.said import notes_of

HERE = Path(__file__).parent / "models"

TEXT = "The film was not good, but the acting was unbelievably good."

NAMES = (
    "bert",
    "bert-masked",
    "bert-classes",
    "albert",
    "mpnet",
    "roberta",
    "gpt2",
    "llama",
    "qwen3-classes",
    "bart",
    "t5",
    "t5-encoder",
    "gemma2",
    "modernbert-masked",
)

POSITIONS = ("bert", "albert", "mpnet", "roberta", "llama", "t5", "gemma2", "modernbert-masked")
MASKS = ("bert", "bert-classes", "gpt2", "gemma2", "bart")

VIEWS = [
    ("", {}, NAMES),
    ("map", {}, ("bert-masked", "bert-classes", "albert", "gpt2", "llama", "bart", "t5", "gemma2")),
    *(("positions", {"view": view}, POSITIONS) for view in ("experiment", "table", "rotation")),
    ("positions", {"view": "kinds"}, ("bert", "llama", "t5")),
    ("positions", {"do": "remove"}, ("roberta", "qwen3-classes", "t5-encoder", "bart")),
    ("masks", {}, MASKS),
    ("writing", {}, ("bert-masked", "gpt2", "t5-encoder", "t5")),
    ("train", {}, ("bert", "gpt2")),
]
"""Page, its address, and the models that differ on it."""

SHOWN = [(page, address, model) for page, address, models in VIEWS for model in models]

QUICK = ("bert", "bert-classes", "gpt2", "llama", "t5", "gemma2")
"""Models that together have every page; what the others add is looked at in the long run."""

NOTHING = "This model has no output layer"


@pytest.fixture(scope="module", autouse=True)
def shelf(models_folder, engine):
    """Folders of the hub beside the other models."""
    for name in NAMES:
        shutil.copytree(HERE / name, models_folder / name)
    yield
    for name in NAMES:
        shutil.rmtree(models_folder / name)


@pytest.mark.parametrize(  # a model is loaded once for all pages
    ("page", "address", "model"),
    [
        pytest.param(*row, marks=() if row[-1] in QUICK else pytest.mark.thorough)
        for row in sorted(SHOWN, key=lambda row: NAMES.index(row[-1]))
    ],
    ids=str,
)
def test_every_page_shows_a_model_of_the_hub(page, address, model):
    app = open_page(page, model=model, **address)
    assert not app.error
    assert "something went wrong" not in shown(app)
    if components(app, "workbench"):
        assert bench_on(app).header["key"]


def test_the_card_names_heads_that_are_not_read_and_what_is_read_at_most(models_folder):
    said = shown(open_page("models", show="bert"))
    assert r"Heads of this folder that are not read: pooler\.dense." in said
    assert "Heads of this folder" not in shown(open_page("models", show="gpt2"))
    config = models_folder / "llama" / "config.json"
    before = config.read_text()
    for longest, says in ((100_000, "4,096 tokens, though it was made for 100,000"), (48, "48")):
        config.write_text(json.dumps(json.loads(before) | {"max_position_embeddings": longest}))
        rows = open_page("models", show="llama").table[0].value
        assert escaped(says) in rows.to_numpy().ravel().tolist()
    config.write_text(before)


def test_of_a_text_that_is_cut_a_page_says_what_is_read_here_and_what_could_be(uncompiled):
    explorer = uncompiled(HERE / "gpt2")
    trace = explorer.trace("good " * 90, keep="weights")
    for card in ({"longest": 1024}, {}):
        model = ModelSummary("gpt2", explorer.config, card, 1, None, HERE)
        said = texts_of(notes_of(Words("en"), model, trace, "gpt2"))
        assert said[0].endswith("the model read the first 48.")
        limit = "Here this model reads at most 48 tokens, though it was made for 1,024."
        assert (limit in said) == bool(card)


@pytest.mark.parametrize("page", ["", "masks"])
def test_a_model_without_an_output_layer_has_no_answer(page):
    for model, has in (("bert", False), ("bert-classes", True)):
        said = bench_on(open_page(page, model=model, mask="causal")).said
        assert (NOTHING in json.dumps(said)) != has


def test_only_the_card_of_a_model_with_classes_has_a_temperature():
    for name, has in (("bert", False), ("bert-masked", False), ("bert-classes", True)):
        rows = " ".join(table.value.to_string() for table in open_page("models", show=name).table)
        assert "Layer normalisation" in rows
        assert ("Temperature" in rows) == has


def test_changed_positions_of_a_model_without_an_output_layer_move_weights_alone():
    bench = bench_on(open_page("positions", model="bert", do="remove"))
    assert {len(row) for row in bench.menu["table"]} == {2}
    assert "→" not in json.dumps(bench.menu["table"], ensure_ascii=False)


def test_two_runs_of_a_model_without_an_output_layer_are_compared(engine):
    before = '{"model": "bert", "text": "The film was good."}'
    bench = bench_on(open_page("", model="bert", text="The film was not good.", before=before))
    assert "before" in bench.arrays["encoder"]


def test_the_map_of_a_model_without_an_output_layer_shows_lengths_and_no_predictions(app, new_visitor):
    page = new_visitor(viewport={"width": 1440, "height": 900})
    for model, shown_first, count in (("bert", "Length", 2), ("bert-classes", "What it predicts", 3)):
        page.goto(f"{app[1]}/map?lang=en&model={model}")
        modes = page.locator(".map .above").get_by_role("group", name="Show").get_by_role("button")
        modes.first.wait_for()
        assert modes.count() == count
        expect(modes.first).to_have_text(shown_first)
        expect(modes.first).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".map .legend")).to_contain_text("length" if model == "bert" else "answer")


def mapped(model):
    """Return a model, its trace, and the steps of its map."""
    explorer = load(HERE / model)
    trace = explorer.trace("The film", **({"target": "A"} if explorer.target_tokenizer else {}))
    reading = reading_of(explorer, trace) if trace.labels else None
    payload = map_payload(trace, explorer.config, reading, Words("en"))
    header = json.loads(payload[8 : 8 + int.from_bytes(payload[:8], "little")])
    return explorer, trace, [place for stack in header["stacks"] for place in stack["places"]]


def steps_of(model):
    """Return what the map says of each step of a model, and of its tensors."""
    *_, places = mapped(model)
    return "".join(place["about"] + "".join(each["name"] for each in place["tensors"]) for place in places)


@pytest.mark.parametrize("model", ["bert-classes", "gpt2-classes", "roberta-classes", "modernbert-classes"])
def test_the_logits_on_the_map_are_those_of_the_pooled_vector(model):
    explorer, trace, places = mapped(model)
    kernel, bias = (
        np.asarray(explorer.model.parameters()[f"classifier/{name}"]) for name in ("kernel", "bias")
    )
    logits = trace.values.pooled @ kernel + bias
    [rows] = places[-1]["answers"]["rows"]
    assert len(rows) == min(len(logits), LIKELIEST)
    for row in rows:
        number = trace.labels.index(row["label"])
        assert abs(row["logit"] - logits[number]) < 1e-4
        assert abs(row["prob"] - trace.probs[number]) < 1e-6


def test_what_the_map_says_of_a_step_is_what_this_model_computes():
    llama, bert, gpt2, t5 = map(steps_of, ("llama", "bert", "gpt2", "t5"))
    assert ["are rotated" in said for said in (llama, bert, t5)] == [True, False, False]
    assert ["relative position bias" in said for said in (llama, bert, t5)] == [False, False, True]
    assert ["RMSNorm" in said for said in (llama, bert, gpt2)] == [True, False, False]
    assert ["layer normalisation" in said for said in (llama, bert, gpt2)] == [False, False, True]
    neox, serial = map(steps_of, ("gpt-neox", "gpt-neox-serial"))
    assert ["what self-attention has read" in said for said in (neox, serial)] == [True, False]
    assert ["gates the hidden one" in said for said in (llama, bert, gpt2)] == [True, False, False]
    assert ["the segment's vector" in said for said in (llama, bert, gpt2)] == [False, True, False]
    gemma, modern = map(steps_of, ("gemma2", "modernbert-masked"))
    assert ["before the normalisation" in said for said in (gemma, llama)] == [True, False]
    assert ["Each vector is normalised" in said for said in (modern, llama)] == [True, False]
    assert "position encoding" not in modern


def test_the_mask_of_a_head_is_that_of_its_layer():
    explorer = load(HERE / "gemma2")
    bench = bench_on(open_page("masks", model="gemma2", mask="causal", text=TEXT))
    shown_there = bench.arrays["decoder"]["mask"] > 0
    own, causal = (explorer.trace(TEXT, attention_mask=mask).kinds()["decoder"] for mask in (None, "causal"))
    config, shape = explorer.config, shown_there.shape[2:]
    for layer in range(config.num_layers):
        mask = shown_there[layer % len(shown_there), 0]
        assert_array_equal(mask, np.broadcast_to(causal.mask_of(layer)[0], shape))
        differs = (mask != np.broadcast_to(own.mask_of(layer)[0], shape)).any()
        assert differs == (config.window_of(layer) is not None)


def offered_by(model):
    """Return what the experiment with positions can do to a model."""
    [found, *_] = bench_on(open_page("positions", model=model)).menu["groups"]
    return [text for _, text in found["options"]]


@pytest.mark.parametrize(
    ("model", "kind", "formula"),
    [
        ("gemma2", "decoder", "s = c tanh(QKᵀ / (c √dₖ))"),
        ("t5", "encoder", "s = QKᵀ / √dₖ + B"),
        ("t5", "decoder", "s = QKᵀ / √dₖ + B"),
        ("t5", "cross", "s = QKᵀ / √dₖ"),
        ("bert", "encoder", "s = QKᵀ / √dₖ"),
    ],
)
def test_the_formula_of_the_scores_names_their_cap_and_their_position_bias(model, kind, formula):
    bench = open_bench(model, experiment={"page": "masks", "kind": kind})
    assert bench.menu["titles"]["scores"] == f"1 · Scores: {formula}"


def test_rotary_positions_are_no_table_and_cannot_be_swapped():
    assert "it rotates queries and keys" in shown(open_page("positions", model="llama", view="table"))
    assert offered_by("llama") == ["Shuffle tokens", "Remove encoding"]


def test_relative_positions_are_drawn_by_head_and_distance():
    app = open_page("positions", model="t5", view="table")
    assert "Each head has a **relative position bias**" in shown(app)
    parameters = load(HERE / "t5").model.parameters()
    for stack, sizes in (("encoder", range(-12, 13)), ("decoder", range(-12, 1))):
        app.segmented_control(key="stack").set_value(stack).run()
        [figure] = figures(app)
        curves = figure["data"]
        assert [curve["name"] for curve in curves] == [f"head {number}" for number in range(1, 5)]
        assert array(curves[0]["x"]).tolist() == [*sizes]
        bias = np.asarray(parameters[f"{stack}_relative_bias/embeddings"])
        assert_allclose(array(curves[2]["y"])[12], bias[0, 2])
    app.segmented_control(key="picture").set_value("heatmap").run()
    assert array(figures(app)[0]["data"][0]["z"]).shape == (4, 13)
    assert offered_by("t5") == ["Shuffle tokens", "Remove encoding"]


def test_a_model_with_a_table_and_a_bias_shows_one_of_them(engine):
    app = open_page("positions", model="mpnet", view="table")
    assert "positions, 24 dimensions" in shown(app)
    app.segmented_control(key="added").set_value("bias").run()
    assert "Each head has a **relative position bias**" in shown(app)
    assert "adds nothing to its embeddings" not in shown(app)
    assert len(array(figures(app)[0]["data"][0]["z"])) == 4
    steps = steps_of("mpnet")
    assert "relative position bias" in steps
    card = open_page("models", show="mpnet").table[0].value
    assert "learned \\+ relative position bias" in card.to_numpy()


def test_the_models_page_offers_neither_a_copy_nor_the_deletion_of_a_folder_of_the_hub():
    labels = {button.label for button in open_page("models", show="gpt2").button}
    assert "Delete" not in labels
    assert "Delete" in {button.label for button in open_page("models", show="small").button}
