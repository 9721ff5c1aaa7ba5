"""A training file of the visitor: upload, preview, columns, report."""

from collections import Counter
from collections.abc import Collection, Iterable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer_viz.data import COLUMN_ROLES, DataError, DataReport, Preview
from transformer_viz.data.columns import MAX_LABELS
from transformer_viz.language import joined
from transformer_viz.text.tokenizer import TOKEN_KINDS
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.plan import Material
from transformer_viz.training.runs.recipes import FEW_ROWS, RECIPES, Reading, likely_reading
from transformer_viz.training.runs.uploads import Upload
from transformer_viz.ui.pages.train.counting import MAX_COUNTED, count
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.problems import show_problem
from transformer_viz.ui.shell.upload import (
    WIDTH,
    ask_bad_rows,
    ask_options,
    column_titles,
    stored_upload,
)

LENGTHS = (16, 32, 48, 64, 80, 128, 256, 512, 1024)

TEST_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3)

LONGEST_LABEL = 40
"""Characters of the longest name given to a label."""

MAX_FLAGS = 4
"""Columns named as examples of those that each stand for a label."""

MAX_BALANCED = 12
"""Labels whose shares are shown."""


def ask_file() -> Material | None:
    """Show the upload, a preview with the guessed format, and a report."""
    file = st.file_uploader(t("data.file"), help=t("data.file.help"), key="data-file")
    if file is None:
        return None
    try:
        upload = stored_upload(file)
    except RunError as error:
        show_problem(error)
        return None
    try:
        return ask_about(upload)
    except DataError as error:
        show_problem(error.renamed(str(upload.path), file.name))
        return None


def ask_about(upload: Upload) -> Material | None:
    """Show the first rows of an upload, what is asked about it, and a report; return None until all is
    answered.

    Raises:
        DataError: If it cannot be used.
    """
    options, found = ask_options(upload)
    titles = column_titles(found)
    st.dataframe(found.rows.rename(columns=titles), hide_index=True, alt=t("data.rows.alt"))
    kind, columns = ask_columns(found)
    if kind is None:
        return None
    reading, test_share = ask_reading(kind, found, columns)
    with st.spinner(t("data.counting"), show_time=True):
        counted = count(upload, kind, tuple(columns.items()), reading, test_share, options)
    show_report(counted.report)
    if counted.joined:
        st.caption(t("data.joined", label=escaped(counted.joined)))
    labels = counted.report.labels
    if not ask_bad_rows(counted.bad_rows) or not ask_many_labels(labels):
        return None
    names = ask_label_names(labels) if 0 < len(labels) <= MAX_LABELS else {}
    if names is None:
        return None
    lengths = [text.median_tokens or 0 for text in counted.report.texts.values()]
    options = options._replace(skip_bad_rows=counted.bad_rows.count > 0, many_labels=len(labels) > MAX_LABELS)
    return Material(
        data=str(upload.path),
        recipe=kind,
        rows=counted.report.rows,
        examples=counted.examples,
        vocab=counted.vocab,
        tokens=lengths[0],
        job={"columns": columns, "options": options, "sha256": upload.sha256, "label_names": names}
        | reading.of_job,
        reading=reading,
        test_share=test_share,
        target_vocab=counted.target_vocab,
        target_tokens=lengths[-1],
    )


def ask_columns(found: Preview) -> tuple[str | None, dict[str, str]]:
    """Show the choice of the kind of rows and of its columns; return kind, and role -> column.

    What does not follow from the file is asked; the kind is None until that is answered.
    """
    kinds = [kind for kind in COLUMN_ROLES if len(COLUMN_ROLES[kind]) <= len(found.columns)]
    likely = found.kind if found.is_sure else "labels" if found.flags else None
    row = st.container(horizontal=True, gap="small")
    kind = row.selectbox(
        t("data.kind"),
        kinds,
        kinds.index(likely) if likely in kinds else None,
        format_func=lambda name: t(f"data.kind.{name}"),
        key=f"kind-{likely}-{hash(found.columns)}",
        placeholder=t("data.choose"),
        help=t("data.kind.help"),
        width=WIDTH,
    )
    if found.flags:
        named = [*map(escaped, found.flags[:MAX_FLAGS]), *["…"] * (len(found.flags) > MAX_FLAGS)]
        st.caption(t("data.flags", columns=t("list.comma").join(named)))
    if kind is None:
        st.info(t("data.kind.unclear"), icon=":material/help:")
        return None, {}
    if found.format == "text":
        return kind, {}
    titles, chosen = column_titles(found), {}
    guess = found.guess.get(kind) or found.clear.get(kind, {})
    for role in COLUMN_ROLES[kind]:
        chosen[role] = row.selectbox(
            t(f"data.{role}"),
            found.columns,
            found.columns.index(guess[role]) if role in guess else None,
            format_func=titles.__getitem__,
            key=f"column-{kind}-{role}-{hash(found.columns)}",
            placeholder=t("data.choose"),
            width=WIDTH,
        )
    if None in chosen.values():
        return None, {}
    return kind, chosen | ask_second(row, found, kind, chosen)


