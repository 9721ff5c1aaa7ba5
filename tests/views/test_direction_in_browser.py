"""Tokens of Arabic on a page: from right to left, with words of other scripts as they are read."""

import pytest

from transformer_viz.pictures import views

TOKENS = ["هذا", "فيلم", "Star", "Wars", "جميل", "جدا", "!"]

READ = [0, 1, 3, 2, 4, 5, 6]
"""The tokens as they stand from right to left."""

PLACES = "elements => elements.map((each) => each.getBoundingClientRect().x)"


SENTENCE = """<div class=bench></div><script type=module>
import {{ wordsOf }} from "/sentence.js";
import {{ render }} from "/lit.js";
const tokens = {tokens};
const words = tokens.map((word, i) => {{
  const start = tokens.slice(0, i).join(" ").length + (i ? 1 : 0);
  return {{ start, end: start + word.length, tokens: [i], gap: false, is: "there", tint: null }};
}});
const tips = {{ there: "", gone: "", hidden: "" }};
render(wordsOf(tokens.join(" "), words, null, () => {{}}, tips), document.querySelector(".bench"));
</script>"""

LOOKED = """<div class=writing></div><script type=module>
import {{ LookedAt }} from "/looked.js";
const looked = new LookedAt();
document.querySelector(".writing").append(looked.element);
const tokens = {tokens};
const weights = btoa(String.fromCharCode(...new Uint8Array(new Float32Array(tokens.length).buffer)));
const labels = {{ head: "", layer: "", mean: "", mean_said: "", heads: "" }};
looked.update({{ decoder: {{ name: "", tokens, layers: 1, heads: 1, weights, opening: null }} }}, labels);
</script>"""


def serve(body):
    """Return what answers a request of a page: its body, or a module of the views."""

    def answer(route):
        name = route.request.url.rpartition("/")[2]
        module = views.served_modules().get(name)
        kind = "text/javascript" if module else "text/html"
        route.fulfill(body=module or body, content_type=f"{kind}; charset=utf-8")

    return answer


@pytest.mark.parametrize(
    ("page", "style", "token"),
    [(SENTENCE, "workbench", ".word"), (LOOKED, "writing", ".tokens span")],
)
def test_arabic_stands_from_right_to_left(browser, page, style, token):
    opened, wrong = browser.new_page(), []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    body = f"<!doctype html><style>{views.stylesheet(style)}</style>{page.format(tokens=TOKENS)}"
    opened.route("http://views/**", serve(body))
    opened.goto("http://views/")
    opened.locator(token).first.wait_for()
    places = opened.locator(token).evaluate_all(PLACES)
    opened.close()
    assert not wrong
    assert sorted(range(len(TOKENS)), key=lambda i: -places[i]) == READ
