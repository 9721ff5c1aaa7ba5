"""The language of the command line: the one of `--lang`, else that of the system."""

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from transformer_viz.language import LANGUAGES, Phrase, Words, language_here, sentence_of

_asked: ContextVar[str] = ContextVar("asked", default="")


def asked_language(argv: Sequence[str]) -> tuple[str, list[str]]:
    """Return the language that arguments ask for, and the arguments without it.

    It is found before all else is parsed, whose mistakes are said in it.

    >>> asked_language(["doctor", "--lang", "zh"]), asked_language(["--lang=fr"])
    (('zh', ['doctor']), ('', []))
    """
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--lang", nargs="?")
    found, others = parser.parse_known_args(argv)
    return found.lang if found.lang in LANGUAGES else "", others


@contextlib.contextmanager
def speaking(language: str) -> Iterator[None]:
    """Speak a language, a key of `LANGUAGES`; "": that of the system."""
    token = _asked.set(language)
    try:
        yield
    finally:
        _asked.reset(token)


def words() -> Words:
    """Return the sentences of the language that is spoken."""
    return Words(_asked.get() or language_here())


def t(key: str, /, **values: Any) -> str:
    """Return the sentence of a key in the language that is spoken, with {names} replaced by values."""
    return words()(key, **values)


def known(key: str, name: str) -> str:
    """Return the sentence of a key, or the name itself if there is none."""
    return t(key) if words().has(key) else name


def listed(*parts: str) -> str:
    """Return parts of a sentence, with commas between them."""
    return t("list.comma").join(parts)


def localized(problem: Exception | Phrase | str) -> str:
    """Return the sentence of an error in the language that is spoken."""
    return sentence_of(problem, words().language)
