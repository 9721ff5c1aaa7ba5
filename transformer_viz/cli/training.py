"""The commands that train a model, and list, resume and stop runs."""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from transformer_viz import store
from transformer_viz.cli.language import listed, localized, t, words
from transformer_viz.cli.metrics import figure_name, metrics_text
from transformer_viz.cli.output import give, in_words, progress, remark, say, table
from transformer_viz.cli.planning import kind_of_rows, planned
from transformer_viz.cli.program import example, program
from transformer_viz.data import COLUMN_ROLES, NAMED, BadRows, Preview, preview
from transformer_viz.data.encodings import UTF_8
from transformer_viz.data.named import check_named
from transformer_viz.language import Phrase, joined
from transformer_viz.network.startup import import_with_keras
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run, list_runs, open_run, runs_folder
from transformer_viz.training.runs.recipes import (
    FEW_ROWS,
)

UNFINISHED = {"stopped": "cli.train.stopped", "queued": "cli.train.queued"}
"""Status of an unfinished run -> the sentence about it."""


def train(arguments: Namespace) -> None:
    """Train a model in a new run, with a progress bar, and write its metrics."""
    job, found = planned(arguments)
    store.check_writable(Path(job.out).name, folder=Path(job.out).parent, overwrite=job.overwrite)
    if job.data in NAMED:
        check_named(job.data)
    if found:
        _show_kind(job, found)
        others = filter(None, (*job.more_data, *job.train_only, job.test))
        show_encodings({job.data: found, **{path: preview(path, job.options) for path in others}})
    _train_run(create_run(job))


def _show_kind(job: TrainingJob, found: Preview) -> None:
    """Say as what the first file is read, and whether it is too small to learn from."""
    kind = kind_of_rows(job.config)
    chosen = found.guess.get(kind, {}) | job.columns
    chosen = {"text" if role == "source" else role: name for role, name in chosen.items()}
    if chosen.keys() >= set(COLUMN_ROLES[kind]):
        remark(localized(Phrase(f"file.read_as.{kind}", path=job.data, **chosen)))
    if found.num_rows < FEW_ROWS and not job.more_data:
        remark(localized(Phrase("file.few_rows", path=job.data, count=found.num_rows)))


def show_encodings(files: Mapping[str, Preview]) -> None:
    """Say the encoding of each file that is not in UTF-8."""
    for path, found in files.items():
        if found.encoding not in (UTF_8, ""):
            remark(localized(Phrase("file.decoded", path=path, encoding=found.encoding)))


def resume(arguments: Namespace) -> None:
    """Resume a run that was stopped, was interrupted or has failed."""
    run = open_run(arguments.run)
    run.queue()
    _train_run(run)


def stop(arguments: Namespace) -> None:
    """Stop a run; the best model so far is kept."""
    open_run(arguments.run).stop()


def list_all_runs(arguments: Namespace) -> None:
    """Write id, status, steps and best metric of every run."""
    runs = [*map(_facts_of, list_runs())]
    if runs:
        frame = pd.DataFrame([*map(_row_of, runs)], columns=pd.Index(["run", "status", "steps", "best"]))
        say(table(in_words(frame), index=False))
    else:
        say(t("cli.runs.none", folder=runs_folder(), example=example("train")))
    give(runs)


def _facts_of(run):
    """Return the facts of a run for scripts; of one that is damaged only why."""
    state = run.state()
    facts = {"run": run.id, "status": state.status}
    if state.status == "broken":
        return facts | {"error": localized(run.error or "")}
    metric = run.job.metric
    best = state.best and state.best.get(f"val_{metric}")
    steps = {"step": state.step, "total_steps": state.facts.get("total_steps")}
    error = state.problem and localized(state.problem)
    return facts | steps | {"metric": metric, "best": best, "error": error}


