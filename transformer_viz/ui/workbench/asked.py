"""What the workbench asks for: a run of a model, the run it is compared with, and how both are shown."""

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

from transformer_viz import store
from transformer_viz.language import LANGUAGES
from transformer_viz.pictures.changes import acted, is_offered
from transformer_viz.pictures.looks import LOOKS, ONE_HEAD
from transformer_viz.text.gaps import Change, ChangedText, filled
from transformer_viz.text.tokenizer import clean_text, tokenizer_of
from transformer_viz.trace.request import TRACE, UNCHANGED, Changes, Request
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.sentence import MAX_CHARS, MAX_TARGET_CHARS

Find = Callable[[str], store.ModelSummary | None]
"""Returns a usable model that the visitor sees, by its name or reference; None: there is none."""


CHANGING = ("head", "edge", "set", "leave_out")
"""Acts that change a run."""

MALFORMED = (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError)
"""Errors of JSON of another form than a page sends."""


class UnknownError(ValueError):
    """Something that no page of this app asks."""


class Asked(NamedTuple):
    """A run, and how it is shown.

    Attributes:
        model: Its model.
        request: What is asked of it.
        language: Of all sentences.
        before: The run that it is compared with; None: none.
        looks: Names in `LOOKS`, at most one of which combines heads.
        ablates: Whether each head is to be ablated.
        filled: Parts of the text in whose place something else stood before.
        lesson: Name of the lesson that is open; "": none.
        revealed: Whether that lesson is revealed.
    """

    model: store.ModelSummary
    request: Request
    language: str
    before: Request | None = None
    looks: tuple[str, ...] = ()
    ablates: bool = False
    filled: tuple[Change, ...] = ()
    lesson: str = ""
    revealed: bool = False

    @property
    def facts(self) -> str:
        """All that tells it from others."""
        before = self.before.to_json() if self.before else ""
        return json.dumps([self.request.to_json(), before, *self[2:3], *self[4:]])

    @property
    def state(self) -> dict[str, Any]:
        """What the browser keeps of it, and sends again."""
        before = self.before and {
            "model": name_of(self.before.model),
            "text": self.before.text,
            "target": self.before.target or "",
            "changes": self.before.changes.to_dict(),
        }
        return {
            "model": self.model.name,
            "text": self.request.text,
            "target": self.request.target or "",
            "changes": self.request.changes.to_dict(),
            "before": before,
            "filled": self.filled,
        }

    def after(self, act: Mapping[str, Any], find: Find) -> Self:
        """Return what is asked once the visitor has done something.

        The first change begins a comparison with the run that was shown without it.

        Args:
            act: "do" says what; as `acted` takes it, or one of those below.
            find: As in `read`.

        Raises:
            UnknownError: If there is no such act.
        """
        does = {
            "compare": lambda: self._replace(before=self.request),
            "end": lambda: self._replace(before=None),
            "undo_all": lambda: self._as_before(find) if self.before else self._with(UNCHANGED),
            "undo": lambda: self._undone(act, find),
            "text": lambda: self._beside_itself()._reads(str(act["text"])[:MAX_CHARS]),
            **dict.fromkeys(("append", "fill", "hide", "restore"), lambda: self._written(act)),
            **dict.fromkeys(CHANGING, lambda: self._beside_itself()._acted(act)),
        }
        if act.get("do") not in does:
            raise UnknownError(f"There is no act {act.get('do')!r}.")
        return does[act["do"]]()

    def _beside_itself(self):
        """Return the same, compared with what it is before a change, unless it is compared already."""
        return self._replace(before=self.before or self.request)

    def _asks(self, **fields):
        return self._replace(request=dataclasses.replace(self.request, **fields))

    def _reads(self, text, target=None):
        """Return the same with another text, in which nothing was filled in."""
        return self._asks(text=text, target=target)._replace(filled=())

    def _undone(self, act, find):
        """Return the same without a change, or with the text or the model of the other run."""
        before = self.before
        if before and act.get("name") == "text":
            return self._reads(before.text, before.target)
        if before and act.get("name") == "model":
            model = find(before.model) or self.model
            return self._replace(model=model)._asks(model=model.reference, changes=before.changes)
        return self._acted(act)

    def _acted(self, act):
        changes = acted(config_of(self.model), self.request.changes, act)
        if not is_offered(changes):
            raise UnknownError("No page makes these changes.")
        return self._with(changes)

    def _with(self, changes):
        return self._asks(changes=changes)

    def _as_before(self, find):
        """Return the run that is compared with, beside itself; its model may be gone."""
        model = find(self.before.model) if self.before else None
        return self if model is None else self._replace(model=model, request=self.before, filled=())

    def _written(self, act):
        """Return the text with a token appended, filled in, hidden, or brought back."""
        text, tokenizer = clean_text(str(self.request.text)), tokenizer_in(self.model)
        if act["do"] == "append":
            return self._of(ChangedText(tokenizer.append(text, act["token"])))
        changed, begin = ChangedText(text, self.filled), act["begin"]
        if act["do"] == "fill":
            return self._of(filled(tokenizer, changed, begin, act["token"]))
        if act["do"] == "hide":
            return self._of(changed.replaced(begin, act["end"], tokenizer.mask))
        change = changed.change_at(begin, act["end"])
        return self if change is None else self._of(changed.restored(change))

    def _of(self, changed):
        return self._asks(text=changed.text)._replace(filled=changed.changes)


