"""Classroom mode on the pages, each visitor a session of Streamlit's own test harness."""

import json
import os
import shutil
import time
from http.cookies import SimpleCookie
from pathlib import Path
from types import SimpleNamespace

import pages
import pytest
import streamlit as st
from bench import bench_on, texts_of
from pages import again, go_to_page, listed, press, shown
from small_models import write
from streamlit.testing.v1 import AppTest

from transformer_viz import store
from transformer_viz.network.config import TransformerConfig
from transformer_viz.service.engine import EngineError
from transformer_viz.service.trainer import QUOTA
from transformer_viz.store.quota import bytes_in
from transformer_viz.trace.request import Request
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run, list_runs
from transformer_viz.training.runs.settings import TrainingSettings
from transformer_viz.ui.shell import classroom
from transformer_viz.ui.shell.card import size_text
from transformer_viz.ui.shell.server import shared_trainer
from transformer_viz.ui.workbench import question

CONFIG = TransformerConfig(d_model=8, num_heads=2, ffn_dim=8, norm="pre", max_len=32)
WORD = "open sesame"


pytestmark = pytest.mark.usefixtures("engine")


@pytest.fixture(autouse=True)
def shelf(explorer, tmp_path, monkeypatch):
    """A class with one model on the shelf and no runs yet."""
    monkeypatch.setattr(type(st.context), "cookies", {})  # the harness makes them up
    monkeypatch.setenv("TRANSFORMER_VIZ_CLASSROOM", "1")
    monkeypatch.setenv("TRANSFORMER_VIZ_TEACHER", WORD)
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path / "models"))
    write(explorer, tmp_path / "models")
    classroom.teacher_secret.cache_clear()
    shared_trainer.cache_clear()
    yield tmp_path / "models"
    for run in list_runs():
        run.stop()
    shared_trainer().close()
    shared_trainer.cache_clear()
    classroom.teacher_secret.cache_clear()


def visit(who, page="models", **address):
    """Return the app as a visitor sees it whose browser has no cookies, but is known all the same."""
    app = AppTest.from_file(pages.APP, default_timeout=60)
    app.session_state[classroom.COOKIE] = who
    for key, value in address.items():
        app.query_params[key] = value
    return go_to_page(app, page)


def buttons(app):
    return {button.label for button in app.button}


def duplicate(app, name):
    [field] = [field for field in app.text_input if field.key.startswith("models.duplicate")]
    field.set_value(name)
    return press(app, "Duplicate")


def run_of(who):
    """Return a new run of a visitor, or one from before the class for ""."""
    settings = TrainingSettings(epochs=1, batch_size=16)
    owner = who and classroom.owner_of(who)
    return create_run(
        TrainingJob(config=CONFIG, settings=settings, data="parity", rows=200, owner=owner), title=who
    )


def finished_run(who, shelf):
    """Return a run of a visitor that holds a model, as if it had learned one and was stopped."""
    run = run_of(who)
    run.stop()
    shutil.copytree(shelf / "small", run.model)
    return run


def is_open(app):
    """Return whether the teacher's page is there for a visitor."""
    return "Class" in [header.value for header in go_to_page(app, "teacher").header]


def test_a_model_of_the_shelf_can_be_copied_and_not_changed(shelf):
    app = visit("ann")
    assert {"Rename", "Delete"}.isdisjoint(buttons(app))
    app = duplicate(app, "mine")
    assert listed(app) == ["mine", "small"]
    assert list(app.dataframe[0].value["whose"]) == ["you", "class"]
    assert {"Rename", "Delete"} <= buttons(app)
    assert [model.name for model in store.list_models(shelf)] == ["small"]


def test_nobody_sees_opens_or_deletes_the_model_of_another(shelf):
    duplicate(visit("ann"), "mine")
    assert listed(visit("bob")) == ["small"]
    app = visit("bob", "attention", model="mine")
    assert "mine" in app.toast[0].value
    assert [box.options for box in app.selectbox if box.key == "model"] == [["small · bad / fair / good"]]
    app = duplicate(visit("bob"), "mine")
    press(app, "Delete")
    assert listed(visit("bob")) == ["small"]
    assert listed(visit("ann")) == ["mine", "small"]


