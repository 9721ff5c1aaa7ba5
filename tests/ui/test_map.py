"""The map of a model: what Python packs, and what a browser shows of it."""

import json

import numpy as np
import pytest
from bench import map_in, open_bench, texts_of
from lens_page import settle
from numpy.testing import assert_allclose
from playwright.sync_api import expect
from running_app import ROOT
from shelf import shelved

import transformer_viz as tv
from transformer_viz.language import LANGUAGES, Words
from transformer_viz.network.tensors import flatten
from transformer_viz.pictures.labels import label_of
from transformer_viz.pictures.map import FINAL, MAX_ROWS, OWN, map_payload
from transformer_viz.pictures.output import LIKELIEST
from transformer_viz.questions.logit_lens import reading_of
from transformer_viz.questions.roles.text_patterns import is_punctuation
from transformer_viz.text.special import is_special
from transformer_viz.trace.softmax import label_logits, softmax
from transformer_viz.trace.stream import stream_steps

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


@pytest.fixture(scope="module", params=TEXTS)
def shown(request):
    """A model, a trace, and its map."""
    folder = str(MODELS / request.param)
    explorer = tv.load(folder)
    trace = explorer.trace(TEXTS[request.param])
    payload = map_payload(trace, explorer.config, reading_of(explorer, trace), Words("en"))
    return explorer, trace, *map_in(payload)


def test_every_step_has_its_tensors_and_lengths(shown):
    explorer, trace, header, array = shown
    tensors = flatten(trace.values)
    places = [place for stack in header["stacks"] for place in stack["places"] if place["part"] != "output"]
    expected = stream_steps(explorer.config)
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


def test_the_output_shows_the_logits_of_its_input_and_their_probabilities(shown):
    explorer, trace, header, array = shown
    config, output = explorer.config, header["stacks"][-1]["places"][-1]
    own = {name: np.asarray(each) for name, each in explorer.model.parameters().items()}
    first, *_ = output["tensors"]
    assert_allclose(array(first["at"]), trace.values.final, rtol=1e-3, atol=1e-3)
    stream = flatten(trace.values)[stream_steps(config)[-1].stream]
    if config.final_norm:
        stream = np.asarray(explorer.model.norms[[*config.stacks][-1]](stream))
    assert_allclose(trace.values.final, stream, atol=1e-4)
    if config.predicts_tokens:
        vectors, name = stream, "output"
        assert len(output["answers"]["rows"]) == len(stream)
    else:
        pooled = output["tensors"][-1]
        assert_allclose(array(pooled["at"]), trace.values.pooled[None], rtol=1e-3, atol=1e-3)
        assert_allclose(trace.values.pooled, stream.mean(axis=0), atol=1e-4)
        vectors, name = trace.values.pooled[None], "classifier"
    kernel = own["token_embedding/embeddings"].T if f"{name}/kernel" not in own else own[f"{name}/kernel"]
    logits = label_logits(config, vectors @ kernel + own.get(f"{name}/bias", 0))
    probs = softmax(logits, config.temperature)
    spelled = [label_of(trace, number) for number in range(len(trace.labels))]
    for rows, logit, prob in zip(output["answers"]["rows"], logits, probs, strict=True):
        likeliest = np.sort(prob)[::-1][:LIKELIEST]
        assert_allclose([row["prob"] for row in rows], likeliest, atol=1e-4)
        for row in rows:
            same = [number for number, label in enumerate(spelled) if label == row["label"]]
            number = min(same, key=lambda each: abs(prob[each] - row["prob"]))
            if config.output == "sigmoid" and number == 0:
                assert row["logit"] is None
            else:
                assert abs(row["logit"] - logit[number]) < 1e-4


def test_a_skip_connection_leads_around_a_step_to_whose_result_its_input_is_added(shown):
    explorer, trace, header, _ = shown
    tensors, before = flatten(trace.values), None
    places = [place for stack in header["stacks"] for place in stack["places"] if place["part"] != "output"]
    for place, each in zip(places, stream_steps(explorer.config), strict=True):
        if each.layer is not None and not each.part.endswith("_norm"):
            _, made = each.made[-1]
            kept = tensors[each.stream] - tensors[made]
            assert_allclose(kept, before if place["skipped"] else 0, atol=1e-3)
        else:
            assert not place["skipped"]
        before = tensors[each.stream]


