"""The Masks page: what its experiment asks a real engine, shows and says."""

import re

import numpy as np
import pages
import pytest
from bench import held, open_bench, texts_of
from chinese import english
from numpy.testing import assert_allclose, assert_array_equal
from pages import shown
from running_app import ROOT
from shelf import shelved

from transformer_viz import store
from transformer_viz.network.named_masks import mask_to_bits, named_mask
from transformer_viz.pictures.views.modules import FOLDER
from transformer_viz.trace.masking import future_share, padding_share
from transformer_viz.trace.request import Request
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.workbench.asked import Asked
from transformer_viz.ui.workbench.masks import MAX_PAINTED, masks

TEXT = "A dull film."

SHELF = ROOT / "models"

HALF = 5e-4
"""Most that a weight in half precision is off."""

pytestmark = pytest.mark.usefixtures("engine", "decoders")


def open_masks(model="small", *, text=TEXT, kind="", target="", language="en", **chosen):
    experiment = {"page": "masks", "kind": kind, **chosen}
    return open_bench(model, text=text, target=target, language=language, experiment=experiment)


def mask(bench, kind="encoder"):
    """Return the mask that is shown, of the first layer: bool (query, key)."""
    return bench.arrays[kind]["mask"][0, 0] > 0


def option(bench, name="mask"):
    """Return what is chosen in one of the choices, and what can be."""
    [found] = [each for each in bench.menu["groups"] if each["name"] == name]
    return found["chosen"], [text for _, text in found["options"]]


def slider(bench, name):
    """Return a number that can be chosen; None: it cannot be."""
    return next((each for each in bench.menu["sliders"] if each["name"] == name), None)


def said_of(bench, layer, head, kind="encoder"):
    """Return what the mask does to a head."""
    facts = bench.facts(kind)
    return facts["usual"][layer * facts["heads"] + head]


def notes(bench):
    return "\n".join(texts_of(bench.said["notes"]))


def test_the_four_steps_are_the_scores_the_mask_and_the_weights_of_the_run(explorer):
    trace = explorer.trace(TEXT, attention_mask="causal")
    bench = open_masks()
    scores = np.stack([block.attention.scores for block in trace.encoder])
    assert_array_equal(bench.arrays["encoder"]["scores"], scores.astype(np.float16))
    assert_array_equal(mask(bench), np.tri(4, dtype=bool))
    assert_array_equal(bench.weights(), held([block.attention for block in trace.encoder]))


def test_every_matrix_of_a_mask_has_a_title_in_the_order_of_the_computation():
    source = (FOLDER / "selection.js").read_text(encoding="utf-8")
    steps, ways = (re.findall(r'"(\w+)"', line) for line in re.findall(r"(?:masking|ways): \[(.+)\]", source))
    titles = open_masks().menu["titles"]
    assert titles.keys() == {*steps, *ways, "before", "matrix"}
    assert [titles[name][:3] for name in steps] == ["1 ·", "2 ·", "3 ·", "4 ·"]
    assert titles["scores"] == "1 · Scores: s = QKᵀ / √dₖ"
    assert (titles["before"], titles["matrix"]) == ("With the model's own mask", "With the causal mask")
    chinese = open_masks(language="zh").menu["titles"]
    assert (chinese["before"], chinese["matrix"]) == ("对照：模型自带的掩码", "本次：因果掩码")


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ({"mask": "own"}, "none"),
        ({"mask": "none"}, "none"),
        ({"mask": "padding", "pads": "3"}, "padding"),
        ({"mask": "own", "pads": "3"}, "padding"),
        ({"mask": "padding", "pads": "3", "causal": "1"}, "padding+causal"),
        ({"mask": "window"}, "window:1"),
        ({"mask": "window", "reach": "2"}, "window:2"),
    ],
)
def test_an_address_opens_the_page_with_its_mask_and_keeps_it(explorer, address, name):
    pads = int(address.get("pads", 0))
    trace = explorer.trace(TEXT, attention_mask=name, padding=pads)
    bench = open_masks(**address)
    assert_array_equal(mask(bench), named_mask(name, 4 + pads, trace.token_ids))
    assert_array_equal(bench.weights(), held([block.attention for block in trace.encoder]))
    assert bench.kept == address


