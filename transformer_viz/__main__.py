"""`transformer-viz`, also `python -m transformer_viz`."""

import importlib
import sys

from transformer_viz.cli.language import asked_language, localized, speaking
from transformer_viz.extras import APP, MissingExtraError, needs


def main() -> int:
    """Run the command line; return the exit status: 2 if a library is not installed."""
    try:
        with needs(APP, "transformer-viz"):
            program = importlib.import_module("transformer_viz.cli.main")
    except MissingExtraError as error:
        language, _ = asked_language(sys.argv[1:])
        with speaking(language):
            print(localized(error), file=sys.stderr)
        return 2
    return program.main()


if __name__ == "__main__":
    sys.exit(main())
