import hashlib
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from transformer_viz.data import NAMED, DataError, files
from transformer_viz.network.config import PAD_ID, START_ID, UNK_ID, TransformerConfig
from transformer_viz.network.presets import PRESETS
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.training.dataset import word_dropout
from transformer_viz.training.labelled_texts import LabelledTexts, crop
from transformer_viz.training.rows import choose_role_texts
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.settings import TrainingSettings
from transformer_viz.training.text_pairs import TextPairs

RANDOM = np.random.default_rng(2)


def test_word_dropout_hides_its_share_of_words_and_no_padding():
    ids = RANDOM.integers(4, 30, (200, 20))
    ids[:, 15:] = PAD_ID
    hidden = word_dropout(ids, 0.3, RANDOM, TransformerConfig())
    assert (hidden[:, 15:] == PAD_ID).all()
    assert abs((hidden[:, :15] == UNK_ID).mean() - 0.3) < 0.02
    ids[:, 0] = START_ID
    reads_start = TransformerConfig(output="tokens")
    assert (word_dropout(ids, 0.9, RANDOM, reads_start)[:, 0] == START_ID).all()
    assert word_dropout(ids, 0.0, RANDOM, reads_start) is ids


def test_a_crop_is_a_part_of_its_text():
    text = np.arange(40)
    crops = [crop(text, RANDOM) for _ in range(300)]
    assert all((np.diff(part) == 1).all() for part in crops)
    assert (min(map(len, crops)), max(map(len, crops))) == (8, 40)
    assert {part[0] for part in crops} > set(range(20))
    for short in ([], [7], [7, 8]):
        assert list(crop(np.array(short), RANDOM)) == short


@pytest.mark.parametrize(
    ("kind", "task", "architecture", "joined"),
    [
        (LabelledTexts, "parity", "encoder", True),
        (TextPairs, "addition", "encoder-decoder", False),
        (TextPairs, "repeat", "decoder", True),
    ],
)
def test_roles_are_measured_over_at_most_300_texts_in_the_form_the_model_reads(
    kind, task, architecture, joined
):
    config, expected = (
        TransformerConfig(architecture=architecture, max_len=64),
        {900: 0, 1200: 120, 4000: 300},
    )
    for rows, most in expected.items():
        settings = TrainingSettings(validation=0.1)
        texts = kind(TrainingJob(config=config, settings=settings, data=task, rows=rows)).role_texts
        assert len(texts) == most
        assert all(isinstance(text, str if joined else tuple) for text in texts)
        assert len(set(texts)) == most
        assert joined or all("+" in text and "+" not in target for text, target in texts)


def test_the_texts_for_roles_are_drawn_from_all_of_a_hundred_or_more_and_always_the_same():
    texts = [f"text {number}" for number in range(1000)]
    rows, config = pd.DataFrame({"text": texts}), TransformerConfig()
    chosen = choose_role_texts(config, rows)
    places = np.array([texts.index(text) for text in chosen])
    assert len(set(chosen)) == 300
    assert abs(places.mean() - 499.5) < 50  # three standard errors
    assert choose_role_texts(config, rows) == chosen
    assert choose_role_texts(config, rows[:100]) == texts[:100]
    assert choose_role_texts(config, rows[:99]) == []
    first = rows.assign(is_first=rows.index % 5 == 0)
    assert choose_role_texts(config, first) == texts[::5]
    assert choose_role_texts(config, first[:400], 100) != texts[:400:5]  # too few of the first file


@pytest.mark.parametrize(
    ("kind", "task", "architecture"),
    [
        (LabelledTexts, "parity", "encoder"),
        (TextPairs, "copy", "encoder-decoder"),
        (TextPairs, "repeat", "decoder"),
    ],
)
def test_every_epoch_has_every_row_once_in_an_order_of_its_own(kind, task, architecture):
    settings = TrainingSettings(batch_size=16)
    config = TransformerConfig(architecture=architecture, max_len=64)
    dataset = kind(TrainingJob(config=config, settings=settings, data=task, rows=120))

    def rows(epoch):
        batches = [targets for _, targets in dataset.batches(settings, epoch)]
        assert len(batches) == settings.steps_per_epoch(dataset.num_rows)
        return [tuple(np.atleast_1d(row)[np.atleast_1d(row) != PAD_ID]) for batch in batches for row in batch]

    first, again, other = rows(0), rows(0), rows(1)
    assert first == again
    assert first != other
    assert sorted(first) == sorted(other)
    assert len(first) == dataset.num_rows
    assert len(dataset.probes) == 3


def job(path, preset="single-block", **options):
    parts = {"config": PRESETS[preset], "settings": TrainingSettings(), "data": path}
    return TrainingJob(**parts | options)


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "data"
        path.write_text(content, encoding="utf-8")
        return path

    return write


CHINESE = "stars\tcomment\n" + "".join(f"{i % 2}\t第{i}家酒店很好，Wifi 快\n" for i in range(40))


