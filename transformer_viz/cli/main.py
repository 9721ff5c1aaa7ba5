"""The command line: `transformer-viz COMMAND --help`, or `python -m transformer_viz COMMAND --help`."""

import argparse
import dataclasses
import json
import os
import platform
import shlex
import sys
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from transformer_viz import __version__, store
from transformer_viz.cli import doctor
from transformer_viz.cli.serve import serve
from transformer_viz.data import NAMED, read_for_decoder, read_labelled, read_pairs
from transformer_viz.data.tasks import TASKS
from transformer_viz.language import Phrase, Problem, Words, language_of, sentence_of
from transformer_viz.network.startup import load_upper_floor
from transformer_viz.runs import (
    RunError,
    TrainingJob,
    TrainingSettings,
    create_run,
    list_runs,
    open_run,
    runs_folder,
)
from transformer_viz.text.kinds import TOKEN_KINDS
from transformer_viz.values.presets import PRESETS

EXAMPLES = {
    "models": "models",
    "predict": 'predict --model imdb-sentiment --text "What a lovely film"',
    "generate": 'generate --model reverse-digits --text "1 2 3"',
    "trace": 'trace --model imdb-sentiment --text "Not good at all" --out t.npz',
    "train": "train --preset single-block --data reviews.csv --out my-model",
    "runs": "runs",
    "resume": "resume 20260301-101500-reviews-3f2a",
    "stop": "stop 20260301-101500-reviews-3f2a",
    "evaluate": "evaluate --model imdb-sentiment --data test.csv.gz",
    "doctor": "doctor",
}
"""Command -> an example of it, without the name of the program."""

COMMAND = "transformer-viz"
"""What `pip install` makes of `main`."""

FILES = (
    "CSV, TSV or JSONL, optionally gzipped, with the columns text,label for an encoder or text,target for a "
    "decoder; for a decoder-only model also plain text"
)

ENDED_EARLY = {"stopped": "Stopped", "queued": "Queued behind a run of another owner"}
"""How a run stands that has not been trained to its end -> how that is said."""

LIKELIEST = 5
"""Classes or tokens that `trace` prints."""

SETTINGS_HELP = {
    "epochs": "maximum number of epochs",
    "batch_size": "texts per training step",
    "learning_rate": "peak learning rate",
    "schedule": "learning rate schedule after the warm-up: cosine, paper (1 / sqrt(step)) or constant",
    "warmup": "warm-up, as a share of all steps; 1 or more = number of steps",
    "beta_2": "Adam's beta_2, the decay rate of the second moment",
    "weight_decay": "decoupled weight decay (AdamW); 0 = plain Adam",
    "clip_norm": "gradient-norm clip (global norm); 0 = off",
    "label_smoothing": "share of the target probability spread evenly over all classes",
    "word_dropout": "share of tokens replaced by [UNK] during training",
    "crop": "share of training texts cropped to a random part",
    "average": "decay of the exponential moving average (EMA) of the parameters; 0 = off",
    "pack": "pack texts into rows of max_len tokens without padding (language modelling)",
    "precision": "float32, or, on GPUs that support it, bfloat16 or float16",
    "patience": "early stopping patience: epochs without improvement on the validation set",
    "validation": "share of rows for the validation set, which selects the best epoch",
    "test_share": "share of rows for the test set, evaluated once, after training",
    "seed": "random seed of the split, the initial parameters, the order of rows and dropout",
}


