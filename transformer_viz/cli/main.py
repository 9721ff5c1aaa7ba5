"""The command line: `transformer-viz COMMAND --help`, or `python -m transformer_viz COMMAND --help`."""

import io
import os
import sys

from transformer_viz.cli.language import asked_language, localized, speaking
from transformer_viz.cli.output import Wanted, writing
from transformer_viz.cli.parser import build_parser
from transformer_viz.language import Problem
from transformer_viz.network.startup import choose_tensorflow


def main(argv: list[str] | None = None) -> int:
    """Run a command, or open the app; return the exit status, 2 for a user error."""
    _write_any_letter()
    argv = sys.argv[1:] if argv is None else argv
    language, others = asked_language(argv)
    with speaking(language):
        arguments = build_parser().parse_args(argv)
        arguments.argv = others
        choose_tensorflow()
        with writing(Wanted(arguments.as_json, arguments.quiet)):
            return _run(arguments)


def _run(arguments):
    try:
        status = arguments.command(arguments) or 0
        sys.stdout.flush()
        return status
    except (ValueError, MemoryError) as error:
        problem = error if str(error) else Problem("command.memory")
        print(f"{arguments.name}: {localized(problem)}", file=sys.stderr)
        if isinstance(problem, Problem) and problem.lines:
            print(f"\n{problem.lines}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `transformer-viz models | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        stopped = localized(Problem("command.stopped"))
        print(f"{arguments.name}: {stopped}", file=sys.stderr)
        return 130


def _write_any_letter():
    """Write letters that a code page lacks as escapes: cp936 has no emoji, and Python would end there."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")
