"""Compares small folders of all model types of `transformers` with what it answers: `make check-hub-types`.

By hand, without a network, with a Python that has torch and transformers (as for check_hub.py):

    make check-hub-types TORCH=~/torch/bin/python
    make check-hub-types TORCH=~/torch/bin/python ARGS="bert/BertModel albert/AlbertModel"

That Python makes the folders (hub_types.py). What opens here is compared with its answers to a text, and to a
pair of texts; what does not must say why in both languages. The results are written into hub_types.json if no
folder is named. The exit status is 1 if numbers differ, or something else than a sentence is said.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from check_hub import compared
from hub_texts import SECOND, TEXT

import transformer_viz as tv
from transformer_viz.explorer.forward import CompiledFunction
from transformer_viz.language import LANGUAGES, Phrase, sentence_of
from transformer_viz.store import ModelError

HERE = Path(__file__).parent
RESULTS = HERE / "hub_types.json"


def main(arguments=None):
    """Make the folders, print a row for each, and write the results; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="folders, as hub_types.json calls them; none: all")
    parser.add_argument("--torch", default=sys.executable, help="a Python with torch and transformers")
    parser.add_argument("--folder", help="where to make the folders, or where they are already")
    given = parser.parse_args(arguments)
    CompiledFunction._graph = property(
        lambda self: self._function.python_function
    )  # a pass of each is enough
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(given.folder or temporary)
        if not given.folder or not any(place.glob("*")):
            subprocess.run([given.torch, HERE / "hub_types.py", place, *given.names], check=True)
        results = {}
        for folder in sorted(place.iterdir()):
            name = folder.name.replace("+", "/")
            if not given.names or name in given.names:
                results[name] = result_of(folder)
                print(f"{name}: {results[name]}", flush=True)
    if not given.names:
        write(results)
    return int(any("wrong" in result for result in results.values()))


def write(results):
    """Write the results, a line for each folder of a type that opens, and one with all other types."""
    other = [name for name, result in results.items() if result == {"refused": "hugging.type"}]
    rows = {name: result for name, result in results.items() if name not in other} | {"no such type": other}
    lines = (f" {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def result_of(folder):
    """Return what came of a folder: numbers, what is "refused", and what is "wrong"."""
    try:
        explorer = tv.load(folder)
    except ModelError as error:
        return {"refused": reason_of(error)}
    except Exception as error:  # what must not happen is a result, too
        return {"wrong": f"{type(error).__name__}: {error}"}
    if (folder / "failed.txt").exists():
        return {"transformers": (folder / "failed.txt").read_text()}
    found = {}
    for name, text in (("answers", TEXT), ("pair", f"{TEXT} [SEP] {SECOND}")):
        if (folder / f"{name}.npz").exists():
            row = compared(folder.name, explorer, dict(np.load(folder / f"{name}.npz")), text)
            found[name] = [float(f"{number:.0e}") for number in (row.weights, row.logits)]
            if row.verdict != "equal":
                found["wrong"] = f"{name}: {row.verdict}"
    return found


def reason_of(error):
    """Return the code of a refusal and its facts that name no place; each language must have a sentence."""
    assert len({sentence_of(error, language) for language in LANGUAGES}) == len(LANGUAGES)
    inner = error.facts.get("reason", error)
    inner = inner if isinstance(inner, Phrase) else error
    facts = {name: fact for name, fact in inner.facts.items() if name in ("name", "received", "wanted")}
    return " ".join([inner.code, *map(str, facts.values())]) if inner.code != "hugging.type" else inner.code


if __name__ == "__main__":
    sys.exit(main())
