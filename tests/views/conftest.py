import pytest
from lens_page import painted, watched_pages
from made_traces import TOKENS, masked_trace, packed, writing_trace
from playwright.sync_api import expect

from transformer_viz.pictures import views


@pytest.fixture(scope="module")
def masked():
    return masked_trace()


@pytest.fixture(scope="module")
def writing():
    return writing_trace(TOKENS, ["[START]", "w1", "w2", "w3", "w4"])


@pytest.fixture
def show(browser, tmp_path):
    """Return what opens a page of a trace."""
    with watched_pages(browser) as new_page:

        def opened(trace, *, start=None, width=1440, height=1000, theme="light", **changes):
            page = new_page(viewport={"width": width, "height": height}, color_scheme=theme)
            file = tmp_path / "page.html"
            payload = trace if isinstance(trace, bytes) else packed(trace, **changes)
            file.write_text(views.page(payload, title="Lens", start=start), encoding="utf-8")
            page.goto(file.as_uri())
            expect(page.locator(".said")).to_be_visible()
            painted(page)
            return page

        yield opened
