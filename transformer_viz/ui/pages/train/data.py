"""The choice of training data: a built-in task, a named data set, or a file."""

import streamlit as st

from transformer_viz.data import NAMED, DataError
from transformer_viz.data.named import check_named
from transformer_viz.data.tasks import TASKS
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.training.runs.plan import Material
from transformer_viz.ui.pages.train.file import ask_file
from transformer_viz.ui.shell.address import from_address, to_address
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.problems import show_problem

FILE = "file"
"""Option for a file of the visitor, among the tasks."""

IMDB = {"rows": 25_000, "vocab": 20_000, "tokens": 230.0}
"""Approximate numbers for the IMDB reviews before they are downloaded."""


def choose_task() -> str:
    """Show the choice of data; return the name of a task or a data set, or `FILE`."""
    tasks = [*TASKS, "imdb", FILE]
    from_address("task", tasks, tasks[0])
    task = st.pills(
        t("train.task"),
        tasks,
        format_func=lambda name: t(f"task.{name}"),
        key="task",
        required=True,
        persist_state="session",
    )
    task = task or tasks[0]
    to_address("task", task if task != tasks[0] else "")
    return task


def ask_material(task: str) -> Material | None:
    """Show the chosen data; return None until they are complete."""
    st.markdown(t(f"task.{task}.teaches"))
    if task == FILE:
        return ask_file()
    if task in NAMED:
        with st.spinner(t("data.looking")):
            missing = what_is_missing(task)
        if missing:
            show_problem(DataError.from_json(missing))
            return None
        return Material(task, "imdb", IMDB["rows"], [], IMDB["vocab"], IMDB["tokens"], {})
    examples, vocab, tokens = of_task(task)
    text, target = examples[0]
    key = "train.example" if target else "train.example.text"
    st.caption(t(key, text=escaped(text), target=escaped(target or "")))
    return Material(task, task, None, examples[1:4], vocab, tokens, {})


@st.cache_data(ttl=60, show_spinner=False)
def what_is_missing(task: str) -> dict | None:
    """Return the error that a named data set can neither be read nor fetched, as JSON; None if it can."""
    try:
        check_named(task)
    except DataError as error:
        return error.to_json()
    return None


@st.cache_data(max_entries=16, show_spinner=False)
def of_task(task: str) -> tuple[list[tuple[str, str | None]], int, float]:
    """Return 300 examples of a task, their vocabulary size and mean length in tokens."""
    pairs = TASKS[task].pairs(300, seed=1)
    sides = [side for pair in pairs for side in pair if side]
    tokenizer = Tokenizer.train(sides, 1000, markers=True, split_digits=True)
    ids = tokenizer.encode_batch([text for text, _ in pairs], max_len=1000)
    return pairs, tokenizer.vocab_size, sum(map(len, ids)) / len(ids)
