"""How many heads of a model do in fresh texts what is said of them: its test rows, and a sentence of each.

    SCRIPT=benchmarks/kept_roles.py sh models/train.sh DATA [NAME ...]

A row for each length: tokens of the texts that were measured and of the fresh ones, heads whose usual role
names a pattern, and how many of these have the same one over the fresh texts. A head that reads the words of
a label keeps its role if it reads them more than evenly again.
"""

import sys
from pathlib import Path

import pandas as pd

sys.path.append(str(Path(__file__).parents[1] / "models"))

from measure import job_of_model

from transformer_viz import store
from transformer_viz.questions.roles.measure import head_roles
from transformer_viz.questions.roles.result import HeadRoles, KindRoles, Role
from transformer_viz.questions.roles.rules import MIN_RATIO, MIN_TEXTS, WORDS
from transformer_viz.store.load import load
from transformer_viz.training.job import dataset_of
from transformer_viz.training.rows import choose_role_texts

TEXTS = 100
"""Fresh texts."""

UNNAMED = ("even", "mixed")


def main(argv: list[str]) -> None:
    """Print the rows of a model."""
    job = job_of_model(argv)
    dataset, explorer = dataset_of(job, store.read_model(job.out)), load(job.out)
    fresh = head_roles(explorer, choose_role_texts(explorer.config, dataset.test, TEXTS))
    said = explorer.head_roles
    lengths = [(said, fresh)] + [(said.short, fresh.short)] * (said.short is not None)
    rows = [row_of(Path(job.out).name, *both) for both in lengths]
    print(pd.DataFrame(rows).to_string(index=False))


def row_of(name: str, said: HeadRoles, fresh: HeadRoles) -> dict:
    """Return how many of the named heads keep their role."""
    named = [
        keeps(role, fresh.kinds[kind], layer, head)
        for kind in said.kinds
        for layer, roles in enumerate(said.usual(kind))
        for head, role in enumerate(roles)
        if role.name not in UNNAMED
    ]
    lengths = {"measured": said.tokens, "fresh": fresh.tokens, "texts": fresh.texts}
    return {"model": name, **lengths, "named": len(named), "kept": sum(named)}


def keeps(role: Role, fresh: KindRoles, layer: int, head: int) -> bool:
    """Return whether a head has a role over fresh texts, too."""
    if role.name != "words":
        return fresh.roles[layer][head].name == role.name
    labels = [name for name in fresh.names if name.startswith(WORDS)]
    ratio = fresh.ratio[layer, head, labels.index(role.measure)]
    return ratio >= MIN_RATIO and fresh.held[layer, head, fresh.names.index(role.measure)] >= MIN_TEXTS


if __name__ == "__main__":
    main(sys.argv[1:])
