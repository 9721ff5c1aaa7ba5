"""Changes of a text that can be undone, and tokens in place of [MASK]."""

from functools import partial
from random import Random

import pytest

from transformer_viz.text.gaps import ChangedText, filled
from transformer_viz.text.kinds import TOKEN_KINDS
from transformer_viz.text.special import END, MASK, PAD, START, UNK
from transformer_viz.text.tokenizer import Tokenizer

TEXTS = [
    "the film was not good, it was bad; the very very best films of the year!",
    "一部好电影，很好看。 很好 😀 👩‍🚀 iphone",
] * 3
SPECIAL = {PAD, UNK, START, END, MASK, "▁"}
BY_KIND = {kind: Tokenizer.train(TEXTS, 200, kind=kind, mask=True) for kind in TOKEN_KINDS}
WHOLE_WORDS = [(kind, TEXTS[0]) for kind in TOKEN_KINDS] + [
    (kind, TEXTS[1]) for kind in ("words", "characters")
]
every_text = pytest.mark.parametrize(("kind", "text"), WHOLE_WORDS)


def read(kind, text):
    return BY_KIND[kind].encode(text, max_len=999)


def hidden(kind, text, number):
    begin, end = read(kind, text).offsets[number]
    return ChangedText(text).replaced(begin, end, MASK)


def begins_a_word(kind, token):
    return token not in SPECIAL and (kind != "bpe" or token.startswith("▁")) and not token.startswith("##")


def test_the_original_comes_back_in_whichever_order_changes_are_undone():
    random = Random(0)
    for _ in range(300):
        text = "".join(random.choices("xyz 😀好", k=random.randrange(20)))
        changed = ChangedText(text)
        for _ in range(random.randrange(8)):
            begin, end = sorted(random.choices(range(len(changed.text) + 1), k=2))
            new = random.choice([MASK, "a", "好 b", " 😀"])
            expected = changed.text[:begin] + new + changed.text[end:]
            changed = changed.replaced(begin, end, new)
            assert changed.text == expected
        while changed.changes:
            changed = changed.restored(random.choice(changed.changes))
        assert changed.text == text


def test_of_two_changes_one_is_undone_and_the_other_stays():
    changed = ChangedText("a good film").replaced(2, 6, MASK).replaced(9, 13, "story")
    word, last = changed.changes
    assert changed.restored(word).text == "a good story"
    assert changed.restored(last).text == "a [MASK] film"
    assert [changed.change_at(*place) for place in ((2, 8), (9, 14), (0, 1), (8, 9))] == [
        word,
        last,
        None,
        None,
    ]


def test_what_is_changed_back_is_no_change():
    changed = ChangedText("not good").replaced(4, 8, MASK)
    assert changed.changes
    assert changed.replaced(4, 10, "good") == ChangedText("not good")


@every_text
def test_a_hidden_token_is_a_mask_and_every_other_token_stays(kind, text):
    tokens = read(kind, text).tokens
    for number in range(len(tokens)):
        found = read(kind, hidden(kind, text, number).text).tokens
        assert found == (*tokens[:number], MASK, *tokens[number + 1 :])


@every_text
def test_a_hidden_token_filled_in_again_is_the_text_as_typed(kind, text):
    for number, token in enumerate(read(kind, text).tokens):
        changed = hidden(kind, text, number)
        again = filled(BY_KIND[kind], changed, changed.changes[0].begin, token)
        assert again == ChangedText(text)


@every_text
def test_a_token_that_is_filled_in_is_read_as_that_token_and_the_original_comes_back(kind, text):
    tokens = read(kind, text).tokens
    for number in range(len(tokens)):
        gapped = hidden(kind, text, number)
        for token in filter(partial(begins_a_word, kind), BY_KIND[kind].vocabulary):
            changed = filled(BY_KIND[kind], gapped, gapped.changes[0].begin, token)
            assert read(kind, changed.text).tokens == (*tokens[:number], token, *tokens[number + 1 :])
            assert [changed.restored(change).text for change in changed.changes] in ([text], [])
            assert bool(changed.changes) == (token != tokens[number])


FILLED = [
    ("words", "good[MASK]film", "the", "good the film"),
    ("words", "good [MASK].", "film", "good film."),
    ("characters", "很[MASK]看", "好", "很好看"),
    ("bpe", "the film [MASK] was", "s", "the films was"),
    ("bpe", "not[MASK] it", "▁good", "not good it"),
    ("wordpiece", "the film [MASK]!", "##s", "the films!"),
]


@pytest.mark.parametrize(("kind", "text", "token", "wanted"), FILLED)
def test_spaces_beside_a_token_are_as_its_kind_writes_them(kind, text, token, wanted):
    assert filled(BY_KIND[kind], ChangedText(text), text.index(MASK), token).text == wanted


def test_the_spaces_that_a_token_took_come_back_with_the_original():
    changed = ChangedText("the film was bad").replaced(9, 12, MASK)
    changed = filled(BY_KIND["bpe"], changed, 9, "s")
    assert changed.text == "the films bad"
    changed = changed.replaced(8, 9, MASK)
    assert changed.restored(*changed.changes).text == "the film was bad"
