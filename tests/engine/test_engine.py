import dataclasses
import gc
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tokenizers
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal
from processes import is_running, long_work_suspended, suspended
from running_app import ROOT
from small_models import REVIEWS, with_random_parameters, write, write_endless
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from transformer_viz import store
from transformer_viz.explorer.beams import BeamRequest
from transformer_viz.explorer.decode import search
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.network.config import TransformerConfig
from transformer_viz.questions.effects.heads import head_effects
from transformer_viz.questions.effects.measure import effects
from transformer_viz.questions.effects.request import EffectsRequest
from transformer_viz.questions.logit_lens import reading_of
from transformer_viz.questions.preferences.measure import word_preferences
from transformer_viz.questions.preferences.result import PreferenceRequest
from transformer_viz.questions.roles.head_survey import SurveyRequest
from transformer_viz.questions.roles.measure import head_roles
from transformer_viz.questions.roles.measure_survey import head_survey
from transformer_viz.questions.roles.patterns import MEASURES
from transformer_viz.questions.roles.survey import NoChoiceError
from transformer_viz.questions.text_requests import ClassesRequest
from transformer_viz.service.engine import MAX_WRITTEN, EngineError, child
from transformer_viz.service.engine.cost import seems_quick
from transformer_viz.store import ModelError
from transformer_viz.store.load import load
from transformer_viz.text.tokenizer import NoTokensError, Tokenizer
from transformer_viz.trace.request import EFFECTS, READING, Request

TEXT, DIGITS = "A lovely film, not good.", "1 2 3 4 5"


@pytest.fixture(scope="module")
def endless(translator, models_folder):
    """An encoder-decoder that never writes [END], with more positions than anybody waits for; and a copy."""
    write_endless(translator, models_folder)
    store.duplicate_model("endless", "cold")
    yield "endless"
    for name in ("endless", "cold"):
        shutil.rmtree(models_folder / name)


@pytest.fixture(scope="module")
def long_reader(models_folder):
    """A model that reads bytes, of which a character may have four."""
    config = TransformerConfig(
        vocab_size=258, max_len=2048, d_model=8, num_layers=1, num_heads=1, ffn_dim=8, norm="pre"
    )
    vocabulary = {token: i for i, token in enumerate(["[PAD]", "[UNK]", *ByteLevel.alphabet()])}
    backend = tokenizers.Tokenizer(BPE(vocabulary, [], unk_token="[UNK]"))
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
    model = with_random_parameters(config)
    write(Explorer(model, Tokenizer.from_json(backend.to_str()), name="bytes"), models_folder)
    yield "bytes"
    shutil.rmtree(models_folder / "bytes")


@pytest.fixture
def visitors():
    with ThreadPoolExecutor(2) as threads:
        yield threads


def wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_engine_answers_as_an_explorer_in_this_process(engine, explorer):
    ours, theirs = explorer.trace(TEXT), engine.answer(Request.of("small", TEXT))
    assert theirs.model == "small"
    assert theirs.tokens == ours.tokens
    for mine, its in zip(ours.encoder, theirs.encoder, strict=True):
        assert_array_equal(its.attention.weights, mine.attention.weights)


def test_interventions_travel_with_the_run(engine):
    ablated = engine.answer(Request.of("small", TEXT, ablate=((0, 1),)))
    assert not ablated.encoder[0].attention.context[1].any()


def test_masks_and_padding_travel_with_the_run(engine):
    trace = engine.answer(Request.of("small", TEXT, attention_mask="causal", padding=2))
    assert trace.tokens[-2:] == ("[PAD]", "[PAD]")
    assert_array_equal(trace.values.attention_mask[0], np.tri(len(trace.tokens), dtype=bool))


CROSS = tuple(("cross", 0, head) for head in range(4))


