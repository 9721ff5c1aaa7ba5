"""A data file of the visitor: stored beside the runs, previewed, and asked about."""

import threading

import streamlit as st
from cachetools import LRUCache, cached
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.uploaded_file_manager import UploadedFile

from transformer_viz.data import BadRows, DataError, Preview, ReadOptions, Source, preview
from transformer_viz.data.bad_rows import reason
from transformer_viz.data.columns import HEADERLESS
from transformer_viz.data.encodings import ENCODINGS, UTF_8
from transformer_viz.data.table import numbered
from transformer_viz.language import sentence_of
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.uploads import Upload, keep_upload
from transformer_viz.ui.shell.classroom import keep_visitor, owner
from transformer_viz.ui.shell.language import escaped, t, words
from transformer_viz.ui.shell.problems import show_problem

MAX_UNPACKED_BYTES = 150 * 2**20
"""Maximum unpacked size of an upload, in bytes: the server process reads it."""

MAX_KEPT_BYTES = 32 * 2**20
"""Maximum size of all uploads whose content is kept in memory, in bytes."""

WIDTH = 182
"""Width of a widget, in pixels."""

OF_ENCODING = ("file.encoding", "file.binary")
"""Errors that another encoding may mend."""


def stored_upload(file: UploadedFile) -> Upload:
    """Return an upload as stored beside the runs; store it on the first call.

    Raises:
        RunError: If it cannot be stored.
    """
    file_id, upload = st.session_state.get("upload", ("", None))
    if file_id != file.file_id or not upload.path.exists():
        keep_visitor()
        upload = keep_upload(file.getvalue(), file.name, owner=owner())
        st.session_state.upload = (file.file_id, upload)
    return upload


def ask_upload(name: str, label: str, help_text: str) -> tuple[Upload, str] | None:
    """Show the upload of a file; return it and its name, the last one if the page was left in between.

    Args:
        name: Beginning of its keys in the session.
        label: What stands above it.
        help_text: Its tip.
    """
    key = file_key(name)
    file = st.file_uploader(
        label, help=help_text, key=f"{name}-upload", on_change=lambda: st.session_state.pop(key, None)
    )
    if file is not None:
        try:
            st.session_state[key] = stored_upload(file), file.name
        except RunError as error:
            show_problem(error)
            return None
    kept = st.session_state.get(key)
    return kept if kept and kept[0].path.exists() else None


KIND_OF_ROLE = {"label": "labels", "target": "pairs"}
"""Role of a column -> kind of rows that have it."""


def file_key(name: str) -> str:
    """Return the session key of the last file of `ask_upload`."""
    return f"{name}-file"


@cached(LRUCache(MAX_KEPT_BYTES, getsizeof=lambda source: len(source.data)), lock=threading.Lock())
def source_of(upload: Upload) -> Source:
    """Return the content of an upload, which is not read again for each question about it.

    Raises:
        DataError: If it cannot be read.
    """
    return Source(upload.path, sha256=upload.sha256, most_bytes=MAX_UNPACKED_BYTES)


@st.cache_data(max_entries=16, show_spinner=False)
def cached_preview(upload: Upload, options: ReadOptions) -> Preview:
    """Return the preview of an upload.

    Raises:
        DataError: If no rows can be read.
    """
    return preview(source_of(upload), options)


