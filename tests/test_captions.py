"""What is said of heads beside what they do here: what is usual over many texts, in both languages."""

import dataclasses
import json

import numpy as np
import pytest

import transformer_viz as tv
from transformer_viz.language import Words
from transformer_viz.network.tensors import Attentions, AttentionTrace
from transformer_viz.pictures.captions import (
    HeadsInText,
    captions_of,
    patterns_of_trace,
    role_name,
    role_order,
)
from transformer_viz.pictures.lens import payload_of
from transformer_viz.questions.roles.result import Role, WordsRead
from transformer_viz.questions.roles.rules import MEASURES, ROLES

TOKENS = ("the", "cat", "and", "the", "dog", ".")
SIZE = len(TOKENS)
EVEN = np.full((SIZE, SIZE), 1 / SIZE)
KEYS = np.eye(SIZE)


def heads_of(*weights, kind="encoder", possible=ROLES, tokens=TOKENS, typical=None):
    """Return the heads of one layer."""
    layer = AttentionTrace(None, None, None, None, np.stack(weights), None, None)
    mask = np.ones((1, 1, len(tokens), len(tokens)), bool)
    return HeadsInText(kind, Attentions([layer], mask, tokens, tokens), [frozenset(possible)], typical)


def both(weights, role=None, language="en", measured=None, **options):
    """Return what is said of one head in this text, and below; `measured`: tokens of the texts measured."""
    usual, labels = role and [[role]], options.get("tokens", TOKENS)
    found = captions_of(Words(language), heads_of(weights, **options), labels, usual, tokens=measured)
    return found.here[0][0], found.usual[0][0]


def here(*args, **options):
    return both(*args, **options)[0]


def said(*args, **options):
    return both(*args, **options)[1]


def usual(name, share=0.62, support=1.0, held=97, texts=100):
    return Role(name, share, 0.1, support, held, texts)


def half(cells):
    """Return weights of which half are on these cells of each row, or as even as the rest if it has none."""
    count = cells.sum(axis=-1, keepdims=True)
    return np.where(count > 0, 0.5 * cells / np.maximum(count, 1) + 0.5 * EVEN, EVEN)


def test_what_is_usual_leaves_what_a_head_does_here_as_it_is():
    weights = half(np.eye(SIZE, k=-1))
    assert both(weights) == ("Here each token reads the one before it (58% on average).", "")
    assert here(weights, usual("next")) == here(weights)


def test_the_clearest_head_is_that_with_most_of_its_weight_on_a_pattern():
    previous = np.eye(SIZE, k=-1)
    previous[0, 0] = 1
    assert heads_of(EVEN, half(previous), previous, half(np.eye(SIZE))).clearest == (0, 2)
    assert heads_of(half(previous), previous, possible={"even"}).clearest == (0, 0)
    assert heads_of(EVEN, EVEN).clearest == (0, 0)


@pytest.mark.parametrize(
    ("weight", "language", "sentence"),
    [
        (
            0.9,
            "en",
            " Tokens that have occurred before (38% of the rows) read the one that followed them then "
            "(induction): 90% of their weight.",
        ),
        (
            0.5,
            "zh",
            "再次出现的词元（占所有行的 38%）看上次跟在自己后面的那个词元（归纳）：占权重的 50%。",
        ),
        (0.4, "en", ""),
    ],
)
def test_induction_is_said_beside_what_a_head_does_where_nothing_is_to_be_copied(weight, language, sentence):
    tokens = (*"xabcabc", ".")
    weights = np.zeros((8, 8))
    weights[:, 0] = 1
    for row, key in ((4, 2), (5, 3), (6, 4)):
        weights[row, [0, key]] = 1 - weight, weight
    first = here(weights, language=language, tokens=tokens, possible={"first"})
    assert here(weights, language=language, tokens=tokens) == first + sentence
    weights[:] = 0
    weights[[*range(4), 7], 0] = 1
    weights[[4, 5, 6], [2, 3, 4]] = 1
    is_induction = here(weights[1:, 1:], tokens=tokens[1:], language=language, possible={"after_same"})
    assert is_induction.count({"en": "induction", "zh": "归纳"}[language]) == 1


@pytest.mark.parametrize(
    ("weight", "language", "sentence"),
    [
        (
            0.9,
            "en",
            " Tokens that occur more than once (43% of the rows) read their other occurrences: 90% of their "
            "weight.",
        ),
        (0.6, "zh", "重复的词元（占所有行的 43%）看自己在别处的出现：占权重的 60%。"),
        (0.4, "en", ""),
    ],
)
def test_the_same_token_is_said_beside_what_a_head_does_where_there_is_none(weight, language, sentence):
    tokens = (*"xabcabc", ".")
    weights = np.eye(8)
    for row, key in ((4, 1), (5, 2), (6, 3)):
        weights[row, [row, key]] = 1 - weight, weight
    mask = np.tril(np.ones((1, 1, 8, 8), bool))
    layer = AttentionTrace(None, None, None, None, weights[None], None, None)

    def told(possible=ROLES):
        found = HeadsInText("decoder", Attentions([layer], mask, tokens, tokens), [frozenset(possible)])
        return captions_of(Words(language), found, tokens).here[0][0]

    assert told() == told({"itself"}) + sentence