def test_an_own_model_is_looked_into_like_any_other(shelf):
    duplicate(visit("ann"), "mine")
    app = visit("ann", "attention", model="mine", text="A dull film.")
    assert not app.error, shown(app)
    assert texts_of(bench_on(app).said["answer"])[0].startswith("The model predicts")


def test_an_address_compares_with_own_models_alone(shelf):
    duplicate(visit("ann"), "mine")
    own = os.path.abspath(classroom.own_models(classroom.owner_of("ann")) / "mine")
    for who, is_shown in (("ann", True), ("bob", False)):
        before = Request(own, "A dull plot.").to_json()
        said = bench_on(visit(who, "attention", text="A dull film.", before=before)).said
        assert ("before" in said) == is_shown


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (lambda path: store.ModelError(f"There is no model {path}."), "There is no model mine."),
        (lambda path: ValueError(f"{path} cannot do that."), "mine cannot do that."),
        (lambda path: EngineError("memory"), "There is not enough memory"),
    ],
)
def test_no_page_and_no_line_of_the_log_names_the_folder_of_a_visitor(monkeypatch, reason, sentence):
    def refuse(run, stamp, progress):
        raise reason(run.model)

    noted = []
    duplicate(visit("ann"), "mine")
    app = visit("ann", "attention", model="mine", text="A dull film.")
    monkeypatch.setattr(question, "cached_answer", refuse)
    monkeypatch.setattr(question, "note", lambda event, **facts: noted.append(facts))
    header = bench_on(app, text="A dull plot.").header
    assert sentence in header["problem"]
    assert "visitors" not in json.dumps(header)
    assert [facts["model"] for facts in noted] == ["mine"] * sentence.endswith("memory")


@pytest.mark.parametrize("kind", ["table", "kinds"])
def test_a_table_of_positions_that_is_gone_is_said_without_a_folder(monkeypatch, kind):
    def refuse(model):
        raise store.ModelError(f"{model.path} is damaged.")

    monkeypatch.setattr(f"transformer_viz.ui.pages.positions.{kind}.own_table", refuse)
    duplicate(visit("ann"), "mine")
    app = visit("ann", "positions", model="mine", view=kind)
    assert app.error[0].value.replace("\\", "") == "The model cannot be read: mine is damaged."


