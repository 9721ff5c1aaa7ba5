"""The map of a model: what Python packs, and what a browser shows of it."""

import json

import numpy as np
import pytest
from lens_page import settle
from numpy.testing import assert_allclose
from playwright.sync_api import expect
from running_app import ROOT
from shelf import shelved

import transformer_viz as tv
from transformer_viz import store
from transformer_viz.analysis import output_names, stream_places
from transformer_viz.language import LANGUAGES, Words
from transformer_viz.pictures.labels import label_of
from transformer_viz.pictures.map import FINAL, MAX_ROWS, OWN, map_payload
from transformer_viz.pictures.parameters import parameters_of
from transformer_viz.values.tensors import flatten

MODELS = ROOT / "models"
TEXTS = {
    "reverse-digits": "3 1 4 1 5",
    "translate-en-fr": "I love you.",
    "reviews-next": "The film was not good, but the acting was",
    "reviews-masked": "This is the [MASK] film I have ever seen.",
    "imdb-sentiment": "This film was not good at all.",
    "attention-only": "This film was not good at all",
    "single-block": "This film was not good at all",
}


def unpacked(payload):
    """Return the header, and a function that returns an array."""
    length = int.from_bytes(payload[:8], "little")
    header, data = json.loads(payload[8 : 8 + length]), payload[8 + length :]

    def array(where):
        count = int(np.prod(where["shape"]))
        return np.frombuffer(data, where["dtype"], count, where["at"]).reshape(where["shape"])

    return header, array


@pytest.fixture(scope="module", params=TEXTS)
def shown(request):
    """A model, a trace, and its map."""
    folder = str(MODELS / request.param)
    explorer = tv.load(folder)
    trace = explorer.trace(TEXTS[request.param])
    payload = map_payload(trace, explorer.config, parameters_of(folder, output_names), Words("en"))
    return explorer, trace, *unpacked(payload)


def test_every_step_has_its_tensors_and_lengths(shown):
    explorer, trace, header, array = shown
    tensors = flatten(trace.values)
    places = [place for stack in header["stacks"] for place in stack["places"] if place["part"] != "output"]
    expected = stream_places(explorer.config)
    assert [(place["part"], place["layer"]) for place in places] == [
        (each.part, each.layer) for each in expected
    ]
    for place, each in zip(places, expected, strict=True):
        stream = tensors[each.stream]
        assert_allclose(array(place["stream"]["at"]), stream, rtol=1e-3, atol=1e-4)
        assert_allclose(place["lengths"], np.linalg.norm(stream, axis=-1), rtol=1e-5)
        for tensor, (_, name) in zip(place["tensors"], each.made, strict=False):
            made = tensors[name]
            assert_allclose(array(tensor["at"]), made, rtol=1e-3, atol=1e-4)
            assert_allclose(tensor["limits"], [made.min(), made.max()], rtol=1e-6)
            assert (np.abs(made) <= tensor["end"]).mean() >= 0.98


