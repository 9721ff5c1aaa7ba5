"""Tokens of Arabic on a page: from right to left, with words of other scripts as they are read."""

import base64

import pytest

from transformer_viz.pictures import views

TOKENS = ["هذا", "فيلم", "Star", "Wars", "جميل", "جدا", "!"]

READ = [0, 1, 3, 2, 4, 5, 6]
"""The tokens as they stand from right to left."""

PLACES = "elements => elements.map((each) => each.getBoundingClientRect().x)"


def imported(name):
    text = base64.b64encode(views.bundle(name).encode()).decode()
    return f'"data:text/javascript;base64,{text}"'


CLOZE = """<div><div></div></div><script type=module>
import show from {module};
const parts = {tokens}.flatMap((word) => [{{ word, place: [0, 1], hidden: false, help: "hide" }}, " "]);
const parentElement = document.querySelector("div");
show({{ data: {{ text: "", label: "", parts }}, parentElement, setTriggerValue() {{}} }});
</script>"""

LOOKED = """<div class=writing></div><script type=module>
import {{ LookedAt }} from {module};
const looked = new LookedAt();
document.querySelector(".writing").append(looked.element);
const tokens = {tokens};
const weights = btoa(String.fromCharCode(...new Uint8Array(new Float32Array(tokens.length).buffer)));
const labels = {{ head: "", layer: "", mean: "", mean_said: "", heads: "" }};
looked.update({{ decoder: {{ name: "", tokens, layers: 1, heads: 1, weights, opening: null }} }}, labels);
</script>"""


@pytest.mark.parametrize(
    ("page", "module", "style", "token"),
    [(CLOZE, "cloze", "cloze", ".cloze button"), (LOOKED, "looked", "writing", ".tokens span")],
)
def test_arabic_stands_from_right_to_left(browser, page, module, style, token):
    opened, wrong = browser.new_page(), []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    body = page.format(module=imported(module), tokens=TOKENS)
    opened.set_content(f"<!doctype html><style>{views.stylesheet(style)}</style>{body}")
    opened.locator(token).first.wait_for()
    places = opened.locator(token).evaluate_all(PLACES)
    opened.close()
    assert not wrong
    assert sorted(range(len(TOKENS)), key=lambda i: -places[i]) == READ
