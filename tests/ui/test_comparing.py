"""Two runs compared on the Attention page: what it says and shows is what Python works out."""

import html
import re
import shutil

import numpy as np
import pytest
from made_traces import unpack
from numpy.testing import assert_allclose
from pages import open_page, views_on
from pairs import MODELS, PAIRS, chips_of, compared, distribution, query_of, traces

from transformer_viz.pictures.labels import label_of, written_text

HALF = 5e-4
"""Most that a weight in half precision is off."""


pytestmark = pytest.mark.usefixtures("engine", "shelf")


@pytest.fixture(scope="module")
def shelf(models_folder):
    """Put the models of the pairs beside the small ones as long as the module lasts."""
    names = {name for pair in PAIRS.values() for name in (pair.model, pair.other_model) if name}
    for name in names:
        shutil.copytree(MODELS / name, models_folder / name)
    yield
    for name in names:
        shutil.rmtree(models_folder / name)


@pytest.mark.quick(
    "a word added", "Chinese", "a translator", "one head off", "a causal mask", "a model with other heads"
)
@pytest.mark.parametrize("name", PAIRS)
def test_both_answers_and_all_weights_are_those_of_python(name):
    pair = PAIRS[name]
    app = open_page(lang="en", why="0", **query_of(pair))
    [views] = views_on(app)
    header, arrays = unpack(views.proto.bytes)
    assert [chip["text"] for chip in header["acts"]["chips"]] == chips_of(pair)
    assert_answers(app, pair)
    if pair.other_model:
        assert "before" not in arrays["encoder"]
        return
    for kind, sides in compared(pair).sides().items():
        for shown, side in zip(("before", "weights"), sides, strict=True):
            weights = np.nan_to_num(np.stack([layer.weights for layer in side.layers]))
            assert_allclose(arrays[kind][shown], weights, atol=HALF)
    assert max(np.abs(each["weights"] - each["before"]).max() for each in arrays.values()) > 1e-3


def assert_answers(app, pair):
    """Assert that the page says what A and B answer, and by how much A's answer is more or less likely."""
    bodies = [each.proto.body for each in app.get("html")]
    before, after = (html.unescape(re.sub("<[^>]+>", "", body)) for body in bodies if '"compared"' in body)
    a, b = traces(pair)
    assert pair.text in before
    if a.encoder and a.decoder:
        assert (written_text(a) in before, written_text(b) in after) == (True, True)
        return
    ours, theirs = distribution(a), distribution(b)
    label, likeliest = int(ours.argmax()), int(theirs.argmax())
    assert f"{label_of(a, label)} {ours[label]:.1%}" in before
    assert f"{label_of(a, label)} {theirs[label]:.1%}" in after
    sign, points = re.search(r"([+−]?)(\d+\.\d) points", after).groups()
    change = float(points) * (-1 if sign == "−" else 1)
    assert_allclose(change, 100 * (theirs[label] - ours[label]), atol=0.0501)
    sign, odds = re.search(r"log-odds ([+−]?)(\d+\.\d\d)", after).groups()
    change = float(odds) * (-1 if sign == "−" else 1)
    assert_allclose(change, compared(pair).answer().log_odds, atol=0.00502)
    now = f"now {label_of(b, likeliest)} {theirs[likeliest]:.1%}"
    assert (now in after) == (likeliest != label)