def ask_second(row: DeltaGenerator, found: Preview, kind: str, chosen: dict[str, str]) -> dict[str, str]:
    """Show the choice of a second text, read behind the first as a pair; return role -> column, {}: none."""
    rest = [name for name in found.columns if name not in chosen.values()]
    likely = found.guess.get(kind, {}).get("second")
    if kind != "labels" or not rest:
        return {}
    titles = column_titles(found)
    second = row.selectbox(
        t("data.second"),
        [None, *rest],
        rest.index(likely) + 1 if likely in rest else 0,
        format_func=lambda name: t("data.second.none") if name is None else titles[name],
        key=f"column-second-{hash(found.columns)}-{hash(tuple(rest))}",
        help=t("data.second.help"),
        width=WIDTH,
    )
    return {} if second is None else {"second": second}


def ask_many_labels(labels: Collection[str]) -> bool:
    """Show the question whether there really are so many labels; return whether all can be learned."""
    if len(labels) <= MAX_LABELS:
        return True
    st.warning(t("data.many", count=len(labels)), icon=":material/label:")
    return st.checkbox(t("data.many.yes", count=len(labels)), key=f"many-{len(labels)}")


def ask_reading(kind: str, found: Preview, columns: dict[str, str]) -> tuple[Reading, float]:
    """Show the choice of how the texts are read, and of the share of test rows; `columns` is role ->
    column.
    """
    likely = likely_reading(kind, found, columns)
    row = st.container(horizontal=True, gap="small", vertical_alignment="bottom")
    tokens = row.selectbox(
        t("data.tokens.of_text" if kind == "pairs" else "data.tokens"),
        TOKEN_KINDS,
        TOKEN_KINDS.index(likely.tokens),
        format_func=lambda name: t(f"data.tokens.{name}"),
        help=joined(t("gloss.token"), t("data.tokens.help")),
        key=f"tokens-{kind}-{likely.tokens}",
        width=WIDTH,
    )
    target_tokens = ask_target_tokens(row, likely.target_tokens) if kind == "pairs" else ""
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
    return Reading(tokens, keep_case, longest, target_tokens), test_share


def ask_target_tokens(row: DeltaGenerator, likely: str) -> str:
    """Show the choice of the tokens of the targets; return "" for one vocabulary with the texts."""
    options = ["", *TOKEN_KINDS]
    return row.selectbox(
        t("data.tokens.of_target"),
        options,
        options.index(likely),
        format_func=lambda name: t(f"data.tokens.{name}") if name else t("data.tokens.shared"),
        help=t("data.tokens.of_target.help"),
        key=f"target-tokens-{likely}",
        width=WIDTH,
    )


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


def show_report(report: DataReport) -> None:
    """Show the size of the data, and warnings about truncated, unknown, repeated or conflicting rows.

    Of pairs, lengths and shares are those of the texts and of the targets.
    """
    texts = report.texts.values()
    counts = {
        "rows": f"{report.rows:,}",
        "train": f"{report.sizes['train']:,}",
        "validation": f"{report.sizes['validation']:,}",
        **({"test": f"{report.sizes['test']:,}"} if report.sizes["test"] else {}),
        "median": " → ".join(f"{text.median_tokens:,}" for text in texts),
        "cut": " → ".join(f"{text.cut_share:.1%}" for text in texts),
        "unknown": " → ".join(f"{text.unknown_share:.1%}" for text in texts),
    }
    summary = " · ".join(t(f"data.{name}", value=value) for name, value in counts.items())
    st.markdown(summary, help=t("data.help", most=f"{max(text.longest_tokens or 0 for text in texts):,}"))
    if report.rows < FEW_ROWS:
        st.info(t("data.few", count=report.rows), icon=":material/scatter_plot:")
    many = len(report.labels) > MAX_BALANCED
    if report.labels:
        shown = Counter(report.labels).most_common(MAX_BALANCED) if many else report.labels.items()
        balance = " · ".join(f"{escaped(label)} {count / report.rows:.0%}" for label, count in shown)
        st.caption(
            t("data.labels.first" if many else "data.labels", balance=balance, count=len(report.labels))
        )
    if report.rows > MAX_COUNTED:
        st.caption(t("data.sampled", count=MAX_COUNTED))
    if report.duplicates:
        st.caption(t("data.duplicates", count=report.duplicates))
    if report.conflicting:
        key = "data.conflicting" if report.labels else "data.several"
        st.caption(t(key, count=report.conflicting))
