"""An error that nobody foresaw, on a page of the real server."""

import json

import pytest
from playwright.sync_api import expect
from running_app import ROOT, running

BROKEN = """
import sys
sys.path.insert(0, {root!r})
if __name__ == "__main__":
    from transformer_viz.ui import frame
    from transformer_viz.ui.pages.masks import page as masks

    def broken(*_):
        return {{}}["Zanzibar"]

    masks.show = broken
    frame.show()
elif __name__ != "__mp_main__":
    import streamlit as st
    from transformer_viz.ui.shell.server import lifespan
    from transformer_viz.ui.shell.unexpected import show_unexpected
    from transformer_viz.ui.shell.web import MIDDLEWARE, ROUTES
    from transformer_viz.ui.workbench.routes import ROUTES as DATA_ROUTES
    routes = [*ROUTES, *DATA_ROUTES]
    app = st.App(
        __file__, lifespan=lifespan, middleware=MIDDLEWARE, routes=routes, on_script_error=show_unexpected
    )
"""


@pytest.fixture(scope="module")
def address(models_folder, tmp_path_factory):
    script = tmp_path_factory.mktemp("app") / "app.py"
    script.write_text(BROKEN.format(root=str(ROOT)))
    log = script.parent / "app.log"
    with running(script=script, TRANSFORMER_VIZ_LOG=log) as (_, address):
        yield address, log


def test_a_page_that_fails_apologises_offers_a_report_and_lets_the_visitor_go_on(browser, address):
    page = browser.new_page()
    page.goto(address[0] + "/masks?text=A+secret+film")
    expect(page.get_by_text("Sorry, something went wrong")).to_be_visible(timeout=60_000)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download a report").click()
    report = json.loads(download.value.path().read_text())
    assert report["error"] == "KeyError"
    assert report["frames"][-1].endswith(" broken")
    assert report["page"] == "masks"
    assert "secret" not in json.dumps(report)
    assert "Zanzibar" not in json.dumps(report) + page.content()
    line = next(line for line in address[1].read_text().splitlines() if " ERROR error " in line)
    assert f"report={report['report']}" in line
    page.get_by_role("link", name="Attention").click()
    page.locator(".lens .says").wait_for(timeout=60_000)
    page.close()
