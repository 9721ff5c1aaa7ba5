"""What a person does wrong, on Chinese pages and at a Chinese command line: no sentence is in English."""

import gzip
import json

import hostile_models
import numpy as np
import pytest
from chinese import english, is_chinese
from pages import again, open_page
from small_models import write
from zipping import zipped

from transformer_viz import store
from transformer_viz.cli.main import main
from transformer_viz.data import DataError
from transformer_viz.language import Problem, sentence_of
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.named_masks import named_mask
from transformer_viz.network.positions import position_table
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.training.runs.errors import RunError, failure
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run, open_run
from transformer_viz.training.runs.settings import TrainingSettings
from transformer_viz.ui.shell.server import shared_trainer

CSV = "text,label\n" + "".join(f"a film number {i},{i % 2}\n" for i in range(20))
CONFIG = TransformerConfig(d_model=8, num_heads=2, ffn_dim=8, norm="pre", max_len=32)


@pytest.fixture
def places(tmp_path, monkeypatch, explorer):
    """A folder of models with one in it, and one of runs."""
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path / "runs"))
    write(explorer, tmp_path / "models")
    shared_trainer.cache_clear()
    yield tmp_path
    shared_trainer().close()
    shared_trainer.cache_clear()


def said_on(app):
    """Return the one error or warning of a page, which must be in Chinese."""
    [said] = [*app.error, *app.warning]
    said = said.value.replace("\\", "")
    assert is_chinese(said), said
    return said


def test_english_is_told_from_names_values_and_commands():
    assert english("无法读取：the file is gone。") == ["the file is gone"]
    assert english("请运行 python -m transformer_viz runs，或设置 `a b c d`。") == []


