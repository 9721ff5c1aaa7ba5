"""What trainings are called on the page."""

import re
from collections import Counter


def title_of(run_id) -> str:
    """Return what a run is called on the page: what it learns, and when it began."""
    match = re.fullmatch(r"(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)\d*-(?:(.+)-)?[0-9a-f]+", run_id)
    if not match:
        return run_id
    year, month, day, hour, minute, name = match.groups()
    return f"{name or ''} · {year}-{month}-{day} {hour}:{minute}"


def titles_of(run_ids) -> dict[str, str]:
    """Return id -> title of several runs, no two alike: by its title, a choice among them is made."""
    titles = {name: title_of(name) for name in run_ids}
    often = Counter(titles.values())
    return {
        name: title if often[title] == 1 else f"{title} · {name.rpartition('-')[2]}"
        for name, title in titles.items()
    }
