"""The app opened from the command line: the browser that is found, and what it and Streamlit are told."""

import os
import time

import pytest
from running_app import ROOT
from streamlit.web import cli as streamlit

from transformer_viz.cli import serve
from transformer_viz.cli.main import main
from transformer_viz.service.window import OPENED


@pytest.fixture
def told(monkeypatch):
    """What Streamlit is told instead of serving."""
    told = []
    monkeypatch.setenv(OPENED, "")
    monkeypatch.setattr(streamlit, "main", lambda arguments, prog_name: told.extend(arguments))
    return told


@pytest.fixture
def registered(monkeypatch):
    """The browsers that are registered instead of being used for the rest of this process."""
    registered = []
    monkeypatch.setattr(
        serve.webbrowser, "register", lambda *found, preferred: registered.append(found[2].name)
    )
    return registered


def program(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    path.chmod(0o755)
    return str(path)


def test_without_a_command_the_app_is_served_in_a_window(told, registered, monkeypatch):
    monkeypatch.setattr(serve, "find_browser", lambda: "/usr/bin/chromium")
    assert main([]) == 0
    assert told == ["run", "--server.showEmailPrompt=false", str(ROOT / "app.py")]
    assert registered == ["/usr/bin/chromium"]
    assert os.environ[OPENED] == "1"


def test_the_default_browser_is_used_where_none_opens_windows(told, registered, monkeypatch):
    monkeypatch.setattr(serve, "find_browser", lambda: None)
    assert main(["--port", "8600"]) == 0
    assert told == ["run", "--server.showEmailPrompt=false", "--server.port=8600", str(ROOT / "app.py")]
    assert registered == []


@pytest.mark.parametrize(("arguments", "language"), [(["--lang", "zh"], "zh"), ([], "")])
def test_the_app_is_told_the_language_that_is_asked_for(told, monkeypatch, arguments, language):
    monkeypatch.setenv("TRANSFORMER_VIZ_LANG", "")
    assert main([*arguments, "--no-browser"]) == 0
    assert os.environ["TRANSFORMER_VIZ_LANG"] == language


def test_no_browser_is_opened_if_none_is_wanted(told, registered, monkeypatch):
    monkeypatch.setenv(OPENED, "1")
    assert main(["--no-browser"]) == 0
    assert os.environ[OPENED] == ""
    assert "--server.headless=true" in told
    assert registered == []


@pytest.mark.skipif(os.name == "nt", reason="needs a PATH of plain names")
def test_chrome_goes_before_chromium_and_edge_on_the_path(monkeypatch, tmp_path):
    monkeypatch.setattr(serve.sys, "platform", "linux")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert serve.find_browser() is None
    edge = program(tmp_path / "microsoft-edge")
    assert serve.find_browser() == edge
    program(tmp_path / "chromium")
    chrome = program(tmp_path / "google-chrome")
    assert serve.find_browser() == chrome


def test_browsers_are_found_where_windows_installs_them(monkeypatch, tmp_path):
    monkeypatch.setattr(serve.sys, "platform", "win32")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("PROGRAMFILES", raising=False)
    monkeypatch.setenv("PROGRAMFILES(X86)", str(tmp_path / "x86"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    edge = program(tmp_path / "x86" / "Microsoft" / "Edge" / "Application" / "msedge.exe")
    assert serve.find_browser() == edge
    chrome = program(tmp_path / "local" / "Google" / "Chrome" / "Application" / "chrome.exe")
    assert serve.find_browser() == chrome


def test_browsers_are_found_among_the_applications_of_a_mac(monkeypatch, tmp_path):
    monkeypatch.setattr(serve.sys, "platform", "darwin")
    monkeypatch.setattr(serve.Path, "home", lambda: tmp_path)
    monkeypatch.setenv("PATH", "")
    chrome = program(tmp_path / "Applications" / "Google Chrome.app/Contents/MacOS/Google Chrome")
    assert serve.find_browser() == chrome


@pytest.mark.skipif(os.name == "nt", reason="the browser is a shell script")
def test_a_window_shows_one_page_and_a_browser_that_does_not_start_is_said_to(tmp_path):
    script = tmp_path / "browser"
    script.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/.opened && mv {tmp_path}/.opened {tmp_path}/opened\n'
    )
    script.chmod(0o755)
    assert serve.Window(str(script)).open("http://localhost:8501")
    deadline = time.monotonic() + 20
    while not (tmp_path / "opened").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert (tmp_path / "opened").read_text() == "--app=http://localhost:8501\n"
    assert not serve.Window(str(tmp_path / "missing")).open("http://localhost:8501")
