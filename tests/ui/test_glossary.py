"""The glossary: one place for each definition, in every language, from which the tips of the pages come."""

import ast
import re
from pathlib import Path

import pages
import pytest
from pages import go_to_page, shown
from streamlit.testing.v1 import AppTest

import transformer_viz
from transformer_viz.language import LANGUAGES, Words, glossary
from transformer_viz.language.glossary import TOPICS
from transformer_viz.pictures.writing import SLIDERS
from transformer_viz.ui.pages.train.settings import DEFINED
from transformer_viz.ui.shell.card import METRICS

PACKAGE = Path(transformer_viz.__file__).parent
TERMS = [term for terms in TOPICS.values() for term in terms]
MOST = {"en": 60, "zh": 120}
"""Language -> words, or characters, that a definition may have."""


def length(definition, language):
    return len(definition.split()) if language == "en" else len(definition)


def test_every_definition_of_the_language_files_is_in_the_glossary_once():
    assert len(TERMS) == len(set(TERMS)) >= 50
    for language in LANGUAGES:
        assert set(Words(language).under("gloss")) == set(TERMS)
        assert set(Words(language).under("term")) <= set(TERMS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_topic_has_its_terms_each_with_a_short_definition(language):
    found = glossary(language)
    assert [len(entries) for entries in found.values()] == [*map(len, TOPICS.values())]
    entries = [entry for entries in found.values() for entry in entries]
    assert len({name for name, _ in entries}) == len(entries)
    for name, definition in entries:
        assert name
        assert definition.endswith("." if language == "en" else "。"), name
        assert length(definition, language) <= MOST[language], name


def sources(text):
    """Return the years that a definition names, those of its sources."""
    return re.findall(r"\b(?:19|20)\d\d\b", text)


@pytest.mark.parametrize("term", TERMS)
def test_a_definition_names_the_same_sources_in_every_language(term):
    assert len({tuple(sources(Words(language)(f"gloss.{term}"))) for language in LANGUAGES}) == 1


def test_the_tips_of_the_pages_are_definitions_of_the_glossary():
    named = {*DEFINED.values(), *SLIDERS, *METRICS}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Constant)
                and str(node.value).startswith("gloss.")
                and node.value != "gloss."
            ):
                named.add(node.value.removeprefix("gloss."))
    assert {"token", "fine_tuning", "beam_search"} <= named
    assert named <= set(TERMS)


def test_a_language_that_there_is_not_has_no_glossary():
    with pytest.raises(ValueError, match="`language` must be one of"):
        glossary("fr")


@pytest.mark.usefixtures("engine", "shipped")
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_limits_the_draw_is_defined_below_the_picture_of_writing(language):
    app = AppTest.from_file(pages.APP, default_timeout=60)
    for key, value in {"model": "reverse-digits", "text": "3 1 4", "lang": language}.items():
        app.query_params[key] = value
    app.session_state["explained-writing"] = True
    said = shown(go_to_page(app, "writing"))
    assert all(Words(language)(f"gloss.{term}") in said for term in SLIDERS)