def main(argv=None) -> int:
    """Run one command, or open the app; return 0, or 2 for a mistake of the user's, in one sentence."""
    argv = sys.argv[1:] if argv is None else argv
    arguments = build_parser().parse_args(argv)
    arguments.argv = argv
    try:
        return arguments.command(arguments) or 0
    except (ValueError, MemoryError) as error:
        problem = error if str(error) else Problem("command.memory")
        print(f"{arguments.name}: {_said(problem)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        stopped = _said(Problem("command.stopped"))
        print(f"{arguments.name}: {stopped}", file=sys.stderr)
        return 130


def _said(problem):
    """Return the sentence of an error in the language that the environment asks for."""
    return sentence_of(problem, language_of(os.environ))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(prog=program(), description="Open the app, or run a command.")
    parser.add_argument("--version", action="version", version=f"Transformer Viz {__version__}")
    parser.add_argument("--no-browser", action="store_true", help="serve the app, but open no window")
    parser.add_argument("--port", type=int, help="port to serve the app on (default 8501, or the next free)")
    parser.set_defaults(command=open_app, name=_short(program()))
    commands = parser.add_subparsers(metavar="COMMAND")

    def add(name, command, text):
        sub = commands.add_parser(name, help=text, description=text, epilog=f"example: {example(name)}")
        sub.set_defaults(command=command, name=f"{_short(program())} {name}")
        return sub

    add("models", list_models, "List the available models.")
    add("doctor", examine, "Check versions, devices, memory, disk, folders and engine, and suggest fixes.")

    sub = add("predict", predict, "Classify texts, or fill in each [MASK].")
    sub.add_argument("--model", required=True, help="a name on the shelf, or a folder")
    sub.add_argument("--text", required=True, nargs="+", help="one or more texts, each in quotes")

    sub = add("generate", generate, "Generate text with a decoder: translate a text, or continue it.")
    sub.add_argument("--model", required=True, help="a name on the shelf, or a folder")
    sub.add_argument("--text", required=True, nargs="+", help="one or more texts, each in quotes")
    sub.add_argument("--beam-size", type=int, default=1, help="beam width; 1 = greedy decoding")

    sub = add("trace", trace, "Save every tensor of a forward pass to an .npz file.")
    sub.add_argument("--model", required=True, help="a name on the shelf, or a folder")
    sub.add_argument("--text", required=True, help="the text, in quotes")
    sub.add_argument("--target", help="decoder input of an encoder-decoder; default: the generated text")
    sub.add_argument("--out", required=True, type=Path, help="the .npz file to write")

    sub = add("evaluate", evaluate, "Evaluate a model on a data set.")
    sub.add_argument("--model", required=True, help="a name on the shelf, or a folder")
    sub.add_argument("--data", required=True, type=Path, help=f"{FILES}; or {', '.join(NAMED)}")
    _add_columns(sub)

    _add_train_arguments(add("train", train, "Train a model and save it."))
    add("runs", list_all_runs, "List training runs with status, progress and best result.")
    for name, command, text in (
        ("resume", resume, "Resume a training run from its last checkpoint."),
        ("stop", stop, "Stop a training run; the best model so far is kept."),
    ):
        add(name, command, text).add_argument("run", help="run id, as listed by `runs`")
    return parser


def program() -> str:
    """Return the command by which this program was started."""
    return COMMAND if Path(sys.argv[0]).stem == COMMAND else "python -m transformer_viz"


def example(name) -> str:
    """Return an example of a command, as it can be typed."""
    return f"{program()} {EXAMPLES[name]}"


def _short(called):
    return called.removeprefix("python -m ")


def open_app(arguments):
    """Serve the app until Ctrl-C, and open a window on it."""
    serve(browser=not arguments.no_browser, port=arguments.port)


def list_models(arguments):
    """Print name, task, size and test figure of every model."""
    models = store.list_models()
    if not models:
        print(f"There are no models in {store.models_folder()}. Train one: {example('train')}")
        return
    rows = []
    for model in models:
        figures = _figures(model.card.get("test", {})).items()
        parameters = f"{model.config.num_parameters:,}" if model.config else ""
        damage = Phrase("command.damaged", reason=model.error)
        task = _said(damage) if model.error else model.card.get("task", "")
        test = " ".join(f"{name} {value:.4f}" for name, value in figures) or "not measured"
        rows.append((model.name, task, parameters, f"{model.size / 1e6:.1f} MB", test))
    print(pd.DataFrame(rows, columns=["name", "task", "parameters", "size", "test"]).to_string(index=False))


def predict(arguments):
    """Print label, probability and text of each text; or what is likeliest in the place of each [MASK]."""
    explorer = _load(arguments.model)
    if explorer.config.fills_in:
        for text in arguments.text:
            print(explorer.fill_in(text).to_string(index=False, float_format="{:.4f}".format))
        return
    frame = explorer.predict(arguments.text)
    for row in frame.to_dict("records"):
        print(f"{row['label']}  {row['prob_' + row['label']]:.4f}  {row['text']}")


def generate(arguments):
    """Print what a decoder writes for each text."""
    explorer = _load(arguments.model)
    for text in arguments.text:
        written = explorer.generate(text, beam_size=arguments.beam_size, keep="weights")
        print(f"{text} -> {written.text}{'' if written.finished else ' ...'}")


def trace(arguments):
    """Write one trace, say what was read, and what is likeliest: a class, or a token, next or in a gap."""
    if not arguments.out.parent.is_dir():
        raise Problem("command.no_folder", folder=arguments.out.parent, file=arguments.out.name)
    result = _load(arguments.model).trace(arguments.text, target=arguments.target)
    try:
        result.save(arguments.out)
    except OSError as error:
        raise Problem("command.unwritable", file=arguments.out, reason=error.strerror) from None
    print(" ".join(result.tokens))
    if result.num_dropped:
        print(f"{len(result.tokens)} of {len(result.tokens) + result.num_dropped} tokens were read.")
    probs = result.probs if result.probs.ndim == 1 else result.probs[[*result.gaps, -1][0]]
    likeliest = probs.argsort()[::-1][:LIKELIEST]
    print(", ".join(f"{result.labels[i]} {probs[i]:.4f}" for i in likeliest))
    print(f"Wrote {arguments.out} ({arguments.out.stat().st_size / 1e3:,.0f} kB).")


def evaluate(arguments):
    """Print accuracy, precision, recall and a confusion table; of a decoder, how much it writes rightly, or
    how well it predicts texts.
    """
    explorer = _load(arguments.model)
    if explorer.config.has_decoder:
        read = read_pairs if explorer.config.has_encoder else read_for_decoder
        rows = read(arguments.data, _columns(arguments))
        if not rows["target"].any():
            _evaluate_texts(explorer, rows["text"])
            return
        result = load_upper_floor("inspection.evaluation").evaluate_writing(explorer, rows)
        print(f"rows            {result.rows:,}\nexact match     {result.exact_match:.4f}")
        print(f"token accuracy  {result.token_accuracy:.4f}")
        return
    if explorer.config.fills_in:
        rows = read_for_decoder(arguments.data, _columns(arguments))
        result = load_upper_floor("inspection.perplexity").evaluate_hidden(
            explorer, rows["text"], progress=True
        )
        print(f"texts           {result.texts:,}\nhidden tokens   {result.tokens:,}")
        print(f"perplexity      {result.perplexity:.4f}\ntoken accuracy  {result.token_accuracy:.4f}")
        return
    name = str(arguments.data)
    rows = NAMED[name]()[1] if name in NAMED else read_labelled(arguments.data, _columns(arguments))
    result = load_upper_floor("inspection.evaluation").evaluate(explorer, rows, progress=True)
    print(f"rows      {result.rows:,}\naccuracy  {result.accuracy:.4f}\n")
    print(result.by_label.to_string(float_format="{:.4f}".format))
    print(f"\n{result.confusion.to_string()}\n(rows: true label; columns: predicted)")


def _evaluate_texts(explorer, texts):
    result = load_upper_floor("inspection.perplexity").evaluate_texts(explorer, texts, progress=True)
    print(f"texts           {result.texts:,}\ntokens          {result.tokens:,}")
    print(f"perplexity      {result.perplexity:.4f}\nbits per byte   {result.bits_per_byte:.4f}")
    print(f"token accuracy  {result.token_accuracy:.4f}")


def train(arguments):
    """Train in a run of its own, showing how it goes, and print the figures."""
    settings = TrainingSettings(
        **{field.name: getattr(arguments, field.name) for field in dataclasses.fields(TrainingSettings)}
    )
    job = TrainingJob(
        config=PRESETS[arguments.preset].replace(**dict(map(_assignment, arguments.set))),
        settings=settings,
        data=arguments.data[0],
        more_data=arguments.data[1:],
        rows=arguments.rows,
        tokens=arguments.tokens,
        keep_case=arguments.keep_case,
        test=arguments.test or "",
        label_names=dict(map(_label_name, arguments.label_names)),
        probes=tuple(arguments.probes),
        card={
            "preset": arguments.preset,
            "command": _command_of(arguments),
            "source": arguments.source,
            "licence": arguments.licence,
            "examples": arguments.examples,
        },
        out=_place_of(arguments.out),
        overwrite=arguments.overwrite,
        columns=_columns(arguments),
    )
    _work(create_run(job))


def resume(arguments):
    """Go on with a run that was stopped, interrupted or has failed."""
    run = open_run(arguments.run)
    run.queue()
    _work(run)


def stop(arguments):
    """Ask a run to stop; the best model so far is kept."""
    open_run(arguments.run).stop()


def list_all_runs(arguments):
    """Print id, status, steps and best figure of every run."""
    rows = []
    for run in list_runs():
        state = run.state()
        if state.status == "broken":
            rows.append((run.id, state.status, "", _said(run.error or "")))
            continue
        steps = f"{state.step:,} of {state.facts.get('total_steps', 0):,}"
        figure = run.job.metric
        value = state.best and state.best.get(f"val_{figure}")
        best = "" if value is None else f"{figure.replace('_', ' ')} {value:.4f}"
        rows.append((run.id, state.status, steps, best))
    if not rows:
        print(f"There are no runs in {runs_folder()}. Begin one: {example('train')}")
        return
    print(pd.DataFrame(rows, columns=["run", "status", "steps", "best"]).to_string(index=False))


def _work(run):
    """Work on a run in this process; Ctrl-C stops it between two steps."""
    worker, job = load_upper_floor("training.worker"), load_upper_floor("training.job")
    print(f"Run {run.id}; stop it with Ctrl-C, resume it with: {program()} resume {run.id}")
    with worker.training_lock(), worker.stopped_by_signals(run), Progress() as progress:
        if run.status == "queued":  # the app's own process may have done it while we waited
            job.work(run, watch=progress.watch)
    state = run.state()
    if state.status == "failed":
        raise state.problem or RunError("runs.was_stopped", run=run.id)
    if state.status != "finished":
        best = run.model if state.best else "none yet"
        how = ENDED_EARLY.get(state.status, f"The run is {state.status}")
        print(f"{how} at step {state.step:,}. The best model so far: {best}.")
        return
    card, place = store.read_model(run.model).card, run.events()[-1]["model"]
    print(f"Wrote {place}: {card['parameters']:,} parameters, best epoch {card['best_epoch']}.")
    for kind in ("validation", "test"):
        if kind in card:
            figures = ", ".join(f"{name} {value:.4f}" for name, value in _figures(card[kind]).items())
            print(f"{kind} {figures}, {card[kind]['rows']:,} rows")


class Progress:
    """What a run says, as a progress bar and a line for each epoch."""

    def __enter__(self):
        self._bar = None
        return self

    def __exit__(self, *error):
        if self._bar is not None:
            self._bar.close()

    def watch(self, event):
        """Show an event."""
        kind = event["event"]
        if kind == "data":
            if "note" in event:
                tqdm.write(Words(language_of(os.environ)).same(event["note"], under="error.precision."))
            self._bar = tqdm(total=event["total_steps"], unit="step", disable=not sys.stderr.isatty())
        elif kind in ("step", "epoch"):
            self._bar.update(event["step"] - self._bar.n)
            self._bar.set_postfix_str(f"loss {event['loss']:.4f}")
        if kind == "epoch":
            unsaid = ("event", "epoch", "step", "best", "seconds")
            figures = (f"{name} {value:.4f}" for name, value in event.items() if name not in unsaid)
            tqdm.write(f"epoch {event['epoch']}: {', '.join(figures)}{' *' if event['best'] else ''}")


def _figures(measured):
    """Return the headline figures among what a card says was measured."""
    return {
        name.replace("_", " "): measured[name]
        for name in (
            "accuracy",
            "bleu",
            "perplexity",
            "bits_per_byte",
            "exact_match",
            "token_accuracy",
            "induction_score",
        )
        if name in measured
    }


def examine(arguments):
    """Print what the app needs and what was found; return 1 if something is wrong, after its remedy."""
    print(f"Transformer Viz {__version__}, {platform.platform()}")
    wrong = 0
    for subject, fact, remedy in doctor.examine():
        print(f"  {subject:14} {fact}")
        if remedy:
            print(f"  {'':14} remedy: {remedy}")
            wrong += 1
    print(f"  {wrong} to fix" if wrong else "  all is well")
    return 1 if wrong else 0


def _add_train_arguments(sub):
    sub.add_argument("--preset", required=True, choices=PRESETS, help="the architecture to start from")
    sub.add_argument(
        "--data",
        required=True,
        nargs="+",
        type=Path,
        help=f"one or more files ({FILES}); or a data set: {', '.join(NAMED)}; or a task that generates its "
        f"data: {', '.join(TASKS)}",
    )
    _add_columns(sub)
    sub.add_argument("--tokens", choices=TOKEN_KINDS, default="words", help="tokenisation (default words)")
    sub.add_argument("--keep-case", action="store_true", help="case-sensitive tokens")
    sub.add_argument(
        "--rows", type=int, default=20_000, help="examples that a task generates (default 20000)"
    )
    sub.add_argument("--out", required=True, help="a name for the model on the shelf, or a folder to write")
    sub.add_argument("--test", type=Path, help="test set: a file, evaluated once, after training")
    sub.add_argument("--overwrite", action="store_true", help="replace an existing model of that name")
    sub.add_argument(
        "--set",
        nargs="+",
        default=[],
        metavar="FIELD=VALUE",
        help="override preset fields: d_model=64",
    )
    sub.add_argument(
        "--label-names",
        nargs="+",
        default=[],
        metavar="LABEL=NAME",
        help="names of labels: 0=negative",
    )
    sub.add_argument("--source", default="", help="source of the data, for the model card")
    sub.add_argument("--licence", default="", help="licence of the data, for the model card")
    sub.add_argument("--examples", nargs="+", default=[], help="example texts for the app, best first")
    sub.add_argument(
        "--probes",
        nargs="+",
        default=[],
        help="texts whose attention is recorded during training, in the run's folder",
    )
    group = sub.add_argument_group("training")
    for field in dataclasses.fields(TrainingSettings):
        name = f"--{field.name.replace('_', '-')}"
        if field.type is bool:
            group.add_argument(name, action="store_true", help=SETTINGS_HELP[field.name])
            continue
        said = f"{SETTINGS_HELP[field.name]} (default {field.default})"
        group.add_argument(name, type=field.type, default=field.default, help=said)


def _add_columns(sub):
    sub.add_argument(
        "--columns",
        nargs="+",
        default=[],
        metavar="ROLE=NAME",
        help="columns of the text, label, target or group, if they cannot be inferred: text=review",
    )


def _columns(arguments):
    """Return role -> column."""
    columns = {}
    for each in arguments.columns:
        role, equals, name = each.partition("=")
        if not (role and equals and name):
            raise Problem("command.columns", received=repr(each))
        columns[role] = name
    return columns


def _load(model):
    return load_upper_floor("inspection.explorer").load(model)


def _place_of(out):
    """Return the path of the folder to write: a name alone is one on the shelf, as `--model` reads it."""
    return Path(out) if store.is_path(out) else store.models_folder() / out


def _assignment(text):
    """FIELD=VALUE -> (field, value as JSON says, or the text itself)."""
    field, equals, value = text.partition("=")
    if not equals:
        raise Problem("command.set", received=repr(text))
    try:
        return field, json.loads(value)
    except ValueError:
        return field, value


def _label_name(text):
    label, equals, name = text.partition("=")
    if not (equals and name):
        raise Problem("command.label_names", received=repr(text))
    return label, name


def _command_of(arguments):
    """Return the command as typed, with files by their name alone and a model's folder in `models/`."""
    paths = {str(path): path.name for path in (*arguments.data, arguments.test) if path}
    if store.is_path(arguments.out):
        paths[arguments.out] = f"models/{Path(arguments.out).name}"
    return f"{program()} {shlex.join(paths.get(part, part) for part in arguments.argv)}"