@pytest.mark.quick("changes0", "changes3")
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"ablate": CROSS},
        {"ablate": CROSS[:2], "reference": "own", "cut": [(*CROSS[3], 0, 4), (*CROSS[3], 9, 0)]},
        {"attention_mask": np.tri(5, dtype=bool)},
        {"target_attention_mask": "window:1+causal", "target_padding": 2, "padding": 3},
    ],
)
def test_a_target_is_written_under_the_changes_as_in_this_process(engine, changes):
    model = str(ROOT / "models" / "reverse-digits")
    theirs, ours = engine.answer(Request.of(model, DIGITS, **changes)), load(model).trace(DIGITS, **changes)
    assert theirs.target_ids.tolist() == ours.target_ids.tolist()
    assert_allclose(theirs.logits, ours.logits, atol=1e-5)


def test_the_last_target_of_a_text_is_the_draft_of_the_next(engine, monkeypatch):
    model, text, drafts, ask = str(ROOT / "models" / "reverse-digits"), "9 4 7", [], engine._ask

    def spy(worker, question, request, *given, progress):
        if question is child.write and given[0] == ():  # the first portion
            drafts.append(given[-1])
        return ask(worker, question, request, *given, progress=progress)

    monkeypatch.setattr(engine, "_ask", spy)
    written = engine.answer(Request(model, text)).target_ids[1:]
    engine.answer(Request.of(model, text, ablate=CROSS[:1]))
    engine.answer(Request(model, "3 8"))
    assert drafts == [(), tuple(written), ()]


def test_the_effects_of_heads_are_measured_on_the_same_written_target_in_both(engine):
    model = str(ROOT / "models" / "reverse-digits")
    theirs = engine.answer(Request(model, DIGITS, wants=EFFECTS))
    ours, given = (head_effects(load(model), DIGITS, target=target) for target in (None, "5 4 3 2 1"))
    for found in (theirs, ours):
        for kind in given:
            assert_allclose(found[kind], given[kind], atol=1e-6)


def test_the_effects_of_heads_are_those_found_in_this_process(engine, explorer):
    theirs, ours = engine.answer(Request("small", TEXT, wants=EFFECTS)), head_effects(explorer, TEXT)
    assert_array_equal(theirs["encoder"], ours["encoder"])
    assert_array_equal(theirs.log_odds["encoder"], ours.log_odds["encoder"])
    assert (theirs.answer, theirs.together) == (ours.answer, ours.together)


@pytest.mark.parametrize("asked", [{}, {"answer": "good", "versus": "bad"}])
def test_the_effects_on_an_answer_are_those_found_in_this_process(engine, explorer, asked):
    seen = []
    found = engine.effects(
        EffectsRequest(Request("small", TEXT), **asked), progress=lambda *told: seen.append(told)
    )
    ours = effects(explorer, TEXT, **asked)
    assert_array_equal(found.cells["encoder"], ours.cells["encoder"])
    assert_frame_equal(found.words, ours.words, check_exact=False, atol=1e-6)
    assert (found.labels, found.versus, found.stand_in) == (ours.labels, ours.versus, ours.stand_in)
    assert seen[-1] == ("words", len(ours.words), len(ours.words))


def test_heads_are_measured_only_where_the_answer_is_saturated(engine, explorer, monkeypatch):
    asked = EffectsRequest(Request("small", TEXT))
    assert engine.effects(asked).ablated is None
    monkeypatch.setattr("transformer_viz.service.engine.engine.SATURATED", 0)
    found = engine.effects(asked)
    measured = head_effects(explorer, TEXT, answer=found.labels[0])
    assert_allclose(found.ablated["encoder"], measured.log_odds["encoder"], atol=1e-6)
    changed = EffectsRequest(Request("small", TEXT).changed(ablate=((0, 0),)))
    assert engine.effects(changed).ablated is None


def test_the_words_of_a_written_target_are_left_out_too(engine):
    model = str(ROOT / "models" / "reverse-digits")
    found, ours = engine.effects(EffectsRequest(Request(model, DIGITS))), effects(load(model), DIGITS)
    assert found.words["side"].tolist() == ["text"] * 5 + ["target"] * 5
    assert_allclose(found.words["value"], ours.words["value"], atol=1e-4)


def test_the_effects_of_heads_set_to_their_mean_travel_with_the_request(engine, explorer):
    request = Request.of("small", TEXT, reference="own")
    theirs = engine.answer(dataclasses.replace(request, wants=EFFECTS))
    ours = head_effects(explorer, TEXT, reference="own")
    assert_array_equal(theirs["encoder"], ours["encoder"])
    assert np.abs(ours["encoder"] - head_effects(explorer, TEXT)["encoder"]).max() > 1e-3


