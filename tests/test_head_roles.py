"""Roles of heads over many texts: averages by hand, the usual role, the JSON form and what it refuses."""

import dataclasses
import json
import re

import numpy as np
import pytest
from made_heads import attention_of, averaged, measured
from numpy.testing import assert_allclose
from old_roles import first_version, second_version, third_version

import transformer_viz as tv
from transformer_viz.questions.roles.measure import SENTENCES
from transformer_viz.questions.roles.result import HeadRoles
from transformer_viz.questions.roles.rules import MEASURES
from transformer_viz.text.sentences import some_passages

PAIRS = [
    ("A lovely film.", "one two three two"),
    ("A dull plot, not funny.", "two one"),
    ("Great music!", "six"),
]
SIZE = 6
ROUNDED = 6e-4
DAMAGED = (
    "The roles of heads are damaged, or were not written by this program. Copy them again from where they "
    "came from, or compute them again."
)
EVERY = [set(MEASURES["encoder"])]


def added(*texts, possible=EVERY, tokens="abcdef"):
    """Return the evidence over texts with these weights: (head, query, key) of each layer."""
    found = [attention_of(layers, tokens) for layers in texts]
    return averaged([measured("encoder", each, possible) for each in found], possible)


def usual(*weights, possible=EVERY):
    """Return the usual role of one head over texts with these weights."""
    [[role]] = added(*[[each[None]] for each in weights], possible=possible).roles
    return role


def mixture(share):
    """Return weights with this share on the previous token, the rest alike."""
    weights = share * np.eye(SIZE, k=-1) + (1 - share) / SIZE
    weights[0] = 1 / SIZE
    return weights


def refused(sentence):
    return pytest.raises(ValueError, match=f"^{re.escape(sentence)}$")


@pytest.fixture(scope="module")
def found(translator):
    return tv.head_roles(translator, PAIRS)


def test_a_share_is_averaged_over_texts_and_its_spread_is_their_standard_deviation(writer, reviews):
    roles = tv.head_roles(writer, reviews).kinds["decoder"]
    number = roles.names.index("previous")
    each = []
    for text in reviews:
        layers = [block.self_attention.weights for block in writer.trace(text).decoder]
        rows = range(1, layers[0].shape[-1])
        each.append([[np.mean([head[row, row - 1] for row in rows]) for head in layer] for layer in layers])
    assert_allclose(roles.share[..., number], np.mean(each, axis=0), atol=ROUNDED)
    assert_allclose(roles.spread[..., number], np.std(each, axis=0), atol=ROUNDED)
    assert roles.texts[number] == len(reviews)
    fair = [np.mean([1 / (row + 1) for row in range(1, len(writer.trace(text).tokens))]) for text in reviews]
    assert_allclose(roles.even[..., number], np.mean(fair), atol=ROUNDED)


def test_a_text_that_cannot_show_a_pattern_does_not_count_for_it(explorer):
    roles = tv.head_roles(explorer, ["a film a film", "a dull story"]).kinds["encoder"]
    number = roles.names.index("same")
    assert list(roles.texts) == [
        1 if name in ("same", "after_same") else 0 if name in ("punctuation", "nearby") else 2
        for name in roles.names
    ]
    weights = np.stack([block.attention.weights for block in explorer.trace("a film a film").encoder])
    assert_allclose(
        roles.share[..., number],
        np.mean([weights[..., i, (i + 2) % 4] for i in range(4)], axis=0),
        atol=ROUNDED,
    )
    assert roles.support[number] == 1


def test_every_kind_of_attention_has_every_layer_and_head(translator, found):
    found.check(translator.config)
    assert {kind: roles.share.shape for kind, roles in found.kinds.items()} == {
        "encoder": (2, 3, 11),
        "decoder": (3, 3, 11),
        "cross": (3, 3, 7),
    }
    assert found.texts == 3
    frame = found.to_frame()
    assert len(frame) == 2 * 3 + 3 * 3 + 3 * 3
    assert list(frame.columns) == [
        "kind",
        "layer",
        "head",
        "role",
        "share",
        "spread",
        "support",
        "held",
        "texts",
        "words",
    ]