@pytest.mark.parametrize("kind", ["words", "characters", "bpe", "wordpiece"])
def test_labels_have_tokens_of_the_kind_and_case_that_was_asked_for(file, kind):
    dataset = LabelledTexts(job(file(CHINESE), columns={"text": "comment"}, tokens=kind, keep_case=True))
    tokenizer = Tokenizer.from_json(dataset.tokenizers["tokenizer"])
    assert tokenizer.kind == kind
    assert "Wifi" in tokenizer.decode(tokenizer.encode("Wifi", max_len=9).ids)
    assert dataset.config.vocab_size == tokenizer.vocab_size
    assert dataset.config.labels == ("0", "1")


@pytest.mark.parametrize("tied", [True, False])
def test_both_tokenizers_of_pairs_are_of_the_kind(file, tied):
    path = file("en,fr\n" + "".join(f"a film {i},un film {i}\n" for i in range(30)))
    config = PRESETS["vaswani-tiny"].replace(tie_embeddings=tied)
    dataset = TextPairs(job(path, config=config, tokens="bpe"))
    for text in dataset.tokenizers.values():
        assert Tokenizer.from_json(text).kind == "bpe"
    assert Tokenizer.from_json(dataset.tokenizers["target_tokenizer"]).has_markers


def test_a_decoder_alone_reads_plain_text_or_pairs(file):
    lines = [f"What a film, number {i}!" for i in range(30)]
    dataset = TextPairs(job(file("\n".join(lines)), "gpt-mini", tokens="bpe", keep_case=True))
    tokenizer = Tokenizer.from_json(dataset.tokenizers["tokenizer"])
    _, rows = dataset._train
    assert {tokenizer.decode(row) for row in rows} <= set(lines)
    dataset = TextPairs(
        job(file("text,target\n" + "".join(f"a film {i},good\n" for i in range(30))), "gpt-mini")
    )
    assert "good" in Tokenizer.from_json(dataset.tokenizers["tokenizer"]).vocabulary


@pytest.fixture
def imdb(monkeypatch):
    frame = pd.DataFrame([(f"film {i}", ("negative", "positive")[i % 2]) for i in range(40)])
    frame.columns = ["text", "label"]
    monkeypatch.setitem(NAMED, "imdb", lambda: (frame, frame))


def test_a_named_data_set_brings_its_own_test(imdb, tmp_path):
    dataset = LabelledTexts(job(tmp_path, data="imdb"))
    assert dataset.config.labels == ("negative", "positive")
    assert dataset.card["data"] == {"named": "imdb", "rows": 40}
    with pytest.raises(DataError, match=r"^The data set 'imdb' has its own test\. Leave --test out\.$"):
        LabelledTexts(job(tmp_path, data="imdb", test=tmp_path))


def test_a_decoder_alone_reads_the_texts_of_a_named_data_set(imdb, tmp_path):
    dataset = TextPairs(job(tmp_path, "gpt-mini", data="imdb"))
    assert "positive" not in Tokenizer.from_json(dataset.tokenizers["tokenizer"]).vocabulary
    with pytest.raises(DataError, match=r"has labels, no targets\. Choose an encoder or a decoder\.$"):
        TextPairs(job(tmp_path, "vaswani-tiny", data="imdb"))


def labelled(texts, label="good"):
    return "text,label\n" + "".join(f"{text},{label if number % 2 else 'bad'}\n" for number, text in texts)


def test_rows_that_are_only_trained_on_reach_neither_validation_nor_test(tmp_path):
    paths = {name: tmp_path / name for name in ("rows", "guesses", "test")}
    rows = [(number, f"film {number}") for number in range(40)]
    paths["rows"].write_text(labelled(rows))
    paths["test"].write_text(labelled([(number, f"play {number}") for number in range(4)]))
    known = [(1, "FILM 3 "), (1, "film 4"), (1, "play 1")]
    paths["guesses"].write_text(labelled([(number, f"guess {number}") for number in range(60)] + known))
    alone = LabelledTexts(job(paths["rows"], test=paths["test"]))
    more = LabelledTexts(job(paths["rows"], test=paths["test"], train_only=[paths["guesses"]]))
    assert (more.num_rows, more.num_validation) == (alone.num_rows + 60, alone.num_validation)
    assert more.probes == alone.probes
    assert more.test.equals(alone.test)
    trained = {
        word
        for ids in more._train[0]
        for word in Tokenizer.from_json(more.tokenizers["tokenizer"]).decode(ids).split()
    }
    assert "guess" in trained
    assert "play" not in trained
    described = more.card["data"]
    assert described.pop("train_only")[0].keys() == {"file", "sha256"}
    assert described == alone.card["data"]


