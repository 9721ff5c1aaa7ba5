"""The commands that open the app and check the installation."""

import platform
from argparse import Namespace

from transformer_viz.cli import doctor
from transformer_viz.cli.language import t
from transformer_viz.cli.serve import serve
from transformer_viz.values.version import __version__


def open_app(arguments: Namespace) -> None:
    """Serve the app until Ctrl-C, and open a window on it."""
    serve(browser=not arguments.no_browser, port=arguments.port)


def examine(arguments: Namespace) -> int:
    """Print the results of all checks with remedies; return 1 if something is wrong."""
    print(f"Transformer Viz {__version__}, {platform.platform()}")
    wrong = 0
    for subject, fact, remedy, _ in doctor.examine():
        print(f"  {subject:14} {fact}")
        if remedy:
            print(f"  {'':14}", t("doctor.remedy", text=remedy))
            wrong += 1
    print(" ", t("doctor.wrong", count=wrong) if wrong else t("doctor.well"))
    return 1 if wrong else 0
