"""Compares well-known models of the hub with what `transformers` answers: `make check-hub`.

By hand, with a network: about 500 MB are fetched into the hub's cache. torch and transformers are no
dependencies, and torch cannot share a process with TensorFlow: they answer in another Python, here in an
environment of their own.

    python3 -m venv ~/torch && ~/torch/bin/pip install torch transformers sentencepiece protobuf
    make check-hub TORCH=~/torch/bin/python
    make check-hub TORCH=~/torch/bin/python ARGS="Qwen/Qwen2.5-0.5B path/to/folder"

A row for each model: whether the tokens are equal, the largest differences of attention weights and of logits
(of vectors, where there is no head), and what follows. The exit status is 1 if one is outside the tolerance.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

import transformer_viz as tv
from transformer_viz.store import ModelError
from transformer_viz.store.hugging_face import hub

MODELS = (
    "google/bert_uncased_L-2_H-128_A-2",
    "sentence-transformers/all-MiniLM-L6-v2",
    "distilbert/distilgpt2",
    "EleutherAI/pythia-14m",
    "google-t5/t5-small",
)

TEXT = "My friend's café in Zürich was not good, but the acting there was unbelievably good."
TARGET = "The café was good."

WEIGHTS, LOGITS = 3e-5, 1e-5
"""Largest difference of weights, and of logits as a share of the largest one, which counts as 10 at least."""

ANSWERS = Path(__file__).with_name("answers_of.py")


class Row(NamedTuple):
    """How a model compares; nothing but the verdict where it cannot be opened.

    Attributes:
        model: Its name or folder.
        tokens: Whether the token ids are equal.
        weights: Largest difference of attention weights.
        logits: Largest difference of logits or vectors.
        verdict: "equal", or what is wrong.
    """

    model: str
    tokens: bool | None = None
    weights: float | None = None
    logits: float | None = None
    verdict: str = "equal"


def main(arguments=None):
    """Print the table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="*", default=MODELS, help="names on the hub, or folders")
    parser.add_argument("--torch", default=sys.executable, help="a Python with torch and transformers")
    given = parser.parse_args(arguments)
    form, same = "{:42} {:6} {:>9} {:>9}  {}", True
    print(form.format("model", "tokens", "weights", "logits", "verdict"))
    for name in given.models:
        row = checked(name, given.torch)
        tokens = {None: "-", True: "equal", False: "differ"}[row.tokens]
        numbers = ("-" if each is None else f"{each:.1e}" for each in (row.weights, row.logits))
        print(form.format(row.model, tokens, *numbers, row.verdict), flush=True)
        same = same and row.verdict == "equal"
    return int(not same)


def checked(name, python):
    """Return the row of a model."""
    try:
        folder = Path(name) if Path(name).is_dir() else hub.cached_folder(name)
        explorer = tv.load(folder)
    except ModelError as error:
        return Row(name, verdict=str(error))
    answers = answered(folder, python)
    return Row(name, verdict=answers) if isinstance(answers, str) else compared(name, explorer, answers, TEXT)


def answered(folder, python):
    """Return what `transformers` answers in a process of its own, or what that process says at its end."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "answers.npz")
        command = [python, ANSWERS, folder, file, TEXT, TARGET]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or not file.exists():
            return f"transformers: {(done.stderr.strip().splitlines() or ['no answer'])[-1]}"
        with np.load(file) as found:
            return dict(found)


def compared(name, explorer, answers, text):
    """Return how a model's trace compares with recorded answers.

    Args:
        name: Its name.
        explorer: The model.
        answers: As answers_of.py writes them.
        text: To which they were given.
    """
    ids, target = answers["ids"].tolist(), {}
    if "target" in answers:
        target = {"target": answers["target"][len(explorer.config.target_start) :].tolist()}
    tokens = explorer.encode([text])[0].tolist() == ids
    trace = explorer.trace(ids, **target)
    weights = max(difference(ours, answers[kind]) for kind, ours in weights_of(trace).items())
    kind = "logits" if "logits" in answers and explorer.config.num_outputs else "hidden"
    logits = difference(trace.logits if kind == "logits" else trace.values.final, answers[kind])
    most = LOGITS * max(10, np.abs(answers[kind]).max())
    wrong = {"tokens": not tokens, "weights": not weights <= WEIGHTS, kind: not logits <= most}
    verdict = ", ".join(part for part, is_wrong in wrong.items() if is_wrong)
    return Row(name, tokens, weights, logits, f"{verdict} differ" if verdict else "equal")


def weights_of(trace):
    """Return the weights of all layers by the names of the answers."""
    own = [each.attention for each in trace.encoder] or [each.self_attention for each in trace.decoder]
    found = {"attentions": own}
    if trace.encoder and trace.decoder:
        found["decoder"] = [each.self_attention for each in trace.decoder]
        found["cross"] = [each.cross_attention for each in trace.decoder]
    return {kind: np.stack([each.weights for each in layers]) for kind, layers in found.items()}


def difference(ours, theirs):
    """Return the largest difference of two arrays; infinite if they have different shapes."""
    ours = np.asarray(ours)
    return float(np.abs(ours - theirs).max()) if ours.shape == theirs.shape else np.inf


if __name__ == "__main__":
    sys.exit(main())
