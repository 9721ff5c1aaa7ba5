"""How processes start that compute with Keras."""

import multiprocessing
import sys
from multiprocessing.context import BaseContext


def context() -> BaseContext:
    """Return how children start: on Linux forked from a process that has imported Keras, elsewhere afresh.

    TensorFlow may be forked as long as it has only been imported: its threads start with the first operation.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload(["transformer_viz.service.preload"])
    return forking