def test_what_a_visitor_keeps_has_a_limit(shelf, monkeypatch):
    monkeypatch.setattr("transformer_viz.ui.shell.shelf.VISITOR_BYTES", 3 * store.usage(shelf).used // 2)
    app = duplicate(duplicate(visit("ann"), "mine"), "more")
    assert "Delete some first; the largest: 'mine'" in app.error[0].value.replace("\\", "")
    assert listed(visit("ann")) == ["mine", "small"]


def test_what_all_visitors_keep_together_has_a_limit(shelf, monkeypatch):
    size = store.usage(shelf).used
    monkeypatch.setattr("transformer_viz.ui.shell.shelf.VISITORS_BYTES", 5 * size // 2)
    for who in ("ann", "bob"):
        assert listed(duplicate(visit(who), "mine")) == ["mine", "small"]
    app = duplicate(visit("eve"), "mine")
    refusal = "There is no space for another model: the models of the whole class use"
    assert app.error[0].value.startswith(refusal)
    assert "Ask your teacher" in app.error[0].value
    app = visit("eve")
    app.file_uploader[0].set_value(("model.zip", store.pack_model("small", shelf), "application/zip"))
    assert "the models of the whole class use" in again(app).error[0].value
    run = finished_run("eve", shelf)
    app = press(visit("eve", "train", run=run.id), "Save to the model library")
    assert "the models of the whole class use" in app.error[0].value
    assert listed(visit("eve")) == ["small"]


def test_a_training_is_seen_by_its_owner_alone(shelf):
    mine, other, old = run_of("ann"), run_of("bob"), run_of("")
    app = visit("ann", "train")
    [choice] = [box for box in app.selectbox if box.key == "run"]
    assert len(choice.options) == 2
    assert "Stop" in buttons(visit("ann", "train", run=mine.id))
    for hidden in (other, old):
        assert "Stop" not in buttons(visit("ann", "train", run=hidden.id))


def test_who_waits_sees_how_many_come_before(shelf):
    run_of("bob"), run_of("cem")
    run = run_of("ann")
    [progress] = visit("ann", "train", run=run.id).get("progress")
    assert progress.proto.text == "Queued behind 2 training runs …"


@pytest.fixture
def ann(monkeypatch):
    """Return a visitor whose browser has sent the cookie of the class."""
    monkeypatch.setattr(type(st.context), "cookies", {classroom.COOKIE: "a" * 32})
    return "a" * 32


def test_each_visitor_has_one_training_at_a_time(shelf, ann):
    run_of(ann)
    app = press(visit(ann, "train"), "Start training")
    assert "not ended yet" in app.error[0].value
    assert len(list_runs()) == 1


def test_the_queue_of_a_class_has_an_end(shelf, ann, monkeypatch):
    monkeypatch.setattr("transformer_viz.training.runs.listing.MOST_QUEUED", 2)
    runs = [run_of("bob"), run_of("cem")]
    app = press(visit(ann, "train"), "Start training")
    assert app.error[0].value.startswith("2 trainings are waiting already")
    runs[0].stop()
    press(visit(ann, "train"), "Start training")
    assert list_runs()[0].owner == classroom.owner_of(ann)


@pytest.mark.parametrize("cookie", [None, "", "made up"])
def test_no_training_is_started_without_a_cookie_that_came_back(shelf, monkeypatch, cookie):
    monkeypatch.setattr(type(st.context), "cookies", {} if cookie is None else {classroom.COOKIE: cookie})
    app = press(visit("ann", "train"), "Start training")
    assert app.error[0].value.startswith("Only a browser that keeps cookies can start a training")
    assert list_runs() == []


def test_the_teachers_page_opens_with_the_word_alone(shelf):
    for address in ({}, {"teacher": "guess"}, {"teacher": ""}):
        app = visit("eve", "models", **address)
        assert "teacher" not in app.query_params
        assert not is_open(app)
    app = visit("tea", "models", teacher=WORD)
    assert "teacher" not in app.query_params
    assert is_open(app)
    assert not is_open(visit("eve"))


def test_the_teacher_stops_and_deletes_what_visitors_have(shelf):
    duplicate(visit("ann"), "mine")
    runs = [run_of("ann"), run_of("bob")]
    visit("tea", "models", teacher=WORD)
    app = visit("tea", "teacher")
    assert set(app.dataframe[0].value["visitor"]) == {run.owner[:4] for run in runs}
    assert list(app.dataframe[1].value["model"]) == ["mine"]
    app.button(key="teacher-stop_all-sure").click()
    app = again(app)
    assert {run.status for run in runs} == {"stopped"}
    for frame, button in ((0, "delete"), (1, "delete_models")):
        app.session_state[app.dataframe[frame].key] = {"selection": {"rows": [0], "columns": [], "cells": []}}
        app = again(app)
        app.button(key=f"teacher-{button}-sure").click()
        app = again(app)
    assert len(list_runs()) == 1
    assert listed(visit("ann")) == ["small"]
    assert store.usage(classroom.own_models(classroom.owner_of("ann"))).used == 0


def test_the_teacher_may_change_the_shelf(shelf):
    app = visit("tea", "models", teacher=WORD)
    assert {"Rename", "Delete"} <= buttons(app)
    duplicate(app, "for-all")
    assert "for-all" in listed(visit("ann"))


@pytest.fixture
def clock(monkeypatch):
    """Return a function that sets the clock of the class so many days ahead."""

    def set_clock(days):
        ahead = SimpleNamespace(time=lambda: time.time() + days * 24 * 60 * 60)
        monkeypatch.setattr(classroom, "time", ahead)

    return set_clock


def test_what_nobody_comes_back_to_is_put_away_and_goes_after_as_long_again(shelf, clock):
    duplicate(visit("ann"), "mine")
    run, kept = run_of("ann"), run_of("bob")
    home = classroom.visitors_folder() / classroom.owner_of("ann")
    clock(classroom.KEPT_DAYS + 1)
    visit("cem")
    assert list_runs() == [kept]  # there is no folder of bob, who has never been here
    assert not home.exists()
    [away] = home.parent.glob(".away-*")
    assert (away / "runs" / run.id / "job.json").exists()
    assert (away / "models" / "mine").exists()
    clock(2 * classroom.KEPT_DAYS)
    visit("dan")
    assert away.exists()
    clock(2 * classroom.KEPT_DAYS + 2)
    visit("eve")
    assert not away.exists()


def test_a_clock_that_runs_ahead_once_costs_nobody_anything(shelf, clock):
    duplicate(visit("ann"), "mine")
    run, home = run_of("ann"), classroom.visitors_folder() / classroom.owner_of("ann")
    clock(classroom.KEPT_DAYS + 1)
    visit("cem")
    assert list_runs() == []
    clock(0)
    assert listed(visit("ann")) == ["mine", "small"]
    assert list_runs() == [run]
    assert run.owner == classroom.owner_of("ann")
    assert sorted(place.name for place in home.iterdir()) == ["models"]
    assert list(home.parent.glob(".away-*")) == []


def test_what_comes_back_replaces_nothing_that_is_there(shelf, clock):
    duplicate(visit("ann"), "mine")
    home = classroom.visitors_folder() / classroom.owner_of("ann")
    clock(classroom.KEPT_DAYS + 1)
    visit("cem")
    [away] = home.parent.glob(".away-*")
    shutil.copytree(away / "models", home / "models")
    (home / "models" / "mine" / "card.json").write_text("{}")
    shutil.copytree(away / "models" / "mine", away / "models" / "other")
    classroom.bring_back(classroom.owner_of("ann"))
    assert {place.name for place in (home / "models").iterdir()} == {"mine", "other"}
    assert (home / "models" / "mine" / "card.json").read_text() == "{}"
    assert (away / "models" / "mine" / "card.json").read_text() != "{}"


def test_who_comes_back_keeps_everything(shelf):
    duplicate(visit("ann"), "mine")
    home = classroom.visitors_folder() / classroom.owner_of("ann")
    long_ago = time.time() - (classroom.KEPT_DAYS - 1) * 24 * 60 * 60
    os.utime(home, (long_ago, long_ago))
    visit("ann")
    assert time.time() - home.stat().st_mtime < 60


def test_one_folder_that_cannot_be_looked_at_keeps_no_other_one(monkeypatch):
    duplicate(visit("ann"), "mine")
    home = classroom.visitors_folder() / classroom.owner_of("ann")
    os.utime(home, (0, 0))
    os.symlink("nowhere", home.with_name("0"))
    monkeypatch.setattr(Path, "iterdir", lambda folder: map(folder.joinpath, sorted(os.listdir(folder))))
    visit("cem")
    assert not home.exists()


def test_the_teachers_page_is_there_though_uploads_cannot_be_counted(monkeypatch):
    def fail():
        raise PermissionError

    run = run_of("ann")
    monkeypatch.setattr("transformer_viz.ui.pages.teacher.page.uploads_bytes", fail)
    visit("tea", "models", teacher=WORD)
    used, most = size_text(bytes_in(run.path)), size_text(QUOTA.total)
    assert f"Training runs use {used} of {most}, uploaded files ?." in shown(visit("tea", "teacher"))


def test_a_cookie_of_any_kind_is_no_error():
    for given in ("a/b=1", '"', "=;=", "transformer-viz-visitor=", "\x00=\xff"):
        assert "transformer-viz-visitor=" in classroom.set_cookie({"cookie": given}, secure=True)
    assert classroom.set_cookie({"cookie": "a/b=1; transformer-viz-visitor=2"}, secure=True) is None


@pytest.mark.parametrize("secure", [True, False])
def test_the_cookie_is_read_by_no_script_and_sent_to_no_other_site(secure):
    [[name, cookie]] = SimpleCookie(classroom.set_cookie({}, secure=secure)).items()
    assert (name, len(cookie.value)) == (classroom.COOKIE, 32)
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/")
    assert bool(cookie["secure"]) == secure


def test_who_comes_again_keeps_the_same_cookie_for_half_a_year_more():
    [given] = SimpleCookie(classroom.set_cookie({}, secure=True)).values()
    header = f"a=1; {classroom.COOKIE}={given.value}"
    [renewed] = SimpleCookie(classroom.set_cookie({"cookie": header}, secure=True)).values()
    assert renewed == given
    assert int(renewed["max-age"]) == classroom.DAYS * 24 * 60 * 60
