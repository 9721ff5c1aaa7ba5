"""The Train page in a real browser: a training outlives its page; what a run or a file says is only text."""

import json
import re

import pytest
from lens_page import settle
from playwright.sync_api import expect
from running_app import running

from transformer_viz.network.config import TransformerConfig
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run
from transformer_viz.training.runs.settings import TrainingSettings

CONFIG = TransformerConfig(d_model=8, num_heads=2, ffn_dim=8, norm="pre", max_len=32)

HOSTILE = (
    "https://evil.example/a www.evil.example me@evil.example [a](https://evil.example) <http://evil.example> "
    '![p](https://evil.example/p.png) <img src="https://evil.example/q.png" onerror="window.hit=1"> '
    "<script>window.hit=1</script> $\\href{javascript:window.hit=1}{x}$ :red[y] \u2028 \x85 \ud800 \u202e"
)

SECRET = "/home/ann/secret-folder"

STOP = ".st-key-stop button:visible"
"""The button of the run; while a page is computed, Streamlit shows a "Stop" of its own."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path_factory.mktemp("runs")))
        with running(TRANSFORMER_VIZ_MODELS=tmp_path_factory.mktemp("models")) as (_, address):
            yield address


@pytest.fixture
def page(new_visitor, home):
    page, foreign = new_visitor(viewport={"width": 1440, "height": 1000}), []
    page.on("request", lambda request: "evil" in request.url and foreign.append(request.url))
    yield page
    page.wait_for_timeout(500)  # an image that is not there says so later
    assert page.evaluate("window.hit") is None
    assert page.locator("a[href*=evil], img[src*=evil], a[href^=javascript]").count() == 0
    assert page.locator(".stException").count() == 0
    assert foreign == []


def a_run():
    job = TrainingJob(config=CONFIG, settings=TrainingSettings(), data="parity", rows=200)
    return create_run(job)


def open_run(page, home, run):
    page.goto(f"{home}/train?run={run.id}")
    settle(page)


def test_what_a_run_says_is_text(page, home):
    run = a_run()
    run.append("started", step=0, device=HOSTILE)
    run.append("data", total_steps=100, note=HOSTILE)
    run.append("step", step=5, loss=0.5, tokens_per_second=3.0)
    run.append("epoch", step=5, epoch=1, best=True, val_accuracy=0.5)
    samples = [{"text": HOSTILE, "expected": HOSTILE, "written": HOSTILE}]
    run.append("samples", step=5, samples=samples * 3)
    run.append("failed", message=f"{SECRET}/rows.csv cannot be read: {HOSTILE}")
    open_run(page, home, run)
    expect(page.locator("[data-testid=stAlert]")).to_contain_text("rows.csv cannot be read: https:")
    assert "secret-folder" not in page.content()
    expect(page.get_by_text("Step 5 of 100")).to_contain_text("on https:")
    expect(page.get_by_text("evil.example").nth(4)).to_be_attached()


def test_what_a_broken_run_says_is_text(page, home):
    run = a_run()
    facts = json.loads((run.path / "job.json").read_text())
    (run.path / "job.json").write_text(json.dumps(facts | {f"{HOSTILE}": 1}))
    open_run(page, home, run)
    expect(page.locator("[data-testid=stAlert]")).to_contain_text("it has the field 'https:")


def test_what_a_file_says_is_text(page, home):
    page.goto(f"{home}/train?task=file")
    rows = [
        {"text": f"film {number} {HOSTILE}", "label": f"{HOSTILE[:60]}{number % 2}"} for number in range(30)
    ]
    content = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode("utf-8", "replace")
    page.locator("input[type=file]").set_input_files(
        {"name": "<b>www.evil.example.jsonl", "mimeType": "application/json", "buffer": content}
    )
    expect(page.get_by_text("Labels:")).to_contain_text("evil.example")
    expect(page.get_by_role("button", name="Start training")).to_be_enabled()


def test_a_file_that_cannot_be_used_says_so_in_text(page, home):
    page.goto(f"{home}/train?task=file")
    page.locator("input[type=file]").set_input_files(
        {"name": "www.evil.example.csv", "mimeType": "text/csv", "buffer": b"text,label\n\n"}
    )
    expect(page.locator("[data-testid=stAlert]")).to_contain_text("has a header but no rows")


def test_a_training_is_started_closed_reopened_and_ends(page, home, new_visitor):
    """Closing the page and opening it elsewhere neither stops a training nor starts another."""
    page.goto(home + "/train?lang=en&task=copy")
    page.get_by_role("button", name="Start training").click()
    page.wait_for_url(re.compile("run="))
    page.locator(STOP).wait_for()
    address = page.url
    page.goto("about:blank")
    elsewhere = new_visitor(viewport={"width": 1440, "height": 1000})
    elsewhere.set_default_timeout(120_000)
    elsewhere.goto(address)
    elsewhere.locator("figure canvas[style]").first.wait_for()
    elsewhere.locator(STOP).click()
    elsewhere.get_by_role("button", name="Resume").wait_for()
    elsewhere.get_by_text("▶ Play").wait_for()


@pytest.mark.parametrize(("lang", "label"), [("en", "none"), ("zh", '"选择文件"')])
def test_a_box_for_files_speaks_the_language_of_the_page(page, home, lang, label):
    page.goto(f"{home}/train?task=file&lang={lang}")
    settle(page)
    button = page.locator("[data-testid=stFileUploaderDropzone] button p")
    assert button.evaluate("at => getComputedStyle(at, '::after').content") == label
    assert button.evaluate("at => getComputedStyle(at).fontSize === '0px'") == (lang != "en")
