"""What a page is about, below its picture, is there once it is opened."""

import pytest
from pages import again, open_page, shown

from transformer_viz.language import Words

pytestmark = pytest.mark.usefixtures("engine")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("page", ["attention", "positions", "masks"])
def test_what_a_page_is_about_is_there_once_it_is_opened(page, language):
    said = Words(language)(f"{page}.explained")
    app = open_page("" if page == "attention" else page, text="A dull film.", lang=language)
    assert said not in shown(app)
    app.session_state[f"explained-{page}"] = True
    app = again(app)
    assert said in shown(app)
    assert len(app.latex) == 1
