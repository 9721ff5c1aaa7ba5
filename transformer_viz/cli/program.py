"""The name of the program, and an example of each command."""

import sys
from pathlib import Path

EXAMPLES = {
    "models": "models",
    "predict": 'predict --model imdb-sentiment --text "What a lovely film"',
    "generate": 'generate --model reverse-digits --text "1 2 3"',
    "trace": 'trace --model imdb-sentiment --text "Not good at all" --out t.npz',
    "compare": 'compare --model imdb-sentiment --text "It was good" --with-text "It was not good"',
    "explain": 'explain --model imdb-sentiment --text "A predictable, boring film"',
    "train": "train --preset single-block --data reviews.csv --out my-model",
    "runs": "runs",
    "resume": "resume 20260301-101500-reviews-3f2a",
    "stop": "stop 20260301-101500-reviews-3f2a",
    "evaluate": "evaluate --model imdb-sentiment --data test.csv.gz",
    "roles": "roles --model imdb-sentiment --data reviews.csv --save",
    "fetch": "fetch google-bert/bert-base-uncased",
    "doctor": "doctor",
}
"""Command -> example, without the name of the program."""

COMMAND = "transformer-viz"
"""Name of the installed program."""


def program() -> str:
    """Return the command that started this program."""
    return COMMAND if Path(sys.argv[0]).stem == COMMAND else "python -m transformer_viz"


def example(name: str) -> str:
    """Return an example of a command, ready to be typed."""
    return f"{program()} {EXAMPLES[name]}"


def program_name() -> str:
    """Return the name of this program in messages."""
    return program().removeprefix("python -m ")
