"""The real app in a real browser: any error on the console and any request to elsewhere fails the test."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright
from processes import children, is_running

ROOT = Path(__file__).parent.parent
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
HOSTILE = '<img src=x onerror="window.__x=1"> $x$ <b>'

if not CHROMIUM and not os.environ.get("CI"):
    pytest.skip("no Chromium here: install it, or set CHROMIUM to its path", allow_module_level=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_app(port, stderr=subprocess.DEVNULL):
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        f"--server.port={port}",
        "--server.headless=true",
    ]
    app = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=stderr)
    health = f"http://127.0.0.1:{port}/_stcore/health"
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(health, timeout=1):
                return app
        except OSError:
            assert app.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.fixture(scope="module")
def app(models_folder):
    port = free_port()
    process = start_app(port)
    yield process, f"http://localhost:{port}"
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def page(browser, app):
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    wrong = []
    page.on("console", lambda message: message.type == "error" and wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: is_foreign(request.url, app[1]) and wrong.append(request.url))
    page.set_default_timeout(60_000)
    yield page
    context.close()
    assert wrong == []


def is_foreign(url, home):
    return not url.startswith((home, home.replace("http", "ws"), "data:", "blob:"))


def open_app(page, app, address=""):
    page.goto(app[1] + address)
    page.locator(".heatmaplayer .hm").wait_for()
    settle(page)


def settle(page):
    expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")


def column_tokens(page):
    return page.locator(".xtick text").all_text_contents()


def type_sentence(page, text):
    page.get_by_label("Sentence").fill(text)
    page.get_by_role("button", name="Show attention").click()


def test_the_first_picture_comes_by_itself(page, app, explorer, reviews):
    open_app(page, app)
    assert column_tokens(page) == list(explorer.trace(reviews[0]).tokens)


def test_a_typed_sentence_changes_the_tokens(page, app):
    open_app(page, app)
    type_sentence(page, "A dull film.")
    expect(page.locator(".xtick text")).to_have_text(["a", "dull", "film", "."])


def test_a_head_stands_in_the_address_and_the_address_opens_it(page, app):
    open_app(page, app)
    page.get_by_role("radiogroup", name="Head").get_by_text("3", exact=True).click()
    expect(page.get_by_text("Layer 1, head 3.")).to_be_visible()
    page.wait_for_url(re.compile(r"[?&]head=3"))
    page.reload()
    expect(page.get_by_text("Layer 1, head 3.")).to_be_visible()


def test_the_exact_weight_stands_under_the_pointer(page, app, explorer):
    open_app(page, app, "/?text=A%20dull%20film.")
    box = page.locator(".heatmaplayer .hm image").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 5 / 8, box["y"] + box["height"] * 1 / 8)
    weight = explorer.trace("A dull film.").encoder[0].attention.weights[0, 0, 2]
    expect(page.locator(".hoverlayer")).to_contain_text("a attends to film")
    expect(page.locator(".hoverlayer")).to_contain_text(f"{weight:.4f}")


def test_markup_in_a_sentence_is_shown_and_not_run(page, app):
    open_app(page, app)
    type_sentence(page, HOSTILE)
    expect(page.locator(".xtick text").first).to_have_text("< [UNK]")
    assert column_tokens(page)[15:] == [f"{token} [UNK]" for token in "$x$<b>"]
    assert page.evaluate("window.__x") is None
    assert page.locator("[data-testid=stMain] img[src=x]").count() == 0


@pytest.mark.parametrize("width", [1440, 900])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(page, app, width, theme):
    page.set_viewport_size({"width": width, "height": 1000})
    page.emulate_media(color_scheme=theme)
    open_app(page, app)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    main = page.locator("[data-testid=stMainBlockContainer]")
    assert main.evaluate("element => element.scrollWidth <= element.clientWidth")


def test_the_picture_can_be_downloaded_under_its_name(page, app):
    open_app(page, app)
    page.locator(".js-plotly-plot").hover()
    with page.expect_download() as download:
        page.locator(".modebar-btn[data-title*=png i]").click()
    assert download.value.suggested_filename == "small-layer1-head1.png"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_server_that_has_shown_the_page_holds_no_tensorflow(page, app):
    open_app(page, app)
    process, _ = app
    assert "tensorflow" not in Path(f"/proc/{process.pid}/maps").read_text()
    [engine] = [pid for pid in children(process.pid) if "tensorflow" in Path(f"/proc/{pid}/maps").read_text()]
    assert engine


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/net")
def test_the_server_listens_on_the_loopback_address_alone(app):
    port = int(app[1].rpartition(":")[2])
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    addresses = {entry.split(":")[0] for entry in listening if int(entry.split(":")[1], 16) == port}
    assert addresses == {"0100007F"}
    six = Path("/proc/net/tcp6")
    assert not six.exists() or f":{port:04X} 00000000000000000000000000000000:0000 0A" not in six.read_text()


def test_a_server_that_is_told_to_end_leaves_no_process(models_folder):
    process = start_app(free_port(), stderr=subprocess.PIPE)
    before = children(process.pid)
    assert before
    process.send_signal(signal.SIGTERM)
    _, complaints = process.communicate(timeout=15)
    assert b"leaked" not in complaints
    deadline = time.monotonic() + 5
    while any(map(is_running, before)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
