"""Fuzzing of everything that reads foreign bytes: `python tests/fuzz/fuzz.py [TARGET ...] [--seconds 60]`.

Each target runs in a process of its own: with atheris, guided by coverage, where it is installed (Linux);
else with Hypothesis, whose findings go to its database. Both begin with valid examples; what atheris learns
stays in .cache/fuzz/TARGET, what fails in .cache/fuzz/TARGET-found: put that into tests/fuzz/corpus/TARGET,
where the tests read it, and mend the cause. Exit status 1 if anything failed.
"""

import argparse
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".cache" / "fuzz"

HANG = 20
"""Seconds after which a call counts as hanging."""

MEMORY = 3000
"""MB at which a process counts as taking too much memory."""

LONGEST = 20_000
"""Longest input, in bytes."""

sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]


def run_atheris(name: str, options) -> None:
    """Fuzz one target; the process then ends."""
    import atheris

    with atheris.instrument_imports(include=["transformer_viz"]):
        import targets
    corpus, found = CACHE / name, CACHE / f"{name}-found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    for number, seed in enumerate(targets.seeds(name)):
        (corpus / f"seed-{number}").write_bytes(seed)
    arguments = [
        sys.argv[0],
        f"-max_total_time={options.seconds}",
        f"-runs={options.runs}",
        f"-timeout={HANG}",
        f"-rss_limit_mb={MEMORY}",
        f"-max_len={LONGEST}",
        f"-artifact_prefix={found}/",
        "-print_final_stats=1",
        "-verbosity=0",
        str(corpus),
    ]

    def check(data):
        targets.TARGETS[name](data)  # what it returns would mean something else to atheris

    atheris.Setup(arguments, check)
    atheris.Fuzz()


def run_hypothesis(name: str, options) -> None:
    """Fuzz one target with Hypothesis."""
    import time

    import hypothesis
    import targets
    from mutations import mutated

    end, count = time.monotonic() + options.seconds, 0
    most = options.runs if options.runs >= 0 else 10**9

    @hypothesis.settings(max_examples=5000, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(mutated(targets.seeds(name)))
    def check(data):
        nonlocal count
        count += 1
        targets.TARGETS[name](data)

    while time.monotonic() < end and count < most:
        check()
    print(f"stat::number_of_executed_units: {count}")


def main() -> int:
    """Fuzz the targets that are named, each in a process of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", help="default: all")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--runs", type=int, default=-1, help="inputs for each target at most; -1: any")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run = run_atheris if importlib.util.find_spec("atheris") else run_hypothesis
        run(options.targets[0], options)
        return 0
    import targets

    total = failed = 0
    for name in options.targets or targets.TARGETS:
        limits = [f"--seconds={options.seconds}", f"--runs={options.runs}"]
        command = [sys.executable, __file__, name, "--child", *limits]
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env=quiet(), check=False
        )
        count = int((re.findall(r"number_of_executed_units: (\d+)", done.stdout + done.stderr) or [0])[-1])
        total, failed = total + count, failed + bool(done.returncode)
        print(f"{name:12} {count:12,} inputs  {'FAILED' if done.returncode else 'nothing found'}", flush=True)
        if done.returncode:
            print("\n".join((done.stdout + done.stderr).splitlines()[-25:]))
    print(f"{total:,} inputs, {failed} targets failed")
    return 1 if failed else 0


def quiet():
    """Return a child's environment, with folders of models and runs of its own."""
    return os.environ | {
        "TRANSFORMER_VIZ_MODELS": str(CACHE / "no-models"),
        "TRANSFORMER_VIZ_RUNS": str(CACHE / "no-runs"),
    }


if __name__ == "__main__":
    sys.exit(main())
