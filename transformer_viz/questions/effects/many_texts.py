"""What words do to the labels of a classifier, over many texts."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pandas as pd

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.explorer.forward import stand_in
from transformer_viz.language import Problem
from transformer_viz.questions.effects.word_effects import TextEffects, WordEffect, words_for_labels
from transformer_viz.questions.effects.words import words_of
from transformer_viz.text.encoding import NoTokensError
from transformer_viz.text.texts import each_text


def word_effects(
    explorer: Explorer, texts: Iterable[str], *, progress: Callable[[int], object] = lambda done: None
) -> pd.DataFrame:
    """Return which words speak for each label of a classifier over many texts.

    Each word is left out of each text, as in `tv.effects`: the model's stand-in takes the place of its
    tokens, or what follows moves up. Its effect is the drop of a label's log-odds against all others.

    Args:
        explorer: `Explorer` of a classifier.
        texts: A hundred texts or more say something about a word; those without tokens are passed over.
        progress: Called with the number of texts done after each.

    Returns:
        A row for each label and word whose mean effect is above 0, significantly, in at least five texts:
        columns label; word; effect, the mean; low, the lower end of its 95% interval; and texts, their
        number. For each label the words with the highest low first.

    Raises:
        ValueError: If the model has no labels.
    """
    if not explorer.config.labels:
        raise Problem("effects.no_labels", model=explorer.name)
    found = []
    for done, effects in enumerate(effects_in(explorer, each_text(texts)), 1):
        found.append(effects)
        progress(done)
    return words_for_labels(found, explorer.config.labels)


def effects_in(explorer: Explorer, texts: Iterable[str]) -> Iterator[TextEffects]:
    """Yield what each word of each text does to the log-odds of all labels; nothing of a text without words.

    Args:
        explorer: `Explorer` of a classifier.
        texts: The texts.
    """
    config = explorer.config
    token = stand_in(config, explorer.tokenizer)
    for text in texts:
        try:
            encoding = explorer.tokenizer.read(text)
        except NoTokensError:
            yield []
            continue
        words = [word for word in words_of(encoding) if len(word.tokens) < len(encoding.ids)]
        rows = [encoding.ids, *(_without(encoding.ids, [*word.tokens], token) for word in words)]
        log_odds = _log_odds(explorer.class_logits(rows) / config.temperature) if words else None
        yield [] if log_odds is None else _of_each_word(words, log_odds[0] - log_odds[1:])


def _without(ids, places, token):
    """Return ids without the tokens in some places, or with a token in their place."""
    if token is None:
        return np.delete(ids, places)
    changed = ids.copy()
    changed[places] = token
    return changed


def _log_odds(logits):
    """Return log(p / (1 - p)) of each label: float (row, label)."""
    logits = logits.astype(np.float64)
    others = np.repeat(logits[:, None], logits.shape[1], axis=1)
    others[:, np.arange(logits.shape[1]), np.arange(logits.shape[1])] = -np.inf
    return logits - np.logaddexp.reduce(others, axis=-1)


def _of_each_word(words, drops) -> TextEffects:
    """Return the mean drop of each word in lower case, over its places."""
    places: dict[str, list[int]] = {}
    for number, word in enumerate(words):
        places.setdefault(word.text.lower(), []).append(number)
    return [WordEffect(word, drops[rows].mean(axis=0)) for word, rows in places.items()]