def test_what_is_as_usual_is_not_kept():
    usual = {"mask": "causal", "pads": "0", "reach": "1", "causal": "1", "bits": "8cef"}
    assert open_masks(**usual).kept == {}
    assert open_masks(**usual | {"mask": "window"}).kept == {"mask": "window", "causal": "1"}
    assert open_masks(**usual | {"mask": "padding", "pads": "4"}).kept == {"mask": "padding", "causal": "1"}


@pytest.mark.parametrize(
    "address",
    [
        {"mask": "../x"},
        {"pads": "99"},
        {"pads": "-1"},
        {"pads": "9" * 40},
        {"reach": "x"},
        {"mask": "window", "reach": "99"},
        {"mask": "painted", "bits": "zz"},
        {"mask": "painted", "bits": "ffff0"},
        {"kind": "sideways"},
    ],
    ids=str,
)
def test_an_address_somebody_made_up_opens_the_page_all_the_same(address):
    bench = open_masks(**address)
    assert bench.header["key"]
    assert {"weights", "before", "mask", "scores"} <= {*bench.arrays["encoder"]}
    for each in bench.menu["sliders"]:
        assert each["low"] <= each["value"] <= each["high"]


def test_there_is_no_more_padding_than_the_model_has_room_for(explorer):
    assert slider(open_masks(), "pads")["high"] == 12
    room = explorer.config.max_len - len(explorer.trace("good film " * 9).tokens)
    assert 0 < room < 12
    bench = open_masks(text="good film " * 9, pads="12")
    assert (slider(bench, "pads")["value"], slider(bench, "pads")["high"]) == (room, room)
    assert slider(open_masks(text="good film " * 20), "pads") is None


def test_the_change_is_from_one_run_to_the_other(explorer):
    both = [explorer.trace(TEXT, padding=3, attention_mask=name) for name in ("padding", "none")]
    before, after = (held([block.attention for block in trace.encoder]) for trace in both)
    bench = open_masks(mask="none", pads="3")
    assert_array_equal(bench.arrays["encoder"]["before"], before)
    assert_array_equal(bench.weights(), after)
    seen = bench.arrays["encoder"]["beforeMask"][0, 0] > 0
    assert_array_equal(seen, np.tile([True] * 4 + [False] * 3, (7, 1)))
    assert mask(bench).all()


def test_a_mask_that_is_the_model_s_own_stands_beside_none(explorer):
    trace = explorer.trace(TEXT, padding=3, attention_mask="none")
    bench = open_masks(mask="own", pads="3")
    assert_array_equal(bench.arrays["encoder"]["before"], held([each.attention for each in trace.encoder]))
    titles = bench.menu["titles"]
    assert (titles["before"], titles["matrix"]) == ("With no mask", "With the model's own mask")


def test_of_each_head_it_is_said_where_its_weight_goes(explorer):
    both = [explorer.trace(TEXT, padding=3, attention_mask=name) for name in ("none", "padding")]
    padding, bench = np.arange(7) > 3, open_masks(mask="none", pads="3")
    for layer, head in np.ndindex(2, 3):
        none, own = (trace.encoder[layer].attention.weights[head] for trace in both)
        share = f"{padding_share(none, padding, padding):.1%}"
        later = [f"{future_share(weights[:4]):.1%}" for weights in (none, own)]
        assert share != "0.0%"
        assert said_of(bench, layer, head) == (
            f"[PAD] gets {share} (with the model's own mask 0.0%). "
            f"Later tokens get {later[0]} (with the model's own mask {later[1]})."
        )


