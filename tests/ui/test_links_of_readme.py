"""The links of the README into the running app, each opened."""

import re
from urllib.parse import parse_qsl

import pytest
from pages import open_page, shown
from running_app import ROOT

READMES = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh.md")]
LINKS = [re.findall(r"\(http://localhost:8501/(\w*)\?([^)]*)\)", text) for text in READMES]


def test_both_languages_lead_to_the_same_places():
    assert LINKS[0] == LINKS[1]
    assert len(LINKS[0]) == 5


@pytest.mark.parametrize(("page", "query"), LINKS[0])
def test_a_link_opens_what_it_names(page, query, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(ROOT / "models"))
    asked = dict(parse_qsl(query))
    app = open_page(page, **asked)
    assert not app.error
    assert app.selectbox[0].value == asked.get("model", app.selectbox[0].value)
    assert "lesson" not in asked or "Lesson 6" in shown(app)
    assert asked.get("text") in (None, *(box.value for box in app.text_input))
