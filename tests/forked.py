"""Processes that train, forked from one that has imported Keras: each starts at once."""

import os

from transformer_viz.service.forking import context


def start(function, *arguments, **environment):
    """Return the process that calls a function of a module.

    Args:
        function: What it calls.
        *arguments: With these.
        **environment: Variables that it has beside those of this process.
    """
    process = context().Process(target=_call, args=(function, arguments, os.environ | environment))
    process.start()
    return process


def _call(function, arguments, environment):
    os.environ.clear()
    os.environ.update(environment)
    function(*arguments)
