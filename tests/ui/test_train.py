"""The Train page, run by Streamlit's own test harness, with trainings in processes of their own."""

import functools
import json
import random
import shutil
from pathlib import Path

import hostile
import numpy as np
import pages
import pytest
import small_models
from made_traces import unpack_heads
from pages import again, press, shown, until, views_on, widget
from unprivileged import read_only_folder

from transformer_viz import store
from transformer_viz.cli.parser import build_parser
from transformer_viz.cli.planning import planned
from transformer_viz.data import named, preview
from transformer_viz.language import Words
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.fine_tuning import child_config
from transformer_viz.network.presets import PRESETS
from transformer_viz.questions.roles.scores import entropy
from transformer_viz.store.load import load
from transformer_viz.store.quota import Quota
from transformer_viz.trace.comparison import compare
from transformer_viz.trace.trace import Trace
from transformer_viz.training.runs import uploads
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run, list_runs, open_run
from transformer_viz.training.runs.plan import plan
from transformer_viz.training.runs.recipes import RECIPES, likely_reading
from transformer_viz.training.runs.settings import TrainingSettings
from transformer_viz.training.runs.uploads import keep_upload
from transformer_viz.ui.pages.train import forming
from transformer_viz.ui.pages.train.data import what_is_missing
from transformer_viz.ui.shell.language import escaped
from transformer_viz.ui.shell.server import shared_trainer
from transformer_viz.ui.shell.titles import title_of, titles_of

APP = str(Path(__file__).parents[2] / "app.py")

CONFIG = TransformerConfig(d_model=8, num_heads=2, ffn_dim=8, norm="pre", max_len=32)


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path))
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path / "models"))
    shared_trainer.cache_clear()
    yield tmp_path
    for run in list_runs():
        run.stop()
    shared_trainer().close()
    shared_trainer.cache_clear()