def test_only_what_takes_or_lost_weight_is_measured():
    assert re.fullmatch(
        r"Later tokens get 0\.0% \(with the model's own mask [\d.]+%\)\.", said_of(open_masks(), 0, 0)
    )
    bench = open_masks("translator", target="one two three", kind="cross", mask="none", pads="0")
    assert {*bench.facts("cross")["usual"]} == {""}


def test_only_the_heads_of_the_attention_with_the_mask_are_said_to_be_masked():
    bench = open_masks("translator", target="one two three", kind="decoder", mask="window")
    assert all("Later tokens" in said for said in bench.facts("decoder")["usual"])
    assert not any(bench.facts("encoder")["usual"] + bench.facts("cross")["usual"])


def test_the_prediction_stands_before_and_after(explorer):
    before, after = explorer.trace(TEXT).probs, explorer.trace(TEXT, attention_mask="window:0").probs
    bench, best = open_masks(mask="window", reach="0"), before.argmax()
    label = explorer.config.labels[best]
    assert texts_of(bench.said["before"]["answer"]) == [f"**{label}** {before[best]:.1%}"]
    assert texts_of(bench.said["answer"])[0] == f"**{label}** {after[best]:.1%}"
    assert (after.argmax() != best) == any(said.startswith("now ") for said in texts_of(bench.said["answer"]))


def test_a_mask_that_hides_nothing_is_said_to_change_nothing():
    assert notes(open_masks(mask="padding", pads="0")) == "This mask hides nothing here, so nothing changes."
    assert "hides nothing" not in notes(open_masks())


def test_the_page_opens_on_the_head_that_the_mask_changes_most(explorer):
    both = [explorer.trace(TEXT, **mask) for mask in ({}, {"attention_mask": "causal"})]
    one, other = (np.stack([block.attention.weights for block in trace.encoder]) for trace in both)
    moved = np.abs(other - one).sum(axis=(2, 3))
    assert tuple(open_masks().facts()["opening"]) == np.unravel_index(moved.argmax(), moved.shape) != (0, 0)


def test_a_row_that_may_read_nothing_is_counted():
    allowed = np.ones((4, 4), bool)
    allowed[2] = False
    bench = open_masks(mask="painted", bits=mask_to_bits(allowed))
    for layer, head in np.ndindex(2, 3):
        assert "1 of 4 rows are masked entirely (with the model's own mask 0)." in said_of(bench, layer, head)
    assert not bench.weights()[..., 2, :].any()
    assert not any("masked entirely" in said for said in open_masks().facts()["usual"])


def test_a_mask_is_painted_as_its_bits_say_and_stays_in_the_address(explorer):
    allowed = np.random.default_rng(4).random((4, 4)) < 0.5
    bits, bench = mask_to_bits(allowed), open_masks(mask="painted", bits=mask_to_bits(allowed))
    assert_array_equal(mask(bench), allowed)
    trace = explorer.trace(TEXT, attention_mask=allowed)
    assert_array_equal(bench.weights(), held([block.attention for block in trace.encoder]))
    assert bench.kept == {"mask": "painted", "bits": bits}
    assert bench.menu["bits"] == bits
    assert bench.menu["painted"].startswith("The mask as a matrix: click a cell")
    assert bench.choose(mask="none").kept == {"mask": "none"}
    assert not bench.menu["painted"]


@pytest.mark.parametrize("name", ["causal", "window", "padding", "none"])
def test_the_bits_of_every_mask_are_known_for_one_to_be_painted_from_it(name):
    bench = open_masks(mask=name)
    assert bench.menu["bits"] == mask_to_bits(mask(bench))
    begun, pads = mask(bench), str(slider(bench, "pads")["value"])
    painted = bench.choose(mask="painted", bits=bench.menu["bits"], pads=pads)
    assert_array_equal(mask(painted), begun)


