"""Roles of columns (text, label, target), guessed from their names, then from their values."""

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence

from transformer_viz.data.files import DataError
from transformer_viz.data.table import Table, numbered
from transformer_viz.language import Phrase
from transformer_viz.text.scripts import main_script

COLUMN_ROLES = {"labels": ("text", "label"), "pairs": ("text", "target"), "texts": ("text",)}
"""Kind of data -> the roles of its columns."""

OPTIONAL = {"labels": ("second",), "pairs": (), "texts": ("second",)}
"""Kind of data -> roles that its columns may also have: of a second text, read behind the first as a pair."""

MAX_LABELS = 50
"""Most different labels that are not asked about."""

MOST_LABELS = 1_000
"""Most different labels that can be learned."""

SAMPLE = 2000
"""Rows examined for a guess, and enough to tell a small file from others (`Recipe.for_rows`)."""

ENDS = (*".!?…。！？",)
"""Final characters of a sentence, which a column name does not have."""

_NUMBER = re.compile(r"[-+]?[\d.]+")

_FLAGS = ({"0", "1"}, {"0.0", "1.0"}, {"true", "false"}, {"yes", "no"}, {"是", "否"})
"""Values of columns that each stand for a label."""

HEADERLESS = ("text", "jsonl", "json", "fasttext")
"""Formats of which no row has the names of the columns."""

_LISTED = 8

_TEXT = (
    *("text", "texts", "review", "reviews", "review_text", "reviewtext", "sentence", "comment", "content"),
    *("body", "tweet", "message", "document", "utterance", "headline"),
    *("文本", "评论", "内容", "句子", "正文", "评价", "评论内容", "微博"),
)
_LABEL = (
    *("label", "labels", "sentiment", "class", "target", "category", "polarity", "label_text"),
    *("class_index", "intent", "topic"),
    *("标签", "类别", "情感", "分类", "情感倾向", "标注"),
)
_SOURCE = ("source", "src", "text", "input", "question", "prompt", "article", "原文", "源", "问题", "输入")
_TARGET = (
    *("target", "tgt", "translation", "output", "answer", "response", "completion", "summary"),
    *("译文", "目标", "翻译", "回答", "答案", "输出", "摘要"),
)
_FIRST = (
    *("text_a", "text1", "text_1", "sentence1", "sentence_1", "premise", "question1", "query", "s1"),
    *("文本1", "文本一", "句子1", "句子一", "前提", "问题1"),
)
_SECOND = (
    *("text_b", "text2", "text_2", "sentence2", "sentence_2", "hypothesis", "question2", "passage", "s2"),
    *("文本2", "文本二", "句子2", "句子二", "假设", "问题2"),
)
_LANGUAGES = (
    *("en", "eng", "english", "fr", "fra", "french", "zh", "zh-cn", "cmn", "chinese", "de", "deu", "german"),
    *("es", "spa", "spanish", "it", "ita", "italian", "ru", "rus", "russian", "ja", "jpn", "japanese"),
    *("pt", "por", "portuguese", "ko", "kor", "korean", "英文", "英语", "中文", "汉语", "法语", "法文"),
)
_NAMES = {
    "labels": {"text": _TEXT, "label": _LABEL},
    "pairs": {"text": _SOURCE, "target": _TARGET},
    "texts": {"text": _TEXT},
}
_KNOWN = {*_TEXT, *_LABEL, *_SOURCE, *_TARGET, *_LANGUAGES}


def is_known(name: str) -> bool:
    """Return whether a column name is a common one for texts, labels or targets."""
    return _bare(name) in _KNOWN


def is_header(name):
    """Return whether a cell of the first row is a common name of a column."""
    return is_known(name) or _bare(name) in (*_FIRST, *_SECOND)


def is_data(cell: str) -> bool:
    """Return whether a cell of a first row is rather a value than the name of a column."""
    cell = cell.strip()
    is_long = len(cell) > 40 or len(cell.split()) > 4
    return is_long or cell.endswith(ENDS) or _NUMBER.fullmatch(cell) is not None


