"""The steps of a model in one line: what Python says of each preset, and the way from page to page."""

import pytest
from chinese import is_chinese
from lens_page import held_back, settle
from playwright.sync_api import expect

from transformer_viz.language import Words
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.presets import PRESETS
from transformer_viz.pictures.pipeline import pipeline_of
from transformer_viz.trace.stream import stream_steps


def parts(config):
    """Return the stacks with the parts of their blocks; a normalisation in front of a part has its name."""
    found = pipeline_of(config, Words("en"))["stacks"]
    return {
        each["stack"]: ["norm" if step.get("is_norm") else step["part"] for step in each["block"]]
        for each in found
    }


@pytest.mark.parametrize("name", PRESETS)
def test_the_steps_are_those_of_the_first_blocks_of_the_model(name):
    config = PRESETS[name]
    found = pipeline_of(config, Words("en"))["stacks"]
    assert {each["stack"]: each["layers"] for each in found} == config.stacks
    for each in found:
        steps = [*each["begin"], *each["block"]]
        assert [step["part"] for step in steps if not step.get("is_norm")] == [
            place.part
            for place in stream_steps(config)
            if place.stack == each["stack"] and place.layer in (None, 0)
        ]


def test_a_normalisation_stands_before_or_behind_its_part_as_in_the_model():
    pre = TransformerConfig(architecture="decoder", vocab_size=9, norm="pre", final_norm=True)
    post = pre.replace(norm="post", final_norm=False)
    assert parts(pre) == {"decoder": ["norm", "self", "norm", "ffn"]}
    assert parts(post) == {"decoder": ["self", "self_norm", "ffn", "ffn_norm"]}
    ends = [[step["title"] for step in pipeline_of(each, Words("en"))["output"]] for each in (pre, post)]
    assert ends == [["norm", "output"], ["output"]]
    assert parts(pre.replace(ffn_dim=0)) == {"decoder": ["norm", "self"]}
    assert parts(pre.replace(norm="sandwich")) == {"decoder": ["norm", "self", "norm", "norm", "ffn", "norm"]}


def test_an_encoder_decoder_has_cross_attention_in_its_decoder_only_and_names_both():
    found = pipeline_of(PRESETS["vaswani-tiny"], Words("en"))["stacks"]
    assert [each["name"] for each in found] == ["Encoder", "Decoder"]
    kinds = [[step["kind"] for step in each["block"] if step["kind"]] for each in found]
    assert kinds == [["encoder"], ["decoder", "cross"]]


@pytest.fixture
def page(new_visitor):
    return new_visitor(viewport={"width": 1440, "height": 900})


def lit(page):
    """Return the step that is lit."""
    return page.locator(".pipeline [aria-current]")


def press(page, step):
    page.locator(f'.pipeline [data-key="step-{step}"]').click()


def test_a_step_leads_to_its_tensors_and_from_other_pages_to_its_heads(page, home):
    page.goto(f"{home}/?model=reverse-digits&lang=en")
    page.locator(".lens .said").wait_for()
    settle(page)
    expect(lit(page)).to_have_text("cross-attention")
    press(page, "encoder-self")
    expect(lit(page)).to_have_text("self-attention")
    expect(page.locator(".place")).to_contain_text("encoder self-attention")
    press(page, "decoder-ffn")
    expect(page.locator(".map .detail h3")).to_have_text("feed-forward · Layer 1")
    page.locator(".st-key-pages").get_by_role("link", name="Masks").click()
    page.wait_for_url("**/masks**")
    settle(page)  # until then, the steps of the page before may still stand there
    press(page, "decoder-self")
    expect(page.locator(".place")).to_contain_text("masked self-attention")
    expect(lit(page)).to_have_text("masked self-att.")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("positions?model=imdb-sentiment&view=table", "+ 位置"),
        ("positions?model=imdb-sentiment", "+ 位置"),
        ("masks?model=reverse-digits&kind=decoder", "掩码自注意力"),
        ("writing?model=reviews-next", "输出"),
    ],
)
def test_each_page_lights_the_part_that_it_is_about(page, home, address, expected):
    page.goto(f"{home}/{address}&lang=zh")
    expect(lit(page)).to_have_text(expected)
    assert all(map(is_chinese, page.locator(".pipeline .link").all_inner_texts()))


def test_the_lit_step_of_a_long_line_is_in_sight_in_a_narrow_window(page, home):
    page.set_viewport_size({"width": 900, "height": 700})
    page.goto(f"{home}/?model=translate-en-zh&lang=en")
    expect(lit(page)).to_have_text("cross-attention")
    settle(page)
    line, step = page.locator(".pipeline").bounding_box(), lit(page).bounding_box()
    assert line["x"] <= step["x"]
    assert step["x"] + step["width"] <= line["x"] + line["width"]


def test_nothing_moves_when_the_line_arrives_last(page, home):
    held = held_back(page, "**/where.js")
    page.goto(f"{home}/positions?model=imdb-sentiment&lang=en&view=table")
    table = page.locator(".stPlotlyChart").first
    table.wait_for()
    settle(page)
    before = table.bounding_box()
    held[0].continue_()
    expect(lit(page)).to_have_text("+ positions")
    assert table.bounding_box() == before