def test_without_bits_of_its_size_a_painted_mask_is_causal_and_between_two_texts_the_model_s_own():
    for bits in ("", "zz", "f", mask_to_bits(np.eye(5, dtype=bool))):
        assert_array_equal(mask(open_masks(mask="painted", bits=bits)), np.tri(4, dtype=bool))
    bench = open_masks("translator", target="one two three", kind="cross", mask="painted", pads="2")
    assert_array_equal(mask(bench, "cross"), np.tile([True] * 4 + [False] * 2, (4, 1)))


def test_the_padding_mask_comes_with_some_padding():
    bench = open_masks().choose(mask="padding")
    assert slider(bench, "pads")["value"] == 4
    assert bench.weights().shape[-2:] == (8, 8)
    assert slider(bench.choose(mask="causal"), "pads")["value"] == 0


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_each_attention_of_an_encoder_decoder_is_masked_for_itself(translator, kind):
    field, pad = {
        "encoder": ("attention_mask", "padding"),
        "decoder": ("target_attention_mask", "target_padding"),
        "cross": ("cross_attention_mask", "padding"),
    }[kind]
    chosen, name = ("none", "none") if kind == "cross" else ("window", "window:1")
    bench = open_masks("translator", target="one two three", kind=kind, mask=chosen, pads="2")
    trace = translator.trace(TEXT, target="one two three", **{field: name, pad: 2})
    assert bench.menu["of"] == kind
    for each, found in trace.kinds().items():
        assert_array_equal(bench.weights(each), held(found.layers))
    assert any("Later tokens" in said for said in bench.facts(kind)["usual"]) == (kind != "cross")


def test_without_a_choice_the_last_attention_is_masked():
    assert open_masks("translator", target="one two three").menu["of"] == "cross"
    assert open_masks("translator", target="one two three", kind="sideways").menu["of"] == "cross"
    assert open_masks("writer", kind="cross").menu["of"] == "decoder"


@pytest.mark.parametrize("chosen", ["", "causal", "window", "own", "none", "painted"])
def test_no_mask_of_two_sequences_speaks_of_time(chosen):
    bench = open_masks("translator", target="one two three", kind="cross", mask=chosen, causal="1")
    value = chosen if chosen in ("own", "none", "painted") else "padding"
    assert option(bench) == (value, ["the model's own", "padding", "none", "painted"])
    assert bench.menu["switches"] == []
    assert slider(bench, "reach") is None
    assert mask(bench, "cross").all() == (value != "padding")


def test_two_sequences_begin_with_some_padding_that_can_be_taken_away():
    bench = open_masks("translator", target="one two three")
    assert slider(bench, "pads")["value"] == 4
    assert not mask(bench, "cross")[:, -4:].any()
    bench.choose(pads="0")
    assert bench.weights("cross").shape[-2:] == (4, 4)
    assert bench.kept == {"pads": "0"}
    assert slider(open_masks("translator", target="one two three", **bench.kept), "pads")["value"] == 0


def test_from_one_sequence_to_two_a_causal_mask_becomes_one_of_padding():
    bench = open_masks("translator", target="one two three", kind="encoder")
    assert option(bench)[0] == "causal"
    bench.state["experiment"] = {"page": "masks", "kind": "cross", **bench.kept}
    assert option(bench.ask())[0] == "padding"
    assert not mask(bench, "cross").all()


def test_later_tokens_are_masked_with_others_only_where_that_can_be_chosen():
    [switch] = open_masks(mask="window").menu["switches"]
    assert (switch["name"], switch["on"]) == ("causal", False)
    assert [each["on"] for each in open_masks(mask="padding", causal="1").menu["switches"]] == [True]
    for name in ("own", "causal", "none", "painted"):
        assert open_masks(mask=name, causal="1").menu["switches"] == []


def test_a_window_is_no_wider_than_the_text():
    assert slider(open_masks(mask="window", reach="9"), "reach")["value"] == 3
    assert slider(open_masks(mask="window", text="good film"), "reach") is None
    assert slider(open_masks(), "reach") is None