def test_the_word_that_changes_most_is_followed_first(shown):
    _, trace, header, _ = shown
    for stack in header["stacks"]:
        tokens = trace.target_tokens if stack["stack"] == "decoder" and trace.encoder else trace.tokens
        words = [row for row, each in enumerate(tokens) if not (is_special(each) or is_punctuation(each))]
        if len(trace.gaps):
            assert stack["start"] == trace.gaps[0]
            continue
        first, *_, last = [place for place in stack["places"] if place["part"] != "output"]
        if "read" in first:
            one, two = ([_signed(cell) for cell in place["read"]] for place in (first, last))
            changes = np.subtract(two, one)
        else:
            changes = np.abs(np.subtract(last["lengths"], first["lengths"]))
        assert stack["start"] in words
        assert changes[stack["start"]] == pytest.approx(max(changes[row] for row in words))


def _signed(cell):
    return cell["prob"] if cell["kind"] == FINAL else -cell["prob"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_long_text_shows_a_part_and_says_so(language):
    folder = str(MODELS / "reviews-next")
    explorer = tv.load(folder)
    trace = explorer.trace("The film was good. " * 20)
    header, _ = map_in(map_payload(trace, explorer.config, reading_of(explorer, trace), Words(language)))
    [stack] = header["stacks"]
    assert len(stack["tokens"]) == MAX_ROWS < stack["of"] == len(trace.tokens)
    assert all(str(number) in stack["some"] for number in (MAX_ROWS, len(trace.tokens)))
    last = stack["places"][-1]["read"]
    assert_allclose([cell["prob"] for cell in last], trace.probs[-MAX_ROWS:].max(axis=-1))


@pytest.mark.usefixtures("engine", "shipped")
@pytest.mark.parametrize("changes", [{}, {"ablate": [["cross", 0, 1]]}, {"residual": False}], ids=str)
def test_the_map_is_of_the_run_that_the_workbench_shows(changes):
    bench = open_bench("reverse-digits", text="3 1 4 1 5", changes=changes)
    header, array = bench.map()
    given = {"ablate": [("cross", 0, 1)]} if "ablate" in changes else changes
    trace = shelved("reverse-digits").trace("3 1 4 1 5", **given)
    tensors = flatten(trace.values)
    places = [place for stack in header["stacks"] for place in stack["places"] if place["part"] != "output"]
    for place, each in zip(places, stream_steps(shelved("reverse-digits").config), strict=True):
        assert_allclose(array(place["stream"]["at"]), tensors[each.stream], rtol=1e-3, atol=1e-3)
    assert any(place["skipped"] for place in places) == ("residual" not in changes)
    assert texts_of(header["said"]["answer"]) == texts_of(bench.said["answer"])
    assert [chip["act"]["do"] for chip in header["said"]["chips"]] == ["undo"] * len(changes)


@pytest.mark.usefixtures("engine", "shipped")
def test_of_two_runs_the_second_is_mapped():
    before = {"model": "attention-only", "text": "a good film"}
    header, _ = open_bench("attention-only", text="a dull film", before=before).map()
    assert header["stacks"][0]["tokens"][-1] == "film"
    assert "dull" in header["stacks"][0]["tokens"]
    assert header["said"]["before"]["text"] == "a good film"


@pytest.mark.usefixtures("engine")
def test_without_a_text_there_is_a_hint_and_no_map():
    bench = open_bench(text="  ")
    header, array = bench.map()
    assert array is None
    assert header["hint"].startswith("Type a sentence above")


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
    header, _ = map_in(map_payload(trace, explorer.config, reading_of(explorer, trace), Words("en")))
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
    expect(said).to_contain_text("norm: “5” is now read as")
    before = said.inner_text()
    shown = page.get_by_role("group", name="Show")
    shown.get_by_role("button").nth(1).click()
    for key in ("ArrowLeft", "ArrowDown"):
        shown.locator(":focus").press(key)
    expect(shown.get_by_role("button").nth(0)).to_be_focused()
    page.locator('.map [data-key="row-1"]').press("Alt+ArrowRight")
    assert said.inner_text() == before


def test_following_starts_at_the_pinned_cell_else_at_the_word_that_changes_most(page, home):
    follow = page.locator('.map [data-key="follow"]')
    for cell, word in (("", "good"), ("&cell=3-5", "film"), ("&cell=3-5&kind=cross", "good")):
        page.goto(f"{home}/map?model=imdb-sentiment&text=This film was not good at all.&lang=en{cell}")
        expect(follow).to_have_text(f"Follow “{word}”")
    page.goto(f"{home}/?model=imdb-sentiment&text=This film was not good at all.&lang=en&layer=1&cell=5-2")
    page.locator(".lens .said").wait_for()
    settle(page)
    page.locator(".st-key-pages").get_by_role("link", name="Map").click()
    expect(follow).to_have_text("Follow “not”")


def test_the_keyboard_walks_the_table_and_enter_does_what_a_click_does(page, home):
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{home}/map?model=imdb-sentiment&text=This film was not good at all.&lang=en")
    expect(page.locator(".map .says")).not_to_be_empty()
    settle(page)
    grid = page.get_by_role("grid", name="Encoder")
    assert grid.locator('[tabindex="0"]').count() == 1
    assert grid.get_by_role("row").count() == int(grid.get_attribute("aria-rowcount"))
    assert page.locator(".map .hint.told").count() == 0
    grid.get_by_role("rowheader", name="good").get_by_role("button").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    cell = page.locator(".map :focus")
    expect(cell).to_have_attribute("aria-colindex", "2")
    assert cell.locator("xpath=..").get_attribute("aria-rowindex") == "8"
    expect(page.locator(".map .tip")).to_contain_text("“at” after the embedding: “positive”, 72%")
    expect(page.locator(".map .told")).to_have_count(0)
    page.keyboard.press("End")
    expect(cell).to_have_text("negative 99%")
    expect(cell).to_have_attribute("aria-rowspan", "9")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.locator(".map .live")).to_contain_text("feed-forward: “at” is now read as “negative”")
    expect(cell).to_have_attribute("aria-selected", "true")
    page.keyboard.press("PageUp")
    expect(cell).to_have_attribute("aria-label", "norm → feed-forward, Layer 4: added")
    page.keyboard.press("Enter")
    expect(page.locator(".map .detail h3")).to_have_text("feed-forward · Layer 4")
    expect(cell).to_have_attribute("aria-pressed", "true")


