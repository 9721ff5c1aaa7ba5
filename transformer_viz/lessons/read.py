"""Lessons as files: settings in TOML between lines of +++, then Markdown in sections.

Those of the program lie in `transformer_viz/lessons/LANGUAGE/`, a visitor's own in `places.lessons_folder()`,
for one language in a folder of that name, for any beside it. One of the same name takes the place of one of
the program. The format is described in `docs/en/lessons.md`.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from transformer_viz.data.tasks import TASKS
from transformer_viz.language import Phrase, Problem
from transformer_viz.lessons.lesson import (
    AFTER,
    ANSWER,
    BEFORE,
    HEAD,
    KEY,
    PAGES,
    TRAINING,
    Claim,
    Lesson,
    Prediction,
    Training,
)
from transformer_viz.store.places import PACKAGE, lessons_folder
from transformer_viz.trace.request import Changes

SHIPPED = PACKAGE / "lessons"
"""Folder of the lessons of the program."""

FENCE = "+++"
"""Line before and after the settings."""

SECTIONS = ("See", "Do", "Reveal", "Notes")
"""Headings of the sections, in every language."""

MAX_BYTES = 100_000
"""Maximum size of a file."""

Field = tuple[type | tuple[type, ...], bool]
"""Type of a setting, and whether it is required."""

TEXT, OPTIONAL, COUNT = (str, True), (str, False), (int, False)

FIELDS: dict[str, Field] = {
    **dict.fromkeys(("title", "question", "source", "model", "text"), TEXT),
    "minutes": (int, True),
    **dict.fromkeys(("target", "kind", "view", "page", "task"), OPTIONAL),
    **dict.fromkeys(("layer", "head"), COUNT),
    "train": (dict, False),
    "after": (dict, False),
    "predict": (dict, False),
    "claims": (list, False),
}

TRAIN: dict[str, Field] = {
    **dict.fromkeys(("layers", "rows", "epochs"), COUNT),
    **dict.fromkeys(("learning_rate", "warmup"), ((float, int), False)),
}

SHARES, MOST = ("learning_rate", "warmup"), 0.9
"""Settings from 0 to this."""

PREDICT: dict[str, Field] = {"ask": TEXT, "query": OPTIONAL, "setting": OPTIONAL, "values": (object, False)}

AFTERWARDS: dict[str, Field] = {"text": OPTIONAL, "changes": (dict, False)}

CLAIM: dict[str, Field] = {
    "of": TEXT,
    **dict.fromkeys(("query", "key", "label", "in", "text"), OPTIONAL),
    "head": COUNT,
    **dict.fromkeys(("least", "most"), ((float, int), False)),
    "differs": (bool, False),
}

CHOICES = {
    "kind": ("encoder", "decoder", "cross"),
    "view": ("all", "grid", "matrix", "lines", "steps"),
    "page": PAGES,
    "task": tuple(TASKS),
    "ask": (KEY, ANSWER, HEAD, TRAINING),
    "setting": ("epochs", "learning_rate", "warmup"),
    "of": ("weight", "answer", "moved", "effect", "written"),
    "in": (BEFORE, AFTER),
}
"""Setting -> its values, where not any text will do."""

NAMES: dict[Any, str] = {str: "a_text", int: "a_count", dict: "a_table", list: "a_list", bool: "a_truth"}
"""Type -> what a setting of it is called, after "lesson." in the language files."""


class Shelf(NamedTuple):
    """The lessons of one language.

    Attributes:
        lessons: In the order of their names, the program's own first.
        problems: Why other files are none.
    """

    lessons: list[Lesson]
    problems: list[Problem]


def list_lessons(language: str) -> Shelf:
    """Return the lessons of a language: those of the program, then a visitor's own."""
    own = lessons_folder()
    found: dict[str, Lesson] = {}
    problems = []
    for folder in (SHIPPED / language, own, own / language):
        for path in _files(folder):
            try:
                found[path.stem] = read_lesson(path)
            except Problem as problem:
                problems.append(problem)
    return Shelf(list(found.values()), problems)