def test_with_evidence_a_caption_says_what_is_usual_in_how_many_texts_and_how_it_is_here():
    previous = half(np.eye(SIZE, k=-1))
    assert said(previous, usual("previous")) == (
        "Mostly attends to the previous token: in 97 of 100 texts; here 58% of the weight."
    )
    assert said(previous, usual("previous"), "zh") == (
        "通常关注前一个词元：100 段文本中有 97 段如此；本例中占权重的 58%。"
    )


@pytest.mark.parametrize(("tokens", "shown"), [(7, "7"), (16, "16"), (258, "260"), (1_249, "1,200")])
def test_what_is_usual_is_said_of_texts_of_about_so_many_tokens(tokens, shown):
    previous = half(np.eye(SIZE, k=-1))
    assert said(previous, usual("previous"), measured=tokens) == (
        f"Mostly attends to the previous token: in 97 of 100 texts of about {shown} tokens; here 58% of the "
        "weight."
    )
    assert said(previous, usual("previous"), "zh", tokens) == (
        f"通常关注前一个词元：100 段约 {shown} 个词元的文本中有 97 段如此；本例中占权重的 58%。"
    )
    assert said(EVEN, usual("mixed", np.nan), measured=tokens) == (
        f"No fixed pattern over 100 texts of about {shown} tokens."
    )


def test_a_usual_pattern_that_this_text_cannot_show_is_said_to_be_so():
    tokens = ("a", "cat", "sat")
    caption = said(np.full((3, 3), 1 / 3), usual("after_same", support=0.25), tokens=tokens)
    assert caption == (
        "Mostly attends to the token after the previous occurrence of the same token, where there is one "
        "(induction): in 97 of 100 texts; this text cannot show it."
    )


def test_without_a_usual_pattern_that_is_said():
    assert said(half(np.eye(SIZE)), usual("mixed", np.nan, held=0)) == "No fixed pattern over 100 texts."


def test_of_a_head_that_usually_reads_one_token_its_share_here_is_told():
    weights = half(KEYS[[4] * SIZE])
    assert both(weights, usual("token")) == (
        "Here every row reads “dog” (58% on average).",
        "Mostly one and the same token gets much of the weight: in 97 of 100 texts; here 58% of the weight.",
    )
    assert said(weights, usual("token"), "zh") == (
        "通常很大一部分权重集中在同一个词元上：100 段文本中有 97 段如此；本例中占权重的 58%。"
    )


def test_what_is_usual_is_said_below_with_how_far_it_holds_here():
    weights = np.array([0.96, 0, 0.96, 0.88, 0, 0])[:, None] * KEYS[4]
    weights += (1 - weights.sum(axis=-1, keepdims=True)) * EVEN
    assert both(weights, usual("next")) == (
        "Here “the”, “and” and “the” read “dog”: 97%, 97%, 90%.",
        "Mostly attends to the next token: in 97 of 100 texts; here 25% of the weight.",
    )


def test_numbers_of_many_texts_are_grouped():
    assert "in 1,900 of 2,000 texts" in said(EVEN, usual("next", held=1900, texts=2000))


def reads(*labels, ratio=5.87):
    """Return the usual role of a head that reads the words of these labels."""
    words = tuple(WordsRead(label, ratio, 4.96, 1259) for label in labels)
    return usual("words", 0.12)._replace(words=words)


PETS = {"words:pets": np.isin(TOKENS, ["cat", "dog"]), "words:cars": np.zeros(SIZE, bool)}


def test_of_words_read_more_than_evenly_the_ratio_is_said_with_the_ratio_here():
    weights = np.tile([0.1, 0.3, 0.1, 0.1, 0.3, 0.1], (SIZE, 1))
    assert said(weights, reads("pets"), typical=PETS) == (
        "Looks for words typical of “pets” texts: they get about 6 times an even share (here 1.8 times)."
    )
    assert said(weights, reads("pets"), "zh", typical=PETS) == (
        "专找“pets”文本里常见的词：关注度约为平均分配的 6 倍（本例 1.8 倍）。"
    )


def test_of_several_labels_each_has_a_sentence_and_a_text_without_such_words_is_said_to_have_none():
    assert said(EVEN, reads("pets", "cars"), typical=PETS) == (
        "Looks for words typical of “pets” texts: they get about 6 times an even share (here 1.0 times). "
        "Those typical of “cars” texts get about 6 times (this text has none)."
    )
    chinese = said(EVEN, reads("pets", "cars"), "zh", typical=PETS)
    assert chinese.endswith("也找“cars”文本里常见的词：约 6 倍（这段文本里没有）。")


def test_at_most_three_labels_are_said():
    typical = {f"words:{label}": np.zeros(SIZE, bool) for label in "abcd"}
    caption = said(EVEN, reads(*"abcd"), typical=typical)
    assert "“c” texts" in caption
    assert "“d” texts" not in caption


