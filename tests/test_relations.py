"""Syntactic relations that heads follow, beside a fixed distance and the nearest word of the kind."""

import numpy as np
import pytest

import transformer_viz as tv
from transformer_viz.data.treebank import ROOT, ParsedSentence
from transformer_viz.questions.relations.measure import instances
from transformer_viz.questions.relations.words import most_read_words, nearest_word, words_at

KINDS = {"the": "DET", "dull": "ADJ", "lovely": "ADJ", "film": "NOUN", "plot": "NOUN", "was": "VERB"}


def parsed(text):
    """Return "the (adjective) noun was" as a tree: det and amod to the noun, which is the subject."""
    forms, at, words = text.split(), 0, []
    for form in forms:
        at = text.index(form, at)
        words.append((at, at + len(form)))
        at += len(form)
    noun, verb = len(forms) - 2, len(forms) - 1
    names = {"DET": "det", "ADJ": "amod", "NOUN": "nsubj", "VERB": "root"}
    kinds = tuple(KINDS[form] for form in forms)
    governors = tuple(ROOT if i == verb else verb if i == noun else noun for i in range(len(forms)))
    return ParsedSentence(text, tuple(words), kinds, governors, tuple(names[kind] for kind in kinds))


SENTENCES = [
    parsed(f"the {adjective}{noun} was")
    for adjective in ("", "dull ", "lovely ", "dull lovely ")
    for noun in ("film", "plot")
] * 8

LACKS = ParsedSentence(
    "The film really lacks plot.",
    ((0, 3), (4, 8), (9, 15), (16, 21), (22, 26), (26, 27)),
    ("DET", "NOUN", "ADV", "VERB", "NOUN", "PUNCT"),
    (1, 3, 3, ROOT, 3, 3),
    ("det", "nsubj", "advmod", "root", "obj", "punct"),
)
IS_THERE = ParsedSentence(
    "The film was there",
    ((0, 3), (4, 8), (9, 12), (13, 18)),
    ("DET", "NOUN", "AUX", "ADV"),
    (1, 3, 3, ROOT),
    ("det", "nsubj", "cop", "root"),
)


def one_per_relation(frame):
    """Return the row of the first head of each relation and direction."""
    return frame.groupby(["relation", "reads"]).first()


def test_a_causal_model_is_asked_for_words_before(explorer):
    (sentence,) = {parsed("the dull film was")}
    assert [tuple(each) for each in instances(sentence, causal=True)] == [
        ("det", "dependent", 2, 0),
        ("amod", "dependent", 2, 1),
        ("nsubj", "dependent", 3, 2),
    ]
    assert len(instances(sentence, causal=False)) == 6


def test_tokens_belong_to_the_word_in_which_they_begin():
    words = [(0, 3), (4, 8), (8, 9)]
    assert words_at([(0, 0), (0, 2), (2, 3), (3, 6), (6, 9), (9, 9)], words).tolist() == [-1, 0, 0, 1, 1, -1]


def test_the_word_read_most_adds_up_its_tokens_and_is_never_the_word_itself():
    weights = np.array([[0.2, 0.25, 0.25, 0.3], [0.1, 0.3, 0.3, 0.3], [0.7, 0.0, 0.0, 0.3], [0, 0, 0, 1.0]])
    words = np.array([0, 1, 1, 2])
    found = most_read_words(weights, words, 3, ~np.eye(3, dtype=bool))
    assert found.tolist() == [1, 0, -1]
    assert most_read_words(weights, words, 4, ~np.eye(4, dtype=bool))[3] == -1  # a word without a token


