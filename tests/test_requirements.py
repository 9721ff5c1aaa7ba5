"""The locks: every pin of the .in files, every package by its hash, no known hole, no strange licence."""

import ast
import re
import sys
import tomllib
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
NAMES = ("requirements", "requirements-gpu", "requirements-dev")

FLOORS = {
    "keras": (3, 15, 1),  # CVE-2026-12570: unbounded allocation when a model is read
    "streamlit": (1, 54, 0),  # CVE-2026-33682: requests to other hosts on Windows
    "starlette": (1, 3, 1),  # CVE-2026-48710, forms that take all memory
}
"""Package -> the first version without the holes known when this was written."""


def pins(name):
    """Return package -> version in a file."""
    text = (ROOT / name).read_text()
    found = dict(re.findall(r"^([a-z0-9_-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", text, re.MULTILINE))
    for other in re.findall(r"^-r (\S+)", text, re.MULTILINE):
        found = pins(other) | found
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_holds_every_pin(name):
    locked = pins(f"{name}.txt")
    wanted = pins(f"{name}.in")
    assert len(wanted) > 10
    assert {package: locked.get(package) for package in wanted} == wanted


@pytest.mark.parametrize("name", NAMES)
def test_every_locked_package_has_a_hash(name):
    blocks = re.split(r"\n(?=[a-z0-9])", (ROOT / f"{name}.txt").read_text())
    packages = [block for block in blocks if re.match(r"[a-z0-9_-]+(?:\[[^\]]*\])?==", block)]
    assert len(packages) >= len(pins(f"{name}.txt"))  # one may have another version for another Python
    assert not [block.split()[0] for block in packages if "--hash=sha256:" not in block]


def test_what_is_pinned_is_what_the_package_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    listed = map(Requirement, chain(project["dependencies"], extras["models"], extras["app"]))
    asked = {each.name: each.specifier for each in listed if each.name != project["name"]}
    pinned = pins("requirements.in")
    assert asked.keys() == pinned.keys()
    assert not [name for name, version in pinned.items() if not asked[name].contains(version)]
    assert not [name for name, specifier in asked.items() if "==" in str(specifier)]


def test_every_library_that_is_imported_is_asked_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]
    asked = {canonicalize_name(Requirement(each).name) for each in listed}
    asked.remove(project["name"])  # an extra that brings another
    nodes = (
        node
        for path in (ROOT / "transformer_viz").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
            found |= {name.partition(".")[0] for name in names}
    found -= sys.stdlib_module_names | {"transformer_viz"}
    distributions = metadata.packages_distributions()
    missing = [name for name in found if not asked & set(map(canonicalize_name, distributions[name]))]
    assert found >= {"numpy", "google"}
    assert not missing


def test_the_locks_agree():
    app, gpu, dev = (pins(f"{name}.txt") for name in NAMES)
    for other in (gpu, dev):
        assert {package: other.get(package) for package in app} == app


@pytest.mark.parametrize("package", FLOORS)
def test_no_package_has_a_hole_that_is_known_and_mended(package):
    version = pins("requirements.txt")[package]
    assert tuple(map(int, version.split(".")))[:3] >= FLOORS[package]


def test_every_package_has_its_licence_listed():
    rows = re.findall(
        r"^\| (\S+) +\| (\S+) +\| (.+?) +\|$",
        (ROOT / "docs" / "en" / "licences.md").read_text(),
        re.MULTILINE,
    )
    listed = {name.lower().replace("_", "-"): version for name, version, _ in rows if name != "Name"}
    locked = pins("requirements.txt")
    elsewhere = {
        "colorama",
        "httpx2-jsfetch",
        "setuptools",
        "wheel",
    }  # of other platforms, or not listed by pip
    assert {name: listed.get(name) for name in locked if name not in elsewhere} == {
        name: version for name, version in locked.items() if name not in elsewhere
    }
    assert not [row for row in rows if re.search("GNU|GPL", row[2])]