def test_what_a_layer_cannot_have_is_not_measured(explorer):
    roles = tv.head_roles(explorer, ["a film a film a film"]).kinds["encoder"]
    induction = roles.names.index("after_same")
    assert roles.texts[induction] == 1
    for numbers in (roles.share, roles.spread, roles.even, roles.held):
        assert np.isnan(numbers[0, :, induction]).all()  # in the first layer no key knows the token before it
        assert not np.isnan(numbers[1, :, induction]).any()


def test_a_target_that_is_not_given_is_generated(translator):
    generated = translator.generate("A lovely film.", keep=None).token_ids[:16]
    text = translator.output_tokenizer.decode(generated)
    assert tv.head_roles(translator, ["A lovely film."]) == tv.head_roles(
        translator, [("A lovely film.", text)]
    )


def test_texts_without_a_choice_are_left_out_and_progress_counts_every_text(explorer):
    seen = []
    roles = tv.head_roles(explorer, ["", "film", "a film"], progress=seen.append)
    assert (roles.texts, seen) == (1, [1, 2, 3])
    with pytest.raises(ValueError, match="None of the texts has two tokens"):
        tv.head_roles(explorer, ["", "film"])


def test_a_usual_role_is_held_in_half_of_the_texts_or_more():
    thirds = sum(np.roll(np.eye(SIZE), step, axis=1) for step in (-1, 1, 2)) / 3
    role = usual(mixture(1), thirds, thirds)  # 0.56 on average would be enough
    assert (role.name, role.held, role.texts) == ("mixed", 0, 3)
    role = usual(mixture(1), mixture(1), thirds, thirds)
    assert (role.name, role.held, role.texts) == ("previous", 2, 4)
    role = usual(mixture(0.6), mixture(0.6), mixture(0.1))
    assert (role.name, role.held, role.texts) == ("previous", 2, 3)
    shares = np.array([0.6, 0.6, 0.1]) * 5 / 6 + 1 / 6
    assert_allclose(role.share, shares.mean(), atol=ROUNDED)
    assert_allclose(role.spread, shares.std(), atol=ROUNDED)


def test_a_head_of_one_layer_without_positions_has_no_usual_place():
    assert usual(mixture(0.9)).name == "previous"
    assert usual(mixture(0.9), possible=[{"itself", "focused", "even"}]).name == "focused"


def test_each_layer_holds_the_patterns_that_it_can_have():
    contents = {"itself", "focused", "even"}
    found = added([mixture(0.9)[None]] * 3, possible=[contents, *EVERY, contents])
    assert [role.name for [role] in found.roles] == ["focused", "previous", "focused"]


def test_a_head_that_averages_is_even():
    role = usual(mixture(0), mixture(0.02))
    assert (role.name, role.held) == ("even", 2)
    assert 0.99 < role.share <= 1


def test_the_first_head_that_is_shown_has_the_most_weight_beyond_uniform_attention_in_the_most_texts():
    even, itself, previous = mixture(0), 0.6 * np.eye(SIZE) + 0.4 / SIZE, mixture(0.9)
    texts = [[[even, itself, second], [even, previous, even]] for second in (itself, previous)]
    found = added(*texts, possible=EVERY * 2)
    assert found.opening() == (1, 1)
    before = found.roles[1][1].share  # in five of the six rows: the first token has none before it
    assert_allclose(found.strength(1, 1), (before - 1 / SIZE) * 5 / 6, atol=ROUNDED)
    assert_allclose(found.strength(0, 1), 0.6 * 5 / 6, atol=ROUNDED)
    assert 0 < found.strength(0, 2) < found.strength(0, 1)
    assert found.strength(0, 0) == found.strength(1, 2) == 0


WORDS = {"bad": ("dull", "story"), "good": ("lovely",)}


@pytest.fixture(scope="module")
def classified(explorer, reviews):
    return tv.head_roles(explorer, reviews, words=WORDS)


@pytest.fixture(scope="module")
def long(explorer, reviews):
    """Measured in texts of six sentences of 7 to 10 tokens."""
    return tv.head_roles(explorer, [" ".join(np.roll(reviews, step)) for step in range(5)], words=WORDS)