FILES = {
    "zip": (b"PK\x03\x04 and so on", "mine.csv 是 zip 压缩包，不是表格。"),
    "latin-1": (
        "text,label\nnaïveté,1\n".encode("latin-1"),
        "mine.csv 是什么编码？它不是 UTF-8，也无法确定是哪一种。",
    ),
    "empty": (b"", "mine.csv 是空文件。CSV 的第一行应为列名，如 text,label；纯文本每行一条。"),
    "header only": (b"text,label\n", "mine.csv 只有表头，没有数据行。"),
    "ragged": (f"{CSV}a film\n".encode(), "21 行中有 **1** 行无法使用：缺少标签（1 行）。"),
    "too few": (b"text,label\na,1\nb,0\n", "共有 2 行；训练至少需要 10 行。"),
    "one label": (CSV.replace(",0", ",1").encode(), "所有行的标签都是“1”；训练至少需要两种标签。"),
    "cut off": (gzip.compress(CSV.encode())[:-9], "无法读取 mine.csv：压缩文件不完整。"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_bad_upload_on_the_train_page(places, name):
    content, sentence = FILES[name]
    app = open_page("train", task="file", lang="zh")
    app.file_uploader[0].set_value(("mine.csv", content, "text/csv"))
    assert said_on(again(app)).startswith(sentence)


def without(parts, file):
    del parts.files[file]
    return parts


ZIPS = {
    "no zip": (lambda parts: b"no zip", "这不是 zip 文件。"),
    "of Keras": (
        lambda parts: zipped({"config.json": b"{}", "metadata.json": b"{}"}),
        "这是 Keras 保存的模型",
    ),
    "of HDF5": (lambda parts: b"\x89HDF", "这是 Keras 写出的 HDF5 文件"),
    "of PyTorch": (lambda parts: b"\x80\x04N.", "这是 PyTorch 写出的那种 pickle 文件"),
    "no model": (lambda parts: without(parts, "card.json").zip(), "zip 中必须有一个文件夹"),
    "too long": (lambda parts: parts.change_config(max_len=10**9).zip(), "`max_len` = 1,000,000,000 过大。"),
    "no norm": (lambda parts: parts.change_config(norm="batch").zip(), "`norm` 必须是以下之一："),
    "no tokenizer": (lambda parts: parts.put("tokenizer.json", {"model": 5}).zip(), "tokenizer.json"),
    "damaged": (lambda parts: parts.zip()[:-30], "zip 不完整或已损坏。"),
}


@pytest.mark.parametrize("name", ZIPS)
def test_a_bad_upload_on_the_models_page(places, name):
    make, sentence = ZIPS[name]
    app = open_page("models", lang="zh")
    parts = hostile_models.Parts.of(store.pack_model("small"))
    app.file_uploader[0].set_value(("model.zip", bytes(make(parts)), "application/zip"))
    assert sentence in said_on(again(app))


MODELS = {
    "a file missing": (
        lambda folder: (folder / "card.json").unlink(),
        "缺少：'card.json'；未知：无。",
    ),
    "a file changed": (lambda folder: (folder / "config.json").write_text("{}"), "不完整或已被改动"),
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "缺少 small/manifest.json"),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("page", ["models", ""])
def test_a_damaged_model(places, name, page):
    damage, sentence = MODELS[name]
    damage(places / "models" / "small")
    assert sentence in said_on(open_page(page, lang="zh"))


TEXTS = {
    "no tokenizer": (lambda: Tokenizer.from_json("[]"), "tokenizer.json 不是分词器：没有 `model`。"),
    "no JSON": (lambda: Tokenizer.from_json("{"), "tokenizer.json 不是分词器：此处应有"),
    "few tokens": (lambda: Tokenizer.train(["a b"], 1), "`vocab_size` 不能小于 2"),
    "no ids": (
        lambda: PLAIN.encode("a", max_len=4).padded(9, max_len=4),
        "在 1 个词元之后可以放",
    ),
    "no mask": (lambda: named_mask("nothing", 2, np.ones(2)), "没有掩码 'nothing'。"),
    "no painting": (
        lambda: named_mask("painted:z", 2, np.ones(2)),
        "2 × 2 格的手绘掩码",
    ),
    "no room": (lambda: position_table("one-hot", 5, 4), "`positions` = 'one-hot' 要求"),
    "no heads": (
        lambda: CONFIG.replace(num_heads=3, head_dim=None),
        "`d_model` = 8 无法平均分给",
    ),
    "no share": (
        lambda: TrainingSettings(word_dropout=1.0),
        "`word_dropout` 必须不小于 0",
    ),
    "no pack": (
        lambda: TrainingJob(config=CONFIG, settings=PACKED, data="copy"),
        "`pack` 只用于",
    ),
}
PLAIN = Tokenizer.train(["a b c"], 5)
PACKED = TrainingSettings(pack=True)


@pytest.mark.parametrize("name", TEXTS)
def test_a_bad_text_mask_or_setting(name):
    provoke, sentence = TEXTS[name]
    with pytest.raises(Problem) as error:
        provoke()
    said = sentence_of(error.value, "zh")
    assert said.startswith(sentence)
    assert is_chinese(said)


FAILURES = {
    "diverged": (RunError("training.diverged", step=7), "在第 7 步，损失不再是数字。"),
    "memory": (RunError("training.memory"), "内存不足。"),
    "a file that is gone": (DataError("file.gone", path="/somewhere/a.csv"), "文件 a.csv 已不存在。"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_training_that_failed(places, name):
    problem, sentence = FAILURES[name]
    run = create_run(TrainingJob(config=CONFIG, settings=TrainingSettings(), data="parity", rows=200))
    run.append("failed", **failure(problem))
    assert said_on(open_page("train", run=run.id, lang="zh")).startswith(sentence)


def test_a_training_whose_settings_are_damaged(places):
    run = create_run(TrainingJob(config=CONFIG, settings=TrainingSettings(), data="parity", rows=200))
    job = json.loads((run.path / "job.json").read_text(encoding="utf-8"))
    job["settings"]["epochs"] = 0
    (run.path / "job.json").write_text(json.dumps(job), encoding="utf-8")
    assert "`epochs` 必须是不小于 1 的整数。收到：0。" in said_on(open_page("train", run=run.id, lang="zh"))


COMMANDS = {
    "no model": (["predict", "--model", "nothing", "--text", "a"], "没有模型"),
    "no writer": (["generate", "--model", "small", "--text", "a"], "“small”用于分类，不能生成文本。"),
    "no folder": (
        ["trace", "--model", "small", "--text", "a", "--out", "nowhere/t.npz"],
        "没有可供写入",
    ),
    "no run": (["stop", "nothing"], "没有训练“nothing”。"),
    "no file": (["evaluate", "--model", "small", "--data", "nothing.csv"], "没有文件 nothing.csv。"),
    "no field": (["--preset", "single-block", "--data", "copy", "--set", "a=1"], "配置中没有字段 'a'。"),
    "no value": (["--preset", "single-block", "--data", "copy", "--set", "a"], "--set 的格式是"),
    "no column": (
        ["--preset", "single-block", "--data", "a", "--columns", "a"],
        "--columns 的格式是",
    ),
    "no epochs": (["--preset", "single-block", "--data", "copy", "--epochs", "0"], "`epochs` 必须是"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_mistake_at_the_command_line(places, monkeypatch, capsys, name):
    arguments, sentence = COMMANDS[name]
    if arguments[0].startswith("--"):
        arguments = ["train", *arguments, "--out", str(places / "models" / "new")]
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert main(arguments) == 2
    said = capsys.readouterr().err.partition(": ")[2]
    assert said.startswith(sentence)
    assert is_chinese(said), said


def test_a_problem_in_the_log_of_a_run_is_the_same_when_it_is_read(places):
    run = create_run(TrainingJob(config=CONFIG, settings=TrainingSettings(), data="parity", rows=200))
    run.append("failed", **failure(RunError("training.diverged", step=7)))
    state = open_run(run.id).state()
    assert state.message.startswith("At step 7 the loss was no longer a number.")
    assert sentence_of(state.problem, "zh").startswith("在第 7 步")
