"""Treebanks: where each word stands in the text, whatever was contracted or left out of it."""

import gzip

import pytest

from transformer_viz.data import DataError
from transformer_viz.data.treebank import ROOT, read_treebank


def rows(*words):
    """Return CoNLL-U rows of (id, form, kind, governor, relation)."""
    return "\n".join(
        "\t".join([str(number), form, "_", kind, "_", "_", str(governor), relation, "_", "_"])
        for number, form, kind, governor, relation in words
    )


CATS = rows(
    (1, "The", "DET", 2, "det"),
    (2, "cat", "NOUN", 5, "nsubj:pass"),
    ("3-4", "didn't", "_", "_", "_"),
    (3, "did", "AUX", 5, "aux"),
    (4, "n't", "PART", 5, "advmod"),
    (5, "see", "VERB", 0, "root"),
    ("5.1", "it", "PRON", "_", "_"),
    (6, ".", "PUNCT", 5, "punct"),
)


@pytest.fixture
def file(tmp_path):
    def written(text, name="bank.conllu"):
        path = tmp_path / name
        path.write_bytes((gzip.compress if name.endswith(".gz") else bytes)(text.encode()))
        return path

    return written


@pytest.mark.parametrize("name", ["bank.conllu", "bank.conllu.gz"])
def test_each_word_has_its_place_kind_and_governor(file, name):
    (found,) = read_treebank(file(f"# text = The cat didn't see.\n{CATS}\n\n", name))
    assert [found.text[start:end] for start, end in found.words] == ["The", "cat", "did", "n't", "see", "."]
    assert found.kinds == ("DET", "NOUN", "AUX", "PART", "VERB", "PUNCT")
    assert found.governors == (1, 4, 4, 4, ROOT, 4)
    assert found.relations == ("det", "nsubj", "aux", "advmod", "root", "punct")


def test_without_a_text_the_words_are_joined(file):
    (found,) = read_treebank(file(f"{CATS}\n\n"))
    assert found.text == "The cat didn't see ."
    assert [found.text[start:end] for start, end in found.words] == ["The", "cat", "did", "n't", "see", "."]


def test_parts_of_a_contraction_with_other_letters_have_the_place_of_the_whole(file):
    words = rows(
        (1, "Va", "VERB", 0, "root"),
        ("2-3", "au", "_", "_", "_"),
        (2, "à", "ADP", 4, "case"),
        (3, "le", "DET", 4, "det"),
        (4, "lac", "NOUN", 1, "obl"),
    )
    (found,) = read_treebank(file(f"# text = Va au lac\n{words}\n\n"))
    assert [found.text[start:end] for start, end in found.words] == ["Va", "au", "au", "lac"]


def test_the_word_after_such_a_contraction_stands_behind_it(file):
    words = rows(
        (1, "Es", "PRON", 2, "nsubj"),
        (2, "endet", "VERB", 0, "root"),
        ("3-4", "am", "_", "_", "_"),
        (3, "an", "ADP", 5, "case"),
        (4, "dem", "DET", 5, "det"),
        (5, "a", "NOUN", 2, "obl"),
    )
    (found,) = read_treebank(file(f"# text = Es endet am a\n{words}\n\n"))
    assert found.words == ((0, 2), (3, 8), (9, 11), (9, 11), (12, 13))


def test_a_word_that_occurs_twice_has_two_places(file):
    words = rows((1, "no", "INTJ", 0, "root"), (2, "no", "INTJ", 1, "conj"))
    (found,) = read_treebank(file(f"# text = no no\n{words}\n\n"))
    assert found.words == ((0, 2), (3, 5))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no sentence"),
        ("1\tone\n\n", "is not a treebank in the CoNLL-U format"),
        ("text,label\na,b\n", "is not a treebank in the CoNLL-U format"),
        (f"# text = Another text.\n{CATS}\n\n", "“The” is not in “Another text.”"),
    ],
)
def test_what_is_no_treebank_is_refused_with_its_name(file, text, sentence):
    with pytest.raises(DataError, match=r"bank\.conllu") as error:
        read_treebank(file(text))
    assert sentence in str(error.value)
