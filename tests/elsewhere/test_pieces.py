"""SentencePiece models alone, against the ids of the sentencepiece library (record_pieces.py)."""

import json
import shutil
from pathlib import Path

import pytest
from sentencepiece import sentencepiece_model_pb2

from transformer_viz import store
from transformer_viz.store import ModelError
from transformer_viz.store.hugging_face import read_contents
from transformer_viz.store.hugging_face.families import FAMILIES
from transformer_viz.text.tokenizer import tokenizer_of

HERE = Path(__file__).parent
KINDS = sorted(folder.name for folder in (HERE / "pieces").iterdir())
RENAMED = {"camembert": "xlm-roberta", "gemma": "llama", "mbart": "mbart-25"}
"""Type of model -> the one whose recorded folder stands for it."""

CONTROL, UNUSED = 3, 5


@pytest.fixture
def copied(tmp_path):
    """A folder with a SentencePiece model in place of a tokenizer.json, and room for all its tokens."""

    def copy(kind):
        folder = tmp_path / kind
        shutil.copytree(HERE / "models" / RENAMED.get(kind, kind), folder)
        (folder / "tokenizer.json").unlink()
        (folder / "generation_config.json").unlink(missing_ok=True)
        config = json.loads((folder / "config.json").read_text()) | {"model_type": kind, "vocab_size": 500}
        config.pop("eos_token_id", None)  # of the tokenizer that is gone
        (folder / "config.json").write_text(json.dumps(config))
        for name in (FAMILIES[kind].pieces.file, "tokenizer_config.json"):
            shutil.copyfile(HERE / "pieces" / kind / name, folder / name)
        return folder

    return copy


def encoded(folder, text):
    found = read_contents(folder)
    tokenizer = tokenizer_of(found.config, found.tokenizer)
    return tokenizer.encode(text, max_len=1000, start=found.config.reads_start)


def told(folder, **settings):
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def edited(folder, kind, change):
    """Change the pieces of a folder, and return it."""
    file = folder / FAMILIES[kind].pieces.file
    proto = sentencepiece_model_pb2.ModelProto.FromString(file.read_bytes())
    change(proto)
    file.write_bytes(proto.SerializeToString())
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_those_that_the_model_was_trained_with(copied, kind):
    found = read_contents(copied(kind))
    tokenizer = tokenizer_of(found.config, found.tokenizer)
    rows = json.loads((HERE / "pieces" / kind / "texts.json").read_text(encoding="utf-8"))
    assert len(rows) == 9
    for row in rows:
        encoding = tokenizer.encode(row["text"], max_len=1000, start=found.config.reads_start)
        assert encoding.ids.tolist() == row["ids"], row["text"]
        ends = [end for _, end in encoding.offsets]
        assert ends == sorted(ends)
        assert ends[-1] <= len(row["text"])
    assert not any("\u2063" in token for token in tokenizer.vocabulary)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_split_becomes_text_again(copied, kind):
    found = read_contents(copied(kind))
    tokenizer, text = tokenizer_of(found.config, found.tokenizer), "the film was good, café and all."
    ids = tokenizer.encode(text, max_len=1000, start=found.config.reads_start).ids
    assert tokenizer.decode(ids) == (text.replace("é", "e") if kind == "albert" else text)


def test_a_folder_with_pieces_alone_is_a_model_and_changes_with_them(copied):
    folder = told(copied("t5"), extra_ids=5)
    before = store.stamp(folder)
    config = store.read_config(folder)
    assert (config.end_id, config.reads_start, config.reads_end) == (1, False, True)
    edited(folder, "t5", lambda proto: proto.pieces.add(piece="▁actor", score=-1.0))
    assert store.stamp(folder) != before


def test_an_mbart_reads_its_language_first_and_an_older_one_last(copied):
    folder = copied("mbart")
    tokens = encoded(folder, "The film").tokens
    assert (tokens[0], tokens[-1]) == ("fr_XX", "</s>")
    assert encoded(told(folder, language_codes="ML50"), "The film").tokens[0] == "en_XX"
    told(folder, src_lang="de_DE")
    for row in json.loads((HERE / "pieces" / "mbart" / "texts.json").read_text(encoding="utf-8")):
        older = encoded(folder, row["text"])
        moved = [27 * (token == "<mask>") for token in older.tokens[:-1]]  # it had 27 languages less
        assert (older.ids[:-1] + moved).tolist() == row["ids"][1:]
        assert older.tokens[-2:] == ("</s>", "de_DE")


def test_an_albert_says_whether_capitals_and_accents_count(copied):
    folder = copied("albert")
    lower = encoded(folder, "café film").ids.tolist()
    assert encoded(folder, "CAFÉ Film").ids.tolist() == lower
    told(folder, do_lower_case=False, keep_accents=True)
    assert encoded(folder, "Café film").ids.tolist() not in (lower, encoded(folder, "café film").ids.tolist())


def test_a_llama_says_what_stands_around_a_text(copied):
    folder = copied("llama")
    for settings, ends in (({}, "start"), ({"add_bos_token": False, "add_eos_token": True}, "end")):
        tokens = encoded(told(folder, **settings), "The film").tokens
        assert (tokens[0] == "<s>", tokens[-1] == "</s>") == (ends == "start", ends == "end")


def test_unused_and_hidden_pieces_are_found_in_no_text(copied):
    def disuse(proto):
        [piece] = [each for each in proto.pieces if each.piece == "▁good"]
        piece.type = UNUSED

    folder = copied("xlm-roberta")
    whole = encoded(folder, "good").tokens
    assert encoded(edited(folder, "xlm-roberta", disuse), "good").tokens != whole == ("<s>", "▁good", "</s>")


@pytest.mark.parametrize(
    ("kind", "change", "says"),
    [
        ("t5", lambda proto: setattr(proto.trainer_spec, "model_type", 3), "neither a unigram nor a BPE"),
        ("t5", lambda proto: setattr(proto.pieces[1], "piece", "<end>"), "not those of this type .*: </s>"),
        ("llama", lambda proto: setattr(proto.pieces[1], "piece", "<go>"), "not those of this type .*: <s>"),
        ("xlm-roberta", lambda proto: proto.pieces.__delitem__(1), "not those of this type .*: "),
        ("albert", lambda proto: proto.pieces.add(piece="[CLS]", type=CONTROL), "damaged, or not a Sentence"),
        (
            "pegasus",
            lambda proto: setattr(proto.normalizer_spec, "precompiled_charsmap", b"\xff" * 40),
            "this SentencePiece model cannot be used",
        ),
    ],
)
def test_what_is_wrong_with_pieces_is_said_with_the_name_of_the_file(copied, kind, change, says):
    folder, file = edited(copied(kind), kind, change), FAMILIES[kind].pieces.file
    with pytest.raises(ModelError, match=f"{file.replace('.', '[.]')}.*{says}"):
        read_contents(folder)


def test_pieces_that_are_cut_off_or_missing_are_named(copied):
    folder = copied("llama")
    file = folder / "tokenizer.model"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(ModelError, match=r"tokenizer\.model.*damaged, or not a SentencePiece model"):
        read_contents(folder)
    file.unlink()
    with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
        read_contents(folder)