def tokenizer_in(model: store.ModelSummary) -> Any:
    """Return the tokenizer of a model."""
    return _tokenizer(model.reference, store.stamp(model.reference))


@functools.lru_cache(maxsize=4)
def _tokenizer(reference, _stamp):
    """Return the tokenizer; a rewritten model has another stamp."""
    return tokenizer_of(store.read_config(reference), store.read_tokenizer(reference))


def read(given: Any, find: Find) -> Asked:
    """Read what a browser asks.

    What a bad link may hold, as changes that the app does not offer or another run that is gone, is left out.

    Args:
        given: As `Asked.state`, and what else it has, from JSON.
        find: Finds the models that the visitor sees.

    Raises:
        UnknownError: If it is none of what a page asks.
    """
    if not isinstance(given, dict):
        raise UnknownError("A question is an object.")
    model = find(_text(given, "model"))
    if model is None:
        raise UnknownError("There is no such model.")
    text, target = _text(given, "text")[:MAX_CHARS], _text(given, "target")[:MAX_TARGET_CHARS]
    has_target = config_of(model).architecture == "encoder-decoder"
    request = Request(
        model.reference,
        text,
        target if has_target and target.strip() else None,
        _changes(given.get("changes")),
    )
    language = given.get("language")
    return Asked(
        model,
        request,
        language if isinstance(language, str) and language in LANGUAGES else "en",
        _before(given.get("before"), find),
        _looks(given.get("looks")),
        given.get("ablates") is True,
        _filled(given.get("filled"), request.text),
        _text(given, "lesson"),
        given.get("revealed") is True,
    )


def _text(given, name):
    text = given.get(name, "")
    if text is not None and not isinstance(text, str):
        raise UnknownError(f"`{name}` is a text.")
    return text or ""


def _changes(given) -> Changes:
    """Return changes that the app offers; what is none of them counts as none."""
    try:
        changes = Changes(**(given or {}))
        return changes if is_offered(changes) else UNCHANGED
    except MALFORMED:
        return UNCHANGED


def _before(given, find):
    """Return the run that is compared with; None: none, or its model is not on the visitor's shelf."""
    if not isinstance(given, dict) or given.get("wants", TRACE) != TRACE:
        return None
    text, target, name = (given.get(part) for part in ("text", "target", "model"))
    if not (isinstance(text, str) and isinstance(target, str | None) and isinstance(name, str)):
        return None
    model, changes = find(name), _changes(given.get("changes"))
    if model is None or (given.get("changes") and changes == UNCHANGED):
        return None
    return Request(model.reference, text[:MAX_CHARS], (target or "")[:MAX_TARGET_CHARS] or None, changes)


def _looks(given):
    """Return the looks that are known, of those that combine heads the last."""
    wanted = [look for look in LOOKS if isinstance(given, list) and look in given]
    single = [look for look in wanted if look in ONE_HEAD]
    return tuple(look for look in wanted if look not in single[:-1])


def _filled(given, text):
    """Return the changed parts of a text; none if they cannot be of this text."""
    try:
        found = tuple(Change(int(begin), int(end), str(former)) for begin, end, former in given or ())
    except MALFORMED:
        return ()
    ends = [0, *(place for change in found for place in change[:2]), len(text)]
    return found if ends == sorted(ends) else ()


def name_of(reference: str) -> str:
    """Return the name of the model of a reference, which may be a folder."""
    return reference.replace("\\", "/").rpartition("/")[2]
