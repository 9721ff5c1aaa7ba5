"""The words typical of each label of a classifier."""

import pandas as pd

from transformer_viz.data.labels import named_labels
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.questions.roles import typical_words as counted

MOST_TEXTS = 5_000
"""Most texts that are counted: more hardly change the words."""


def typical_words(explorer: Explorer, rows: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Return the words typical of each label of a classifier: a head may read them more than evenly.

    A word is typical of a label if it is at least twice as frequent in texts with that label as in others,
    significantly, and in enough texts (`questions.roles.typical_words.typical_words`).

    Args:
        explorer: `Explorer`.
        rows: DataFrame with columns text and label; some thousands of rows are enough, and of more than
            `MOST_TEXTS` a random sample is read. Labels are the model's names, or the values of its training
            file.

    Returns:
        Label -> words in lower case, the most typical first; labels without such words are left out.

    Raises:
        DataError: If a label is not one of the model's.
    """
    rows = labelled_sample(rows)
    config, values = explorer.config, explorer.card.get("label_values", {})
    labels = named_labels(pd.Series(rows["label"]), config.labels, values, explorer.name)
    read = map(explorer.tokenizer.read, rows["text"])
    words = (counted.words_of(each.text, each.offsets, each.tokens)[0] for each in read)
    found = counted.typical_words(words, labels.tolist())
    return {label: found[label] for label in config.labels if label in found}


def labelled_sample(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a random sample of at most `MOST_TEXTS` rows, always the same, in order."""
    return rows.sample(min(len(rows), MOST_TEXTS), random_state=0).sort_index()
