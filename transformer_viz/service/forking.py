"""How processes start that compute with Keras."""

import multiprocessing
import sys
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

LONGEST_FOLDER = 70
"""Characters of the folder for temporary files: the path of a socket in it has at most 107."""


def context() -> "ForkServerContext | SpawnContext":
    """Return how children start: on Linux forked from a process that has imported Keras, elsewhere afresh.

    TensorFlow may be forked as long as it has only been imported: its threads start with the first operation.
    """
    if sys.platform != "linux" or len(tempfile.gettempdir()) > LONGEST_FOLDER:
        return multiprocessing.get_context("spawn")
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload(["transformer_viz.service.preload"])
    return forking