def _row_of(run):
    """Return the facts of a run as a row of a table."""
    status = t(f"run.{run['status']}")
    if run["status"] == "broken":
        return run["run"], status, "", run["error"]
    steps = t("cli.runs.steps", step=run["step"], total=run["total_steps"] or 0)
    best = "" if run["best"] is None else f"{figure_name(run['metric'])} {run['best']:.4f}"
    return run["run"], status, steps, best


def _train_run(run):
    """Train a run in this process; Ctrl-C stops it between two steps."""
    worker, job = import_with_keras("training.worker"), import_with_keras("training.job")
    remark(t("cli.train.begun", run=run.id, command=f"{program()} resume {run.id}"))
    with worker.stopped_by_signals(run), Waiting(run) as waiting, worker.training_lock(waiting.look):
        waiting.end()
        if run.status == "queued":  # another process may have trained it in the meantime
            with Progress() as progress:
                job.work(run, watch=progress.watch)
    state = run.state()
    if state.status == "failed":
        raise state.problem or RunError("runs.was_stopped", run=run.id)
    if state.status != "finished":
        key = UNFINISHED.get(state.status, "cli.train.other")
        how = t(key, status=t(f"run.{state.status}"), step=state.step)
        best = t("cli.train.best", model=run.model) if state.best else t("cli.train.no_best")
        say(joined(how, best))
        return
    card, place = store.read_model(run.model).card, run.events()[-1]["model"]
    say(t("cli.train.wrote", place=place, parameters=card["parameters"], epoch=card["best_epoch"]))
    if state.still_improves:
        remark(t("run.improves"))
    for kind in ("validation", "test"):
        if kind in card:
            figures = metrics_text(card[kind])
            say(t(f"cli.train.measured.{kind}", figures=figures, rows=card[kind]["rows"]))


class Waiting:
    """The run that another process trains, said once, and its progress as a bar on a terminal.

    Args:
        run: The run that waits.
    """

    def __init__(self, run: TrainingRun):
        self._run, self._other, self._bar = run, None, tqdm(disable=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.end()

    def end(self) -> None:
        """Remove the bar."""
        self._bar.close()

    def look(self) -> None:
        """Show what is trained now.

        Raises:
            KeyboardInterrupt: If the run that waits was stopped.
        """
        if self._run.stop_requested:
            raise KeyboardInterrupt
        at_work = next((run for run in list_runs() if run.status == "running"), None)
        if at_work is None:  # the other process has just begun, or is about to end
            if self._other is None:
                remark(localized(Phrase("command.waits_for_other")))
            self._other = self._other or ""
            return
        state = at_work.state()
        total = state.facts.get("total_steps") or None
        if at_work.id != self._other:
            self.end()
            facts = {"run": at_work.id, "step": state.step, "total": total or "?"}
            remark(localized(Phrase("command.waits", **facts)))
            self._bar = progress(total=total, unit="steps", leave=False)
        self._other, self._bar.total = at_work.id, total
        self._bar.update(state.step - self._bar.n)


class Progress:
    """Events of a run as a progress bar and a line per epoch."""

    def __enter__(self):
        self._bar = tqdm(disable=True)
        return self

    def __exit__(self, *error):
        self._bar.close()

    def watch(self, event: dict[str, Any]) -> None:
        """Display an event."""
        kind = event["event"]
        if kind == "data":
            for facts in event["left_out"]:
                for sentence in BadRows.from_json(facts).said():
                    remark(localized(sentence))
            if "note" in event:
                remark(words().translate(event["note"], under="error.precision."))
            self._bar = progress(total=event["total_steps"], unit="steps")
        elif kind in ("step", "epoch"):
            self._bar.update(event["step"] - self._bar.n)
            self._bar.set_postfix_str(t("run.loss_now", loss=f"{event['loss']:.4f}"))
        if kind == "epoch":
            hidden = ("event", "epoch", "step", "best", "seconds")
            figures = (
                f"{figure_name(name)} {value:.4f}" for name, value in event.items() if name not in hidden
            )
            line = t("cli.train.epoch", epoch=event["epoch"], figures=listed(*figures))
            remark(line + " *" * event["best"])
