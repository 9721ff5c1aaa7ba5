"""Uploading on the Models page: what is checked, what is said meanwhile, and what is said of a refusal."""

import hostile_models
import pytest
from pages import again, listed, open_page, press, shown
from small_models import write
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
from streamlit.testing.v1 import AppTest

from transformer_viz import store
from transformer_viz.language import LANGUAGES, Words
from transformer_viz.service import admission
from transformer_viz.ui.shell.problems import without_folders


@pytest.fixture
def shelf(explorer, tmp_path, monkeypatch):
    """A folder with one model."""
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path / "models"))
    write(explorer, tmp_path / "models")
    return tmp_path / "models"


@pytest.fixture
def admitted(monkeypatch):
    """Count how often a model is checked; the first answers are given, then the store is asked."""
    calls, admit = [], admission.admit_model

    def counted(data, **options):
        calls.append(options["name"])
        return admit(data, **options)

    monkeypatch.setattr(admission, "admit_model", counted)
    return calls


def upload(app, data):
    [uploader] = app.file_uploader
    uploader.set_value(("model.zip", bytes(data), "application/zip"))
    return again(app)


def test_a_refusal_is_said_once_and_found_out_once(shelf, admitted):
    app = upload(open_page("models"), b"no zip")
    for _ in range(3):
        assert app.error[0].value.startswith("This file was not added. This is not a zip")
        again(app)
    assert admitted == [None]
    upload(app, b"another file")
    assert admitted == [None, None]


def test_a_name_is_asked_for_without_checking_again(shelf, admitted):
    app = upload(open_page("models"), store.pack_model("small"))
    again(app)
    assert "The name **small** is taken" in shown(app)
    assert admitted == [None]
    app.text_input(key="upload-to").set_value("guest")
    next(button for button in app.button if button.label == "Add the model").click()
    again(app)
    assert admitted == [None, "guest"]
    assert listed(app) == ["guest", "small"], shown(app)


@pytest.mark.parametrize("name", [None, "guest"])
def test_a_model_that_is_added_while_the_visitor_clicks_elsewhere_is_not_checked_again(
    shelf, admitted, monkeypatch, name
):
    data, app = store.pack_model("small"), open_page("models")
    if name:
        app = upload(app, data)
        app.text_input(key="upload-to").set_value(name)
    else:
        store.rename_model("small", "other")
    admit = admission.admit_model

    def admit_and_click(data, **options):
        added = admit(data, **options)
        context = get_script_run_ctx()  # Streamlit ends the script at its next word to the page
        again = RerunData(query_string=context.query_string, page_script_hash=context.page_script_hash)
        context.script_requests.request_rerun(again)
        return added

    monkeypatch.setattr(admission, "admit_model", admit_and_click)
    app = press(app, "Add the model") if name else upload(app, data)
    assert admitted == ([None, "guest"] if name else [None])
    assert listed(app) == (["guest", "small"] if name else ["other", "small"])
    assert f"**{name or 'small'}** was added." in shown(app)
    assert app.file_uploader[0].value is None


def test_a_hostile_model_is_refused_without_a_path_of_this_machine(shelf):
    parts = hostile_models.Parts.of(store.pack_model("small"))
    app = upload(open_page("models"), parts.change_config(max_len=10**9).zip())
    sentence = app.error[0].value.replace("\\", "")
    assert "`max_len` = 1,000,000,000 is too large. Choose at most 16,384." in sentence
    assert str(shelf) not in sentence
    assert listed(app) == ["small"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_stage_of_the_check_is_said(shelf, monkeypatch, language):
    said = []

    def admit(data, *, progress, **options):
        for stage in ("wait", "load", "unpack", "run"):
            progress(stage)
        raise store.ModelError("It is no good.")

    monkeypatch.setattr("streamlit.delta_generator.DeltaGenerator.status", Status(said))
    monkeypatch.setattr(admission, "admit_model", admit)
    upload(open_page("models", lang=language), b"any")
    stages = ("checking", "wait", "load", "unpack", "run")
    assert said == [Words(language).sentences[f"upload.{stage}"] for stage in stages]


class Status:
    """Stands for Streamlit's box of what goes on, and keeps what it says."""

    def __init__(self, said):
        self.said = said

    def __call__(self, label):
        self.said.append(label)
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def update(self, label):
        self.said.append(label)


def test_a_folder_that_is_nearly_full_says_so_and_what_was_deleted_can_be_given_back(shelf, monkeypatch):
    size = store.usage().used
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS_BYTES", str(2 * size))
    app = open_page("models")
    assert "Models use" not in shown(app)
    press(app, "Duplicate")
    assert "Models use" in shown(app)
    app = press(app, "Delete")
    assert f"{size / 1e3:.0f} kB of it by deleted models" in shown(app)
    press(app, "Duplicate")
    assert "The model needs 0.0 MB, and those in models take" in app.error[0].value.replace("\\", "")
    press(app, "Empty the trash")
    assert store.usage().used == size
    assert "Models use" not in shown(app)
    assert "was deleted" not in shown(app)
    assert listed(press(app, "Duplicate")) == ["small", "small-2"]


@pytest.mark.parametrize("way", ["upload", "duplicate"])
def test_trash_that_keeps_a_model_out_can_be_emptied_where_it_is_refused(shelf, monkeypatch, way):
    data, size = store.pack_model("small"), store.usage().used
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS_BYTES", str(14 * size // 5))
    store.duplicate_model("small", "other")
    store.delete_model("small")
    app = open_page("models")
    assert "Empty the trash" not in {button.label for button in app.button}
    app = upload(app, data) if way == "upload" else press(app, "Duplicate")
    assert "Deleted ones take" in app.error[0].value
    app = press(app, "Empty the trash")
    if way == "duplicate":
        press(app, "Duplicate")
    assert listed(app) == (["other", "small"] if way == "upload" else ["other", "other-2"])
    assert "Empty the trash" not in {button.label for button in app.button}


def test_an_upload_into_a_full_folder_is_refused(shelf, monkeypatch):
    data = store.pack_model("small")
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS_BYTES", str(store.usage().used + 10))
    app = upload(open_page("models"), data)
    assert "Delete some first; the largest: 'small'" in app.error[0].value.replace("\\", "")


UNLISTABLE = "models cannot be listed: Not a directory. Check that you may read it."


@pytest.mark.parametrize("page", ["models", "attention", "positions", "masks"])
def test_a_folder_that_cannot_be_listed_is_a_sentence(tmp_path, monkeypatch, page):
    (tmp_path / "models").write_text("a file")
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path / "models"))
    app = open_page(page)
    assert [error.value.replace("\\", "") for error in app.error] == [UNLISTABLE]


def test_where_models_can_no_longer_be_listed_no_others_are_offered(tmp_path, monkeypatch):
    (tmp_path / "models").write_text("a file")
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path / "models"))
    app = again(AppTest.from_function(show_what_is_lacking, default_timeout=60))
    assert shown(app) == "This model has no positions."


def show_what_is_lacking():
    from transformer_viz import PRESETS
    from transformer_viz.ui.pages.positions.lack import show_lack

    show_lack("This model has no positions.", PRESETS["attention-only"], [])


def test_paths_are_named_as_in_the_list(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path / "models"))
    assert without_folders(f"{tmp_path}/models/a/card.json is bad.", None) == "a/card.json is bad."
    assert without_folders(f"{tmp_path}/models cannot be written.", None) == "models cannot be written."
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", "models")
    assert without_folders(f"{tmp_path}/models/a is bad.", None) == "a is bad."