def ask_options(upload: Upload) -> tuple[ReadOptions, Preview]:
    """Show how an upload is read: its encoding, and whether its first row is data; return both, and the
    preview.

    Raises:
        DataError: If no rows can be read.
    """
    row = st.container(horizontal=True, gap="medium", vertical_alignment="bottom")
    key = f"encoding-{upload.sha256}"
    options = ReadOptions(encoding=st.session_state.get(key, ""))
    try:
        found = cached_preview(upload, options)
    except DataError as error:
        if error.code in OF_ENCODING:
            ask_encoding(row, key, t("data.choose"))
        if error.code == "file.encoding" and not options.encoding:
            raise DataError("file.which_encoding", path=upload.path) from None
        raise
    if found.encoding:
        ask_encoding(row, key, t("data.encoding.recognised"))
    if found.format not in HEADERLESS:
        has_data = row.checkbox(
            t("data.first_row"),
            found.lacks_header,
            key=f"first-row-{upload.sha256}-{options.encoding}",
            help=t("data.first_row.help"),
        )
        if found.lacks_header:
            st.caption(t("data.no_header"))
        if has_data:
            options = options._replace(has_header=False)
            found = cached_preview(upload, options)
    if found.encoding not in (UTF_8, "", options.encoding):
        st.caption(t("data.encoding", encoding=found.encoding))
    if len(found.sheets) > 1:
        first, *others = map(escaped, found.sheets)
        st.caption(t("data.sheets", sheet=first, others=t("list.comma").join(others)))
    return options, found


def ask_columns(found: Preview, page: str, other: str = "", unless: str = "") -> dict[str, str]:
    """Show the choice of the column of the texts, and of another one; return role -> column, {}: plain text.

    Args:
        found: Preview of the file.
        page: Beginning of the keys.
        other: Role of the other column, "label" or "target"; "": there is none.
        unless: What stands for no such column.
    """
    if found.format == "text":
        return {}
    columns, titles = list(found.columns), column_titles(found)
    guess = {**found.guess.get("texts", {}), **found.guess.get(KIND_OF_ROLE.get(other, ""), {})}
    row = st.container(horizontal=True, gap="small")
    named = {"format_func": lambda name: unless if name is None else titles[name], "width": WIDTH}
    at = columns.index(guess["text"]) if "text" in guess else 0
    chosen = {"text": row.selectbox(t("data.text"), columns, at, key=f"{page}-text", **named)}
    if other:
        options = [None, *(name for name in columns if name != chosen["text"])]
        likely = guess.get(other)
        at = options.index(likely) if likely in options else 0
        picked = row.selectbox(t(f"data.{other}"), options, at, key=f"{page}-{other}", **named)
        chosen |= {} if picked is None else {other: picked}
    second = guess.get("second")
    return chosen if second in (None, *chosen.values()) else chosen | {"second": second}


def ask_encoding(row: DeltaGenerator, key: str, unless: str) -> None:
    """Show the choice of the encoding; `unless` stands for none."""
    row.selectbox(
        t("data.encoding.label"),
        ["", *ENCODINGS],
        format_func=lambda name: name or unless,
        key=key,
        help=t("data.encoding.help"),
        width=WIDTH,
    )


def ask_bad_rows(bad: BadRows) -> bool:
    """Show which rows of a file cannot be used, and the choice to leave them out; return whether the others
    can be.
    """
    if bad.blank:
        st.caption(t("data.blank", count=bad.blank))
    if not bad.count:
        return True
    kinds = escaped(t("list.comma").join(sentence_of(kind, words().language) for kind in bad.kinds()))
    st.warning(t("data.bad", count=bad.count, rows=f"{bad.rows:,}", kinds=kinds), icon=":material/report:")
    table = {
        t("data.bad.line"): [f"{row.line:,}" if row.line else "" for row in bad.first],
        t("data.bad.reason"): [escaped(sentence_of(reason(row.kind), words().language)) for row in bad.first],
        t("data.bad.content"): [escaped(row.content) for row in bad.first],
    }
    st.table(table, border="horizontal", hide_index=True)
    return st.checkbox(
        t("data.bad.skip", count=bad.count),
        key=f"skip-{hash((bad.path, *sorted(bad.counts.items())))}",
        help=t("data.bad.skip.help"),
    )


def column_titles(found: Preview) -> dict[str, str]:
    """Return column -> how it is called on the page: numbered ones in the visitor's language."""
    return {
        name: t("data.column", number=place) if name == numbered(place) else name
        for place, name in enumerate(found.columns, 1)
    }
