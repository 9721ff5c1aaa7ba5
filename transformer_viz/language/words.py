"""The sentences of one language, by key."""

import functools
import json
from importlib import resources

LANGUAGES = {"en": "English", "zh": "简体中文"}


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

    def __call__(self, key: str, /, **values) -> str:
        """Return the sentence of a key, its {names} replaced by values."""
        return self.sentences[key].format(**values)

    def under(self, prefix: str) -> dict:
        """Return the sentences whose keys begin with a prefix, by the rest of their keys, {names} unreplaced.

        "prefix.name" is found under ["name"], "prefix.group.name" under ["group"]["name"].
        """
        words = {}
        for key, sentence in self.sentences.items():
            first, *group, name = key.split(".")
            if first == prefix:
                (words.setdefault(group[0], {}) if group else words)[name] = sentence
        return words


@functools.cache
def _read(language) -> dict[str, str]:
    file = resources.files("transformer_viz.language").joinpath(f"{language}.json")
    return json.loads(file.read_text(encoding="utf-8"))
