"""The sentences of one language, by key."""

import functools
import json
import locale
import os
from collections.abc import Mapping
from importlib import resources
from typing import Any

LANGUAGES = {"en": "English", "zh": "中文"}

TAGS = {"en": "en", "zh": "zh-CN"}
"""Language -> its tag in HTML."""

OWN_VARIABLE = "TRANSFORMER_VIZ_LANG"
"""Environment variable with the language of this program alone: that of `--lang`, for the app."""

VARIABLES = (OWN_VARIABLE, "LC_ALL", "LC_MESSAGES", "LANG")
"""Environment variables with the language of messages; the first that is set counts."""


class Words:
    """The sentences of one language.

    Args:
        language: A key of `LANGUAGES`.

    Raises:
        ValueError: If there is no such language.

    >>> Words("en")("layer.label")
    'Layer'
    """

    def __init__(self, language: str):
        if language not in LANGUAGES:
            raise ValueError(f"`language` must be one of {list(LANGUAGES)}. Received: {language!r}.")
        self.language = language
        self.sentences = _read(language)

    def __call__(self, key: str, /, **values: Any) -> str:
        """Return the sentence of a key, with its {names} replaced by values.

        Singular and plural have the keys "key.one" and "key.other", selected by `count`; Chinese has only
        "key.other".
        """
        return self.sentences[self._form(key, values)].format(**values)

    def has(self, key: str) -> bool:
        """Return whether there is a sentence with that key."""
        return key in self.sentences or f"{key}.other" in self.sentences

    def translate(self, text: str, *, under: str) -> str:
        """Return the translation of an English sentence whose key begins with `under`, or the text itself."""
        return self.sentences.get(_keys_of("en", under).get(text, ""), text)

    def _form(self, key, values):
        if key in self.sentences:
            return key
        is_one = str(values.get("count")) == "1" and f"{key}.one" in self.sentences
        return f"{key}.one" if is_one else f"{key}.other"

    def under(self, prefix: str) -> dict:
        """Return the sentences whose keys begin with a prefix, by the rest of their keys, as templates.

        "prefix.name" becomes ["name"], "prefix.group.name" becomes ["group"]["name"].
        """
        words = {}
        for key, sentence in self.sentences.items():
            first, *group, name = key.split(".")
            if first == prefix:
                (words.setdefault(group[0], {}) if group else words)[name] = sentence
        return words


def language_of(environment: Mapping[str, str], system: str = "") -> str:
    """Return the language set in a process's environment, else that of the system, a key of `LANGUAGES`.

    Args:
        environment: The environment variables.
        system: Name of the system's locale, as `locale.getlocale` returns it; "": unknown.

    >>> language_of({"LANG": "zh_CN.UTF-8"}), language_of({}, "Chinese (Simplified)_China")
    ('zh', 'zh')
    """
    asked = next(filter(None, map(environment.get, VARIABLES)), system)
    return "zh" if asked.lower().startswith(("zh", "chinese")) else "en"


def language_here() -> str:
    """Return the language of this process; Windows sets no variable, and names its locale in words."""
    return language_of(os.environ, locale.getlocale()[0] or "")


def joined(*sentences: str) -> str:
    """Return sentences in sequence; Chinese ones need no space between them.

    >>> joined("One.", "Two."), joined("一。", "二。")
    ('One. Two.', '一。二。')
    """
    return " ".join(sentences).replace("。 ", "。")


@functools.cache
def _keys_of(language, prefix):
    return {sentence: key for key, sentence in _read(language).items() if key.startswith(prefix)}


@functools.cache
def _read(language) -> dict[str, str]:
    file = resources.files("transformer_viz.language").joinpath(f"{language}.json")
    return json.loads(file.read_text(encoding="utf-8"))