def test_in_texts_much_longer_than_their_sentences_the_heads_are_measured_in_both(explorer, long, reviews):
    assert (long.texts, long.tokens) == (5, len(explorer.trace(" ".join(reviews)).tokens))
    random = np.random.default_rng(0)
    sentences = [
        sentence
        for step in range(5)
        for sentence in some_passages(" ".join(np.roll(reviews, step)), SENTENCES, random)
    ]
    assert len(sentences) == 5 * SENTENCES
    assert set(sentences) == set(reviews)
    assert long.short == tv.head_roles(explorer, sentences, words=WORDS)
    lengths = [len(explorer.trace(text).tokens) for text in sentences]
    assert abs(long.short.tokens - np.median(lengths)) <= 0.5
    assert long.short.short is None
    assert tv.head_roles(explorer, reviews).short is None


def test_of_both_lengths_the_nearer_one_is_used_and_none_for_a_text_far_from_both(long):
    both = dataclasses.replace(long, tokens=260, short=dataclasses.replace(long.short, tokens=20))
    expected = {6: None, 7: both.short, 60: both.short, 65: None, 87: both, 780: both, 781: None}
    assert {tokens: both.nearest(tokens) for tokens in expected} == expected
    assert long.short.nearest(9) is long.short
    unknown = dataclasses.replace(long, tokens=None, short=None)
    assert unknown.nearest(9_999) is unknown


def test_the_head_shown_first_is_that_of_short_texts(long):
    assert long.opening("encoder") == long.short.kinds["encoder"].opening()
    assert long.short.opening("encoder") == long.opening("encoder")


@pytest.mark.parametrize("kind", ["found", "classified", "long"])
def test_json_and_back_is_the_same(kind, request):
    found = request.getfixturevalue(kind)
    text = found.to_json()
    again = HeadRoles.from_json(text)
    assert again == found
    assert again.to_json() == text
    assert again.to_frame().equals(found.to_frame())
    assert again.words == found.words
    assert again != "anything else"


def test_roles_of_version_3_are_read_and_of_texts_of_unknown_length(long):
    again = HeadRoles.from_json(third_version(long))
    assert again == dataclasses.replace(long, tokens=None, short=None)


def test_roles_of_version_1_are_read_and_have_no_words(found):
    assert HeadRoles.from_json(first_version(found)).words == {}
    assert HeadRoles.from_json(first_version(found)) == HeadRoles.from_json(second_version(found))


@pytest.mark.parametrize("kind", ["found", "classified"])
def test_in_roles_of_version_2_what_is_nearby_is_unknown_and_all_else_is_kept(kind, request):
    found = request.getfixturevalue(kind)
    again = HeadRoles.from_json(second_version(found))
    assert again.words == found.words
    for each, roles in again.kinds.items():
        expected = found.kinds[each]
        assert roles.names == expected.names
        known = np.array([name != "nearby" for name in roles.names])
        for name in ("share", "spread", "even", "held"):
            kept = np.where(known, getattr(expected, name), np.nan)
            np.testing.assert_array_equal(getattr(roles, name), kept)
        np.testing.assert_array_equal(roles.texts, expected.texts * known)
        np.testing.assert_array_equal(roles.support, expected.support * known)


def test_roles_of_version_1_are_checked_as_well(found):
    with refused(DAMAGED):
        HeadRoles.from_json(first_version(found).replace('"texts"', '"tests"', 1))


def test_of_a_model_of_144_heads_the_json_is_small():
    weights = np.random.default_rng(5).dirichlet(np.ones(SIZE), (12, 12, SIZE))
    found = added(weights, possible=EVERY * 12, tokens="abacad")
    assert len(HeadRoles(1, {"encoder": found}).to_json()) < 100_000


def test_roles_of_another_model_are_refused(found, explorer):
    with refused(
        "These are the roles of the heads of another model. Layers x heads there: encoder 2 x 3, "
        "decoder 3 x 3, cross 3 x 3; in this model: encoder 2 x 3. Compute them again."
    ):
        found.check(explorer.config)


def test_words_of_the_labels_of_another_model_are_refused(classified, small_config):
    classified.check(small_config)
    with refused(
        "These are the roles of the heads of another model. They have words typical of the labels 'bad', "
        "'good'; this model has 'no', 'yes'. Compute them again."
    ):
        classified.check(small_config.replace(labels=("no", "yes")))


def damaged(found, change):
    content = json.loads(found.to_json())
    change(content, content["kinds"]["encoder"])
    return json.dumps(content)