def test_every_file_is_read_once_and_the_card_has_the_hash_of_what_was_read(tmp_path, monkeypatch):
    paths = {name: tmp_path / f"{name}.csv" for name in ("rows", "more", "guesses", "test")}
    for name, path in paths.items():
        path.write_text(labelled([(number, f"{name} {number}") for number in range(40)]))
    read, seen = files._read, Counter()

    def counted(path, most, *, is_known):
        seen[path] += 1
        return read(path, most, is_known=is_known)

    monkeypatch.setattr(files, "_read", counted)
    of = {"test": paths["test"], "more_data": [paths["more"]], "train_only": [paths["guesses"]]}
    dataset = LabelledTexts(job(paths["rows"], **of))
    assert seen == dict.fromkeys(paths.values(), 1)

    def facts(name):
        return {"file": f"{name}.csv", "sha256": hashlib.sha256(paths[name].read_bytes()).hexdigest()}

    assert dataset.card["data"]["files"] == [facts("rows"), facts("more")]
    assert dataset.card["data"]["train_only"] == [facts("guesses")]
    assert dataset._test_facts == facts("test") | {"rows": 40}


def test_rows_that_are_only_trained_on_have_no_label_of_their_own(tmp_path):
    paths = {name: tmp_path / name for name in ("rows", "guesses")}
    for name, label in (("rows", "good"), ("guesses", "great")):
        paths[name].write_text(labelled([(number, f"{name} {number}") for number in range(40)], label))
    expected = r"^The rows of --train-only have the label 'great', .+ do not have\. Labels: bad, good\.$"
    with pytest.raises(DataError, match=expected):
        LabelledTexts(job(paths["rows"], train_only=[paths["guesses"]]))


class Explorer:
    """The longer a text, the surer it is that it is bad; counts the texts."""

    def encode(self, texts):
        return [text.split() for text in texts]

    def class_logits(self, token_ids):
        self.texts = len(token_ids)
        return np.array([[0.5 * len(words), 0.0] for words in token_ids])


def test_the_temperature_is_fitted_to_the_validation_rows_of_the_first_file(tmp_path):
    """A fifth of the first file is good, half of the second: T is that of a fifth."""
    paths = [tmp_path / "reviews", tmp_path / "phrases"]
    for path, good in zip(paths, (5, 2), strict=True):
        rows = (f"{path.name} {number},{'bad' if number % good else 'good'}" for number in range(1_200))
        path.write_text("text,label\n" + "\n".join(rows))
    settings = TrainingSettings(validation=0.1)
    dataset, explorer = LabelledTexts(job(paths[0], more_data=paths[1:], settings=settings)), Explorer()
    facts = dataset.calibrate(explorer)
    assert dataset.num_validation == 240
    assert 100 <= facts["rows"] == explorer.texts < 150
    labels = dataset._own[1]
    assert facts["temperature"] == pytest.approx(1 / np.log(1 / labels.mean() - 1), rel=1e-3)
    assert dataset.config.temperature == facts["temperature"]
    assert all(text.startswith("reviews") for text in dataset.role_texts)
    assert set(dataset.labelled["text"].str.split().str[0]) == {"reviews"}
    assert "sentences" not in facts


def test_of_texts_much_longer_than_their_sentences_the_temperature_is_that_of_both(tmp_path):
    path = tmp_path / "rows"
    said = "First one. Then two. Now three. Last {}.,{}"
    rows = (said.format(number, "bad" if number % 5 else "good") for number in range(1_200))
    path.write_text("text,label\n" + "\n".join(rows))
    dataset, explorer = LabelledTexts(job(path, settings=TrainingSettings(validation=0.1))), Explorer()
    facts, bad = dataset.calibrate(explorer), 1 - dataset._own[1].mean()

    def loss(temperature):
        sure = 1 / (1 + np.exp(-np.array([4, 1]) / temperature))
        return -(bad * np.log(sure) + (1 - bad) * np.log(1 - sure)).mean()

    found = facts["temperature"]
    assert loss(found) < min(loss(1.05 * found), loss(found / 1.05))
    for side, tokens in ((facts, 8), (facts["sentences"], 2)):
        assert side["tokens"] == tokens
        for name, temperature in (("calibration_error_before", 1), ("calibration_error", found)):
            gap = abs(1 / (1 + np.exp(-tokens / 2 / temperature)) - bad)
            assert side[name] == pytest.approx(gap, abs=1e-6)


def test_with_class_weights_all_labels_count_alike(tmp_path):
    rows = [
        (f"a {'rare' if i % 8 == 0 else 'usual'} text {i}", "no" if i % 8 == 0 else "yes") for i in range(160)
    ]
    pd.DataFrame(rows, columns=["text", "label"]).to_csv(tmp_path / "rows.csv", index=False)
    config = PRESETS["single-block"].replace(vocab_size=90, output="softmax")
    settings = TrainingSettings(class_weights=True)
    dataset = LabelledTexts(TrainingJob(config=config, settings=settings, data=tmp_path / "rows.csv"))
    label_ids = np.concatenate([labels for _, labels in dataset.batches(settings, 0)])
    logits = np.zeros((len(label_ids), 2), np.float32)
    for label in (0, 1):
        total, counted = dataset.objective(settings)(
            label_ids[label_ids == label], logits[label_ids == label]
        )["loss"]
        assert float(counted) == pytest.approx(len(label_ids) / 2)
        assert float(total) == pytest.approx(len(label_ids) / 2 * np.log(2), rel=1e-5)