def test_what_is_read_is_what_python_reads(shown):
    explorer, trace, header, _ = shown
    found = tv.logit_lens(explorer, trace)
    ids = trace.target_ids if len(trace.target_ids) else trace.token_ids
    *places, output = header["stacks"][-1]["places"]
    cells = [cell for place in places for cell in place["read"]]
    assert_allclose([cell["prob"] for cell in cells], found.probability, atol=2e-5)
    spelled = {name: label_of(trace, number) for number, name in enumerate(trace.labels)}
    assert [cell["label"] for cell in cells] == [spelled[answer] for answer in found.answer]
    final = np.broadcast_to(trace.probs.argmax(axis=-1), len(ids))
    for place, (_, rows) in zip(places, found.groupby(np.arange(len(found)) // len(ids)), strict=True):
        read = [trace.labels.index(answer) for answer in rows.answer]
        for cell, answer, own, last in zip(place["read"], read, ids, final, strict=True):
            assert (cell["kind"] == FINAL) == (answer == last)
            if cell["kind"] == OWN:
                assert answer == own
                assert explorer.config.predicts_tokens
    assert output["whole"] == (trace.probs.ndim == 1)
    assert_allclose([cell["prob"] for cell in output["read"]], np.atleast_1d(trace.probs.max(axis=-1)))


def test_the_heading_counts_the_positions_that_have_the_answer(shown):
    _, trace, header, _ = shown
    places = header["stacks"][-1]["places"]
    rows = trace.gaps if len(trace.gaps) else range(len(places[0]["read"]))
    have = [
        sum(all(place["read"][row]["kind"] == FINAL for place in places[at:-1]) for row in rows)
        for at in range(len(places) - 1)
    ]
    at = next((at for at, count in enumerate(have) if count > len(rows) / 2), None)
    if at is None:
        assert header["says"].startswith("Only all positions together")
        return
    layer, step = places[at]["layer"], places[at]["step"]
    is_named = layer is not None and len({place["layer"] for place in places} - {None}) > 1
    assert header["says"].startswith(f"From {f'layer {layer + 1}' if is_named else step} on, ")
    if len(rows) > 1:
        what = "tokens" if places[-1]["whole"] else "positions"
        assert f" on, most {what} ({have[at]} of {len(rows)})" in header["says"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_long_text_shows_a_part_and_says_so(language):
    folder = str(MODELS / "reviews-next")
    explorer = tv.load(folder)
    trace = explorer.trace("The film was good. " * 20)
    header, _ = unpacked(
        map_payload(trace, explorer.config, parameters_of(folder, output_names), Words(language))
    )
    [stack] = header["stacks"]
    assert len(stack["tokens"]) == MAX_ROWS < stack["of"] == len(trace.tokens)
    assert all(str(number) in stack["some"] for number in (MAX_ROWS, len(trace.tokens)))
    last = stack["places"][-1]["read"]
    assert_allclose([cell["prob"] for cell in last], trace.probs[-MAX_ROWS:].max(axis=-1))


def test_a_model_that_is_gone_is_named(tmp_path):
    with pytest.raises(store.ModelError):
        parameters_of(str(tmp_path / "gone"), output_names)


@pytest.fixture
def page(new_visitor):
    return new_visitor(viewport={"width": 1440, "height": 900})


@pytest.mark.quick("reverse-digits")
@pytest.mark.parametrize("model", ["reverse-digits", "reviews-next", "imdb-sentiment"])
def test_each_step_opens_its_tensors(page, home, model):
    page.goto(f"{home}/map?model={model}&text={TEXTS[model]}&lang=en")
    expect(page.locator(".map .says")).not_to_be_empty()
    settle(page)
    explorer = shelved(model)
    trace = explorer.trace(TEXTS[model])
    header, _ = unpacked(
        map_payload(trace, explorer.config, parameters_of(str(MODELS / model), output_names), Words("en"))
    )
    assert page.locator(".map .says").inner_text() == header["says"]
    for number, stack in enumerate(header["stacks"]):
        for at, place in enumerate(stack["places"]):
            page.locator(f'.map [data-key="step-{number}-{at}"]').click()
            expect(page.locator(".map .detail h3")).to_contain_text(place["title"])
            expect(page.locator(".map figcaption b")).to_have_text(
                [tensor["name"] for tensor in place["tensors"]]
            )
            for caption, tensor in zip(page.locator(".map figcaption").all(), place["tensors"], strict=True):
                rows, columns = tensor["shape"]
                assert f"{rows} positions × {columns}" in caption.inner_text()


def test_one_token_is_followed_through_the_model(page, home):
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{home}/map?model=reverse-digits&text=3 1 4 1 5&lang=en")
    expect(page.locator(".map .says")).not_to_be_empty()
    settle(page)
    page.locator('.map [data-key="row-1"]').click()
    said = page.locator(".map .told")
    expect(said).to_contain_text("embedding: “5” is now read as “5”")
    for _ in range(4):
        page.locator('.map [data-key="next"]').click()
    expect(said).to_contain_text("cross-attention: “5” is now read as “1”")
    lit = page.locator(".map .cell.lit")
    expect(lit).to_have_count(1)
    expect(lit).to_contain_text("1")
    page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text("add & norm: “5” is now read as")
    before = said.inner_text()
    shown = page.get_by_role("group", name="Show")
    shown.get_by_role("button").nth(1).click()
    for key in ("ArrowLeft", "ArrowDown"):
        shown.locator(":focus").press(key)
    expect(shown.get_by_role("button").nth(0)).to_be_focused()
    page.locator('.map [data-key="row-1"]').press("Alt+ArrowRight")
    assert said.inner_text() == before


def test_a_step_of_attention_leads_to_its_heads(page, home):
    page.goto(f"{home}/?model=translate-en-fr&lang=en")
    page.locator(".lens .said").wait_for()
    settle(page)
    page.locator(".st-key-pages").get_by_role("link", name="Map").click()
    page.locator(".map .step.cross").nth(1).click()
    page.get_by_role("button", name="Show its heads").click()
    expect(page.locator(".lens .place")).to_contain_text("Layer 2")
    expect(page.locator(".lens .place")).to_contain_text("cross-attention")


def test_the_changes_in_force_hold_on_the_map_and_can_be_taken_back(page, home):
    heads = [["cross", 0, head] for head in range(4)]
    page.goto(
        f"{home}/map?model=reverse-digits&text=3 1 4 1 5&lang=en&changes={json.dumps({'ablate': heads})}"
    )
    expect(page.locator(".map .says")).not_to_be_empty()
    settle(page)
    explorer = shelved("reverse-digits")
    for changes in ({"ablate": [("cross", 0, head) for head in range(4)]}, {}):
        trace = explorer.trace("3 1 4 1 5", **changes)
        final = [label_of(trace, number) for number in trace.probs.argmax(axis=-1)]
        columns = sum(place.stack == "decoder" for place in stream_places(explorer.config)) + 1
        cells = page.locator(".map .selected .cell b")
        expect(cells).to_have_count(columns * len(final))
        assert cells.all_inner_texts()[columns - 1 :: columns] == final
        if changes:
            page.get_by_role("button", name="Undo all").click()
            settle(page)
    assert "changes" not in page.url
