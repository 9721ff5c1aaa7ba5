"""Random states of the app with the models of the shelf: `python tests/fuzz/random_states.py`.

What fails is shown with its number; `--first NUMBER --states 1` tries it again. Exit status 1 if anything
failed.
"""

import argparse
import logging
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).parents[2]

sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]


def main() -> int:
    """Try the states that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--states", type=int, default=2000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    options = parser.parse_args()
    from pages import own_main
    from state_drivers import AppDriver
    from states import state_of

    logging.disable(logging.WARNING)  # there is no server, as Streamlit says again and again
    driver, failed, begin = AppDriver(), 0, time.monotonic()
    states = map(state_of, range(options.first, options.first + options.states))
    in_order = sorted(states, key=lambda state: state.address.get("model", ""))  # each is loaded once
    for tried, state in enumerate(in_order, start=1):
        try:
            with own_main():
                driver.open(state)
        except Exception:  # whatever it is, the next states are tried, too
            failed += 1
            print(f"FAILED {state}\n{traceback.format_exc(limit=-3)}", flush=True)
        if tried % 50 == 0:
            print(f"{tried:,} states, {failed} failed, {time.monotonic() - begin:.0f} s", flush=True)
    print(f"{options.states:,} states, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ["TRANSFORMER_VIZ_MODELS"] = str(ROOT / "models")
    os.environ["TRANSFORMER_VIZ_RUNS"] = tempfile.mkdtemp()
    os.environ["TRANSFORMER_VIZ_CACHE"] = f"{os.devnull}/none"
    sys.exit(main())
