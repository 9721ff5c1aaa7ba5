"""A Chinese BERT of the hub becomes a classifier of one's own file, from the page to its heads."""

import pages
import pytest
from chinese_bert import write_chinese_bert
from pages import again, press, shown, until, widget

from transformer_viz import store
from transformer_viz.store.load import load
from transformer_viz.training.runs.listing import list_runs
from transformer_viz.ui.shell.server import shared_trainer

ROWS = [
    f"这家酒店的房间很{word}，服务{word}{'！' * (i % 3)}{'wifi goodly' * (i % 2)},{label}"
    for i in range(40)
    for word, label in (("好", "好评"), ("差", "差评"))
]


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path / "models"))
    shared_trainer.cache_clear()
    yield
    for run in list_runs():
        run.stop()
    shared_trainer().close()
    shared_trainer.cache_clear()


def test_a_chinese_bert_of_the_hub_learns_to_classify_a_file(tmp_path):
    write_chinese_bert(tmp_path / "models" / "bert_zh")
    app = pages.open_page("train", task="file", lang="zh")
    file = "\n".join(["text,label", *ROWS]).encode("gb18030")
    app.file_uploader[0].set_value(("酒店.csv", file, ""))
    widget(again(app).selectbox, "起点").set_value("bert_zh")
    assert "沿用 **bert" in shown(again(app))
    assert "不认识" not in shown(app)
    widget(app.select_slider, "训练轮数（epoch）").set_value(5)
    widget(app.select_slider, "峰值学习率").set_value(0.003)
    press(again(app), "开始训练")
    until(app, "已完成")
    assert "训练前：" in shown(app)
    [run] = list_runs()
    assert run.job.parent == "bert_zh"
    run.save("hotel", folder=tmp_path / "models")
    child = load("hotel")
    trace = child.trace("房间很好，wifi goodly")
    assert trace.tokens == ("[CLS]", "房", "间", "很", "好", "，", "wifi", "good", "##ly", "[SEP]")
    assert trace.labels == ("好评", "差评")[:: 1 if child.config.labels[0] == "好评" else -1]
    assert store.read_config("hotel").is_foreign
    said = child.predict(["服务好！", "服务差！"])["label"].tolist()
    assert said == ["好评", "差评"]
