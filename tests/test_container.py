"""The Dockerfile's commands, run without Docker: a copy of the tree with its owners, as its user."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect
from running_app import ROOT, free_port, wait_for_health

USER = 10001

PAGES = ("docs/en/class.md", "docs/zh/class.md")


def instructions():
    """Return (name, rest) of each instruction of the last stage of the Dockerfile."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    last = max(i for i, line in enumerate(lines) if line.startswith("FROM "))
    return [line.split(None, 1) for line in lines[last + 1 :]]


def built(folder):
    """Do in a folder what the Dockerfile does in /app; return its environment and its command."""
    folder.mkdir()
    environment, command = {}, None
    for name, rest in instructions():
        if name == "ENV":
            environment |= dict(each.split("=", 1) for each in shlex.split(rest))
        elif name == "COPY" and "--from=" not in rest:
            *sources, target = [part for part in rest.split() if not part.startswith("--")]
            for source in sources:
                copied = folder / target / (Path(source).name if target == "./" else "")
                own = rest.startswith(f"--chown={USER}:{USER}")
                copy(ROOT / source, copied, USER if own else 0)
        elif name == "RUN":
            subprocess.run(shlex.split(rest), cwd=folder, check=True)
        elif name == "USER":
            assert rest == f"{USER}:{USER}"
        elif name == "CMD":
            command = json.loads(rest)
    return environment, command


def copy(source, target, owner):
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        places = [target, *target.rglob("*")]
    else:
        shutil.copy(source, target)
        places = [target]
    for place in places:
        os.chown(place, owner, owner)
        place.chmod(0o755 if place.is_dir() else 0o644)


@pytest.fixture(scope="module")
def container(tmp_path_factory):
    """Yield address and folder of the app, run by the Dockerfile's command as its user.

    It may read everything, as files in an image can be read by all, and write only what belongs to it.
    """
    if os.name == "nt" or os.getuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv, to become another user")
    parent = tmp_path_factory.mktemp("container")
    folder, home = parent / "app", parent / "home"
    environment, command = built(folder)
    home.mkdir()
    os.chown(home, USER, USER)
    port = free_port()
    environment |= {
        "HOME": str(home),
        "TMPDIR": str(home),
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
    }
    become = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    become += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    log = (home / "out").open("wb")
    process = subprocess.Popen(
        [*become, *command, f"--server.port={port}"], cwd=folder, env=environment, stdout=log, stderr=log
    )
    wait_for_health(process, port, "/health")
    yield f"http://localhost:{port}", folder, home
    process.terminate()
    process.wait()
    log.close()


@pytest.mark.thorough
def test_the_app_answers_and_can_train_as_the_user_of_the_image(browser, container):
    address, folder, home = container
    page = browser.new_page()
    page.set_default_timeout(90_000)
    page.goto(address)
    page.locator(".lens .says").wait_for()
    page.goto(f"{address}/train?task=parity")
    page.get_by_role("button", name="Start training").click()
    expect(page.get_by_text("Loss").first).to_be_visible()
    page.locator(".st-key-stop button:visible").wait_for()
    page.close()
    assert [run for run in (folder / "runs").iterdir() if (run / "events.jsonl").exists()]
    assert "Traceback" not in (home / "out").read_text()


@pytest.mark.thorough
def test_nothing_outside_of_models_and_runs_was_written(container):
    _, folder, _ = container
    own = {
        str(place.relative_to(folder).parts[0]) for place in folder.rglob("*") if place.stat().st_uid == USER
    }
    assert own == {"models", "runs"}


def test_what_is_declared_as_a_volume_is_what_can_be_written():
    volumes = json.loads(dict(instructions())["VOLUME"])
    assert volumes == ["/app/models", "/app/runs"]


def test_the_container_is_said_to_be_well_by_the_engine():
    assert "/health'" in dict(instructions())["HEALTHCHECK"]


def test_no_secret_comes_into_an_image_or_the_repository():
    secrets = ".streamlit/secrets.toml"
    assert secrets in (ROOT / ".dockerignore").read_text().splitlines()
    assert f"/{secrets}" in (ROOT / ".gitignore").read_text().splitlines()
    for readme in PAGES:
        assert f"./{secrets}:/app/{secrets}:ro" in (ROOT / readme).read_text(encoding="utf-8")


def required_variables():
    return set(re.findall(r"\$\{(\w+):\?", (ROOT / "compose.yaml").read_text()))


def test_docker_compose_asks_for_what_nobody_gets_in_without():
    text = (ROOT / "compose.yaml").read_text()
    assert required_variables() == {"SITE", "HOSTS", "USERS", "TEACHER"}
    assert "STREAMLIT_SERVER_ALLOWED_HOSTS: ${HOSTS:?" in text


@pytest.mark.parametrize("place", [*PAGES, "compose.yaml"])
def test_the_line_that_starts_docker_compose_names_every_variable_it_needs(place):
    text = (ROOT / place).read_text(encoding="utf-8").replace("\n#", "\n")
    [line] = re.findall(r"^ *SITE=(?:.*\\\n)+.*docker compose up.*$", text, re.MULTILINE)
    assert set(re.findall(r"\b([A-Z]+)=", line)) == required_variables()
