"""Titles of training runs."""

import re
from collections import Counter
from collections.abc import Iterable


def title_of(run_id: str) -> str:
    """Return the title of a run: name of its data and start time."""
    match = re.fullmatch(r"(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)\d*-(?:(.+)-)?[0-9a-f]+", run_id)
    if not match:
        return run_id
    year, month, day, hour, minute, name = match.groups()
    return f"{name or ''} · {year}-{month}-{day} {hour}:{minute}"


def titles_of(run_ids: Iterable[str]) -> dict[str, str]:
    """Return id -> title of several runs; all titles differ."""
    titles = {name: title_of(name) for name in run_ids}
    often = Counter(titles.values())
    return {
        name: title if often[title] == 1 else f"{title} · {name.rpartition('-')[2]}"
        for name, title in titles.items()
    }