def test_a_killed_engine_is_back_with_the_next_question(engine):
    expected, restarts = engine.answer(Request.of("small", TEXT)), engine.restarts
    os.kill(engine.pid, signal.SIGKILL)
    answer = engine.answer(Request.of("small", TEXT))
    assert engine.restarts == restarts + 1
    assert_array_equal(answer.probs, expected.probs)


def test_a_question_that_cannot_be_answered_is_a_sentence_and_the_engine_goes_on(engine):
    restarts = engine.restarts
    with pytest.raises(ModelError, match="There is no model"):
        engine.answer(Request.of("missing", TEXT))
    with pytest.raises(NoTokensError, match="The text has no words"):
        engine.answer(Request.of("small", " "))
    assert np.isfinite(engine.answer(Request.of("small", TEXT)).probs).all()
    assert engine.restarts == restarts


def test_a_model_that_writes_without_end_keeps_no_other_visitor_waiting(engine, endless, visitors):
    begun = threading.Event()

    def tell(stage, done, total):
        if stage == "writing":
            begun.set()

    writing = visitors.submit(engine.answer, Request.of(endless, TEXT), progress=tell)
    assert begun.wait(60)
    with long_work_suspended(os.getpid()):  # it now takes as long as anybody can imagine
        assert [engine.answer(Request.of("small", TEXT)).model for _ in range(10)] == ["small"] * 10
        assert not writing.done()
    assert len(writing.result().target_tokens) == MAX_WRITTEN + 1  # and [START]


def test_a_text_of_more_tokens_than_characters_keeps_no_other_visitor_waiting(engine, long_reader, visitors):
    text, waits = "\N{ROCKET}" * 500, threading.Event()
    assert seems_quick(store.read_config(long_reader), Request.of(long_reader, text))
    trace = engine.answer(Request(long_reader, "\N{ROCKET}"))
    assert trace.values.encoder[0].attention.weights.shape == (1, 4, 4)

    def tell(stage, done, total):
        if stage == "working":
            waits.set()

    with long_work_suspended(os.getpid()):
        reading = visitors.submit(engine.answer, Request.of(long_reader, text), progress=tell)
        assert waits.wait(60)
        assert engine.answer(Request.of("small", TEXT)).model == "small"
        assert not reading.done()
    assert len(reading.result().tokens) == 2000


@pytest.mark.usefixtures("endless")
def test_a_model_that_is_being_loaded_keeps_no_other_visitor_waiting(engine, visitors):
    loading = visitors.submit(engine.answer, Request.of("cold", TEXT, target="one"))
    answered = 0
    while not loading.done():
        assert engine.answer(Request.of("small", TEXT)).tokens
        answered += 1
    assert answered > 3
    assert loading.result().target_tokens == ("[START]", "one")


def test_work_in_portions_says_how_far_it_is(engine, endless):
    told, request = [], Request(endless, f"{TEXT} Again.")
    engine.answer(request, progress=lambda *each: told.append(each))
    written = [done for stage, done, _ in told if stage == "writing"]
    assert len(written) > 1
    assert written == sorted(set(written))
    assert {total for stage, _, total in told if stage == "writing"} == {MAX_WRITTEN}
    assert written[-1] == MAX_WRITTEN
    told.clear()
    padded = request.changed(padding=1)
    engine.answer(padded, progress=lambda *each: told.append(each))
    assert "writing" in [stage for stage, _, _ in told]  # what is changed may write another target
    told.clear()
    engine.answer(padded, progress=lambda *each: told.append(each))
    assert "writing" not in [stage for stage, _, _ in told]
    engine.answer(Request("small", TEXT, wants=EFFECTS), progress=lambda *each: told.append(each))
    heads = [done for stage, done, _ in told if stage == "effects"]
    assert heads == sorted(set(heads))
    assert ("effects", 8, 8) in told


