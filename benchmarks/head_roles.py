"""How far captions of one text can be trusted: how many name a pattern, and how often it is the usual one.

`python benchmarks/head_roles.py [--model dates] [--data dates] [--rows 300]`, where the data is a file, a
data set or a task, as for `transformer-viz roles`. Without --data, each model reads texts of its own task, or
the examples of its card: too few to judge a head by. For each model:

- named, even, mixed: share of the roles of one text that name a pattern, are "even", or are "mixed";
- agree: chance that a head has the same role in two of the texts;
- usual: share of the named roles of one text that are the head's usual role over all texts;
- heads: share of heads whose usual role names a pattern;
- words: share of heads that usually read the words typical of some labels more than evenly;
- texts/s: texts measured in a second.
"""

import argparse
import time
from collections import Counter
from pathlib import Path

import pandas as pd

from transformer_viz import store
from transformer_viz.cli.roles import texts_of
from transformer_viz.data.tasks import TASKS
from transformer_viz.network.startup import import_with_keras
from transformer_viz.questions.roles.patterns import roles_in_text, text_patterns
from transformer_viz.questions.roles.rules import patterns_of_config
from transformer_viz.trace.request import Request

UNNAMED = ("even", "mixed")


def main():
    """Print a table with a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", nargs="+", default=[model.name for model in store.list_models()])
    parser.add_argument("--data", type=Path, help="a file, a data set or a task")
    parser.add_argument("--rows", type=int, default=300, help="most texts (default 300)")
    arguments = parser.parse_args()
    rows = [row_of(name, arguments.data, arguments.rows) for name in arguments.model]
    print(pd.DataFrame(rows).to_string(index=False, float_format="{:.2f}".format))


def row_of(name, data, rows):
    """Return the figures of a model over some texts."""
    explorer = import_with_keras("store.load").load(name)
    texts = examples(explorer, rows) if data is None else texts_of(explorer.config, data, rows, {})
    measure = import_with_keras("questions.roles.measure").head_roles
    measure(explorer, texts[:1])
    began = time.perf_counter()
    found = measure(explorer, texts)
    speed = len(texts) / (time.perf_counter() - began)
    usual = {
        (kind, i, j): role.name
        for kind in found.kinds
        for i, layer in enumerate(found.usual(kind))
        for j, role in enumerate(layer)
    }
    seen = {head: Counter() for head in usual}
    for each in texts:
        for head, role in roles_in(explorer, each):
            seen[head][role] += 1
    total = sum(map(Counter.total, seen.values()))
    named = {
        head: sum(count for role, count in counts.items() if role not in UNNAMED)
        for head, counts in seen.items()
    }
    right = sum(seen[head][role] for head, role in usual.items() if role not in UNNAMED)
    return {
        "model": name,
        "texts": len(texts),
        "named": sum(named.values()) / total,
        **{role: sum(counts[role] for counts in seen.values()) / total for role in UNNAMED},
        "agree": sum(map(agreement, seen.values())) / len(seen),
        "usual": right / max(sum(named.values()), 1),
        "heads": sum(role not in (*UNNAMED, "words") for role in usual.values()) / len(usual),
        "words": sum(role == "words" for role in usual.values()) / len(usual),
        "texts/s": speed,
    }


def examples(explorer, rows):
    """Return the examples of a model, or of its task, if it was trained on one."""
    task = explorer.card.get("data", {}).get("task")
    return texts_of(explorer.config, Path(task), rows, {}) if task in TASKS else explorer.card["examples"]


def roles_in(explorer, each):
    """Yield ((kind, layer, head), role) for every head in one text."""
    text, target = (each, None) if isinstance(each, str) else each
    trace = explorer.run(Request.of(explorer.name, text, target), keep="weights")
    possible = patterns_of_config(explorer.config)
    for kind, found in trace.kinds().items():
        measured = roles_in_text(text_patterns(kind, found), found, possible[kind])
        for number, named in enumerate(measured.roles):
            yield from (((kind, number, head), role.name) for head, role in enumerate(named))


def agreement(counts):
    """Return the chance that two different texts give a head the same role."""
    texts = counts.total()
    return sum(count * (count - 1) for count in counts.values()) / max(texts * (texts - 1), 1)


if __name__ == "__main__":
    main()
