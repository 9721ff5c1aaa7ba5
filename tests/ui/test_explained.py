"""What a page is about, below its picture, is there once it is opened."""

import pages
import pytest
from pages import go_to_page, shown
from streamlit.testing.v1 import AppTest

from transformer_viz.language import Words

pytestmark = pytest.mark.usefixtures("engine", "shipped")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("page", ["attention", "positions", "masks", "writing"])
def test_what_a_page_is_about_is_there_once_it_is_opened(page, language):
    for is_open in (False, True):
        app = AppTest.from_file(pages.APP, default_timeout=60)
        for key, value in {"model": "reverse-digits", "text": "3 1 4", "lang": language}.items():
            app.query_params[key] = value
        app.session_state[f"explained-{page}"] = is_open
        app = go_to_page(app, page)
        assert (Words(language)(f"{page}.explained") in shown(app)) == is_open
        assert len(app.latex) == is_open
