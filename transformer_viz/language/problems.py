"""Error messages as a code and facts; the sentence is made where it is shown, in the reader's language."""

import json
from pathlib import Path
from typing import Any, Self

from transformer_viz.language.words import Words


class Phrase:
    """A sentence or a part of one that is still to be made.

    Args:
        code: Of the sentence, `error.` and this in the files of the languages; or a text, which stays as it
            is in every language.
        **facts: What the sentence names: texts, numbers, paths, and further phrases. "count" chooses between
            singular and plural; a "reason" in the words of the system is translated where it is known.

    >>> str(Phrase("file.line", path="a.csv", line=3))
    'a.csv, line 3'
    """

    def __init__(self, code: str, /, **facts: Any):
        self.code = code
        self.facts = {name: str(fact) if isinstance(fact, Path) else fact for name, fact in facts.items()}

    def __str__(self):
        return sentence_of(self)

    def renamed(self, old: str, new: str) -> Self:
        """Return it with something else in place of a part of its texts: what a temporary path stands for."""
        other = self.__class__.__new__(self.__class__, *getattr(self, "args", ()))
        other.__dict__.update(self.__dict__)
        other.facts = {name: _renamed(fact, old, new) for name, fact in self.facts.items()}
        other.code = self.code.replace(old, new)
        return other

    def to_json(self) -> dict:
        """Return it as JSON can hold it."""
        facts = {
            name: fact.to_json() if isinstance(fact, Phrase) else fact for name, fact in self.facts.items()
        }
        return {"code": self.code, "facts": facts}

    @classmethod
    def from_json(cls, content: object) -> Self:
        """Return what `to_json` wrote.

        Raises:
            ValueError: If it is anything else, or no sentence can be made of it.
        """
        if not (isinstance(content, dict) and isinstance(content.get("code"), str)):
            raise ValueError("no phrase: it has no code")
        try:
            facts = {
                name: Phrase.from_json(fact) if isinstance(fact, dict) else fact
                for name, fact in content["facts"].items()
            }
            phrase = cls(content["code"], **facts)
            str(phrase)
        except (TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
            raise ValueError(f"no phrase ({type(error).__name__})") from None
        return phrase


class Problem(Phrase, ValueError):  # noqa: N818  raised, or kept to be shown
    """An error that a person can mend. `str` gives the English sentence: what was wrong, and how to mend it.

    Attributes:
        code: Of the sentence.
        facts: Name -> what the sentence names.
    """

    def __reduce__(self):
        return _restored, (type(self), self.args, self.__dict__)


def sentence_of(problem: Exception | Phrase | str, language: str = "en") -> str:
    """Return what went wrong, on one line: of a `Phrase` in a language, of anything else its own text."""
    text = _made(problem, Words(language)) if isinstance(problem, Phrase) else str(problem)
    return "".join(letter if letter.isprintable() else " " for letter in text)


def json_reason(error: ValueError | RecursionError) -> Phrase | str:
    """Return why a text is no JSON, and where, as Python's own parser says it."""
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    place = {"line": error.lineno, "column": error.colno, "position": error.pos}
    return Phrase("json.place", reason=error.msg, **place)


def _made(phrase, words):
    if not words.has(f"error.{phrase.code}"):
        return phrase.code
    facts = {name: _shown(name, fact, words) for name, fact in phrase.facts.items()}
    return words(f"error.{phrase.code}", **facts)


def _shown(name, fact, words):
    """Return a fact as a sentence names it."""
    if isinstance(fact, Phrase):
        return _made(fact, words)
    return words.same(fact, under="error.reason.") if name == "reason" else fact


def _renamed(fact, old, new):
    if isinstance(fact, Phrase):
        return fact.renamed(old, new)
    return fact.replace(old, new) if isinstance(fact, str) else fact


def _restored(kind, args, state):
    """Return an error from another process as it was, whatever its class is made from."""
    problem = kind.__new__(kind, *args)
    problem.__dict__.update(state)
    return problem
