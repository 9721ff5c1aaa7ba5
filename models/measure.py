"""Measure the heads and the temperature of a model of the shelf again, over the rows its training held out.

    SCRIPT=models/measure.py sh models/train.sh DATA NAME ...

It has the arguments of `train`, which say which rows those are: the validation rows for the roles of the
heads and the temperature, the test rows for the calibration error of the card. Nothing is trained.
"""

import dataclasses
import json
import sys
from pathlib import Path

import numpy as np

from transformer_viz import store
from transformer_viz.cli.parser import build_parser
from transformer_viz.cli.planning import planned
from transformer_viz.questions.evaluation.calibration import calibration_error
from transformer_viz.questions.evaluation.measure import true_labels
from transformer_viz.store.card import card_text
from transformer_viz.store.load import load
from transformer_viz.store.write import head_roles_text, with_manifest, write_files
from transformer_viz.trace.softmax import softmax
from transformer_viz.training.dataset import Dataset
from transformer_viz.training.evaluator import Evaluator
from transformer_viz.training.job import dataset_of
from transformer_viz.training.runs.job import TrainingJob


def main(argv: list[str]) -> None:
    """Measure a model and write its roles, temperature and card."""
    job = job_of_model(argv)
    place, stored = Path(job.out), store.read_model(job.out)
    dataset = dataset_of(job, stored)
    evaluator = Evaluator(dataset, job.settings)
    evaluator.set_parameters(stored.parameters)
    facts, card = evaluator.calibrate(), stored.card
    config = dataclasses.replace(stored.config, temperature=dataset.config.temperature)
    roles = evaluator.head_roles()
    files = store.read_files(job.out)
    version = json.loads(files.pop("manifest.json"))["format_version"]
    if facts is not None:
        files["config.json"] = config.to_json().encode()
        measured = {"calibration_error": test_error(dataset, job, config.temperature)}
        card |= {"calibration": facts, "test": card["test"] | measured}
        files["card.json"] = card_text(place / "card.json", card, whole=True).encode()
    if roles is not None:
        files["roles.json"] = head_roles_text(place / "roles.json", roles, config).encode()
    write_files(place, with_manifest(files, version))
    print(f"Wrote {place}: roles over {roles and roles.texts} texts; calibration: {facts}.")


def job_of_model(argv: list[str]) -> TrainingJob:
    """Return the training of a model from the arguments of `train`, as a model made from itself: with its own
    tokenizer and config, and without a temperature.
    """
    arguments = build_parser().parse_args(["train", *argv])
    arguments.argv, config = argv, store.read_config(arguments.out).replace(temperature=1.0)
    vars(arguments).update(parent=arguments.out, set=[], train_only=[])
    vars(arguments).update(tokens=None, target_tokens=None, keep_case=False, same_token_heads=None)
    return dataclasses.replace(planned(arguments).job, config=config)


def test_error(dataset: Dataset, job: TrainingJob, temperature: float) -> float:
    """Return the calibration error of a classifier on its test rows."""
    explorer, rows = load(job.out), dataset.test
    logits = explorer.class_logits(explorer.encode(rows["text"].tolist()), progress=True)
    labels = np.array([explorer.config.labels.index(label) for label in true_labels(explorer, rows)])
    return calibration_error(softmax(logits, temperature), labels)


if __name__ == "__main__":
    main(sys.argv[1:])
