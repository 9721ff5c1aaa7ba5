"""The documentation site in both languages, and its pages that are made from the product itself.

`make docs` writes what the pages of commands, models and terms hold behind `MARK`, and builds docs/site,
strictly: a link without an end is an error. English stands at its top, Chinese in zh/.
"""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

from transformer_viz import store
from transformer_viz.cli.main import main as main_of_commands
from transformer_viz.cli.program import COMMAND, EXAMPLES
from transformer_viz.language import Words
from transformer_viz.language.glossary import glossary
from transformer_viz.ui.shell.card import METRICS, metric_text, metrics_of

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
LANGUAGES = ("en", "zh")

SOURCE = FOLDER / ".source"
"""What the site is built from: the pages of docs/LANGUAGE, and those that stand elsewhere."""

COPIED = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
"""Page of the site -> file at the top of the project."""

COLUMNS = "88"
"""Width of the lines of a command's help."""

MARK = "<!-- What follows is made by `make docs`. -->"


def main() -> int:
    """Write the pages that are made, and build the site; return 0 if all links have an end."""
    shutil.rmtree(FOLDER / "site", ignore_errors=True)
    shutil.rmtree(SOURCE, ignore_errors=True)
    for language in LANGUAGES:
        for name, text in made(language).items():
            (FOLDER / language / name).write_text(text, encoding="utf-8")
        shutil.copytree(FOLDER / language, SOURCE / language)
    for page, source in COPIED.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        (SOURCE / "en" / page).write_text(text.replace("](docs/en/", "]("), encoding="utf-8")
    for page in SOURCE.rglob("*.md"):
        page.write_text(in_the_site(page, page.read_text(encoding="utf-8")), encoding="utf-8")
    return max(map(build, LANGUAGES))


def build(language: str) -> int:
    """Build the site of one language; return its exit status."""
    program = Path(sys.executable).with_name("zensical")
    command = [program, "build", "--strict", "-f", FOLDER / f"{language}.toml"]
    return subprocess.run(command, check=False).returncode  # noqa: S603  nothing of it comes from outside


def in_the_site(page: Path, text: str) -> str:
    """Return a page with its links to files at the top, and to English pages, as they are in the site."""
    for name, source in COPIED.items():
        text = text.replace(f"](../../{source})", f"](../en/{name})")
    language, *place = page.relative_to(SOURCE).parts
    if language == "en":
        return text.replace("](../en/", "](")
    up = "../" * (len(place) + (page.name != "index.md"))
    return re.sub(r"\]\((?:\.\./)+en/([\w/-]+)\.md(#[\w-]+)?\)", rf"]({up}\1/\2)", text)


def made(language: str) -> dict[str, str]:
    """Return name of a file -> text of the pages that are made from the product, in one language."""
    words = Words(language)
    parts = {
        "command-line.md": commands(language),
        "models.md": models(words),
        "glossary.md": terms(language),
    }
    return {name: behind_mark(FOLDER / language / name, text) for name, text in parts.items()}


def behind_mark(page: Path, text: str) -> str:
    """Return a page with another text behind its mark."""
    written, mark, _ = page.read_text(encoding="utf-8").partition(MARK)
    return f"{written}{mark}\n\n{text}\n"


def commands(language: str) -> str:
    """Return the help of each command, and its example by itself, to be copied."""
    parts = []
    for name, example in EXAMPLES.items():
        said = "\n".join(line.rstrip() for line in help_of(name, language).splitlines())
        parts += [f"## {name}", f"```\ntransformer-viz {example}\n```", f"```text\n{said}\n```"]
    return "\n\n".join(parts)


def help_of(name: str, language: str) -> str:
    """Return what a command says of itself in one language, as on a terminal of `COLUMNS`."""
    said = io.StringIO()
    terminal = mock.patch.dict(os.environ, COLUMNS=COLUMNS), mock.patch.object(sys, "argv", [COMMAND])
    with terminal[0], terminal[1], contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        main_of_commands([name, "--help", "--lang", language])
    return said.getvalue()


def models(words: Words) -> str:
    """Return what the cards of the included models say: a list, then a part for each."""
    listed = store.list_models(ROOT / "models")
    rows = [f"| [`{model.name}`](#{model.name}) | {purpose(words, model.card)} |" for model in listed]
    parts = ["\n".join(["| | |", "|---|---|", *rows])]
    for model in listed:
        config, card = model.config, model.card
        figures = metrics_of(card["test"], config).items()
        facts = {words(METRICS[name]): metric_text(name, value) for name, value in figures if name in METRICS}
        facts |= {
            words("config.layers"): " + ".join(map(str, config.stacks.values())),
            words("config.heads"): f"{config.num_heads} × {config.head_dim}",
            words("config.d_model"): f"{config.d_model:,}",
            words("models.parameters"): f"{config.num_parameters:,}",
            words("card.source"): card["source"],
            words("models.licence"): card["licence"],
        }
        table = ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts.items())]
        limits = card.get("limits", {}).get(words.language, "")
        parts += [f"## {model.name}", purpose(words, card), limits, "\n".join(table)]
    return "\n\n".join(filter(None, parts))


def terms(language: str) -> str:
    """Return the glossary: a part for each topic, its terms with their definitions."""
    parts = []
    for topic, found in glossary(language).items():
        parts += [f"## {topic}", "\n".join(f"- **{name}** – {definition}" for name, definition in found)]
    return "\n\n".join(parts)


def purpose(words: Words, card: dict) -> str:
    """Return in a few words what a model is for, as the list of the app says it."""
    said = card.get("purpose", {}).get(words.language) or words(f"purpose.{card['data'].get('task')}")
    return said[:1].upper() + said[1:]


if __name__ == "__main__":
    sys.exit(main())