def written(before, after, writer):
    """Return what is said of a decoder that predicts with those probabilities, without and with a window."""
    summary, text = store.find_model("writer"), "a film"

    def ask(request):
        name = request.changes.attention_mask
        probs = np.array(after if name else before, np.float32)
        return Trace(
            **{**vars(writer.trace(text, attention_mask=name)), "probs": probs, "labels": ("x", "y")}
        )

    made = masks(Asked(summary, Request(summary.reference, text), "en"), {"mask": "window"}, ask)
    return "\n".join(texts_of(made.notes))


SURE = [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]


def test_where_the_likeliest_token_stays_the_same_it_is_not_said_to_become_itself(writer):
    said = written(SURE, [[0.8, 0.2], [0.2, 0.8], [0.7, 0.3]], writer)
    assert "stays the same at every position. The largest change: “x” after “[START]”, 90.0% → 80.0%." in said
    assert "**0**" not in said


def test_the_place_that_is_named_is_one_where_something_else_is_written(writer):
    said = written(SURE, [[0.55, 0.45], [0.2, 0.8], [0.45, 0.55]], writer)
    assert "At **1** of 3 positions the model now predicts another token" in said
    assert "after “film”: **y** (55.0%) instead of **x** (70.0%)" in said


def test_probabilities_that_stay_are_said_to(writer):
    assert "Nothing changes: no probability moves" in written(SURE, SURE, writer)


def test_a_decoder_without_its_mask_reads_the_future(writer):
    bench, trace = open_masks("writer", mask="none"), writer.trace(TEXT, attention_mask="none")
    assert_array_equal(bench.weights("decoder"), held([block.self_attention for block in trace.decoder]))
    own = open_masks("writer", mask="own")
    assert "Later tokens get 0.0% (with no mask " in said_of(own, 0, 0, "decoder")


def test_a_long_text_cannot_be_painted(monkeypatch):
    monkeypatch.setattr("transformer_viz.ui.workbench.masks.MAX_PAINTED", 10)
    bench = open_masks(text="good film " * 12, mask="painted")
    assert bench.menu["note"] == "Masks can be painted for up to 10 tokens; here there are 23."
    chosen, offered = option(bench)
    assert (chosen, "painted" in offered) == ("causal", False)
    assert open_masks(mask="painted").menu["note"] == ""


def test_the_bits_of_the_largest_painted_mask_fit_into_an_address(monkeypatch):
    assert MAX_PAINTED**2 / 4 < 300
    monkeypatch.setattr("transformer_viz.ui.workbench.masks.MAX_PAINTED", 6)
    bench = open_masks(mask="painted", pads="5")
    assert (slider(bench, "pads")["value"], slider(bench, "pads")["high"]) == (2, 2)


@pytest.mark.parametrize("text", ["", "  "])
def test_no_sentence_is_a_hint_and_no_picture(text):
    bench = open_masks(text=text)
    assert bench.views is None
    assert bench.header["hint"].startswith("Type a sentence above")


def test_markup_in_a_sentence_stays_text():
    bench = open_masks(text="film **x** <b>$y$")
    assert "<b>" in bench.said["text"]
    assert not any("**" in said for said in bench.facts()["usual"] + bench.facts()["sayings"])


@pytest.mark.parametrize("model", ["small", "writer", "translator"])
@pytest.mark.parametrize("chosen", ["padding", "painted"])
def test_the_page_speaks_chinese(model, chosen):
    bench = open_masks(model, language="zh", mask=chosen, pads="2")
    menu = bench.menu
    offered = [text for each in menu["groups"] for _, text in each["options"]]
    parts = [*menu["groups"], *menu["sliders"], *menu["switches"]]
    said = [*offered, *(each["label"] + each["tip"] for each in parts), *menu["ways"].values()]
    said += [*bench.facts(menu["of"])["usual"], *texts_of(bench.said["notes"]), menu["painted"]]
    texts = {*bench.said["text"].split(), *bench.said["target"].split(), TEXT, "PAD", "softmax", "float"}
    assert not [text for text in said for word in english(text) if not texts & {word, *word.split()}]


