"""Deliberate breaks, and whether the tests catch them: `python tests/mutants/run.py [--only TEXT] ...`.

`breaks.toml` lists them. Each is made in a copy of the project, where the test files that cover the broken
file run until the first failure. Which files those are is measured once, child processes included, and kept
in .cache/mutants/covering.json (`--measure` does it again, in about an hour); the modules of the views are
covered by the tests of node and all that open a browser. What is not caught in time counts as not caught.

Exit status 1 if a break was not caught that its entry does not name as such.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".cache" / "mutants"
BREAKS = HERE / "breaks.toml"
LINKED = (".venv", "tests/node/node_modules")

SETTINGS = """
[run]
parallel = true
source = transformer_viz
patch = subprocess, fork, _exit
concurrency = thread, multiprocessing
sigterm = true
"""


def breaks():
    """Return the entries of `breaks.toml`; one that nothing catches says `caught = false`."""
    return tomllib.loads(BREAKS.read_text(encoding="utf-8"))["break"]


def test_files():
    listed = _git(ROOT, "ls-files", "tests/**/test_*.py", "tests/test_*.py")
    return sorted(set(listed.split()))


def broken(text, entry):
    """Return a file's text with a break in it.

    Raises:
        ValueError: If what it breaks is not there exactly once.
    """
    if text.count(entry["old"]) != 1:
        raise ValueError(f"{entry['name']}: {entry['file']} must have this once: {entry['old']!r}")
    return text.replace(entry["old"], entry["new"])


def copied(folder):
    """Copy what git tracks of the project, with links to what was installed; return the folder."""
    for name in _git(ROOT, "ls-files").splitlines():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    for name in LINKED:
        if (ROOT / name).exists():
            (folder / name).symlink_to((ROOT / name).resolve())
    return folder


def measured(jobs):
    """Return test file -> product file -> number of its lines that this test file runs."""
    import coverage

    with tempfile.TemporaryDirectory() as place:
        root = copied(Path(place) / "copy")
        settings = Path(place) / "coveragerc"
        settings.write_text(SETTINGS, encoding="utf-8")

        def lines_of(test):
            data = Path(place) / test.replace("/", "-") / "data"
            data.parent.mkdir()
            _run(root, ["-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", test], data=data)
            both = coverage.Coverage(data_file=str(data), config_file=str(settings))
            both.combine([str(data.parent)])
            found = both.get_data()
            return {
                Path(name).relative_to(root).as_posix(): len(found.lines(name))
                for name in found.measured_files()
            }

        tests = test_files()
        with ThreadPoolExecutor(jobs) as pool:
            return dict(zip(tests, pool.map(lines_of, tests), strict=True))


def covering(file, lines):
    """Return the test files that cover a file of the product, first those that run little else."""
    if file.endswith(".py"):
        found = {test: each[file] / sum(each.values()) for test, each in lines.items() if each.get(file)}
        return sorted(found, key=lambda test: -found[test])
    uses = {test: (ROOT / test).read_text(encoding="utf-8") for test in test_files()}
    opens = [test for test, text in uses.items() if re.search(r"\b(browser|new_visitor)\b", text)]
    return ["tests/views/test_node.py", *(test for test in opens if "views" in test), *opens]


def outcome(entry, tests, minutes):
    """Make a break in a copy; return ("caught", the test's name), ("passed", ""), or ("late", "")."""
    with tempfile.TemporaryDirectory() as place:
        root = copied(Path(place))
        path = root / entry["file"]
        path.write_text(broken(path.read_text(encoding="utf-8"), entry), encoding="utf-8")
        until = time.monotonic() + 60 * minutes
        for test in dict.fromkeys(tests):
            if (left := until - time.monotonic()) <= 0:
                return "late", ""
            try:
                ran = _run(root, ["-m", "pytest", "-x", "-q", test], limit=left)
            except subprocess.TimeoutExpired:
                return "late", ""
            if ran.returncode == 1:
                failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)
                return "caught", failed[1] if failed else test
            if ran.returncode not in (0, 5):  # it could not even begin: a break nobody can overlook
                return "caught", test
        return "passed", ""


def _run(root, command, *, data=None, limit=None):
    variables = os.environ | {"PYTHONPATH": str(root), "CI": "1", "COVERAGE_FILE": str(data or os.devnull)}
    command = [str(root / ".venv/bin/python"), *command, "-p", "no:cacheprovider", "-n", "0"]
    process = subprocess.Popen(
        command,
        cwd=root,
        env=variables,
        text=True,
        start_new_session=True,
        stdout=-1,
        stderr=subprocess.STDOUT,
    )
    try:
        output, _ = process.communicate(timeout=limit)
    finally:
        _end(process.pid)
    return subprocess.CompletedProcess(command, process.returncode, output)


def _end(session):
    """End what a run of tests has left behind, or is still doing."""
    import psutil

    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session:
                process.kill()
        except (psutil.Error, OSError):
            continue


def _git(root, *arguments):
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="breaks with this in their name or file")
    parser.add_argument("--minutes", type=float, default=10, help="for each break")
    parser.add_argument("--jobs", type=int, default=2, help="at once")
    parser.add_argument("--measure", action="store_true", help="measure again which tests cover which files")
    options = parser.parse_args()
    kept = CACHE / "covering.json"
    if options.measure or not kept.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(measured(options.jobs), indent=1), encoding="utf-8")
    lines = json.loads(kept.read_text(encoding="utf-8"))
    chosen = [each for each in breaks() if options.only in f"{each['name']} {each['file']}"]
    results, unexpected = Counter(), []

    def try_one(entry):
        result, by = outcome(entry, covering(entry["file"], lines), options.minutes)
        print(f"{result:7} {entry['name']}: {by or entry['behaviour']}", flush=True)
        results[result] += 1
        if result != "caught" and entry.get("caught", True):
            unexpected.append(entry["name"])

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(try_one, chosen))
    print(", ".join(f"{count} {result}" for result, count in results.items()))
    sys.exit(bool(unexpected))


if __name__ == "__main__":
    main()
