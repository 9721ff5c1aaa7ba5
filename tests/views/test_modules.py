import hashlib
import re
import tomllib
from pathlib import Path

import pytest
from made_traces import encoder_trace, packed

from transformer_viz.language import Words
from transformer_viz.pictures import views
from transformer_viz.pictures.views.modules import COMMENT, FOLDER

ROOT = Path(__file__).parents[2]
SOURCES = sorted(FOLDER.glob("*.js"))
OWN = [source for source in SOURCES if source.name != "lit.js"]  # which is vendored, and has a fixed text
ENTRIES = (
    *("workbench", "writing", "beams", "lapse", "epochs", "sheet", "where"),
    *("history", "goodbye", "translated"),
)
MODULE = re.compile(r"^const \$(\w+) = \(\(\) =>", re.MULTILINE)
NAMESPACE = "http://www.w3.org/2000/svg"


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_every_module_that_is_named_is_there(source):
    named = re.findall(r'["\']\./([^"\']+)["\']', source.read_text(encoding="utf-8"))
    files = {path.name for path in FOLDER.iterdir()}
    assert all({name, name.replace(".js", ".d.ts")} & files for name in named)


def test_every_module_is_used():
    used = {name for entry in ENTRIES for name in MODULE.findall(views.bundle(entry))}
    assert used == {source.stem for source in SOURCES}


def test_keys_are_listened_to_in_one_way():
    listening = {source.name for source in SOURCES if "keydown" in source.read_text(encoding="utf-8")}
    noting = {"history.js", "workbench.js"}  # only that something was pressed
    assert listening == {"keys.js", *noting}


@pytest.mark.parametrize("source", OWN, ids=lambda source: source.name)
def test_a_bundle_has_each_module_once_and_imports_nothing(source):
    text = views.bundle(source.stem)
    names = MODULE.findall(text)
    assert names[-1] == source.stem
    assert len(names) == len({*names})
    assert not re.search(r"^(?:import|export \w+ \w+\()", text, re.MULTILINE)
    assert "import(" not in text


@pytest.mark.parametrize("source", [*OWN, FOLDER / "lens.css"], ids=lambda source: source.name)
def test_no_module_names_an_address_in_a_network(source):
    text = COMMENT.sub("", source.read_text(encoding="utf-8")).replace(NAMESPACE, "")
    text = text.replace("sendBeacon(new URL(data, document.baseURI))", "")  # to the server of the page
    if source.name == "routes.js":  # which fetches below the address of the page
        for own in ("new URL(`data/${path}`, document.baseURI)", "fetch(address, {"):
            assert own in text
            text = text.replace(own, "")
    assert not re.search(r"https?:|\bwss?:|//\w+\.|url\(|@import|fetch\(|XMLHttpRequest|sendBeacon", text)


@pytest.mark.parametrize("source", OWN, ids=lambda source: source.name)
def test_no_module_makes_markup_or_code_of_text(source):
    text = source.read_text(encoding="utf-8")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|unsafeHTML", text
    )


def test_the_vendored_module_is_that_of_npm():
    digest = hashlib.sha256((FOLDER / "lit.js").read_bytes()).hexdigest()
    assert digest == "28dcaf82570b374aecbd2be0c086a99db8734f491a6b8a358a82bd375979db91"


def test_the_types_name_every_word_of_the_views():
    words = (FOLDER / "payload.js").read_text(encoding="utf-8")
    words = words[words.index('@typedef {"view"') : words.index("} Words\n")]
    assert {*re.findall(r'"(\w+)"', words)} == {*Words("en").under("lens")}


def test_a_page_is_one_file_with_its_title_and_its_first_choice_as_text():
    page = views.page(
        packed(encoder_trace(["a", "b"])), title="<b>&</b>", start={"view": "</script><script>alert(1)"}
    )
    assert "<title>&lt;b&gt;&amp;&lt;/b&gt;</title>" in page
    assert page.count("<script") == page.count("</script>") == 1
    assert r"\u003c/script>" in page
    assert not re.search(r"https?://", page.replace(NAMESPACE, ""))


@pytest.mark.parametrize(("language", "tag"), [("en", "en"), ("zh", "zh-CN")])
def test_a_page_declares_its_language(language, tag):
    page = views.page(packed(encoder_trace(["a", "b"])), title="", language=language)
    assert page.startswith(f'<!doctype html>\n<html lang="{tag}">\n')


def test_a_page_in_a_file_and_the_app_have_the_same_background():
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    page = views.page(packed(encoder_trace(["a", "b"])), title="")
    colours = re.findall(r"--st-background-color: (#\w+)", page)
    assert colours == [settings[theme]["backgroundColor"] for theme in ("light", "dark")]
