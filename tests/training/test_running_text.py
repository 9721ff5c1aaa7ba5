"""Running text, packed: to the model each text is by itself, and every token of it is predicted."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_models import with_random_parameters

from transformer_viz.data import DataError
from transformer_viz.data.packing import Stream
from transformer_viz.network.config import END_ID, PAD_ID, START_ID, UNK_ID
from transformer_viz.network.presets import PRESETS
from transformer_viz.questions.evaluation.perplexity import evaluate_texts
from transformer_viz.store.load import load
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.training.job import run_job
from transformer_viz.training.model_trainer import ModelTrainer
from transformer_viz.training.running_text import RunningText
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.settings import TrainingSettings

LENGTH = 16
CONFIG = PRESETS["gpt-mini"].replace(
    vocab_size=300, max_len=LENGTH, d_model=16, num_layers=2, num_heads=2, ffn_dim=16
)
SETTINGS = TrainingSettings(pack=True, batch_size=4, validation=0.2)
LINES = [f"Film {i} was " + "very " * (i % 23) + f"good, said reviewer {i * 7 % 40}." for i in range(60)]


@pytest.fixture
def file(tmp_path):
    def write(lines, name="texts.txt"):
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
        return tmp_path / name

    return write


@pytest.fixture
def dataset(file):
    return a_dataset(file(LINES))


def a_dataset(path, config=CONFIG, settings=SETTINGS, **options):
    parts = {"config": config, "settings": settings, "data": path, "tokens": "bpe", "keep_case": True}
    return RunningText(TrainingJob(**parts | options))


def test_roles_are_measured_over_texts_that_are_not_trained_on(file):
    dataset = a_dataset(file([f"{line} {number}" for number in range(10) for line in LINES]))
    tokenizer = Tokenizer.from_json(dataset.tokenizers["tokenizer"])
    read = {tuple(ids) for ids in tokenizer.encode_batch(dataset.role_texts, max_len=99)}
    assert len(read) == dataset.num_validation == 120
    assert read.isdisjoint(map(tuple, dataset._train))


@pytest.mark.quick("learned-True", "sinusoidal-False")
@pytest.mark.parametrize("padding_position", [False, True])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_the_logits_of_a_text_in_a_packed_row_are_those_of_the_text_alone(
    dataset, positions, padding_position
):
    dataset.config = dataset.config.replace(positions=positions, padding_position=padding_position)
    model = with_random_parameters(dataset.config)
    stream = Stream(dataset._train, LENGTH)
    rows = stream.rows(range(len(stream)))
    packed, texts = np.asarray(model(rows.inputs(dataset.config))), rows.texts
    compared = 0
    for row, numbers in enumerate(texts):
        for number in np.unique(numbers):
            own = numbers == number
            ids = rows.token_ids[row, own]
            if PAD_ID not in ids and len(ids) > 1:  # Keras warns of a softmax over one key
                alone = np.asarray(model(ids[None]))[0]
                assert_allclose(packed[row, own], alone, rtol=1e-5, atol=1e-5)
                compared += 1
    assert compared > len(stream)


def test_no_attention_goes_from_one_text_to_another(dataset):
    model = with_random_parameters(dataset.config)
    inputs, _ = next(iter(dataset.batches(SETTINGS, 0)))
    trace = model.trace(**inputs)
    texts = np.cumsum(inputs["position_ids"] == 0, axis=1)
    apart = np.broadcast_to((texts[:, :, None] != texts[:, None, :])[:, None], (4, 2, LENGTH, LENGTH))
    assert apart.any()
    for block in trace.decoder:
        assert_array_equal(np.asarray(block.self_attention.weights)[apart], 0)


def test_every_token_of_every_text_is_predicted_once_in_an_epoch(dataset):
    texts = []
    for epoch in range(2):
        rows = [targets for _, targets in dataset.batches(SETTINGS, epoch)]
        assert len(rows) == SETTINGS.steps_per_epoch(dataset.num_rows)
        assert [len(row) for row in rows[:-1]] == [4] * (len(rows) - 1)
        found = np.concatenate([row.ravel() for row in rows])
        texts.append(np.sort(found[found != PAD_ID]))
    expected = np.sort(np.concatenate([[*ids, END_ID] for ids in dataset._train]))
    assert_array_equal(texts, [expected, expected])


def test_batches_follow_from_seed_and_epoch_alone(dataset):
    def batches(epoch, seed=0):
        settings = TrainingSettings(pack=True, batch_size=4, seed=seed, word_dropout=0.1)
        return np.concatenate([inputs["token_ids"] for inputs, _ in dataset.batches(settings, epoch)])

    first = batches(3)
    assert_array_equal(batches(3), first)
    assert not np.array_equal(batches(4), first)
    assert not np.array_equal(batches(3, seed=1), first)


def test_positions_count_from_the_beginning_of_each_text(dataset):
    for inputs, _ in dataset.batches(SETTINGS, 0):
        ids, positions = inputs["token_ids"], inputs["position_ids"]
        begins = ids == START_ID
        begins[:, 0] = True
        assert_array_equal(positions == 0, begins)
        assert_array_equal(np.diff(positions, axis=1)[~begins[:, 1:]], 1)


def test_hidden_words_are_tokens_and_never_the_beginning_of_a_text(dataset):
    settings = TrainingSettings(pack=True, batch_size=4, word_dropout=0.5)
    shown = [inputs["token_ids"] for inputs, _ in dataset.batches(SETTINGS, 0)]
    hidden = [inputs["token_ids"] for inputs, _ in dataset.batches(settings, 0)]
    before, after = np.concatenate(shown), np.concatenate(hidden)
    changed = before != after
    assert (after[changed] == UNK_ID).all()
    assert not np.isin(before[changed], (PAD_ID, START_ID)).any()
    assert 0.3 < changed.sum() / (~np.isin(before, (PAD_ID, START_ID))).sum() < 0.7


def test_tokens_are_counted_once_each(dataset):
    inputs, targets = next(iter(dataset.batches(SETTINGS, 0)))
    measured = ModelTrainer(dataset, SETTINGS).train(inputs, targets, 0.001)
    assert measured["tokens"][0] == (inputs["token_ids"] != PAD_ID).sum()
    assert measured["loss"][1] == (targets != PAD_ID).sum()


def test_several_files_are_one_and_what_is_in_the_test_is_left_out(file):
    first, second, test = file(LINES[:30], "a.txt"), file(LINES[30:], "b.txt"), file(LINES[25:35], "c.txt")
    dataset = a_dataset(first, more_data=[second], test=test)
    tokenizer = Tokenizer.from_json(dataset.tokenizers["tokenizer"])
    seen = {tokenizer.decode(ids) for ids in (*dataset._train, *dataset._validation)}
    assert seen == {*LINES[:25], *LINES[35:]}
    data = dataset.card["data"]
    assert [entry["file"] for entry in data["files"]] == ["a.txt", "b.txt"]
    assert (data["rows"], data["left_out_as_in_test"]) == (50, 10)
    assert data["tokens"] == sum(len(ids) + 1 for ids in dataset._train)


def test_texts_that_are_all_in_the_test_are_refused_with_a_sentence(file):
    with pytest.raises(DataError, match=r"^Every text is in the test, too\. Give others to learn from"):
        a_dataset(file(LINES), test=file(LINES, "test.txt"))


def test_a_line_break_of_html_is_white_space(file):
    dataset = a_dataset(file([*LINES, "One.<br /><br />Two."]))
    tokenizer = Tokenizer.from_json(dataset.tokenizers["tokenizer"])
    assert "br" not in "".join(tokenizer.vocabulary)
    assert tokenizer.decode(tokenizer.encode("One.<br /><br />Two.", max_len=99).ids) == "One. Two."


def test_a_job_writes_a_model_and_its_figures_beside_those_of_n_grams(file, tmp_path):
    test = file([line.replace("Film", "The film") for line in LINES], "test.txt")
    settings = TrainingSettings(pack=True, batch_size=4, validation=0.2, epochs=2, learning_rate=0.01)
    job = TrainingJob(
        config=CONFIG, settings=settings, data=file(LINES), test=test, tokens="bpe", out=tmp_path / "m"
    )
    card = run_job(job)
    assert card["data"]["packed_rows"] == RunningText(job).num_rows < card["data"]["tokens"]
    measured, explorer = card["test"], load(tmp_path / "m")
    lines = test.read_text(encoding="utf-8").splitlines()
    result = evaluate_texts(explorer, lines)
    assert (measured["rows"], measured["tokens"]) == (60, result.tokens)
    for name in ("perplexity", "bits_per_byte", "token_accuracy", "uniform_accuracy", "headless_accuracy"):
        assert_allclose(measured[name], getattr(result, name), rtol=1e-6)
    words = [measured["baselines"][name] for name in ("unigram", "bigram", "trigram")]
    assert words[0]["perplexity"] > words[1]["perplexity"] > words[2]["perplexity"] > 1
    ratio = np.log(words[0]["perplexity"]) / np.log(measured["perplexity"])
    assert_allclose(words[0]["bits_per_byte"] / measured["bits_per_byte"], ratio, rtol=1e-6)
    assert 0 <= measured["induction_score"] <= 1
    assert 0 <= measured["previous_token_score"] <= 1
    history = card["history"]
    assert history[1]["val_perplexity"] < history[0]["val_perplexity"]
    assert_allclose(
        [math.exp(epoch["val_loss"]) for epoch in history], [e["val_perplexity"] for e in history]
    )
    assert card["validation"]["perplexity"] == history[card["best_epoch"] - 1]["val_perplexity"]


def test_the_best_epoch_is_that_of_the_lowest_perplexity(file, tmp_path):
    settings = TrainingSettings(
        pack=True, batch_size=4, validation=0.2, epochs=6, patience=6, learning_rate=0.3, schedule="constant"
    )
    card = run_job(TrainingJob(config=CONFIG, settings=settings, data=file(LINES), out=tmp_path / "m"))
    metrics = [epoch["val_perplexity"] for epoch in card["history"]]
    assert metrics != sorted(
        metrics, reverse=True
    )  # else the last one would be the best whatever is chosen by
    assert card["best_epoch"] == 1 + metrics.index(min(metrics))


def test_packing_is_for_a_decoder_alone():
    with pytest.raises(ValueError, match="`pack` is for architecture 'decoder', which reads running text"):
        TrainingJob(config=PRESETS["single-block"], settings=SETTINGS, data="imdb")
