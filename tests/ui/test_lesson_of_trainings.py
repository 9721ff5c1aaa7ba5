"""The lesson whose question two trainings of the visitor answer, run by Streamlit's own test harness."""

import dataclasses

import pages
import pytest
from pages import again, go_to_page, open_page, press, shown
from streamlit.testing.v1 import AppTest

from transformer_viz.language import Words
from transformer_viz.network.presets import PRESETS
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run
from transformer_viz.training.runs.settings import TrainingSettings

pytestmark = pytest.mark.usefixtures("engine", "shipped")

LESSON = "16-what-warm-up-is-for"
JOB = TrainingJob(config=PRESETS["vaswani-tiny"], settings=TrainingSettings(warmup=0.2), data="reverse")

SCORES = {
    "en": "Validation, exact match: 86.0% (Warm-up 0.2), 12.0% (Warm-up 0).",
    "zh": "验证集完全匹配率：预热 0.2 为 86.0%、预热 0 为 12.0%。",
}


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path))
    return tmp_path


def train(folder, warmup, exact_match):
    """Leave what a training leaves: the log of a run, with its share of exact matches in the validation."""
    settings = dataclasses.replace(JOB.settings, warmup=warmup)
    run = create_run(dataclasses.replace(JOB, settings=settings), folder=folder)
    measured = {"exact_match": 1 - exact_match, "val_exact_match": exact_match}
    run.append("epoch", epoch=1, step=10, best=True, loss=1.0, val_loss=1.0, **measured)
    run.append("finished")


def revealed(language, guess):
    """Return the Train page of a visitor who has revealed the lesson."""
    app = AppTest.from_file(pages.APP, default_timeout=60)
    for key, value in {"lesson": LESSON, "lesson-revealed": LESSON, "lesson-guessed": guess}.items():
        app.session_state[key] = value
    app.query_params["lang"] = language
    return go_to_page(app, "train")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_guess_is_marked_by_the_visitor_s_own_trainings(runs, language):
    words = Words(language)
    both = words("list.comma").join(f"{words('train.warmup')} {value}" for value in ("0.2", "0"))
    untrained = words("lesson.untrained", choices=both)
    assert untrained in shown(revealed(language, "0")).replace("\\", "")
    train(runs, 0, 0.12)
    assert untrained in shown(revealed(language, "0")).replace("\\", "")
    train(runs, 0.2, 0.86)
    truth = f"**{words('train.warmup')} 0.2**"
    whose = words("lesson.trainings", truth=truth)
    wrong = words("lesson.wrong", guess=f"{words('train.warmup')} 0", truth=whose)
    for guess, said in (("0", words("lesson.right", truth=truth)), ("1", wrong), (None, whose)):
        found = shown(revealed(language, guess)).replace("\\", "")
        assert said in found
        assert SCORES[language] in found


def test_what_the_trainings_show_decides_and_not_what_the_lesson_says(runs):
    app = press(open_page("train", lesson=LESSON), "Reveal")
    assert "Train once with each setting (Warm-up 0.2, Warm-up 0)" in shown(app).replace("\\", "")
    train(runs, 0.2, 0.3)
    train(runs, 0, 0.4)
    app = again(app)
    assert "Your trainings: **Warm-up 0**" in shown(app).replace("\\", "")