def test_work_in_portions_ends_when_it_is_given_up(engine, endless):
    asked = []

    def tell(stage, done, total):
        asked.append(stage)
        if stage == "writing":
            raise KeyboardInterrupt  # as Streamlit ends a script whose visitor has left

    with pytest.raises(KeyboardInterrupt):
        engine.answer(Request(endless, f"{TEXT} Given up."), progress=tell)
    assert asked.count("writing") == 1
    assert engine.answer(Request("small", TEXT, wants=EFFECTS))["encoder"].shape == (2, 3)


def test_a_cheap_question_that_a_child_does_not_answer_is_asked_of_another(engine, monkeypatch):
    restarts = engine.restarts
    with monkeypatch.context() as patch, suspended(engine.pid):
        patch.setattr("transformer_viz.service.engine.engine.QUICK_LIMIT", 5)
        assert engine.answer(Request.of("small", TEXT)).model == "small"
    assert engine.restarts == restarts + 1


@pytest.mark.parametrize(("text", "code"), [(TEXT, "busy"), ("a " * 5000, "slow")])
def test_only_a_text_that_takes_long_is_blamed_for_the_time(engine, monkeypatch, text, code):
    for limit in ("QUICK_LIMIT", "SLOW_LIMIT"):
        monkeypatch.setattr(f"transformer_viz.service.engine.engine.{limit}", 0)
    with pytest.raises(EngineError, match=f"{code}, seconds = 0"):
        engine.answer(Request.of("small", text))


@pytest.mark.parametrize(
    ("run", "quick"),
    [
        (Request.of("small", TEXT), True),
        (Request.of("small", "a " * 5000), False),
        (Request.of("translator", TEXT, "one two"), True),
        (Request.of("translator", TEXT, "one " * 1000), False),
    ],
)
def test_a_text_is_cheap_by_its_length(small_config, translator, run, quick):
    assert seems_quick(translator.config if run.model == "translator" else small_config, run) == quick


def test_a_model_is_cheap_by_its_size():
    large = TransformerConfig(num_layers=12, num_heads=12, d_model=768, ffn_dim=3072, max_len=512)
    assert not seems_quick(large, Request.of("large", TEXT))
    many = TransformerConfig(num_layers=8, num_heads=8, d_model=64, ffn_dim=64, max_len=512)
    assert seems_quick(many, Request.of("many", TEXT))
    assert not seems_quick(many, Request.of("many", "a " * 256))


@pytest.mark.parametrize(("fixture", "passes"), [("explorer", 2), ("translator", 3), ("writer", 3)])
def test_passes_with_interventions_are_compiled_before_anybody_changes_anything(
    request, monkeypatch, tmp_path, fixture, passes
):
    model = request.getfixturevalue(fixture)
    write(model, tmp_path)
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path))
    monkeypatch.setattr(child, "FIRST_LOOK", 0)
    loaded = child._load(model.name)
    child._compiler.submit(child.ping).result()  # behind what loading has submitted
    assert loaded.num_compilations == passes
    loaded.trace(TEXT, target=() if fixture == "translator" else None, ablate=[(0, 1)])
    assert loaded.num_compilations == passes


@pytest.mark.usefixtures("models_folder")
def test_a_model_is_not_kept_for_a_compilation_to_come(monkeypatch):
    monkeypatch.setattr(child, "FIRST_LOOK", 0.2)
    loaded = weakref.ref(child._load("small"))
    gc.collect()
    assert loaded() is None
    child._compiler.submit(child.ping).result()


@pytest.mark.usefixtures("models_folder")
def test_an_error_that_is_no_sentence_of_ours_is_named_by_its_kind(explorer):
    def panics(*_):
        class PanicError(BaseException):
            pass

        raise PanicError(TEXT)

    stamp = store.stamp("small")
    while child.answer(child.trace, Request.of("small", TEXT), stamp) is None:
        time.sleep(0.05)
    with pytest.raises(EngineError, match="unexpected, kind = PanicError, where = test_engine:") as caught:
        child.answer(panics, Request.of("small", TEXT), stamp)
    assert TEXT not in str(caught.value)
    with pytest.raises(EngineError, match="unexpected, kind = ValueError"):
        child.answer(lambda *_: np.zeros(2).reshape(3), Request.of("small", TEXT), stamp)
    with pytest.raises(EngineError, match="memory"):
        child.answer(lambda *_: np.zeros(2**60, np.int8), Request.of("small", TEXT), stamp)


