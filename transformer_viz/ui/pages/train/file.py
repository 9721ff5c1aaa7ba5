"""A training file of the visitor: upload, preview, columns, report."""

from collections.abc import Iterable
from typing import NamedTuple

import streamlit as st

from transformer_viz.data import (
    COLUMN_ROLES,
    DataError,
    DataReport,
    Preview,
    describe,
    evenly_spaced,
    read_labelled,
    read_pairs,
    read_texts,
    split,
    split_pairs,
    split_texts,
)
from transformer_viz.data.encodings import UTF_8
from transformer_viz.runs import RunError, Upload
from transformer_viz.runs.recipes import RECIPES, file_defaults
from transformer_viz.text.tokenizer import TOKEN_KINDS, Tokenizer
from transformer_viz.ui.pages.train.material import Material
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.problems import show_problem
from transformer_viz.ui.shell.upload import TYPES, cached_preview, stored_upload

LENGTHS = (16, 32, 48, 64, 80, 128, 256, 512, 1024)

TEST_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3)

LONGEST_LABEL = 40
"""Characters of the longest name given to a label."""

WIDTH = 182
"""Width of a widget, in pixels."""

MAX_VOCABULARY = 20_000
"""Maximum vocabulary size counted for the report."""

MAX_COUNTED = 20_000
"""Maximum number of texts tokenized for the report."""

READERS = {
    "labels": (read_labelled, split),
    "pairs": (read_pairs, split_pairs),
    "texts": (read_texts, split_texts),
}
"""Kind of rows -> functions that read and split them."""


class Counted(NamedTuple):
    """Report, vocabulary size and examples of a file."""

    report: DataReport
    vocab: int
    examples: list


def ask_file() -> Material | None:
    """Show the upload, a preview with the guessed format, and a report."""
    file = st.file_uploader(t("data.file"), type=TYPES, help=t("data.file.help"), key="data-file")
    if file is None:
        return None
    try:
        upload = stored_upload(file)
    except RunError as error:
        show_problem(error)
        return None
    try:
        found = cached_preview(upload)
        if found.encoding != UTF_8:
            st.caption(t("data.encoding", encoding=found.encoding))
        st.dataframe(found.rows, hide_index=True, alt=t("data.rows.alt"))
        kind, columns = ask_columns(found)
        tokens, keep_case, longest, test_share = ask_reading(kind, found)
        with st.spinner(t("data.counting"), show_time=True):
            counted = count(upload, kind, tuple(columns.items()), tokens, keep_case, longest, test_share)
    except DataError as error:
        show_problem(error.renamed(str(upload.path), file.name))
        return None
    show_report(counted.report)
    names = ask_label_names(counted.report.labels) if counted.report.labels else {}
    if names is None:
        return None
    return Material(
        data=str(upload.path),
        recipe=kind,
        rows=counted.report.rows,
        examples=counted.examples,
        vocab=counted.vocab,
        tokens=counted.report.texts["text"].median_tokens or 0,
        job={"columns": columns, "tokens": tokens, "keep_case": keep_case, "sha256": upload.sha256}
        | {"label_names": names},
        changes={"max_len": longest},
        test_share=test_share,
    )


def ask_columns(found: Preview) -> tuple[str, dict[str, str]]:
    """Show the choice of the kind of rows and of its columns; return kind, and role -> column."""
    kinds = [kind for kind in COLUMN_ROLES if len(COLUMN_ROLES[kind]) <= len(found.columns)]
    row = st.container(horizontal=True, gap="small")
    kind = row.selectbox(
        t("data.kind"),
        kinds,
        kinds.index(found.kind) if found.kind in kinds else 0,
        format_func=lambda name: t(f"data.kind.{name}"),
        help=t("data.kind.help"),
        width=WIDTH,
    )
    guess = found.guess.get(kind, {})
    chosen = {}
    for number, role in enumerate(COLUMN_ROLES[kind]):
        at = found.columns.index(guess[role]) if role in guess else min(number, len(found.columns) - 1)
        chosen[role] = row.selectbox(
            t(f"data.{role}"), found.columns, at, key=f"column-{kind}-{role}", width=WIDTH
        )
    return kind, {} if found.format == "text" else chosen