def open_page(**address):
    return pages.open_page("train", **address)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a function that trains, once for the same arguments, and returns the run."""
    from transformer_viz.training.job import work

    @functools.cache
    def train(epochs, probes):
        settings = TrainingSettings(epochs=epochs, batch_size=16)
        job = TrainingJob(
            config=CONFIG, settings=settings, data="parity", rows=200, frame_steps=5, probes=probes
        )
        run = create_run(job, folder=tmp_path_factory.mktemp("trained"))
        work(run)
        return run

    return train


@pytest.fixture
def finished_run(trained, runs):
    """Return a function that puts a finished run into the folder of this test."""

    def put(epochs=2, probes=(), title=""):
        done = trained(epochs, probes)
        run = create_run(done.job, title=title)
        return TrainingRun(shutil.copytree(done.path, run.path, dirs_exist_ok=True))

    return put


def test_a_task_shows_what_it_teaches_and_what_it_comes_to():
    app = open_page()
    assert "Write the digits backwards" in shown(app)
    assert "**116,864** trainable parameters" in shown(app)
    assert "**1,410** steps" in shown(app)
    widget(app.select_slider, "Epochs").set_value(10)
    assert "**2,820** steps" in shown(again(app))
    widget(app.select_slider, "Width (d_model)").set_value(128)
    assert "**116,864** trainable parameters" not in shown(again(app))


def test_an_address_opens_a_task_and_one_somebody_made_up_the_first():
    assert "Write the digits in ascending order" in shown(open_page(task="sort"))
    assert "Write the digits backwards" in shown(open_page(task="../etc", run="../../etc"))


def test_every_task_can_be_asked_for(tmp_path, monkeypatch):
    from transformer_viz.data.tasks import TASKS

    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    (tmp_path / "datasets" / "aclImdb").mkdir(parents=True)
    what_is_missing.clear()
    for task in (*TASKS, "imdb"):
        app = open_page(task=task)
        assert [button.label for button in app.main.button] == ["Start training"]
        assert not app.error


def test_a_data_set_that_cannot_be_fetched_is_a_sentence_before_the_start(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setattr(named, "REVIEWS", named.REVIEWS._replace(url="http://127.0.0.1:9/none"))
    what_is_missing.clear()
    app = open_page(task="imdb", lang="zh")
    assert ["请在有网络的地方下载" in error.value for error in app.error] == [True]
    assert [button.label for button in app.main.button] == []


def test_sentences_to_watch_are_short():
    app = open_page(task="copy")
    assert widget(app.text_area, "Sentences to track").max_chars == 1000


def typed_job(*argv):
    """Return the job of a `train` command."""
    arguments = build_parser().parse_args(["train", *argv])
    arguments.argv = argv
    return planned(arguments).job


def test_on_a_file_a_model_is_fine_tuned_from_the_command_line_as_from_the_page(runs, explorer, tmp_path):
    small_models.write(explorer, runs / "models")
    data = tmp_path / "reviews.csv"
    small_models.labelled_reviews(40).to_csv(data, index=False)
    typed = typed_job("--from", "small", "--out", "x", "--data", str(data))
    likely, recipe = likely_reading("labels", preview(data)), RECIPES["labels"].for_rows(40)
    assert plan(recipe, parent=explorer.config, reading=likely) == ("", typed.config, typed.settings)
    assert typed.config.max_len == explorer.config.max_len < likely.max_len  # learned positions
    assert typed.settings == RECIPES["labels"].for_rows(40).training(learning_rate=0.0003)


def test_a_model_is_fine_tuned_with_its_own_sizes_from_the_page(runs, explorer):
    config = explorer.config
    small_models.write(explorer, runs / "models")
    app = open_page(task="copy")
    assert "Start from" not in [each.label for each in app.selectbox]  # no model that translates
    app = open_page(task="parity")
    widget(app.select_slider, "Examples").set_value(2000)
    widget(app.selectbox, "Start from").set_value("small")
    again(app)
    assert "of **small** are kept" in shown(app)
    assert "does not know 100% of the tokens" in shown(app)  # words of reviews, and digits to read
    assert {"Layers", "Heads", "Width (d_model)"}.isdisjoint(each.label for each in app.select_slider)
    assert "Preset" not in [each.label for each in app.selectbox]
    widget(app.selectbox, "Layers to train").set_value(0)
    assert f"**{config.d_model * 2 + 2}** trainable parameters" in shown(again(app))
    widget(app.select_slider, "Epochs").set_value(1)
    press(again(app), "Start training")
    [run] = list_runs()
    assert (run.job.parent, run.job.trainable_layers) == ("small", 0)
    assert run.job.config == child_config(config, classifies=True)
    options = ["--data", "parity", "--epochs", "1"]
    typed = typed_job("--from", "small", "--out", "x", *options)
    assert (typed.settings, typed.config, typed.rows) == (run.job.settings, run.job.config, run.job.rows)
    until(app, "· finished")
    assert store.read_model(run.model).card["parent"]["name"] == "small"
    assert "preset" not in store.read_model(run.model).card


def test_pictures_that_were_left_out_for_want_of_room_are_said_to_be(runs):
    run = create_run(TrainingJob(config=CONFIG, settings=TrainingSettings(), data="parity", rows=200))
    run.append("data", total_steps=10)
    run.append("started", step=0, device="CPU")
    run.append("step", step=1, loss=0.5)
    run.append("full", step=1)
    run.append("failed", message="Oh.")
    assert "Not all pictures and epochs were saved" in shown(open_page(run=run.id))


@pytest.mark.parametrize(
    ("lang", "best", "gloss"),
    [
        (
            "en",
            "Best epoch: 1, **BLEU with all references 12.3, exact match 4.0%, token accuracy 45.0%**",
            "runs of",
        ),
        (
            "zh",
            "最佳：第 1 轮，**BLEU 值（全部参考译文） 12.3、完全匹配率 4.0%、词元准确率 45.0%**",
            "连续的词",
        ),
    ],
)
def test_the_metrics_of_pairs_are_shown_beside_one_another_and_explained(runs, lang, best, gloss):
    config = PRESETS["vaswani-tiny"]
    run = create_run(TrainingJob(config=config, settings=TrainingSettings(), data="pairs.csv"))
    run.claim()
    run.append("data", train=90, validation=10, parameters=1, steps_per_epoch=3, total_steps=30)
    run.append("started", step=0, device="CPU")
    run.append("step", step=3, loss=4.0, token_accuracy=0.3, exact_match=0.0, tokens_per_second=1.0)
    values = {"val_exact_match": 0.04, "val_token_accuracy": 0.45, "val_bleu": 12.34, "val_loss": 4.0}
    run.append("epoch", epoch=1, step=3, best=True, loss=4.0, token_accuracy=0.3, **values)
    app = open_page(run=run.id, lang=lang)
    [line] = [text for text in app.markdown if text.value.startswith(best.split("**")[0])]
    assert line.value.startswith(best)
    assert gloss in line.proto.help
    assert len(line.proto.help.split("\n\n")) == 3
    [curves] = app.get("plotly_chart")
    run.append("stopped")
    assert {0.3, 0.45} <= {y for trace in json.loads(curves.proto.spec)["data"] for y in trace["y"]}


@pytest.mark.parametrize(
    ("lang", "name", "gloss"), [("en", "perplexity", "equally likely"), ("zh", "困惑度", "越低越好")]
)
def test_the_perplexity_of_own_texts_is_drawn_and_explained(runs, lang, name, gloss):
    run = create_run(TrainingJob(config=PRESETS["gpt-mini"], settings=TrainingSettings(), data="poems.txt"))
    run.claim()
    run.append("data", train=90, validation=10, parameters=1, steps_per_epoch=3, total_steps=30)
    run.append("started", step=0, device="CPU")
    run.append("step", step=3, loss=5.5, perplexity=245.0, token_accuracy=0.1, tokens_per_second=1.0)
    values = {"val_perplexity": 221.4, "val_token_accuracy": 0.125, "val_loss": 5.4}
    run.append("epoch", epoch=1, step=3, best=True, loss=5.5, perplexity=245.0, **values)
    app = open_page(run=run.id, lang=lang)
    assert f"**{name} 221" in shown(app)
    [line] = [text for text in app.markdown if f"**{name} 221" in text.value]
    assert gloss in line.proto.help
    figure = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert [words["text"] for words in figure["layout"]["annotations"]][1] == name
    assert [trace["y"] for trace in figure["data"]][2:] == [[245.0], [221.4]]
    run.append("stopped")


def test_an_answer_is_marked_as_right_or_as_wrong_beside_the_one_expected(runs):
    run = create_run(TrainingJob(config=CONFIG, settings=TrainingSettings(), data="parity", rows=200))
    run.claim()  # this process would train it, and so no other one does
    run.append("data", total_steps=10)
    run.append("started", step=0, device="CPU")
    run.append("step", step=1, loss=0.5)
    answers = [("1 2", "2 1", "2 1"), ("3 4", "4 3", "4 4"), ("5", "", "odd (60%)")]
    names = ("text", "expected", "written")
    run.append(
        "epoch", epoch=1, step=1, best=True, loss=1.0, val_loss=2.0, val_accuracy=0.5, val_token_accuracy=0.25
    )
    run.append("samples", step=1, samples=[dict(zip(names, each, strict=True)) for each in answers])
    said = shown(open_page(run=run.id, lang="zh"))
    assert "最佳：第 1 轮，**准确率 50.0%、词元准确率 25.0%**。" in said
    assert "1 2 → :green[2 1 ✓]" in said
    assert "3 4 → :red[4 4 ✗]  \n应为：4 3" in said
    assert "5 → odd \\(60\\%\\)\n" in said + "\n"
    run.append("stopped")


def test_what_cannot_be_trained_is_a_sentence():
    app = open_page()
    widget(app.select_slider, "Heads").set_value(8)
    widget(app.select_slider, "Width (d_model)").set_value(16)
    again(app)
    widget(app.number_input, "Dropout").set_value(0.95)
    again(app)
    assert "Start training" in [button.label for button in app.button]
    widget(app.number_input, "Warm-up").set_value(0.0)
    widget(app.selectbox, "Learning rate schedule").set_value("paper")
    again(app)
    assert "falls from the end of the warm" in app.error[0].value.replace("\\", "")
    assert "Start training" not in [button.label for button in app.button]


def test_a_training_is_started_watched_saved_and_opened(runs):
    app = open_page(task="copy")
    widget(app.select_slider, "Examples").set_value(2000)
    widget(app.select_slider, "Epochs").set_value(1)
    press(again(app), "Start training")
    [run] = list_runs()
    assert app.query_params["run"] == run.id
    assert run.job.data == "copy"
    assert run.job.rows == 2000
    assert len(run.job.probes) == 3
    until(app, "· finished")
    assert app.header[0].value == "Training run"
    assert "Test set (1,000 rows)" in shown(app)
    assert "Time-lapse" in shown(app)
    widget(app.text_input, "Name").set_value("mine")
    press(app, "Save to the model library")
    assert "Saved as **mine**" in shown(app)
    assert store.read_model("mine").card["data"]["task"] == "copy"

    kept = widget(app.selectbox, "Model")
    assert kept.options == ["of epoch 1, the best", "before the training", "after epoch 1"]
    kept.set_value(0)
    assert widget(again(app).text_input, "Name").value.endswith("-0")
    widget(app.text_input, "Name").set_value("mine-0")
    press(app, "Save to the model library")
    assert store.read_model("mine-0").card["epoch"] == 0
    compared = compare(load("mine-0").trace("1 2 3"), load("mine").trace("1 2 3"))
    assert compared.has_same_heads
    assert max(moved.max() for moved in compared.moved.values()) > 0


def test_a_folder_of_models_that_cannot_be_listed_is_a_sentence_when_one_is_saved(
    tmp_path, monkeypatch, finished_run
):
    app = open_page(run=finished_run().id)
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path / "file"))
    widget(app.text_input, "Name").set_value("mine")
    press(app, "Save to the model library")
    assert "cannot be listed" in app.error[0].value


def texts_in_order(block):
    """Yield the texts of a part of the page from top to bottom."""
    for child in block.children.values():
        if hasattr(child, "children"):
            yield from texts_in_order(child)
        elif isinstance(getattr(child, "value", None), str):
            yield child.value


def test_the_lesson_on_forming_heads_tracks_its_own_date_and_shows_heads_above_the_curves(finished_run):
    lesson = {"lesson": "15-watch-heads-form", "lang": "en"}
    box = widget(open_page(**lesson).text_area, "Sentences to track")
    first, *others = box.value.splitlines()
    assert first == "July 14, 1989 => 1 9 8 9 - 0 7 - 1 4"
    assert others
    run = finished_run(probes=(("1 2", "2 1"),)).id
    for address, is_first in (({}, False), (lesson, True)):
        app = open_page(**address)
        app.session_state["run"] = run
        said = "\n".join(texts_in_order(again(app).main))
        assert (said.index("Time-lapse") < said.index("Best epoch")) == is_first


def test_the_name_proposed_for_a_second_training_on_the_same_data_is_free(finished_run):
    for name in ("my-films", "my-films-2"):
        app = open_page(run=finished_run(title="films").id)
        assert widget(app.text_input, "Name").value == name
        press(app, "Save to the model library")
        assert f"Saved as **{escaped(name)}**" in shown(app)
        assert widget(again(app).text_input, "Name").value == name


def test_a_bad_name_is_a_sentence_and_nothing_is_lost(finished_run):
    run = finished_run()
    app = open_page(run=run.id)
    widget(app.text_input, "Name").set_value("../x")
    press(app, "Save to the model library")
    assert app.error[0].value == Words("en").sentences["name.rule"]
    widget(app.text_input, "Name").set_value("good")
    press(app, "Save to the model library")
    assert [model.name for model in store.list_models()] == ["good"]


def test_a_run_is_stopped_and_goes_on():
    run = shared_trainer().start(
        TrainingJob(
            config=CONFIG,
            settings=TrainingSettings(epochs=200, batch_size=8, patience=200),
            data="parity",
            rows=2000,
        )
    )
    app = open_page(run=run.id)
    until(app, "· running")
    press(app, "Stop")
    until(app, "· stopped")
    press(app, "Resume")
    until(app, "· running")
    run.stop()
    until(app, "· stopped")


def test_a_run_that_failed_says_why():
    run = create_run(TrainingJob(config=CONFIG, settings=TrainingSettings(), data="parity", rows=200))
    run.append("started", step=0, device="CPU")
    run.append("failed", message="The loss <b> was no longer a number.")
    app = open_page(run=run.id)
    assert app.error[0].value == "The loss \\<b\\> was no longer a number\\."


def test_a_run_whose_process_is_gone_says_so():
    run = create_run(TrainingJob(config=CONFIG, settings=TrainingSettings(), data="parity", rows=200))
    run.append("started", step=0, device="CPU")
    app = open_page(run=run.id)
    assert "ended unexpectedly" in app.warning[0].value
    assert "Resume" in [button.label for button in app.button]


ODD_LINES = [
    b"null",
    b"3",
    b"{}",
    b'{"event": "step", "time": 1.0, "step": "3"}',
    b'{"event": "step", "time": 1.0, "step": 1}',
    b'{"event": "step", "time": 1.0, "step": 1, "loss": NaN, "tokens_per_second": Infinity}',
    b'{"event": "epoch", "time": 1.0, "step": 1, "epoch": 1, "best": true}',
    '{"event": "failed", "time": 1.0, "message": "\u2028\x85"}'.encode(),
    '{"event": "failed", "time": 1.0, "message": "满'.encode()[:-1],
    b'{"event": "samples", "time": 1.0, "step": 1, "samples": [null]}',
    b'{"event": "data", "time": 1.0, "total_steps": 0, "note": "a"}',
    b'{"event": "paused", "time": 1.0}',
]


def test_a_line_that_is_no_event_closes_neither_its_page_nor_that_of_others():
    """Labels with U+2028, half a character of a full disk, logs of another version."""
    job = TrainingJob(config=CONFIG, settings=TrainingSettings(), data="parity", rows=200)
    runs = [create_run(job) for _ in ODD_LINES]
    for run, line in zip(runs, ODD_LINES, strict=True):
        run.append("data", total_steps=10)
        run.append("started", step=0, device="CPU")
        with (run.path / "events.jsonl").open("ab") as log:
            log.write(line + b"\n")
    assert "Start training" in [button.label for button in open_page().button]
    for number, run in enumerate(runs):
        status = "failed" if number == 7 else "interrupted"  # the one line that is an event which ends a run
        assert f"· {status}" in shown(open_page(run=run.id)), ODD_LINES[number]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_broken_run_among_good_ones_can_be_deleted_and_its_model_saved(lang, finished_run):
    good, broken = finished_run(epochs=1), finished_run(epochs=1)
    (broken.path / "job.json").write_text("")
    app = open_page(lang=lang)
    titles = titles_of([broken.id, good.id])
    assert app.selectbox[0].options[1:] == [
        f"{titles[broken.id]} · {Words(lang).sentences['run.broken']}",
        titles[good.id],
    ]
    app = open_page(run=broken.id, lang=lang)
    assert f"· {Words(lang).sentences['run.broken']}" in shown(app)
    assert escaped(Words(lang)("error.job.empty")) in app.error[0].value
    assert {button.key for button in app.main.button} == {"delete", "save"}
    [button] = [button for button in app.main.button if button.key == "save"]
    app.text_input[0].set_value("saved")
    button.click()
    again(app)
    assert store.read_model("saved").card["data"]["task"] == "parity"
    [button] = [button for button in app.main.button if button.key == "delete"]
    button.click()
    again(app)
    assert list_runs() == [good]
    assert "· 2" in shown(open_page(run=good.id))


def damaged(path, content=b"damaged"):
    path.write_bytes(path.read_bytes()[:40] + content)


def test_damaged_pictures_are_left_out_and_a_damaged_model_is_a_sentence(finished_run):
    run = finished_run()
    frames = [path for _, probe, path in run.frames() if probe == 0]
    damaged(frames[0])
    damaged(frames[2])
    frames[3].write_bytes(b"")
    damaged(run.model / "config.json")
    app = open_page(run=run.id)
    assert len(heads_drawn(app)[0]["steps"]) == len(frames) - 3
    assert "Damaged pictures that are not shown: 3." in shown(app)
    assert "config" in app.error[0].value
    assert str(run.path) not in app.error[0].value
    for _, _, path in run.frames():
        damaged(path)
    assert not views_on(open_page(run=run.id))


def test_a_run_with_a_damaged_checkpoint_begins_anew():
    job = TrainingJob(config=CONFIG, settings=TrainingSettings(epochs=1), data="parity", rows=200)
    run = create_run(job)
    run.append("started", step=0, device="CPU")
    run.checkpoint.write_bytes(b"cut off")
    app = open_page(run=run.id)
    assert "checkpoint is damaged" in app.warning[0].value
    assert "Resume" not in [button.label for button in app.button]
    press(app, "Start from the beginning")
    until(app, "· finished")


@pytest.mark.parametrize("name", ["a", "2026", "20260101-101010-x", "0-0-0-0", "no-run-at-all"])
def test_a_run_of_any_name_has_a_title(runs, name):
    (runs / name).mkdir()
    (runs / name / "job.json").write_text("{}")
    assert f"**{escaped(name)}** · damaged" in shown(open_page(run=name))


def test_runs_of_one_task_and_minute_are_told_apart():
    """Of two options with the same label, Streamlit takes the first, whichever was chosen."""
    twins = ["20260301-101512345678-copy-3f2a", "20260301-101559999999-copy-0001"]
    other = "20260301-101612345678-copy-3f2a"
    assert titles_of([*twins, other]) == {
        twins[0]: "copy · 2026-03-01 10:15 · 3f2a",
        twins[1]: "copy · 2026-03-01 10:15 · 0001",
        other: "copy · 2026-03-01 10:16",
    }
    assert title_of("20260301-1015-3f2a") == " · 2026-03-01 10:15"
    job = TrainingJob(config=CONFIG, settings=TrainingSettings(), data="parity", rows=200)
    runs = [create_run(job) for _ in range(3)]
    for run in runs:
        run.append("failed", message=f"This is {run.id}")
    app = open_page()
    assert len(set(app.selectbox[0].options)) == 4
    for run in runs:
        app.selectbox[0].set_value(run.id)
        again(app)
        assert run.id in app.error[0].value.replace("\\", "")


def test_no_damaged_run_closes_the_page(runs):
    """Every kind of damage and every kind of log at once, and each by itself."""
    rng = random.Random(3)
    damaged = [hostile.a_run(runs, rng, log=kind) for kind in hostile.LOGS]
    damaged += [hostile.a_run(runs, rng, damage=kind) for kind in hostile.RUNS]
    for run in damaged:
        if run.status == "queued":
            run.stop()
    assert "Start training" in [button.label for button in open_page().button]
    for run in damaged:
        assert escaped(title_of(run.id)) in shown(open_page(run=run.id)), run
    shared_trainer().close()


def test_a_run_is_deleted_after_asking(finished_run):
    run = finished_run(epochs=1)
    app = open_page(run=run.id)
    press(app, "Delete permanently")
    assert list_runs() == []
    assert "Start training" in [button.label for button in app.button]


def test_a_run_that_is_gone_leads_to_a_new_one(finished_run):
    run = finished_run(epochs=1)
    app = open_page(run=run.id)
    open_run(run.id).delete()
    assert "Start training" in [button.label for button in again(app).button]


def heads_drawn(app):
    """Return the header and the weights in percent of the heads on the page."""
    [component] = views_on(app)
    return unpack_heads(component.proto.bytes)


def test_the_time_lapse_has_every_picture(finished_run):
    run = finished_run()
    header, weights = heads_drawn(open_page(run=run.id))
    frames = [(step, path) for step, probe, path in run.frames() if probe == 0]
    assert header["steps"] == [step for step, _ in frames]
    assert header["heads"] == CONFIG.num_heads
    for drawn, (_, path) in zip(weights, frames, strict=True):
        kept = Trace.load(path).encoder[-1].attention.weights
        np.testing.assert_allclose(drawn, 100 * kept, atol=0.5)
    entropies, good = header["pictures"]
    assert [line["steps"] for line in entropies["lines"]] == [header["steps"]] * CONFIG.num_heads
    assert good["lines"][0]["values"]


def test_of_a_long_text_the_first_tokens_are_drawn_and_kept_in_memory(monkeypatch, finished_run):
    run = finished_run(probes=("0 1 1 0 1 0",))
    frames = [path for _, _, path in run.frames()]
    whole = Trace.load(frames[-1])
    assert len(whole.tokens) == 6
    monkeypatch.setattr(forming, "MAX_WEIGHTS", len(frames) * CONFIG.num_heads * 3 * 3)
    forming.heads_in.cache.clear()
    app = open_page(run=run.id)
    assert "its first 3 tokens are drawn" in shown(app)
    assert heads_drawn(app)[1].shape == (len(frames), CONFIG.num_heads, 3, 3)
    kept = list(forming.heads_in.cache.values())
    assert len(kept) == len(frames)
    for heads in kept:
        assert heads.weights.base is None
        assert heads.weights.shape == (CONFIG.num_heads, 3, 3)
    weights = whole.encoder[0].attention.weights
    np.testing.assert_array_equal(kept[-1].weights, weights[:, :3, :3])
    np.testing.assert_allclose(kept[-1].entropies, entropy(weights))


def test_pictures_are_kept_by_their_size():
    cache = forming.heads_in.cache
    assert cache.maxsize == forming.MAX_HEADS_BYTES
    heads = forming.Heads(np.zeros((2, 5, 5), np.float32), (), (), np.zeros(2), (2, 5, 5))
    assert cache.getsizeof(heads) == forming.OVERHEAD_BYTES + 2 * 5 * 5 * 4
    assert cache.getsizeof(None) == forming.OVERHEAD_BYTES


def finished_and_queued(folder):
    """Fill a folder with a run that is over and one that waits."""
    job = TrainingJob(config=CONFIG, settings=TrainingSettings(), data="parity", rows=200)
    over = create_run(job, folder=folder)
    over.append("stopped")
    create_run(job, folder=folder)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_folder_that_cannot_be_written_is_one_sentence_and_the_page_goes_on(monkeypatch, lang):
    with read_only_folder(finished_and_queued) as folder:
        monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(folder))
        app = open_page(lang=lang)
        remedy = {"en": "set TRANSFORMER_VIZ_RUNS to another folder", "zh": "将 TRANSFORMER_VIZ_RUNS 设为"}
        assert [remedy[lang] in error.value for error in app.error] == [True]
        assert str(folder) not in app.error[0].value
        [button] = [button for button in app.main.button if button.key is None]
        assert button.disabled
        waiting, over = list_runs()
        for run, label in ((waiting, "stop"), (over, "resume"), (over, "delete")):
            app = open_page(run=run.id, lang=lang)
            [button] = [button for button in app.button if button.key == label]
            button.click()
            again(app)
            assert [remedy[lang] in error.value for error in app.error] == [True, True]
        assert list_runs() == [waiting, over]


def test_a_folder_that_cannot_be_made_is_one_sentence_and_the_page_goes_on(runs, monkeypatch):
    (runs / "file").write_text("")
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(runs / "file" / "runs"))
    app = open_page(task="file")
    assert ["Not a directory" in error.value for error in app.error] == [True]
    app.file_uploader[0].set_value(("reviews.csv", CSV.encode(), "text/csv"))
    again(app)
    assert ["Not a directory" in error.value for error in app.error] == [True, True]


def test_the_page_speaks_chinese():
    app = open_page(lang="zh")
    assert app.header[0].value == "要让模型学什么？"
    assert "开始训练" in [button.label for button in app.button]


CSV = "review,stars\n" + "".join(f"a lovely film {i},5\na dull film {i},1\n" for i in range(30))


def test_a_file_is_guessed_counted_and_trained_on():
    app = open_page(task="file")
    assert "Start training" not in [button.label for button in app.button]
    app.file_uploader[0].set_value(("my reviews.csv", CSV.encode(), "text/csv"))
    again(app)
    assert "**60** rows" in shown(app)
    assert "Labels: 1 50% · 5 50%" in shown(app)
    assert widget(app.selectbox, "Text column").value == "review"
    widget(app.select_slider, "Epochs").set_value(1)
    press(again(app), "Start training")
    [run] = list_runs()
    assert run.job.columns == {"text": "review", "label": "stars"}
    assert run.id.split("-")[2:4] == ["my", "reviews"]
    until(app, "· finished")


PAIRS = "source,target\n" + "".join(f"room number {i},第{i}号房间\n" for i in range(30))


def test_both_sides_of_pairs_have_their_own_tokens_on_the_page():
    app = open_page(task="file")
    app.file_uploader[0].set_value(("rooms.csv", PAIRS.encode(), "text/csv"))
    again(app)
    assert widget(app.selectbox, "Tokens of the text").value == "bpe"
    assert widget(app.selectbox, "Tokens of the target").value == "characters"
    assert "median length **4 → 6** tokens" in shown(app)
    widget(app.selectbox, "Tokens of the target").set_value("")
    assert "median length **4 → 2** tokens" in shown(again(app))
    widget(app.selectbox, "Tokens of the target").set_value("characters")
    press(again(app), "Start training")
    [run] = list_runs()
    assert (run.job.tokens, run.job.target_tokens) == ("bpe", "characters")
    assert not run.job.config.tie_embeddings


def test_chinese_texts_are_read_by_characters_on_the_page():
    app = open_page(task="file")
    for line, chosen in (("阿！这不是我二十年来时时记得的故乡？\n", "characters"), ("A line.\n", "bpe")):
        app.file_uploader[0].set_value((f"{chosen}.txt", (line * 30).encode(), "text/plain"))
        again(app)
        assert widget(app.selectbox, "Tokenisation").value == chosen


def test_pairs_of_one_script_share_their_tokens_on_the_page():
    app = open_page(task="file")
    pairs = PAIRS.replace("第", "chambre ").replace("号房间", " libre")
    app.file_uploader[0].set_value(("rooms.csv", pairs.encode(), "text/csv"))
    again(app)
    target = widget(app.selectbox, "Tokens of the target")
    assert (target.value, widget(app.selectbox, "Tokens of the text").value) == ("", "bpe")
    assert target.options[0] == "as the text, one vocabulary"
    press(app, "Start training")
    [run] = list_runs()
    assert (run.job.tokens, run.job.target_tokens, run.job.config.tie_embeddings) == ("bpe", "", True)


def test_labels_are_named_and_test_rows_set_aside_on_the_page():
    app = open_page(task="file")
    app.file_uploader[0].set_value(("reviews.csv", CSV.encode(), "text/csv"))
    again(app)
    assert "**6** for testing" in shown(app)
    widget(app.text_input, "1").set_value("5")
    assert "Two labels have the same name. Give each its own." in [each.value for each in again(app).error]
    assert "Start training" not in [button.label for button in app.button]
    widget(app.text_input, "1").set_value("bad")
    widget(app.text_input, "5").set_value(" good ")
    again(app)
    widget(app.select_slider, "Epochs").set_value(1)
    press(again(app), "Start training")
    [run] = list_runs()
    assert run.job.label_names == {"1": "bad", "5": "good"}
    until(app, "· finished")
    assert "Test set (6 rows): **accuracy" in shown(app)
    best = store.read_model(run.model)
    assert best.config.labels == ("bad", "good")
    assert sum(sum(row.values()) for row in best.card["test"]["confusion"].values()) == 6


def test_a_file_in_another_encoding_is_read_and_the_encoding_named():
    app = open_page(task="file", lang="zh")
    app.file_uploader[0].set_value(("评论.csv", CSV.replace("film", "电影很好看").encode("gbk"), "text/csv"))
    assert "已按 GBK 编码读取文件。" in shown(again(app))
    assert "电影很好看" in app.dataframe[0].value["review"][0]


def test_the_name_of_a_chinese_file_is_that_of_its_run_and_its_model(finished_run):
    app = open_page(task="file", lang="zh")
    app.file_uploader[0].set_value(("外卖评论.csv", CSV.encode(), "text/csv"))
    again(app)
    [kept] = (uploads.uploads_folder()).glob("*/*.csv")
    assert kept.name == "外卖评论.csv"
    app = open_page(run=finished_run(epochs=1, title="外卖评论").id, lang="zh")
    assert "**外卖评论 · " in shown(app)
    assert widget(app.text_input, "名称").value == "我的外卖评论"
    widget(app.text_input, "名称").set_value("外卖评论")
    press(app, "保存到模型库")
    assert "已保存为 **外卖评论**" in shown(app)
    assert store.read_model("外卖评论").name == "外卖评论"


def test_an_upload_is_written_once_however_often_the_page_is_drawn(runs):
    app = open_page(task="file")
    app.file_uploader[0].set_value(("reviews.csv", CSV.encode(), "text/csv"))
    for _ in range(3):
        again(app)
    [kept] = (runs / "uploads").glob("*/*.csv")
    widget(app.select_slider, "Epochs").set_value(1)
    again(app)
    kept.unlink()  # whoever tidies up while somebody has the page open
    again(app)
    assert "**60** rows" in shown(app)
    [again_kept] = (runs / "uploads").glob("*/*.csv")
    assert again_kept != kept


@pytest.mark.parametrize(
    ("lang", "sentence"),
    [
        ("en", "There is no space for this file: uploads use 1 kB of 2 kB."),
        ("zh", "空间不足，无法保存此文件：上传的文件已占用 1 kB，上限为 2 kB。"),
    ],
)
def test_an_upload_for_which_there_is_no_room_is_a_sentence(monkeypatch, lang, sentence):
    monkeypatch.setattr(uploads, "QUOTA", Quota(2000, 2000))
    keep_upload(bytes(900), "a.csv")
    app = open_page(task="file", lang=lang)
    app.file_uploader[0].set_value(("reviews.csv", CSV.encode(), "text/csv"))
    again(app)
    assert app.error[0].value.startswith(sentence)
    assert len(app.main.button) == 0
    monkeypatch.setattr(uploads, "QUOTA", Quota(1000, 1000))
    again(app)
    large = {"en": "exceeds the limit for all uploads together", "zh": "超过所有上传文件"}
    assert large[lang] in app.error[0].value


@pytest.mark.parametrize(
    ("lang", "sentence"),
    [
        ("en", "Delete one that is no longer needed; the largest: parity · "),
        ("zh", "请删除不再需要的训练，占用最多的是：parity · "),
    ],
)
def test_a_training_for_which_there_is_no_room_is_a_sentence(monkeypatch, lang, sentence):
    run = create_run(TrainingJob(config=CONFIG, settings=TrainingSettings(), data="parity", rows=200))
    run.append("failed", message="Oh.")
    monkeypatch.setattr("transformer_viz.service.trainer.QUOTA", Quota(1000, 1000))
    app = open_page(lang=lang)
    app.main.button[0].click()
    again(app)
    assert sentence in app.error[0].value
    assert list_runs() == [run]


def test_an_upload_that_was_changed_is_neither_counted_nor_trained_on(runs):
    app = open_page(task="file")
    app.file_uploader[0].set_value(("reviews.csv", CSV.encode(), "text/csv"))
    again(app)
    [kept] = (runs / "uploads").glob("*/*.csv")
    kept.write_text(CSV.replace("lovely", "horrid"))
    press(app, "Start training")
    [run] = list_runs()
    until(app, "· failed")
    assert run.state().message == f"{kept} has changed since it was chosen. Choose it again."


def test_a_file_that_cannot_be_used_is_a_sentence_with_its_own_name():
    app = open_page(task="file")
    app.file_uploader[0].set_value(("mine.csv", b"PK\x03\x04 and so on", "text/csv"))
    again(app)
    assert "mine" in app.error[0].value
    assert "Excel" in app.error[0].value
    assert "Start training" not in [button.label for button in app.button]


def test_the_axes_stand_before_there_is_anything_to_draw():
    run = create_run(TrainingJob(config=CONFIG, settings=TrainingSettings(), data="parity", rows=200))
    run.claim()  # this process would train it, and so no other one does
    run.append("started", step=0, device="CPU")
    app = open_page(run=run.id)
    assert "· running" in shown(app)
    [chart] = app.get("plotly_chart")
    assert not json.loads(chart.proto.spec)["layout"]["xaxis"]["showticklabels"]
    run.append("stopped")