def test_a_text_of_one_token_shows_no_ratio():
    keys = {"words:pets": np.array([True])}
    assert "(this text has none)" in said(np.ones((1, 1)), reads("pets"), tokens=("cat",), typical=keys)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", [name for name in ROLES if name != "words"])
def test_every_role_has_a_sentence_of_its_own_with_and_without_evidence(language, name):
    words, kind = Words(language), "cross" if "diagonal" in name else "encoder"
    assert name in (*MEASURES[kind], "mixed")
    with_evidence = said(EVEN, usual(name), language, kind=kind)
    assert "{" not in with_evidence
    assert words.has(f"role_name.{name}")
    others = {said(EVEN, usual(other), language, kind=kind) for other in (*MEASURES[kind], "mixed")} - {
        with_evidence
    }
    assert len(others) == len(MEASURES[kind])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_role_has_a_name_of_its_own(language):
    """The views group heads by it."""
    read = [usual("words")._replace(words=(WordsRead(label, 2.0, 0.5, 9),)) for label in ("good", "bad")]
    named = [usual(name) for name in ROLES if name != "words"] + read
    assert len({role_name(Words(language), role) for role in named}) == len(named) == len(ROLES) + 1


def test_heads_are_sorted_by_what_they_usually_do():
    order = role_order(
        [[usual("mixed", np.nan), usual("previous", 0.5), usual("previous", 0.9), usual("itself")]]
    )
    assert list(np.argsort(-order[0])) == [3, 2, 1, 0]


def test_heads_that_read_words_are_sorted_by_the_label_whose_words_they_read_most():
    roles = [
        reads("b"),
        reads("a", "b"),
        usual("mixed", np.nan),
        reads("b", "a"),
        usual("previous"),
        reads("a"),
    ]
    roles[0], roles[5] = roles[0]._replace(share=0.1), roles[5]._replace(share=0.2)
    assert list(np.argsort(-role_order([roles])[0])) == [4, 5, 1, 3, 0, 2]


def test_patterns_are_those_of_the_model_as_it_was_run(explorer, writer):
    def places(trace, kind):
        return [("previous" in layer, "after_same" in layer) for layer in patterns_of_trace(trace)[kind]]

    text = "a lovely film"
    assert places(explorer.trace(text), "encoder") == [(True, False), (True, True)]
    assert places(explorer.trace(text, positions="none"), "encoder") == [(False, False)] * 2
    causal = explorer.trace(text, positions="none", attention_mask="causal")
    assert places(causal, "encoder") == [(False, False), (True, True)]
    assert places(explorer.trace(text, positions="none", keep="weights"), "encoder")[0] == (True, False)
    assert [
        "first" in layer for layer in patterns_of_trace(writer.trace(text, positions="none"))["decoder"]
    ] == [
        True,
        True,
    ]


def test_captions_and_names_of_a_payload_rest_on_the_evidence_unless_the_matrix_is_transformed(
    explorer, reviews
):
    trace, found = explorer.trace(reviews[0]), tv.head_roles(explorer, reviews)
    roles = found.usual("encoder")
    text = payload_of(trace, Words("en"), head_roles=found).decode("utf-8", "replace")
    for role in (role for layer in roles for role in layer):
        counted = f"{role.texts} texts of about {found.tokens} tokens"
        sentence = (
            f"No fixed pattern over {counted}." if role.name == "mixed" else f"in {role.held} of {counted}"
        )
        assert sentence in text
    named = [role for layer in roles for role in layer]
    names = [Words("en")(f"role_name.{role.name}") for role in named]
    assert "no fixed pattern" in names
    quoted = ", ".join(f'"{name}"' for name in names)
    assert f'"roles": [{quoted}]' in text
    shares = ", ".join('""' if np.isnan(role.share) else f'"{role.share:.0%}"' for role in named)
    assert f'"shares": [{shares}]' in text
    assert f"Patterns over {{texts}} texts of about {found.tokens} tokens" in text
    for plain in (
        payload_of(trace, Words("en")),
        payload_of(trace, Words("en"), ("mean",), head_roles=found),
        payload_of(trace, Words("en"), head_roles=dataclasses.replace(found, tokens=999)),
    ):
        header = json.loads(plain[8 : 8 + int.from_bytes(plain[:8], "little")])
        (shown,) = header["attentions"]
        assert all(said.startswith("Here") for said in shown["sayings"])
        assert not any(shown["usual"])
        assert {measure["texts"] for measure in shown["measures"]} == {0}
        assert "shares" not in shown


def test_words_that_are_kept_with_a_model_are_measures_of_its_heads_unless_the_matrix_is_transformed(
    explorer, reviews
):
    words = {"good": ("lovely", "great"), "bad": ("dull",)}
    trace, found = explorer.trace(reviews[0]), tv.head_roles(explorer, reviews, words=words)

    def measures(*looks):
        payload = payload_of(trace, Words("en"), looks, head_roles=found)
        header = json.loads(payload[8 : 8 + int.from_bytes(payload[:8], "little")])
        return [measure["name"] for measure in header["attentions"][0]["measures"]]

    assert measures()[8:10] == ["“good” words", "“bad” words"]
    assert not any("words" in name for name in measures("mean"))
