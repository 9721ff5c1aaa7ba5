"""The heads as thumbnails on pages whose pictures the server draws: what is told to it, and what it tells."""

import base64
import re

import pytest
from lens_page import watched_pages
from made_traces import TOKENS, masked_trace, packed, writing_trace
from playwright.sync_api import expect

from transformer_viz.pictures import views

MOUNT = """async ([module, payload, place]) => {
  const { default: choice } = await import(module);
  const parentElement = (window.places ??= {})[place] ??= document.createElement("section");
  if (!parentElement.firstChild) {
    parentElement.append(document.createElement("div"));
    document.body.append(parentElement);
  }
  const setStateValue = (name, value) => (window.told ??= []).push([place, name, value]);
  const data = Uint8Array.from(atob(payload), (letter) => letter.charCodeAt(0));
  choice({ data, parentElement, setStateValue });
}"""


def base64_of(data):
    return base64.b64encode(data).decode()


@pytest.fixture
def mount(browser, tmp_path):
    """Return what shows the heads of a trace at a place of a page, with one of them chosen by the server."""
    module = f"data:text/javascript;base64,{base64_of(views.bundle('choice').encode())}"
    with watched_pages(browser) as new_page:
        page = new_page(viewport={"width": 400, "height": 900})
        file = tmp_path / "page.html"
        style = views.stylesheet("lens")
        file.write_text(f"<!doctype html><title>Heads</title><style>{style}</style>", encoding="utf-8")
        page.goto(file.as_uri())

        def mounted(trace, kind, layer, head, *, place="page", kinds=None):
            payload = packed(trace, kinds=kinds, chosen={"kind": kind, "layer": layer, "head": head})
            page.evaluate(MOUNT, [module, base64_of(payload), place])
            return page

        yield mounted


def chosen(page, place=0):
    return page.locator("section").nth(place).locator(".head[aria-current]")


def told(page):
    return page.evaluate("window.told ?? []")


def test_a_press_tells_the_server_and_stands_in_the_address(mount):
    page = mount(masked_trace(), "encoder", 0, 1)
    expect(chosen(page)).to_have_accessible_name(re.compile("^Layer 1, head 2"))
    assert told(page) == []
    page.get_by_role("button", name=re.compile("^Layer 2, head 3")).click()
    expect(chosen(page)).to_have_accessible_name(re.compile("^Layer 2, head 3"))
    expect(page.locator(".chosen strong")).to_have_text("Layer 2, head 3")
    [[place, name, value]] = told(page)
    assert (place, name) == ("page", "chosen")
    assert {"kind": "encoder", "layer": 1, "head": 2}.items() <= value.items()
    assert "layer=2" in page.url
    assert "head=3" in page.url


def test_what_was_chosen_on_another_page_is_told_to_the_server_of_this_one(mount):
    page = mount(masked_trace(), "encoder", 0, 0)
    page.get_by_role("button", name=re.compile("^Layer 2, head 3")).click()
    page = mount(masked_trace(), "encoder", 0, 0, place="next")
    assert [place for place, _, _ in told(page)] == ["page", "next"]
    assert told(page)[1][2]["head"] == 2
    mount(masked_trace(), "encoder", 1, 2, place="next")  # the server's answer
    expect(chosen(page, 1)).to_have_accessible_name(re.compile("^Layer 2, head 3"))
    assert len(told(page)) == 2
    mount(masked_trace(), "encoder", 1, 2, place="third")
    assert len(told(page)) == 2


def test_the_server_can_choose_another_head(mount):
    page = mount(masked_trace(), "encoder", 0, 0)
    mount(masked_trace(), "encoder", 1, 1)
    expect(chosen(page)).to_have_accessible_name(re.compile("^Layer 2, head 2"))
    mount(masked_trace(), "encoder", 1, 1, place="next")
    assert told(page) == []


def test_a_kind_of_attention_that_is_not_offered_stays_chosen_for_other_pages(mount):
    trace = writing_trace(TOKENS, ["[START]", "w1", "w2"])
    page = mount(trace, "cross", 0, 0)
    page.locator(".head[data-key='decoder-1']").or_(
        page.get_by_role("button", name="masked self-attention")
    ).first.click()
    kind = told(page)[-1][2]["kind"]
    assert kind == "decoder"
    mount(trace, "encoder", 0, 1, place="positions", kinds=["encoder"])
    mount(trace, "cross", 0, 1, place="masks")
    assert told(page)[-1][2]["kind"] == "decoder"
