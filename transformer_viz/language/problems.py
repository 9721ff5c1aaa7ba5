"""Error messages as a code and facts, rendered in the reader's language where they are displayed."""

import json
from pathlib import Path
from typing import Any, Self

from transformer_viz.language.words import Words


class Phrase:
    """A translatable sentence, or a part of one.

    Args:
        code: Code of the sentence (key `error.CODE` in the language files), or a text that is not translated.
        **facts: Values in the sentence: texts, numbers, paths, further phrases, and lists of these, which are
            separated as the language does it. "count" selects singular or plural; a "reason" from the system
            is translated if it is known.

    >>> str(Phrase("file.line", path="a.csv", line=3))
    'a.csv, line 3'
    """

    def __init__(self, code: str, /, **facts: Any):
        self.code = code
        self.facts = {name: str(fact) if isinstance(fact, Path) else fact for name, fact in facts.items()}

    def __str__(self):
        return sentence_of(self)

    def renamed(self, old: str, new: str) -> Self:
        """Return a copy with a string replaced in its texts, such as a temporary path."""
        other = self.__class__.__new__(self.__class__, *getattr(self, "args", ()))
        other.__dict__.update(self.__dict__)
        other.facts = {name: _replaced(fact, old, new) for name, fact in self.facts.items()}
        other.code = self.code.replace(old, new)
        return other

    def to_json(self) -> dict:
        """Return the phrase as JSON values."""
        facts = {name: _packed(fact) for name, fact in self.facts.items()}
        return {"code": self.code, "facts": facts}

    @classmethod
    def from_json(cls, content: object) -> Self:
        """Return the phrase of the result of `to_json`.

        Raises:
            ValueError: If `content` is anything else, or cannot be rendered.
        """
        if not (isinstance(content, dict) and isinstance(content.get("code"), str)):
            raise ValueError("no phrase: it has no code")
        try:
            facts = {name: _unpacked(fact) for name, fact in content["facts"].items()}
            phrase = cls(content["code"], **facts)
            str(phrase)
        except (TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
            raise ValueError(f"no phrase ({type(error).__name__})") from None
        return phrase


class Problem(Phrase, ValueError):  # noqa: N818  also stored without being raised
    """An error that the user can fix. `str` returns the English message: the fault and the remedy.

    Attributes:
        code: Code of the sentence.
        facts: Name -> value in the sentence. "lines", lines of Python that are a way out, stand in none:
            tracebacks, pages and the command line show them below it.
    """

    def __init__(self, code: str, /, **facts: Any):
        super().__init__(code, **facts)
        if self.lines:
            self.add_note(f"\n{self.lines}")

    @property
    def lines(self) -> str:
        """Lines of Python that are a way out; "" if there are none."""
        return self.facts.get("lines", "")

    def __reduce__(self):
        return _unpickled, (type(self), self.args, self.__dict__)


def sentence_of(problem: Exception | Phrase | str, language: str = "en") -> str:
    """Return an error message on one line: a `Phrase` in a language, anything else as its own text."""
    text = _render(problem, Words(language)) if isinstance(problem, Phrase) else str(problem)
    return "".join(letter if letter.isprintable() else " " for letter in text)


def json_reason(error: ValueError | RecursionError) -> Phrase | str:
    """Return why and where a text is not JSON, according to Python's parser."""
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    place = {"line": error.lineno, "column": error.colno, "position": error.pos}
    return Phrase("json.place", reason=error.msg, **place)


def _render(phrase, words):
    if not words.has(f"error.{phrase.code}"):
        return phrase.code
    facts = {name: _rendered_fact(name, fact, words) for name, fact in phrase.facts.items()}
    return words(f"error.{phrase.code}", **facts)


def _rendered_fact(name, fact, words):
    """Return a fact as it appears in a sentence."""
    if isinstance(fact, Phrase):
        return _render(fact, words)
    if isinstance(fact, list):
        return words("list.comma").join(str(_rendered_fact(name, each, words)) for each in fact)
    return words.translate(fact, under="error.reason.") if name == "reason" else fact


def _packed(fact):
    """Return a fact as JSON values."""
    if isinstance(fact, list):
        return [_packed(each) for each in fact]
    return fact.to_json() if isinstance(fact, Phrase) else fact


def _unpacked(fact):
    """Return the fact of the result of `_packed`."""
    if isinstance(fact, list):
        return [_unpacked(each) for each in fact]
    return Phrase.from_json(fact) if isinstance(fact, dict) else fact


def _replaced(fact, old, new):
    if isinstance(fact, Phrase):
        return fact.renamed(old, new)
    if isinstance(fact, list):
        return [_replaced(each, old, new) for each in fact]
    return fact.replace(old, new) if isinstance(fact, str) else fact


def _unpickled(kind, args, state):
    """Return an unpickled error, without calling the constructor of its class."""
    problem = kind.__new__(kind, *args)
    problem.__dict__.update(state)
    return problem