def read_lesson(path: Path) -> Lesson:
    """Read a lesson.

    Raises:
        Problem: If the file cannot be read, or is no lesson.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise Problem("lesson.large", path=path.name, most=MAX_BYTES // 1000)
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise Problem("lesson.encoding", path=path.name) from None
    except OSError as error:
        raise Problem("file.unreadable", path=path.name, reason=error.strerror or str(error)) from None
    if not lines or lines[0].strip() != FENCE or FENCE not in [line.strip() for line in lines[1:]]:
        raise Problem("lesson.fence", path=path.name)
    end = [line.strip() for line in lines].index(FENCE, 1)
    try:
        settings = tomllib.loads("\n".join(lines[1:end]))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Problem("lesson.toml", path=path.name, reason=str(error)) from None
    return _lesson(path, settings, _sections(path, lines[end + 1 :]))


def _files(folder) -> Iterator[Path]:
    return iter(sorted(folder.glob("*.md"), key=lambda path: path.name)) if folder.is_dir() else iter(())


def _sections(path, lines):
    """Return the text of each section by its heading in small letters."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        heading = line[3:].strip() if line.startswith("## ") else ""
        if heading in SECTIONS:
            name = heading
            found[name] = []
        elif name:
            found[name].append(line)
    for name in SECTIONS:
        if not "".join(found.get(name, [])).strip():
            raise Problem("lesson.section", path=path.name, name=name)
    return {name.lower(): "\n".join(text).strip() for name, text in found.items()}


def _lesson(path, settings, sections):
    values = _checked(path, settings, FIELDS)
    after = _checked(path, values.pop("after", {}), AFTERWARDS)
    training = Training(**_checked(path, values.pop("train", {}), TRAIN))
    for name in SHARES:
        if not 0 <= (getattr(training, name) or 0) <= MOST:
            raise Problem("lesson.kind", path=path.name, name=name, what=Phrase("lesson.a_share", most=MOST))
    asked = values.pop("predict", None)
    predict = None if asked is None else _prediction(path, _checked(path, asked, PREDICT))
    if predict and predict.ask == TRAINING and "task" not in values:
        raise Problem("lesson.missing", path=path.name, name="task")
    claims = tuple(_claim(path, claim) for claim in values.pop("claims", ()))
    lesson = Lesson(
        path.stem,
        **values,
        **sections,
        after_text=after.get("text"),
        changes=_changes(path, after.get("changes", {})),
        training=training,
        predict=predict,
        claims=claims,
    )
    needs_after = [*((predict and predict.ask == ANSWER and ["predict"]) or ())]
    needs_after += ["claims" for claim in claims if claim.run == AFTER or claim.of in ("moved", "written")]
    if needs_after and not lesson.compares:
        raise Problem("lesson.after", path=path.name, name=needs_after[0])
    return lesson


def _prediction(path, settings):
    for name in {KEY: ("query",), TRAINING: ("setting", "values")}.get(settings["ask"], ()):
        if not settings.get(name):
            raise Problem("lesson.missing", path=path.name, name=name)
    values = settings.pop("values", [])
    numbers = {value for value in values if type(value) in (int, float)} if isinstance(values, list) else ()
    if values and not 1 < len(numbers) == len(values):
        raise Problem("lesson.kind", path=path.name, name="values", what=Phrase("lesson.numbers"))
    return Prediction(**settings, values=tuple(values))


def _claim(path, settings):
    if not isinstance(settings, dict):
        raise Problem("lesson.kind", path=path.name, name="claims", what=Phrase("lesson.a_table"))
    values = _checked(path, settings, CLAIM)
    if "in" in values:
        values["run"] = values.pop("in")
    return Claim(**values)


def _changes(path, settings):
    try:
        return Changes(**settings)
    except (TypeError, ValueError) as error:
        raise Problem("lesson.changes", path=path.name, reason=str(error)) from None


def _checked(path, settings, fields: dict[str, Field]) -> dict[str, Any]:
    """Return settings whose names, types and values are those of a lesson."""
    for name, (_, is_required) in fields.items():
        if is_required and name not in settings:
            raise Problem("lesson.missing", path=path.name, name=name)
    for name, value in settings.items():
        if name not in fields:
            raise Problem("lesson.unknown", path=path.name, name=name, known=[*fields])
        kinds, _ = fields[name]
        first, *_others = kinds if isinstance(kinds, tuple) else (kinds,)
        is_number = not isinstance(value, bool) or first is bool
        if not (isinstance(value, kinds) and is_number) or (first is int and value < 1):
            what = Phrase(f"lesson.{NAMES.get(first, 'a_number')}")
            raise Problem("lesson.kind", path=path.name, name=name, what=what)
        if name in CHOICES and value not in CHOICES[name]:
            raise Problem("lesson.choice", path=path.name, name=name, choices=[*CHOICES[name]])
    return dict(settings)