def ask_reading(kind: str, found: Preview) -> tuple[str, bool, int, float]:
    """Show how the texts are read; return kind of tokens, keep case, maximum length, share of test rows."""
    likely = file_defaults(kind, found)
    row = st.container(horizontal=True, gap="small", vertical_alignment="bottom")
    tokens = row.selectbox(
        t("data.tokens"),
        TOKEN_KINDS,
        TOKEN_KINDS.index(likely.tokens),
        format_func=lambda name: t(f"data.tokens.{name}"),
        help=t("data.tokens.help"),
        key=f"tokens-{kind}",
        width=WIDTH,
    )
    longest = row.select_slider(
        t("data.longest"),
        LENGTHS,
        likely.max_len,
        help=t("data.longest.help"),
        key=f"longest-{kind}",
        width=WIDTH,
    )
    test_share = row.select_slider(
        t("data.share"),
        TEST_SHARES,
        RECIPES[kind].settings["test_share"],
        format_func="{:.0%}".format,
        help=t("data.share.help"),
        key=f"test-{kind}",
        width=WIDTH,
    )
    keep_case = row.toggle(t("data.case"), likely.keep_case, help=t("data.case.help"), key=f"case-{kind}")
    return tokens, keep_case, longest, test_share


def ask_label_names(labels: Iterable[str]) -> dict[str, str] | None:
    """Show boxes for names of the labels; return label -> name, None if two would have the same name."""
    with (
        st.expander(t("data.names"), icon=":material/label:"),
        st.container(horizontal=True, gap="small"),
    ):
        typed = {
            label: st.text_input(
                escaped(label),
                placeholder=label,
                key=f"name-of-{label}",
                width=WIDTH,
                max_chars=LONGEST_LABEL,
            )
            for label in labels
        }
    names = {label: name.strip() for label, name in typed.items() if name.strip()}
    if len({names.get(label, label) for label in typed}) < len(typed):
        st.error(t("data.names.same"), icon=":material/error:")
        return None
    return names


@st.cache_data(max_entries=8, show_spinner=False)
def count(
    upload: Upload,
    kind: str,
    columns: tuple[tuple[str, str], ...],
    tokens: str,
    keep_case: bool,
    longest: int,
    test_share: float,
) -> Counted:
    """Read an upload and describe its rows.

    Raises:
        DataError: If it cannot be used; names the place and the reason.
    """
    read, split_rows = READERS[kind]
    rows = read(upload.path, dict(columns), sha256=upload.sha256)
    parts = split_rows(rows, test=test_share)
    seen = evenly_spaced(parts.train, MAX_COUNTED)
    sides = [*seen["text"], *(seen["target"] if kind == "pairs" else [])]
    tokenizer = Tokenizer.train(sides, MAX_VOCABULARY, kind=tokens, lowercase=not keep_case)
    report = describe(rows, tokenizer=tokenizer, max_len=longest, parts=parts, most=MAX_COUNTED)
    first = parts.validation.iloc[parts.validation["text"].str.len().argsort(kind="stable")[:200:60]]
    targets = first["target"] if kind == "pairs" else [None] * len(first)
    return Counted(report, tokenizer.vocab_size, list(zip(first["text"], targets, strict=True)))


def show_report(report: DataReport) -> None:
    """Show the size of the data, and warnings about truncated, unknown, repeated or conflicting rows."""
    text = report.texts["text"]
    counts = {
        "rows": f"{report.rows:,}",
        "train": f"{report.sizes['train']:,}",
        "validation": f"{report.sizes['validation']:,}",
        **({"test": f"{report.sizes['test']:,}"} if report.sizes["test"] else {}),
        "median": f"{text.median_tokens:,}",
        "cut": f"{text.cut_share:.1%}",
        "unknown": f"{text.unknown_share:.1%}",
    }
    summary = " · ".join(t(f"data.{name}", value=value) for name, value in counts.items())
    st.markdown(summary, help=t("data.help", most=f"{text.longest_tokens:,}"))
    if report.labels:
        balance = " · ".join(
            f"{escaped(label)} {count / report.rows:.0%}" for label, count in report.labels.items()
        )
        st.caption(t("data.labels", balance=balance))
    if report.rows > MAX_COUNTED:
        st.caption(t("data.sampled", count=MAX_COUNTED))
    if report.duplicates:
        st.caption(t("data.duplicates", count=report.duplicates))
    if report.conflicting:
        key = "data.conflicting" if report.labels else "data.several"
        st.caption(t(key, count=report.conflicting))