DAMAGE = {
    "a number above 1": lambda top, kind: kind["share"][0][0].__setitem__(0, 1.5),
    "a text": lambda top, kind: kind["share"][0][0].__setitem__(0, "0.5"),
    "a flag": lambda top, kind: kind["held"][0][0].__setitem__(0, True),
    "infinity": lambda top, kind: kind["even"][0][0].__setitem__(0, float("inf")),
    "NaN": lambda top, kind: kind["support"].__setitem__(0, float("nan")),
    "a share without the rest": lambda top, kind: kind["share"][0][0].__setitem__(0, None),
    "a head too few": lambda top, kind: kind["spread"][0].pop(),
    "a pattern too many": lambda top, kind: [
        head.append(0.5)
        for name in ("share", "spread", "even", "held")
        for layer in kind[name]
        for head in layer
    ],
    "rows of a pattern too many": lambda top, kind: kind["support"].append(1),
    "no heads": lambda top, kind: kind.update(
        {name: [[] for _ in kind[name]] for name in ("share", "spread", "even", "held")}
    ),
    "no layers": lambda top, kind: kind.update(share=[]),
    "a number for a list": lambda top, kind: kind.update(share=3),
    "other patterns": lambda top, kind: kind["names"].__setitem__(0, "verbs"),
    "more texts than all": lambda top, kind: kind["texts"].__setitem__(0, 7),
    "half a text": lambda top, kind: kind["texts"].__setitem__(0, 0.5),
    "no texts": lambda top, kind: top.update(texts=0),
    "too many texts": lambda top, kind: top.update(texts=10**10),
    "another kind": lambda top, kind: top["kinds"].update(third=kind),
    "no kinds": lambda top, kind: top.update(kinds={}),
    "more": lambda top, kind: top.update(more=1),
    "more of a kind": lambda top, kind: kind.update(more=1),
    "less of a kind": lambda top, kind: kind.pop("even"),
    "words of no label": lambda top, kind: top["words"].update(fair=["film"]),
    "a label without words": lambda top, kind: top["words"].update(bad=[]),
    "the same word twice": lambda top, kind: top["words"].update(bad=["dull", "dull"]),
    "an empty word": lambda top, kind: top["words"].update(bad=["dull", ""]),
    "a word that is no text": lambda top, kind: top["words"].update(bad=["\ud800"]),
    "a word without an end": lambda top, kind: top["words"].update(bad=["a" * 101]),
    "too many words": lambda top, kind: top["words"].update(bad=[f"word{n}" for n in range(101)]),
    "a number for words": lambda top, kind: top["words"].update(bad=3),
    "words that are a list": lambda top, kind: top.update(words=[]),
    "a ratio below 0": lambda top, kind: kind["ratio"][0][0].__setitem__(0, -0.1),
    "an endless ratio": lambda top, kind: kind["ratio"][0][0].__setitem__(0, float("inf")),
    "a ratio too few": lambda top, kind: kind["ratio_spread"][0][0].pop(),
    "texts without a token": lambda top, kind: top.update(tokens=0),
    "half a token": lambda top, kind: top.update(tokens=7.5),
    "no lengths": lambda top, kind: top.pop("tokens"),
    "short texts without heads": lambda top, kind: top.update(short={"texts": 3, "tokens": 5, "kinds": {}}),
    "still shorter texts": lambda top, kind: top.update(
        short={"texts": 6, "tokens": 5, "kinds": top["kinds"], "short": None}
    ),
    "no words": lambda top, kind: top.pop("words"),
    "no version": lambda top, kind: top.pop("format_version"),
    "a version of half": lambda top, kind: top.update(format_version=1.5),
}


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_json_that_is_not_as_it_was_written_is_refused(classified, change):
    with refused(DAMAGED):
        HeadRoles.from_json(damaged(classified, change))


@pytest.mark.parametrize("text", ["", "[]", "3", "{}", "[" * 9_999])
def test_a_text_that_is_no_roles_is_refused(text):
    with refused(DAMAGED):
        HeadRoles.from_json(text)


def test_more_text_than_any_model_needs_is_not_read(found):
    with refused(DAMAGED):
        HeadRoles.from_json(found.to_json() + " " * 2**20)


def test_roles_of_a_newer_version_are_told_from_damaged_ones(found):
    newer = damaged(found, lambda top, kind: top.update(format_version=5))
    with refused(
        "The roles of heads have format version 5, made by a newer version of Transformer Viz; this one "
        "reads up to 4. Update the program."
    ):
        HeadRoles.from_json(newer)
