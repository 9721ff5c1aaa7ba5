import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from processes import is_running

from transformer_viz import engine as engine_module
from transformer_viz.effects import head_effects
from transformer_viz.engine import Engine, EngineError
from transformer_viz.store import ModelError
from transformer_viz.text import NoTokensError
from transformer_viz.trace import Run

TEXT = "A lovely film, not good."


@pytest.fixture(scope="module")
def engine(models_folder):
    engine = Engine()
    engine.warm("small")
    yield engine
    engine.close()


def wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_engine_answers_as_an_explorer_in_this_process(engine, explorer):
    ours, theirs = explorer.trace(TEXT), engine.trace(Run("small", TEXT))
    assert theirs.model == "small"
    assert theirs.tokens == ours.tokens
    for mine, its in zip(ours.encoder, theirs.encoder, strict=True):
        assert_array_equal(its.attention.weights, mine.attention.weights)


def test_interventions_travel_with_the_run(engine):
    ablated = engine.trace(Run("small", TEXT, ablate=((0, 1),)))
    assert not ablated.encoder[0].attention.context[1].any()


def test_masks_and_padding_travel_with_the_run(engine):
    trace = engine.trace(Run("small", TEXT, attention_mask="causal", padding=2))
    assert trace.tokens[-2:] == ("[PAD]", "[PAD]")
    assert_array_equal(trace.values.attention_mask[0], np.tri(len(trace.tokens), dtype=bool))


def test_the_effects_of_heads_are_those_found_in_this_process(engine, explorer):
    theirs = engine.head_effects(Run("small", TEXT))
    assert_array_equal(theirs["encoder"], head_effects(explorer, TEXT)["encoder"])


def test_a_killed_engine_is_back_with_the_next_question(engine):
    expected, restarts = engine.trace(Run("small", TEXT)), engine.restarts
    os.kill(engine.pid, signal.SIGKILL)
    answer = engine.trace(Run("small", TEXT))
    assert engine.restarts == restarts + 1
    assert_array_equal(answer.probs, expected.probs)


def test_a_question_that_cannot_be_answered_is_a_sentence_and_the_engine_goes_on(engine):
    restarts = engine.restarts
    with pytest.raises(ModelError, match="There is no model"):
        engine.trace(Run("missing", TEXT))
    with pytest.raises(NoTokensError, match="The text has no words"):
        engine.trace(Run("small", " "))
    assert np.isfinite(engine.trace(Run("small", TEXT)).probs).all()
    assert engine.restarts == restarts


def test_an_engine_that_gives_no_answer_in_time_is_replaced(models_folder, monkeypatch):
    engine = Engine()
    with monkeypatch.context() as patch:
        patch.setattr(engine_module, "TIMEOUT", 0.01)
        with pytest.raises(EngineError, match=r"gave no answer within 0\.01 seconds and was started again"):
            engine.trace(Run("small", TEXT))
    assert engine.restarts == 1
    assert engine.trace(Run("small", TEXT)).tokens
    engine.close()


def test_a_model_written_anew_is_loaded_anew(engine, explorer, models_folder):
    from transformer_viz import store

    before = engine.trace(Run("small", TEXT))
    stored = store.read_model("small")
    doubled = {name: array * 2 for name, array in stored.parameters.items()}
    parts = {"config": stored.config, "tokenizer": stored.tokenizer, "card": stored.card, "dtype": "float32"}
    store.write_model("small", **parts, parameters=doubled, overwrite=True)
    changed = engine.trace(Run("small", TEXT))
    store.write_model("small", **parts, parameters=stored.parameters, overwrite=True)
    assert np.abs(changed.logits - before.logits).max() > 1e-3
    assert_array_equal(engine.trace(Run("small", TEXT)).logits, before.logits)


def test_no_child_outlives_a_parent_that_is_killed(models_folder):
    code = (
        "import time; from transformer_viz.engine import Engine\n"
        "if __name__ == '__main__':\n"
        "    engine = Engine(); engine.warm('small'); print(engine.pid, flush=True); time.sleep(60)\n"
    )
    script = models_folder.parent / "parent.py"
    script.write_text(code)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        child = int(parent.stdout.readline())
        wait_until(lambda: is_running(child))
        time.sleep(2)
        parent.kill()
    wait_until(lambda: not is_running(child), seconds=5)
