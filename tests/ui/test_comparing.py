"""Two runs compared on the workbench: what it says and shows is what Python works out."""

import re
import shutil

import numpy as np
import pytest
from bench import bench_on, texts_of
from numpy.testing import assert_allclose
from pages import open_page
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
    bench = bench_on(open_page(lang="en", why="0", **query_of(pair)))
    arrays = bench.arrays
    assert [chip["text"] for chip in bench.views["acts"]["chips"]] == chips_of(pair)
    assert_answers(bench.said, pair)
    if pair.other_model:
        assert "before" not in arrays["encoder"]
        assert "have different layers and heads" in texts_of(bench.said["notes"])[0]
        return
    for kind, sides in compared(pair).sides().items():
        for shown, side in zip(("before", "weights"), sides, strict=True):
            weights = np.nan_to_num(np.stack([layer.weights for layer in side.layers]))
            assert_allclose(arrays[kind][shown], weights, atol=HALF)
    assert max(np.abs(each["weights"] - each["before"]).max() for each in arrays.values()) > 1e-3


def plain_text(items):
    """Return what is said in one text, without what is bold or underlined."""
    parts = (
        "".join(text for text, _ in item["parts"]) if "parts" in item else item["said"] for item in items
    )
    return " ".join(parts).replace("**", "")


def assert_answers(said, pair):
    """Assert that it is said what A and B answer, and by how much A's answer is more or less likely."""
    before, after = plain_text(said["before"]["answer"]), plain_text(said["answer"])
    a, b = traces(pair)
    assert (said["before"]["text"], said["text"]) == (a.text, b.text)
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


def test_a_comparison_begins_with_a_change_and_ends_where_it_is_ended():
    bench = bench_on(open_page(model="imdb-sentiment", text="This film was good."))
    head = {"do": "head", "name": "ablate", "kind": "encoder", "layer": 1, "head": 5}
    bench.act(**head)
    assert bench.state["changes"] == {"ablate": [[1, 5]]}
    before = {"model": "imdb-sentiment", "text": "This film was good.", "target": "", "changes": {}}
    assert bench.state["before"] == before
    bench.act(**head)
    assert texts_of(bench.said["notes"]) == [
        "B is still the same as A. Type another text, choose another model, or change something: switch a "
        "head off, remove the positions."
    ]
    bench.act("end")
    assert bench.state["before"] is None
    assert "before" not in bench.said


def test_each_change_is_taken_back_or_all_at_once():
    pair = PAIRS["a word replaced"]
    bench = bench_on(open_page(**query_of(pair)))
    bench.act("head", name="ablate", kind="encoder", layer=1, head=5)
    bench.act("undo", name="text")
    assert bench.state["text"] == pair.text
    assert bench.state["changes"] == {"ablate": [[1, 5]]}
    bench = bench_on(open_page(**query_of(PAIRS["a model with other heads"])))
    bench.act("undo", name="model")
    assert bench.state["model"] == "imdb-sentiment"
    bench = bench_on(open_page(**query_of(pair)))
    bench.act("head", name="ablate", kind="encoder", layer=1, head=5).act("undo_all")
    assert (bench.state["text"], bench.state["changes"]) == (pair.text, {})


def test_what_two_written_answers_do_not_share_is_underlined():
    bench = bench_on(open_page(**query_of(PAIRS["a translator"])))
    [before], [after, *_] = bench.said["before"]["answer"], bench.said["answer"]
    for parts in (before["parts"], after["parts"]):
        assert any(is_other for _, is_other in parts)
    common = [["".join(text for text, is_other in each["parts"] if not is_other)] for each in (before, after)]
    assert common[0] == common[1]
