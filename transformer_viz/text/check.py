"""Checks of a `tokenizer.json` before the `tokenizers` library reads it, and of the library's errors."""

import contextlib
import json
import math
from collections.abc import Iterator

from tokenizers import Tokenizer
from tokenizers.normalizers import Normalizer

from transformer_viz.language import Phrase, Problem, json_reason
from transformer_viz.text.rules import MAX_ADDED, MAX_GROWTH, MAX_STEPS, PARTS, Field

SEQUENCE_FIELDS = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "post_processor": "processors",
    "decoder": "decoders",
}
"""Kind of part -> field with the steps of a sequence."""

MAX_AVERAGE_GROWTH = 20
"""Most characters of output per input character, on average; the longest ligature of Unicode has 18."""

CHUNK = 1_000
"""Characters normalized at once when the length is checked."""

_ADDED = Field(
    lambda token: (
        isinstance(token, dict)
        and isinstance(token.get("content"), str)
        and 1 <= len(token["content"]) <= 256
        and type(token.get("id")) is int
    ),
    Phrase("field.added"),
)


def check_content(content: object) -> tuple[dict, int]:
    """Return the checked parts of a tokenizer file, and nothing else.

    Args:
        content: The parsed file.

    Returns:
        The content for the library, and the most characters it may make of one.

    Raises:
        ValueError: If a part is not known to be safe; the message names it and the allowed ones.
    """
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise Problem("tokenizer.no_model")
    content, growth = content | {"model": _with_type(content["model"])}, 1
    for kind in PARTS:
        steps = _steps(kind, content.get(kind))
        if len(steps) > MAX_STEPS:
            raise Problem("tokenizer.steps", part=kind, steps=len(steps), most=MAX_STEPS)
        growth *= math.prod(_growth(kind, step) for step in steps)
    if growth > MAX_GROWTH:
        times = f"{growth:,}" if growth < 10**15 else Phrase("tokenizer.times")
        raise Problem("tokenizer.growth", times=times, most=MAX_GROWTH)
    added = content.get("added_tokens") or []
    if not isinstance(added, list) or len(added) > MAX_ADDED or not all(map(_ADDED.holds, added)):
        raise Problem("tokenizer.added", most=MAX_ADDED, what=_ADDED.what)
    kept = {kind: content.get(kind) for kind in PARTS}
    head = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added}
    return head | kept, growth


def checked_backend(text: str) -> tuple[Tokenizer, int]:
    """Return the library's tokenizer of a file, and the most characters it may make of one.

    Args:
        text: Text of a `tokenizer.json`.

    Raises:
        ValueError: If the text is not a tokenizer, or a part of it is not known to be safe.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Problem("tokenizer.none", reason=json_reason(error)) from None
    content, growth = check_content(content)
    with library_errors("tokenizer.none"):
        return Tokenizer.from_str(json.dumps(content)), growth


def check_length(normalizer: Normalizer, text: str) -> None:
    """Check, chunk by chunk, that a normalizer does not lengthen a text too much.

    Raises:
        ValueError: If it does.
    """
    length, most = 0, MAX_AVERAGE_GROWTH * (len(text) + CHUNK)
    for start in range(0, len(text), CHUNK):
        with library_errors("tokenizer.text"):
            length += len(normalizer.normalize_str(text[start : start + CHUNK]))
        if length > most:
            raise Problem("tokenizer.average", most=MAX_AVERAGE_GROWTH)


@contextlib.contextmanager
def library_errors(code: str) -> Iterator[None]:
    """Turn exceptions and panics of the library into a `Problem` of that code, with their reason."""
    try:
        yield
    except (MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise Problem(code, reason=str(error)[:200]) from None


def _with_type(model):
    """Return a model with its type, which old files do not contain."""
    if "type" in model:
        return model
    keys = {"merges": "BPE", "max_input_chars_per_word": "WordPiece", "unk_id": "Unigram"}
    return {"type": next((kind for key, kind in keys.items() if key in model), "WordLevel"), **model}


def _steps(kind, part):
    """Return the steps of a part, with sequences flattened."""
    if part is None:
        return []
    if not isinstance(part, dict) or part.get("type") != "Sequence" or kind not in SEQUENCE_FIELDS:
        return [part]
    inner = part.get(SEQUENCE_FIELDS[kind])
    if not isinstance(inner, list) or part.keys() != {"type", SEQUENCE_FIELDS[kind]}:
        raise Problem("tokenizer.sequence", part=kind)
    return [step for each in inner for step in _steps(kind, each)]


def _growth(kind, step):
    """Check a step; return the most characters it may make of one."""
    known, given = PARTS[kind], step.get("type") if isinstance(step, dict) else None
    rule = known.get(given) if isinstance(given, str) else None
    if rule is None:
        raise Problem("tokenizer.type", part=kind, type=_abbreviated(given), types=", ".join(known))
    fields = {name: value for name, value in step.items() if name != "type"}
    for name, value in fields.items():
        if name not in rule.fields:
            raise Problem("tokenizer.unknown_field", part=kind, type=given, field=_abbreviated(name))
        if not rule.fields[name].holds(value):
            facts = {"field": name, "what": rule.fields[name].what, "received": _abbreviated(value)}
            raise Problem("tokenizer.field", part=kind, type=given, **facts)
    try:
        return rule.growth if isinstance(rule.growth, int) else rule.growth(fields)
    except KeyError as error:
        raise Problem("tokenizer.no_field", part=kind, type=given, field=str(error)) from None


def _abbreviated(value):
    text = repr(value) if isinstance(value, str | int | float | dict | None) else type(value).__name__
    return text if len(text) <= 80 else f"{text[:80]}..."
