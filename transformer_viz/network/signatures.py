"""Signatures that name the arguments which a function passes on."""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def with_fields(kind: type) -> Callable[[Function], Function]:
    """Return a decorator that shows the fields of a dataclass in place of the `**` argument of a function.

    `help` and notebooks, where TAB completes the names of arguments, read the signature; type checkers know
    the names from a `TypedDict`.

    Args:
        kind: The dataclass whose fields the function takes by name.
    """

    def shown(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        fields = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
            )
            for field in dataclasses.fields(kind)
        ]
        vars(function)["__signature__"] = signature.replace(parameters=[*own, *fields])
        return function

    return shown
