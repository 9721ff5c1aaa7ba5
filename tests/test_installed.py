"""The installed package: a wheel of this checkout, in a virtual environment and an empty folder of their own.

The environment finds the dependencies where this one has them, through a .pth file: only the package itself
comes from the wheel.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import zipfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect
from running_app import ROOT, free_port, wait_for_health

pytestmark = pytest.mark.thorough

SOURCES = (
    "transformer_viz",
    "models",
    ".streamlit",
    "app.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    ".gitignore",
)
"""What a wheel is built of."""

SHELF = sorted(path.parent.name for path in (ROOT / "models").glob("*/card.json"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return a wheel, built in a copy of the checkout that holds a secret and a half-written model."""
    checkout = tmp_path_factory.mktemp("checkout")
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, checkout / name)
    (checkout / ".streamlit" / "secrets.toml").write_text("[auth]\n")
    (checkout / "scratch.py").touch()
    (checkout / "models" / ".tmp-half-1-0123456789abcdef").mkdir()
    (checkout / "models" / ".tmp-half-1-0123456789abcdef" / "card.json").write_text("{}")
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "."]
    subprocess.run(build, cwd=checkout, check=True)
    [built] = checkout.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Return how to run the installed program, where it is, and where it keeps what it writes."""
    home = tmp_path_factory.mktemp("home")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home / "venv"], check=True)
    scripts = home / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / Path(sys.executable).name
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", wheel]
    subprocess.run(pip, check=True)
    hidden = ("TRANSFORMER_VIZ_", "STREAMLIT_", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    environment |= dict.fromkeys(("HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_DATA_HOME"), str(home))
    (home / "empty").mkdir()

    def run(program, *arguments, **more):
        return subprocess.run(
            [scripts / program, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=home / "empty",
            env=environment | more,
            check=False,
        )

    def value_of(expression):
        return Path(run(python.name, "-c", f"import sysconfig; print({expression})").stdout.strip())

    packages = value_of("sysconfig.get_path('purelib')")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return SimpleNamespace(
        run=partial(run, "transformer-viz"),
        run_module=partial(run, python.name, "-m", "transformer_viz"),
        command=scripts / "transformer-viz",
        module=value_of("__import__('transformer_viz').__file__"),
        environment=environment,
        home=home,
        data=value_of("__import__('transformer_viz.store.places').store.places.data_folder()"),
        shipped=packages / "transformer_viz" / "shipped",
    )


@contextlib.contextmanager
def served(installed, *arguments, **more):
    """Serve the app by the installed command; give its address."""
    port = free_port()
    app = subprocess.Popen(
        [installed.command, *arguments, "--port", str(port)],
        cwd=installed.home / "empty",
        env=installed.environment | more,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for_health(app, port, "/health", limit=120)
        yield f"http://localhost:{port}"
    finally:
        app.terminate()
        app.wait()


@pytest.fixture(scope="module")
def trained(installed):
    """Train a model by the installed command, in the empty folder; return what was printed."""
    rows = installed.home / "rows.csv"
    rows.write_text("text,label\n" + "".join(f"good {i},1\nbad {i},0\n" for i in range(40)))
    sizes = ("d_model=16", "num_heads=2", "norm=pre")
    done = installed.run(
        *("train", "--preset", "single-block", "--data", rows, "--out", "mine", "--epochs", 1),
        *("--set", *sizes, "--examples", "good 3"),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def files_of(wheel):
    with zipfile.ZipFile(wheel) as packed:
        return {name for name in packed.namelist() if name.startswith("transformer_viz/")}


def test_the_wheel_holds_the_package_the_app_its_settings_and_the_shelf_and_nothing_else(wheel):
    package = {
        str(path.relative_to(ROOT).as_posix())
        for path in (ROOT / "transformer_viz").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    shelf = {
        path.relative_to(ROOT).as_posix() for name in SHELF for path in (ROOT / "models" / name).iterdir()
    }
    openings = {f"models/{path.name}" for path in (ROOT / "models").glob("*.npz")}
    others = {"app.py", ".streamlit/config.toml", *openings}
    shipped = {f"transformer_viz/shipped/{name}" for name in others | shelf}
    assert (len(SHELF), len(openings)) == (16, 4)
    assert files_of(wheel) == package | shipped


def test_the_wheel_is_as_small_as_its_models_let_it_be(wheel):
    models = sum(path.stat().st_size for name in SHELF for path in (ROOT / "models" / name).iterdir())
    assert wheel.stat().st_size < models


def test_help_names_the_program_as_it_was_called(installed):
    assert installed.run("--help").stdout.startswith("usage: transformer-viz [-h]")
    assert "example: transformer-viz models" in installed.run("models", "--help").stdout
    assert installed.run("predict", "--model", "none", "--text", "a").stderr.startswith(
        "transformer-viz predict: There is no model"
    )
    module = installed.run_module("models", "--help")
    assert "example: python -m transformer_viz models" in module.stdout


def test_a_trained_model_is_listed_beside_the_shipped_ones_and_kept_in_the_data_folder(installed, trained):
    assert "resume it with: transformer-viz resume" in trained
    assert (installed.data / "models" / "mine" / "manifest.json").exists()
    assert list((installed.data / "runs").glob("*/events.jsonl"))
    assert not list((installed.home / "empty").iterdir())
    listed = installed.run("models")
    assert listed.returncode == 0, listed.stderr
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == sorted([*SHELF, "mine"])


def test_the_environment_decides_where_models_and_trainings_are(installed, trained, tmp_path):
    moved = {
        "TRANSFORMER_VIZ_MODELS": str(tmp_path / "models"),
        "TRANSFORMER_VIZ_RUNS": str(tmp_path / "runs"),
    }
    shutil.copytree(installed.data / "models" / "mine", tmp_path / "models" / "other")
    listed = installed.run("models", **moved)
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == ["other"]
    assert str(tmp_path / "runs") in installed.run("runs", **moved).stdout


def test_doctor_finds_nothing_wrong_with_what_was_installed(installed, trained):
    done = installed.run("doctor")
    assert "all is well" in done.stdout, done.stdout
    assert "platformdirs" in done.stdout
    assert f"models         {installed.data / 'models'}" in done.stdout


def test_the_app_opens_shows_a_picture_and_lists_both_kinds_of_models(browser, installed, trained):
    with served(installed, "--no-browser") as address:
        page = browser.new_page()
        page.set_default_timeout(90_000)
        policy = page.goto(address).headers["content-security-policy"]
        assert "default-src 'self'" in policy
        page.locator(".lens .says").wait_for()
        page.goto(f"{address}/?model=mine")
        page.locator(".lens .says").wait_for()
        page.goto(f"{address}/models?show=mine")
        for label in ("Open", "Rename", "Duplicate", "Delete"):
            expect(page.get_by_role("button", name=label, exact=True)).to_be_visible()
        page.goto(f"{address}/models?show=imdb-sentiment")
        expect(page.get_by_role("heading", name="imdb-sentiment")).to_be_visible()
        expect(page.get_by_role("button", name="Duplicate", exact=True)).to_be_visible()
        for label in ("Rename", "Delete"):
            expect(page.get_by_role("button", name=label, exact=True)).to_have_count(0)
        page.close()


def test_the_package_comes_from_the_wheel_and_writes_into_the_home_of_its_user(installed):
    assert installed.module.parent == installed.shipped.parent
    assert installed.data.is_relative_to(installed.home)


def test_the_settings_of_the_app_are_those_of_the_checkout(installed):
    shipped = installed.shipped / ".streamlit" / "config.toml"
    assert shipped.read_text() == (ROOT / ".streamlit" / "config.toml").read_text()


@pytest.mark.skipif(os.name == "nt", reason="the browser that is found is a shell script")
def test_the_app_opens_in_a_window_of_its_own_where_a_browser_can_do_that(installed, tmp_path):
    chromium = tmp_path / "google-chrome"
    chromium.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/opened.tmp && mv {tmp_path}/opened.tmp {tmp_path}/opened\n'
    )
    chromium.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    with served(installed, PATH=path, STREAMLIT_SERVER_HEADLESS="false") as address:
        deadline = time.monotonic() + 60
        while not (tmp_path / "opened").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert (tmp_path / "opened").read_text() == f"--app={address}\n"
