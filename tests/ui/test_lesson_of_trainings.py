"""The lesson whose question two trainings of the visitor answer, run by Streamlit's own test harness."""

import dataclasses

import pages
import pytest
from pages import again, go_to_page, open_page, press, shown
from streamlit.testing.v1 import AppTest

from transformer_viz.language import Words
from transformer_viz.runs import TrainingJob, TrainingSettings, create_run
from transformer_viz.values.presets import PRESETS

pytestmark = pytest.mark.usefixtures("engine", "shipped")

LESSON = "16-what-warm-up-is-for"
JOB = TrainingJob(config=PRESETS["vaswani-tiny"], settings=TrainingSettings(warmup=0.2), data="reverse")


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path))
    return tmp_path


def train(folder, warmup, exact_match):
    """Leave what a training leaves: the log of a run that ended with a share of exact matches."""
    settings = dataclasses.replace(JOB.settings, warmup=warmup)
    run = create_run(dataclasses.replace(JOB, settings=settings), folder=folder)
    run.append("epoch", epoch=1, step=10, best=True, exact_match=exact_match, loss=1.0, val_loss=1.0)
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
    truth = f"**{words('train.warmup')} 0.2** 86%"
    whose = words("lesson.trainings", truth=truth)
    wrong = words("lesson.wrong", guess=f"{words('train.warmup')} 0", truth=whose)
    for guess, said in (("0", words("lesson.right", truth=truth)), ("1", wrong), (None, whose)):
        assert said in shown(revealed(language, guess)).replace("\\", "")


def test_what_the_trainings_show_decides_and_not_what_the_lesson_says(runs):
    app = press(open_page("train", lesson=LESSON), "Reveal")
    assert "Train once with each setting (Warm-up 0.2, Warm-up 0)" in shown(app).replace("\\", "")
    train(runs, 0.2, 0.3)
    train(runs, 0, 0.4)
    app = again(app)
    assert "Your trainings: **Warm-up 0** 40%" in shown(app).replace("\\", "")
