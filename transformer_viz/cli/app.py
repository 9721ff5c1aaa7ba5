"""The commands that open the app and check the installation."""

import os
import platform
from argparse import Namespace

from transformer_viz.cli import doctor
from transformer_viz.cli.language import known, t
from transformer_viz.cli.output import give, say
from transformer_viz.cli.serve import serve
from transformer_viz.cli.width import padded
from transformer_viz.language import OWN_VARIABLE
from transformer_viz.version import __version__

SUBJECTS = 15
"""Columns of the subjects of checks."""


def open_app(arguments: Namespace) -> None:
    """Serve the app until Ctrl-C, and open a window on it, in the language that is asked for."""
    if arguments.lang:
        os.environ[OWN_VARIABLE] = arguments.lang
    serve(browser=not arguments.no_browser, port=arguments.port)


def examine(arguments: Namespace) -> int:
    """Print the results of all checks with remedies; return 1 if something is wrong."""
    say(f"Transformer Viz {__version__}, {platform.platform()}")
    checks = []
    for finding in doctor.examine():
        subject = known(f"doctor.subject.{finding.subject}", finding.subject)
        say(f"  {padded(subject, SUBJECTS)} {finding.fact}")
        if finding.remedy:
            remedy = t("doctor.remedy", text=finding.remedy)
            say(f"  {'':{SUBJECTS}} {remedy}")
        checks.append({"subject": finding.subject, "fact": finding.fact, "remedy": finding.remedy})
    wrong = sum(bool(check["remedy"]) for check in checks)
    summary = t("doctor.wrong", count=wrong) if wrong else t("doctor.well")
    say(f"  {summary}")
    give({"version": __version__, "platform": platform.platform(), "wrong": wrong, "checks": checks})
    return 1 if wrong else 0