def test_a_wide_table_stays_scrolled_to_the_cell_that_is_pressed(page, home):
    page.set_viewport_size({"width": 500, "height": 800})
    page.goto(f"{home}/map?model=imdb-sentiment&text=This film was not good at all.&lang=en")
    expect(page.locator(".map .says")).not_to_be_empty()
    settle(page)
    page.locator('.map [data-key="row-2"]').focus()
    for key in ("End", "ArrowLeft"):
        page.keyboard.press(key)
    table = page.locator(".map .scroll")
    left = table.evaluate("table => table.scrollLeft")
    assert left > 100
    page.keyboard.press("Enter")
    expect(page.locator(".map .cell.lit")).to_be_focused()
    assert table.evaluate("table => table.scrollLeft") == left


def test_the_keyboard_reads_each_number_of_a_tensor(page, home):
    page.goto(f"{home}/map?model=imdb-sentiment&text=This film was not good at all.&lang=en")
    expect(page.locator(".map .says")).not_to_be_empty()
    settle(page)
    page.locator(".map .step.output").click()
    trace = shelved("imdb-sentiment").trace(TEXTS["imdb-sentiment"])
    grid = page.get_by_role("grid", name="The pooled vector")
    width = len(trace.values.pooled)
    assert (grid.get_attribute("aria-rowcount"), grid.get_attribute("aria-colcount")) == ("1", str(width))
    grid.get_by_role("gridcell").focus()
    for keys, number in (("", 0), ("ArrowRight ArrowRight", 2), ("End", width - 1), ("ArrowLeft", width - 2)):
        for key in keys.split():
            page.keyboard.press(key)
        said = page.locator(".map :focus").get_attribute("aria-label")
        assert said.startswith(f"“pooled”, number {number + 1}: ")
        value = float(said.partition(": ")[2].replace("−", "-"))
        assert_allclose(value, trace.values.pooled[number], rtol=1e-2)
        assert page.locator(".map .tip").inner_text() == said


def test_the_map_of_a_run_without_residual_connections_has_no_skip_arrows(page, home):
    for changes, how in (({}, "added"), ({"residual": False}, "replaced")):
        page.goto(f"{home}/map?model=imdb-sentiment&lang=en&changes={json.dumps(changes)}")
        expect(page.locator(".map .says")).not_to_be_empty()
        settle(page)
        assert page.locator(".map .skip").count() == 8 * (not changes)
        assert set(page.locator(".map .how").all_inner_texts()) == {"", how}


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
        columns = sum(place.stack == "decoder" for place in stream_steps(explorer.config)) + 1
        cells = page.locator(".map .selected .cell b")
        expect(cells).to_have_count(columns * len(final))
        assert cells.all_inner_texts()[columns - 1 :: columns] == final
        if changes:
            page.get_by_role("button", name="Undo all").click()
            settle(page)
    assert "changes" not in page.url
