import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest
import streamlit
from pages import open_page, shown

from transformer_viz import store
from transformer_viz.network.presets import PRESETS
from transformer_viz.ui.shell.averaging import averaging_text

MODELS = Path(__file__).parents[2] / "models"


def with_evenness(name, evenness):
    """Return config and roles of a shipped model, with that relative entropy of its heads."""
    config, roles = store.read_config(MODELS / name), store.read_head_roles(MODELS / name)
    kinds = {}
    for kind, each in roles.kinds.items():
        share = each.share.copy()
        share[..., each.names.index("even")] = evenness.get(kind, 0.5)
        kinds[kind] = dataclasses.replace(each, share=share)
    return config, dataclasses.replace(roles, kinds=kinds)


def test_heads_that_average_are_named_by_layer_with_what_it_means_and_what_to_try():
    evenness = np.full((2, 4), 0.5)
    evenness[0, 2], evenness[1, 0], evenness[1, 3], evenness[1, 1] = 0.98, 0.99, 1.0, 0.979
    config, roles = with_evenness("induction", {"decoder": evenness})
    heads, means, advice = averaging_text(roles, config).split("  \n")
    assert heads == (
        "**3 of 8 heads average** (layer 1: 3 · layer 2: 1, 4): over 300 texts of about 34 tokens, their "
        "attention has at least 98% of the entropy of uniform attention."
    )
    assert means.startswith("Such a head passes on the mean of all tokens: either the words alone")
    assert "pre-norm" not in advice  # it has it
    assert "position" not in advice
    assert advice.endswith(
        "more layers, longer training, pre-training as a language model on your own texts."
    )


def test_of_several_kinds_of_attention_each_is_named(monkeypatch):
    monkeypatch.setitem(streamlit.session_state, "lang", "zh")
    config, roles = with_evenness("dates", {"cross": np.array([[0.5, 0.99, 0.5, 0.5]])})
    heads, means, advice = averaging_text(roles, config.replace(norm="post")).split("  \n")
    assert heads.startswith("**12 个头中有 1 个只做平均**（交叉注意力的第 1 层：2）")
    assert means.startswith("这样的头输出所有词元的平均值：要么这个任务只看有哪些词、不看顺序就够了")
    assert "前置归一化" in advice


def test_without_such_a_head_nothing_is_said():
    config, roles = with_evenness("dates", {})
    assert averaging_text(roles, config) == averaging_text(None, config) == ""


def test_what_a_model_lacks_is_what_to_try():
    config, roles = with_evenness("attention-only", {"encoder": np.ones((1, 8))})
    assert config == PRESETS["attention-only"].replace(
        vocab_size=config.vocab_size, max_len=config.max_len, truncation="beginning", labels=config.labels
    ).replace(temperature=config.temperature)
    advice = averaging_text(roles, config).split("  \n")[-1]
    assert "pre-norm (`norm=pre`), a position encoding, more layers" in advice


@pytest.mark.parametrize(
    ("lang", "said"), [("en", "7 of 8 heads average"), ("zh", "8 个头中有 7 个只做平均")]
)
def test_the_card_names_the_heads_of_a_shipped_model_that_average(tmp_path, monkeypatch, lang, said):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path))
    shutil.copytree(MODELS / "single-block", tmp_path / "single-block")
    app = open_page("models", model="single-block", lang=lang)
    assert [info for info in app.info if said in info.value]
    shutil.rmtree(tmp_path / "single-block")
    shutil.copytree(MODELS / "dates", tmp_path / "dates")
    assert not open_page("models", model="dates", lang=lang).info
    assert shown(app)