@pytest.mark.parametrize(
    ("name", "kind", "first"),
    [("explorer", "encoder", 0), ("translator", "encoder", 0), ("writer", "decoder", 1)],
)
def test_scores_are_those_of_a_plain_count(name, kind, first, request):
    """Each word is one token; those of a decoder stand after [START], and only words before are read."""
    explorer, target = request.getfixturevalue(name), {"target": "one"} if name == "translator" else {}
    causal = kind == "decoder"
    frame = tv.relation_scores(explorer, SENTENCES)
    assert set(frame["relation"]) == {"det", "amod", "nsubj"}
    assert set(frame["reads"]) == ({"dependent"} if causal else {"governor", "dependent"})
    layers = {
        text: explorer.trace(text, **target).kinds()[kind].layers
        for text in {each.text for each in SENTENCES}
    }
    assert len(frame.groupby(["layer", "head"])) == explorer.config.stacks[kind] * explorer.config.num_heads
    for row in frame.itertuples():
        by_sentence = []
        for sentence in SENTENCES:
            weights = layers[sentence.text][row.layer].weights[row.head, first:, first:]
            hits = []
            for word, (governor, relation) in enumerate(
                zip(sentence.governors, sentence.relations, strict=True)
            ):
                if relation != row.relation:
                    continue
                place, wanted = (word, governor) if row.reads == "governor" else (governor, word)
                others = weights[place].copy()
                others[place] = -1
                hits.append(others.argmax() == wanted)
            by_sentence.append((sum(hits), len(hits)))
        right, total = map(sum, zip(*by_sentence, strict=True))
        assert row.instances == total
        assert row.accuracy == pytest.approx(right / total)
        spread = sum((hit - right / total * count) ** 2 for hit, count in by_sentence) ** 0.5 / total
        assert row.error == pytest.approx(spread)


def test_the_two_predictions_without_a_model_are_those_counted_by_hand(explorer):
    frame = tv.relation_scores(explorer, SENTENCES).set_index(["relation", "reads"])
    noun = frame.loc[("det", "dependent")].iloc[0]  # determiners are 1, 2 or 3 words before the noun
    assert (noun["offset"], noun["offset_accuracy"], noun["nearest_accuracy"]) == (-2, 0.5, 1.0)
    verb = frame.loc[("nsubj", "dependent")].iloc[0]
    assert (verb["offset"], verb["offset_accuracy"], verb["nearest_accuracy"]) == (-1, 1.0, 1.0)
    adjective = frame.loc[("amod", "dependent")].iloc[0]  # of two adjectives the nearest is one
    assert adjective["instances"] == 64
    assert adjective["nearest_accuracy"] == adjective["offset_accuracy"] == 0.75


def test_the_nearest_word_for_a_causal_model_stands_before(explorer, writer):
    """From "lacks", "plot" is one word away, and its subject "film" two."""
    for model, nearest in ((explorer, 0.0), (writer, 1.0)):
        subject = one_per_relation(tv.relation_scores(model, [LACKS] * 50)).loc[("nsubj", "dependent")]
        assert (subject["offset"], subject["nearest_accuracy"]) == (-2, nearest)
    assert nearest_word(4, np.array([1, 3, 5])) == 3
    assert nearest_word(4, np.array([], int)) == -1


def test_a_part_of_speech_of_few_targets_does_not_count_as_one_of_theirs(explorer):
    """Subjects depend on a verb 50 times, on an adverb twice; "really" is nearer to "film" than "lacks"."""
    frame = one_per_relation(tv.relation_scores(explorer, [LACKS] * 50 + [IS_THERE] * 2))
    assert frame.loc[("nsubj", "governor"), "nearest_accuracy"] == pytest.approx(50 / 52)


def test_punctuation_is_not_measured_and_fifty_instances_are_enough(explorer):
    frame = tv.relation_scores(explorer, [LACKS] * 50)
    assert set(frame["relation"]) == {"det", "nsubj", "advmod", "obj"}
    assert set(frame["instances"]) == {50}
    with pytest.raises(ValueError, match="No syntactic relation occurs at least 50 times"):
        tv.relation_scores(explorer, [LACKS] * 49)


def test_sentences_that_are_cut_or_read_with_other_characters_do_not_count(explorer):
    long = parsed("the " + "dull " * explorer.config.max_len + "film was")
    decomposed = LACKS._replace(text=LACKS.text.replace("plot", "plo\N{COMBINING DIAERESIS}t"))
    seen = []
    whole = tv.relation_scores(explorer, SENTENCES)
    found = tv.relation_scores(explorer, [*SENTENCES, long, *[decomposed] * 50], progress=seen.append)
    assert found.equals(whole)
    assert seen == list(range(1, len(SENTENCES) + 52))


def test_too_few_relations_are_refused_with_a_sentence(explorer):
    with pytest.raises(ValueError, match="No syntactic relation occurs at least 50 times"):
        tv.relation_scores(explorer, SENTENCES[:4])
