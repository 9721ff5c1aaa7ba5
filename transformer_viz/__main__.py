"""`python -m transformer_viz`."""

import sys

from transformer_viz.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
