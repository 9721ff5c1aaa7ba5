"""The end of a training: the best model is calibrated, measured and written."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from transformer_viz import store
from transformer_viz.store.load import explorer_of
from transformer_viz.training.dataset import Dataset
from transformer_viz.training.evaluator import Evaluator
from transformer_viz.training.model_card import model_card
from transformer_viz.training.recorder import write_model
from transformer_viz.training.runs.folder import TrainingRun

EFFECT_SHARE, MOST_EFFECT_SECONDS = 0.1, 60
"""Most of a training's time that is then spent on how well effects are estimated: a share, and seconds."""


class Output(NamedTuple):
    """Where the finished model of a run is written.

    Attributes:
        place: Its folder.
        overwrite: Whether a model there is replaced.
    """

    place: Path
    overwrite: bool


def output_of(run: TrainingRun, *, is_chief: bool) -> Output:
    """Return where the model of a run is written: where its job asks for it, of a cluster by its chief alone.

    Raises:
        ModelError: If it cannot be written there.
    """
    wanted = run.job.out if is_chief else ""
    place = Path(wanted or run.model).resolve()
    overwrite = run.job.overwrite or not wanted or run.has_saved(place)
    store.check_writable(place.name, folder=place.parent, overwrite=overwrite)
    return Output(place, overwrite)


def finish(
    run: TrainingRun,
    output: Output,
    dataset: Dataset,
    evaluator: Evaluator,
    seconds: float,
    keep_going: Callable[[], None],
) -> None:
    """Calibrate the best model of a run, measure it on its test rows, the roles of its heads and how well
    effects are estimated, and write it once; if it is stopped meanwhile, with what was measured so far.

    Args:
        run: The run.
        output: Where the model is written, besides the run.
        dataset: Its data.
        evaluator: What it was validated with.
        seconds: Time of all steps.
        keep_going: Called often; may raise to stop.
    """
    best, is_own = store.read_model(run.model), output.place == run.model.resolve()
    dtype = "float32" if is_own else "float16"
    facts: dict[str, Any] = {}
    roles = None
    evaluator.set_parameters(best.parameters)
    try:
        facts |= _named(calibration=evaluator.calibrate())
        written = {name: value.astype(dtype).astype(np.float32) for name, value in best.parameters.items()}
        tested = explorer_of(dataclasses.replace(best, config=dataset.config, parameters=written))
        facts |= _named(test=dataset.test_metrics(tested, keep_going))
        del tested, written
        roles = evaluator.head_roles(keep_going)
        facts |= evaluator.effects(min(MOST_EFFECT_SECONDS, EFFECT_SHARE * seconds), keep_going) or {}
    finally:
        card = model_card(run, dataset, seconds) | facts
        run.check_exists()
        write_model(run.model, dataset, best.parameters, card, head_roles=roles)
        if not is_own:
            options = {"dtype": dtype, "overwrite": output.overwrite}
            write_model(output.place, dataset, best.parameters, card, head_roles=roles, **options)


def _named(**facts):
    """Return those facts that are known."""
    return {name: fact for name, fact in facts.items() if fact is not None}
