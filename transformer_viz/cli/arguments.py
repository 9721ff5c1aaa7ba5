"""Values of arguments of the form NAME=VALUE."""

import json
from argparse import Namespace
from typing import Any

from transformer_viz.data import ReadOptions
from transformer_viz.data.encodings import encoding_named
from transformer_viz.language import LANGUAGES, Problem


def columns(pairs: list[str]) -> dict[str, str]:
    """Return role -> column name of ROLE=NAME pairs."""
    columns = {}
    for each in pairs:
        role, equals, name = each.partition("=")
        if not (role and equals and name):
            raise Problem("command.columns", received=repr(each))
        columns[role] = name
    return columns


def read_options(arguments: Namespace) -> ReadOptions:
    """Return how the files of a command are to be read."""
    return ReadOptions(
        encoding=encoding_named(arguments.encoding) if arguments.encoding else "",
        has_header=not arguments.no_header,
        skip_bad_rows=arguments.skip_bad_rows,
        many_labels=arguments.many_labels,
    )


def assignment(text: str) -> tuple[str, Any]:
    """Return FIELD=VALUE as (field, value), the value as JSON or else as text."""
    field, equals, value = text.partition("=")
    if not equals:
        raise Problem("command.set", received=repr(text))
    try:
        return field, json.loads(value)
    except ValueError:
        return field, value


def translation(text: str) -> tuple[str, str]:
    """Return LANGUAGE=TEXT as (language, text)."""
    language, equals, translated = text.partition("=")
    if language not in LANGUAGES or not (equals and translated.strip()):
        raise Problem("command.translation", received=repr(text), languages=", ".join(LANGUAGES))
    return language, translated


def label_name(text: str) -> tuple[str, str]:
    """Return LABEL=NAME as (label, name)."""
    label, equals, name = text.partition("=")
    if not (equals and name):
        raise Problem("command.label_names", received=repr(text))
    return label, name
