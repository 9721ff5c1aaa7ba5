"""The server of the window that the command opens ends once the window is closed, and not before."""

import asyncio
import contextlib
import os
import subprocess
import sys
import time

import psutil
import pytest
from playwright.sync_api import sync_playwright
from processes import children, is_running
from running_app import CHROMIUM, ROOT, free_port, wait_for_health

from transformer_viz.language import Words
from transformer_viz.network.config import TransformerConfig
from transformer_viz.service.window import AFTER_GOODBYE, AFTER_SILENCE, OPENED, Presence
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run
from transformer_viz.training.runs.settings import TrainingSettings
from transformer_viz.ui.shell import server

MINUTE = 60


def passes(presence, seconds):
    """Let so many seconds pass; return after how many of them everybody is gone; None: somebody is there."""
    return next((second for second in range(1, seconds + 1) if presence.advance(1)), None)


@pytest.fixture
def presence():
    """Who is connected to a server to which one page is."""
    found = Presence()
    found.connect()
    return found


def test_a_window_whose_page_says_goodbye_is_closed_after_ten_seconds(presence):
    assert passes(presence, 3600) is None
    presence.note_goodbye()
    presence.disconnect()
    assert passes(presence, 3600) == AFTER_GOODBYE == 10


def test_one_that_is_lost_without_a_word_is_waited_for_ten_minutes(presence):
    presence.disconnect()
    assert passes(presence, 3600) == AFTER_SILENCE == 10 * MINUTE


def test_a_page_that_is_loaded_anew_says_goodbye_and_stays(presence):
    presence.note_goodbye()
    presence.disconnect()
    assert passes(presence, 9) is None
    presence.note_sign()  # it asks for its files
    assert passes(presence, 9) is None
    presence.connect()
    assert passes(presence, 3600) is None


def test_a_goodbye_of_another_page_long_ago_does_not_count(presence):
    presence.connect()
    presence.note_goodbye()
    presence.disconnect()
    assert passes(presence, MINUTE) is None
    presence.disconnect()
    assert passes(presence, 3600) == AFTER_SILENCE


def test_a_computer_that_was_asleep_has_waited_for_nobody(presence):
    presence.disconnect()
    assert not presence.advance(8 * 3600)
    assert passes(presence, 9 * MINUTE) is None


def test_a_window_that_never_opened_is_waited_for_ten_minutes():
    assert passes(Presence(), 3600) == AFTER_SILENCE


@pytest.mark.parametrize(
    ("opened", "classroom", "headless", "expected"),
    [("1", "", False, True), ("", "", False, False), ("1", "1", False, False), ("1", "", True, False)],
)
def test_only_the_server_of_a_window_of_ones_own_ends_with_it(
    monkeypatch, opened, classroom, headless, expected
):
    monkeypatch.setenv(OPENED, opened)
    monkeypatch.setenv("TRANSFORMER_VIZ_CLASSROOM", classroom)
    monkeypatch.setattr(server.st, "get_option", lambda name: headless)
    assert server.has_window() == expected


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_training_that_goes_on_is_said_to(monkeypatch, tmp_path, capsys, language):
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path))
    monkeypatch.setenv("LC_ALL", {"en": "C", "zh": "zh_CN.UTF-8"}[language])
    monkeypatch.setattr(server, "presence", lambda: Presence(after_silence=0))
    monkeypatch.setattr(server, "end", lambda: print("ended"))
    words = Words(language)
    asyncio.run(server.end_with_window())
    assert capsys.readouterr().out.splitlines() == [words("window.closed"), "ended"]
    config = TransformerConfig(d_model=8, num_heads=2, ffn_dim=8, max_len=32)
    create_run(TrainingJob(config=config, settings=TrainingSettings(), data="reviews.csv"))
    asyncio.run(server.end_with_window())
    assert capsys.readouterr().out.splitlines() == [words("window.closed"), words("window.training"), "ended"]


@contextlib.contextmanager
def opened(folder, **environment):
    """Run the command, which opens a window without a screen; give its process and the page of the window."""
    debugging, port = free_port(), free_port()
    browser = folder / "google-chrome"
    options = f"--headless --no-sandbox --disable-gpu --remote-debugging-port={debugging}"
    browser.write_text(
        f'#!/bin/sh\nexec {CHROMIUM} {options} --user-data-dir={folder}/profile "${{1#--app=}}"\n'
    )
    browser.chmod(0o755)
    variables = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "DISPLAY": ":1", **environment}
    command = [sys.executable, "-m", "transformer_viz", "--port", str(port)]
    app = subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_for_health(app, debugging, "/json/version", limit=300)
        with sync_playwright() as playwright:
            page = playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{debugging}").contexts[0].pages[0]
            page.set_default_timeout(300_000)
            page.locator(".lens .says").wait_for()
            page.get_by_role("link", name="Train").click()  # its process waits for a run
            page.get_by_role("button", name="Start training").wait_for()
            yield app, page
    finally:
        for process in psutil.process_iter(["cmdline"]):
            if f"--user-data-dir={folder}/profile" in (process.info["cmdline"] or []):
                process.kill()
        app.kill()
        app.communicate()


def close(page):
    """Close a window as a person does."""
    page.context.new_cdp_session(page).send("Page.close")


def ends(app, own):
    """Wait until a server has ended by itself; return its status, what is left of it, and its output."""
    said, _ = app.communicate(timeout=300)
    deadline = time.monotonic() + 60
    while (left := [pid for pid in own if is_running(pid)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return app.returncode, left, said


needs_browser = pytest.mark.skipif(
    not CHROMIUM or sys.platform != "linux", reason="needs a Chromium that is found on the PATH"
)


@needs_browser
@pytest.mark.parametrize("trial", [0, *(pytest.param(i, marks=pytest.mark.thorough) for i in range(1, 20))])
def test_every_process_ends_with_the_window(tmp_path, models_folder, trial):
    with opened(tmp_path) as (app, page):
        commands = {pid: " ".join(psutil.Process(pid).cmdline()) for pid in children(app.pid)}
        own = {pid: command for pid, command in commands.items() if "python" in command.split()[0]}
        for name in ("forkserver", "transformer_viz.training.worker"):
            assert any(name in command for command in own.values())
        close(page)
        status, left, said = ends(app, own)
        assert (status, left) == (0, []), said
        assert "The window was closed" in said


@needs_browser
@pytest.mark.thorough
@pytest.mark.parametrize("how", ["frozen", "stopped"])
def test_a_page_that_is_suspended_for_a_minute_is_still_served(tmp_path, models_folder, how):
    with opened(tmp_path) as (app, page):
        session = page.context.new_cdp_session(page)
        renderers = [
            process
            for process in psutil.process_iter(["cmdline"])
            if any("--type=renderer" in part for part in process.info["cmdline"] or [])
            and any(str(tmp_path) in part for part in process.info["cmdline"])
        ]
        assert renderers
        if how == "frozen":
            session.send("Page.setWebLifecycleState", {"state": "frozen"})
        else:
            for process in renderers:
                process.suspend()
        time.sleep(MINUTE + AFTER_GOODBYE)
        assert app.poll() is None
        for process in renderers:
            process.resume()
        session.send("Page.setWebLifecycleState", {"state": "active"})
        page.get_by_role("link", name="Attention").click()
        page.locator(".lens .says").wait_for()
        close(page)
        assert ends(app, [])[0] == 0