def test_a_model_written_anew_is_loaded_anew(engine, explorer, models_folder):
    before = engine.answer(Request.of("small", TEXT))
    stored = store.read_model("small")
    doubled = {name: array * 2 for name, array in stored.parameters.items()}
    parts = {"config": stored.config, "tokenizer": stored.tokenizer, "card": stored.card, "dtype": "float32"}
    store.write_model("small", **parts, parameters=doubled, overwrite=True)
    changed = engine.answer(Request.of("small", TEXT))
    store.write_model("small", **parts, parameters=stored.parameters, overwrite=True)
    assert np.abs(changed.logits - before.logits).max() > 1e-3
    assert_array_equal(engine.answer(Request.of("small", TEXT)).logits, before.logits)


def test_no_child_outlives_a_parent_that_is_killed(models_folder):
    code = (
        "import time; from transformer_viz.service.engine import Engine\n"
        "if __name__ == '__main__':\n"
        "    engine = Engine(); engine.warm('small')\n"
        "    while engine.pid is None: time.sleep(0.05)\n"
        "    print(engine.pid, flush=True); time.sleep(60)\n"
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


def same_surveys(ours, theirs):
    """Compare two surveys of the same texts; batches of other texts round differently."""
    assert (ours.texts, [*ours.cut]) == (theirs.texts, [*theirs.cut])
    for mine, its in zip(ours.roles.kinds.values(), theirs.roles.kinds.values(), strict=True):
        assert_allclose(mine.share, its.share, atol=2e-3)
    for name in ("shares", "distances", "even_distances", "entropies"):
        for kind, array in getattr(ours, name).items():
            assert_allclose(getattr(theirs, name)[kind], array, atol=2e-5)


def test_many_texts_are_classified_as_in_this_process_and_it_says_how_far_it_is(
    engine, explorer, reviews, monkeypatch
):
    monkeypatch.setattr("transformer_viz.service.engine.engine.BATCH", 100)
    texts, told = tuple(text[: 5 + number % 40] or text for number, text in enumerate([*reviews] * 60)), []
    found = engine.classes(ClassesRequest("small", texts), progress=lambda *each: told.append(each))
    expected = explorer.predict(texts).filter(like="prob_")
    assert_allclose(found, expected, atol=1e-5)
    done = [done for stage, done, total in told if stage == "classes" and total == len(texts)]
    assert done == sorted(done)
    assert done[-1] == len(texts)
    assert len(set(done)) > 2


def test_classifying_can_be_cancelled(engine, reviews):
    def cancel(stage, done, total):
        if done:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        engine.classes(ClassesRequest("small", (*reviews,) * 40), progress=cancel)
    with pytest.raises(ValueError, match="At most 100,000"):
        ClassesRequest("small", ("a",) * 100_001)


def test_a_survey_is_the_one_made_in_this_process_and_says_how_far_it_is(engine, explorer):
    texts, told = [*REVIEWS, "", *(f"{text} {TEXT}" for text in REVIEWS * 8)], []
    request = SurveyRequest("small", tuple(texts))
    theirs = engine.survey(request, progress=lambda *each: told.append(each))
    same_surveys(head_survey(explorer, texts), theirs)
    done = [count for stage, count, _ in told if stage == "survey"]
    assert done == sorted(done)
    assert done[-1] == len(texts) == 55
    assert {total for stage, _, total in told if stage == "survey"} == {len(texts)}
    assert "working" not in [stage for stage, *_ in told]


@pytest.fixture
def worded(models_folder):
    """A copy of the small model."""
    yield shutil.copytree(models_folder / "small", models_folder / "worded")
    shutil.rmtree(models_folder / "worded")


def test_a_survey_measures_the_words_that_are_kept_with_the_model(engine, explorer, worded):
    kept = head_roles(explorer, REVIEWS, words={"good": ("lovely", "great"), "bad": ("dull",)})
    store.write_head_roles("worded", kept, worded.parent)
    survey = engine.survey(SurveyRequest("worded", tuple(REVIEWS)))
    assert survey.roles.words == kept.words
    assert_allclose(survey.roles.kinds["encoder"].ratio, kept.kinds["encoder"].ratio, atol=2e-3)


def test_a_survey_writes_the_targets_that_texts_lack(engine, endless, translator):
    written = engine.answer(Request(endless, TEXT)).target_ids[1:]
    pairs = [(TEXT, "one two three"), ("Great music!", "six")]
    survey = engine.survey(SurveyRequest(endless, (*pairs, TEXT, "")))
    last = engine.survey(SurveyRequest(endless, ((TEXT, tuple(map(int, written))),)))
    for kind, shares in survey.shares.items():
        assert_allclose(shares[2], last.shares[kind][0], atol=2e-5)
    trace = engine.answer(Request(endless, *pairs[0]))
    largest = np.stack([layer.weights for layer in trace.kinds()["cross"].layers]).max(-1).mean(-1)
    assert_allclose(survey.shares["cross"][0, ..., MEASURES["cross"].index("focused")], largest, atol=2e-5)


def test_a_survey_ends_when_it_is_given_up_and_keeps_no_other_visitor_waiting(engine, visitors):
    texts, begun = tuple(f"{TEXT} {number}" for number in range(1000)), threading.Event()

    def tell(stage, done, total):
        if stage == "survey" and done:
            begun.set()
            raise KeyboardInterrupt  # as Streamlit ends a script whose visitor has left

    surveying = visitors.submit(engine.survey, SurveyRequest("small", texts), progress=tell)
    assert begun.wait(60)
    assert isinstance(surveying.exception(60), KeyboardInterrupt)
    with long_work_suspended(os.getpid()):
        assert engine.answer(Request.of("small", TEXT)).model == "small"
    assert engine.survey(SurveyRequest("small", (TEXT,))).roles.texts == 1


def test_a_survey_without_a_text_to_measure_or_with_too_many_is_a_sentence(engine):
    with pytest.raises(NoChoiceError, match="None of the texts has two tokens"):
        engine.survey(SurveyRequest("small", ("", "film")))
    with pytest.raises(ValueError, match=r"at most 1,000 texts; .* Received: 1,001\."):
        SurveyRequest("small", (TEXT,) * 1001)


def test_a_beam_search_is_the_one_made_in_this_process_and_says_how_far_it_is(
    engine, translator, models_folder
):
    write(translator, models_folder)
    request, told = BeamRequest("translator", TEXT, (5,), size=3, most=6), []
    found = engine.search(request, progress=lambda *stage: told.append(stage))
    expected = search(translator, request)
    assert [node[:2] for node in found.nodes] == [node[:2] for node in expected.nodes]
    assert [node.fate for node in found.nodes] == [node.fate for node in expected.nodes]
    assert told[-1] == ("writing", expected.steps, expected.most)
    shutil.rmtree(models_folder / "translator")


def test_the_words_that_heads_prefer_are_those_found_in_this_process(engine):
    model = str(ROOT / "models" / "attention-only")
    assert engine.preferences(PreferenceRequest(model, "not")) == word_preferences(load(model), "not") != ()
    assert engine.preferences(PreferenceRequest("small")) == ()


@pytest.mark.parametrize("changes", [{}, {"ablate": [(0, 1)]}], ids=str)
def test_what_the_output_layer_reads_is_what_it_reads_in_this_process(engine, explorer, changes):
    request = Request.of("small", TEXT, **changes)
    found = engine.answer(dataclasses.replace(request, wants=READING))
    expected = reading_of(explorer, explorer.run(request))
    assert_array_equal(found.labels, expected.labels)
    assert_allclose(found.probs, expected.probs, rtol=1e-5)


def test_a_text_of_token_ids_is_answered_as_that_text(engine, explorer):
    ids = tuple(map(int, explorer.tokenizer.encode(TEXT, max_len=23).ids))
    as_ids, as_text = (engine.answer(Request("small", text)) for text in (ids, TEXT))
    assert_array_equal(as_ids.probs, as_text.probs)