def test_the_frame_of_the_page_speaks_chinese():
    app = pages.open_page("masks", lang="zh")
    assert [expander.label for expander in app.expander] == ["说明"]


def test_without_any_model_the_page_says_how_to_train_one(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path))
    assert "There is no model to inspect yet" in shown(pages.open_page("masks"))


@pytest.mark.parametrize("model", ["attention-only", "hotel-zh", "induction", "reverse-digits"])
def test_the_shipped_models_are_shown_on_their_own_examples(shipped, model):
    bench = open_bench(model, experiment={"page": "masks"})
    assert bench.header["key"]
    assert {"weights", "before", "mask", "scores"} <= {*bench.arrays[bench.menu["of"]]}


@pytest.mark.parametrize(
    ("kind", "chosen", "field", "name"),
    [("encoder", "causal", "attention_mask", "causal"), ("cross", "none", "cross_attention_mask", "none")],
)
def test_what_is_written_with_a_mask_is_what_python_writes(shipped, engine, kind, chosen, field, name):
    """The matrices are compared on the target of the model as it is; beside it stands the other one."""
    bench = open_masks("reverse-digits", text="1 2 3 4 5", kind=kind, mask=chosen, pads="3")
    explorer = shelved("reverse-digits")
    own, changed = (explorer.trace("1 2 3 4 5", padding=3, **change) for change in ({}, {field: name}))
    held_target = explorer.trace("1 2 3 4 5", target=own.target_ids[1:].tolist(), padding=3, **{field: name})
    assert_allclose(bench.weights(kind), held(held_target.kinds()[kind].layers), atol=HALF)
    with_mask = {"causal": "with the causal mask", "none": "with no mask"}[chosen]
    if changed.target_text == own.target_text:
        assert f"with either mask, the target is **{own.target_text}**." in notes(bench)
    else:
        said = f"{with_mask}, the target is **{changed.target_text}**; with the model's own mask it is **"
        assert said + f"{own.target_text}**." in notes(bench)
    assert "the answer stays the same" not in texts_of(bench.said["answer"])
    request = Request.of("reverse-digits", "1 2 3 4 5", padding=3, **{field: name})
    assert engine.answer(request).target_text == changed.target_text
    assert (changed.target_text == own.target_text) == (kind == "cross")


@pytest.mark.parametrize(
    "chosen",
    [{"target": "5 4"}, {"kind": "cross", "mask": "painted", "bits": "0"}, {"mask": "own", "pads": "0"}],
    ids=str,
)
def test_nothing_is_said_to_be_written_where_no_other_target_fits(shipped, chosen):
    bench = open_masks("reverse-digits", text="1 2", **{"kind": "encoder"} | chosen)
    assert bench.header["key"]
    assert "the target is" not in notes(bench)


def test_padding_nobody_masks_turns_a_review_the_other_way(shipped):
    text = "This film was not good at all"
    explorer = shelved("attention-only")
    names, labels = ("none", "padding"), explorer.config.labels
    before, after = (explorer.trace(text, padding=4, attention_mask=name).probs for name in names)
    old, new = int(before.argmax()), int(after.argmax())
    assert (labels[old], labels[new]) == ("positive", "negative")
    bench = open_masks("attention-only", text=text, mask="padding", pads="4")
    assert texts_of(bench.said["before"]["answer"]) == [f"**positive** {before[old]:.1%}"]
    assert f"now **negative** {after[new]:.1%}" in texts_of(bench.said["answer"])
    assert "(with the model's own mask 36.0%)" in said_of(bench, 0, 0)