def is_label(values: Sequence[str]) -> bool:
    """Return whether the values of a column look like labels: few, short and repeated."""
    different = set(values)
    most = max(min(MAX_LABELS, len(values) // 2), len(values) // 10)
    return 2 <= len(different) <= most and max(map(len, different)) <= 40


def is_numbering(table: Table, name: str) -> bool:
    """Return whether a column holds a different number in each row."""
    values = _values(table, name)
    return len({*values}) == len(values) and all(map(_NUMBER.fullmatch, values))


def lacks_header(table: Table) -> bool:
    """Return whether the names of the columns look like a row of data.

    Of texts in several scripts they do if each is in the script of its column: "Good morning", "早上好".
    """
    if not table.has_header or table.format in HEADERLESS or any(map(is_header, table.columns)):
        return False
    values = [_values(table, name) for name in table.columns]
    if any(is_data(name) or name in column for name, column in zip(table.columns, values, strict=True)):
        return True
    scripts = list(map(main_script, values))
    are_texts = len(values) > 1 and all(map(_is_text, values)) and len({*scripts}) > 1
    return are_texts and scripts == [main_script([name]) for name in table.columns]


def flags_of(table: Table) -> list[str]:
    """Return the columns that hold nothing but 0 and 1, or yes and no: each stands for a label of its own.

    Empty if there is only one, which is a label itself.
    """
    found = [
        name
        for name in table.columns
        if any(set() < {value.casefold() for value in _values(table, name)} <= flags for flags in _FLAGS)
    ]
    return found if len(found) > 1 else []


def example_of_several(labels: Sequence[str]) -> str:
    """Return a label that joins several others, as in "comedy|drama"; "" if labels are single ones.

    They are joined if that is true of a tenth of the rows, and if most parts come again in other labels.

    Args:
        labels: Label of each row.
    """
    for between in ("|", ";", ","):
        joined = [label for label in labels if between in label]
        if len(joined) < max(2, len(labels) / 10):
            continue
        parts = Counter(part.strip() for label in set(labels) for part in label.split(between))
        if sum(count > 1 for count in parts.values()) >= len(parts) / 2:
            return joined[0]
    return ""


def choose_columns(table: Table, kind: str, columns: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return role -> column of a table, given or guessed.

    Roles are guessed from well-known names, then from values: few, short, repeated values are labels; longer,
    mostly different ones of several words are texts. Two language columns are source and target, in file
    order. With labels, two columns named as a pair of texts are, such as "premise" and "hypothesis", are the
    text and the second text.

    Args:
        table: `Table`.
        kind: One of `COLUMN_ROLES`.
        columns: role -> column, for some roles or all; also those of `OPTIONAL`, and "group", which is never
            guessed. "source" is another name for the text of a pair.

    Raises:
        DataError: If a column does not exist, or a guess finds none or several; lists the columns.
    """
    chosen = _named_columns(table, kind, columns or {})
    if kind == "labels" and not chosen.keys() & {"text", "second"}:
        chosen |= _pair_of_texts(table)
    _add_known_names(table, kind, chosen)
    missing = [role for role in COLUMN_ROLES[kind] if role not in chosen]
    if not missing:
        return chosen
    if not columns and lacks_header(table):
        between = {"tsv": "<TAB>", "semicolon": ";", "pipe": "|"}.get(table.format, ",")
        header = between.join(COLUMN_ROLES[kind])
        raise DataError("column.header", path=table.path, columns=_listed(table.columns), header=header)
    for role in missing:
        fits = is_label if role == "label" else _is_text
        rest = [name for name in table.columns if name not in chosen.values()]
        found = [name for name in rest if fits(_values(table, name))]
        if kind == "pairs" and len(found) == len(missing):
            return chosen | dict(zip(missing, found, strict=True))
        if kind == "pairs" or len(found) != 1:
            raise _unclear(table, kind, role, found, chosen)
        chosen[role] = found[0]
    return chosen


def clear_columns(table: Table, kind: str) -> dict[str, str]:
    """Return role -> column for those roles of a kind that only one column could have."""
    clear = {}
    if lacks_header(table):
        return clear
    for role in COLUMN_ROLES[kind]:
        fits = is_label if role == "label" else _is_text
        rest = [name for name in table.columns if name not in clear.values()]
        found = [name for name in rest if _bare(name) in _NAMES[kind][role]]
        found = found or [name for name in rest if fits(_values(table, name))]
        if len(found) == 1:
            clear[role] = found[0]
    return clear


def _named_columns(table, kind, columns):
    roles = (*COLUMN_ROLES[kind], *OPTIONAL[kind], "group")
    given = {}
    for named, column in columns.items():
        role = "text" if named == "source" and kind == "pairs" else named
        if role not in roles:
            raise DataError("column.role", role=named, roles=[*roles])
        if column not in table.columns:
            raise DataError("column.missing", path=table.path, column=column, columns=_listed(table.columns))
        if column in given.values():
            raise DataError("column.twice", column=column)
        given[role] = column
    return given


def _pair_of_texts(table):
    """Return role -> column of two texts whose names say that they are a pair; {} if there are none."""
    names = {name: _bare(name) for name in table.columns}
    first = [name for name, bare in names.items() if bare in _FIRST]
    second = [name for name, bare in names.items() if bare in _SECOND]
    return {"text": first[0], "second": second[0]} if len(first) == len(second) == 1 else {}


def _add_known_names(table, kind, chosen):
    """Add the roles whose columns have well-known names."""
    names = {name: _bare(name) for name in table.columns if name not in chosen.values()}
    for role, known in _NAMES[kind].items():
        if role in chosen:
            continue
        exact = [name for name, bare in names.items() if bare == role]
        found = exact or [name for name, bare in names.items() if bare in known]
        if len(found) == 1:
            chosen[role] = found[0]
            names.pop(found[0])
        elif found:
            raise _unclear(table, kind, role, found, chosen)
    languages = [name for name, bare in names.items() if bare in _LANGUAGES]
    if kind == "pairs" and len(languages) == 2 and not chosen.keys() & {"text", "target"}:
        chosen |= zip(("text", "target"), languages, strict=True)


def _values(table, name):
    values = table.cells[table.columns.index(name)][:SAMPLE]
    return [value.strip() for value in values if isinstance(value, str)]


def _is_text(values):
    """Return whether values look like texts: several words, or a script without spaces, mostly different."""
    if not values or len(set(values)) <= len(values) // 2:
        return False
    wordy = sum(
        " " in value or any(letter.isalpha() and letter > "\u2e7f" for letter in value) for value in values
    )
    return wordy >= len(values) / 2 and sum(map(len, values)) >= 5 * len(values)


def _unclear(table, kind, role, found, chosen):
    if role == "label" and (flags := flags_of(table)):
        example = _example(kind, chosen | {"label": flags[0]})
        return DataError("column.flags", path=table.path, columns=_listed(flags), example=example)
    return DataError(
        "column.several" if found else "column.none",
        path=table.path,
        role=Phrase(f"role.{role}"),
        columns=_listed(table.columns),
        example=_example(kind, chosen),
    )


def _example(kind, chosen):
    return shlex.join(f"{role}={chosen.get(role, 'NAME')}" for role in COLUMN_ROLES[kind])


def _listed(columns):
    names = [_shown(name, place) for place, name in enumerate(columns[:_LISTED], 1)]
    return [*names, "..."] if len(columns) > _LISTED else names


def _shown(name, place):
    """Return the name of a column for an error, that of a column without one in the reader's language too."""
    return Phrase("column.numbered", place=place) if name == numbered(place) else " ".join(name.split())[:40]


def _bare(name):
    return name.strip().casefold().replace(" ", "_")
