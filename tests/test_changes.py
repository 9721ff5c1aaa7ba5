"""What the views offer to change, as chips and acts that go to the page and back as JSON."""

import json

import numpy as np
import pytest
from chinese import is_chinese
from made_traces import TOKENS, encoder_trace, writing_trace

from transformer_viz.language import Words
from transformer_viz.network.config import TransformerConfig
from transformer_viz.pictures.changes import acted, acts_of, is_offered, other_positions
from transformer_viz.trace.request import OWN, UNCHANGED, Changes, Request
from transformer_viz.trace.trace import Trace

ENGLISH, CHINESE = Words("en"), Words("zh")
ENCODER = TransformerConfig(d_model=14, num_layers=2, num_heads=3, head_dim=5, max_len=23)
DECODER = TransformerConfig(
    architecture="decoder", d_model=14, num_layers=2, num_heads=3, head_dim=5, max_len=23
)
BOTH = TransformerConfig(
    architecture="encoder-decoder",
    d_model=14,
    num_layers=2,
    num_decoder_layers=3,
    num_heads=3,
    head_dim=5,
    max_len=23,
    target_max_len=17,
)
A = Request("made", "t0 t1")

EVERYTHING = Changes(
    ablate=[(0, 1), ("cross", 2, 0)],
    reference=OWN,
    ablate_ffn=[1, ("decoder", 2)],
    cut=[(1, 2, 3, 4), ("decoder", 0, 1, 2, 1), ("cross", 2, 2, 1, 6)],
    mute=[("cross", 0, 1, 2, 3)],
    leave_out=[1, 3, 4],
    patterns=[((0, 2), "uniform"), (("decoder", 1, 1), "previous")],
    scaling=False,
    residual=False,
    attention_mask="window:1",
    target_attention_mask="painted:9b8",
    cross_attention_mask="none",
    positions="none",
    order="shuffled",
    padding=10,
    target_padding=2,
    shift=5,
)
"""All that the page can change, in a model with three kinds of attention."""

LISTS = ("ablate", "ablate_ffn", "cut", "mute", "patterns")
"""Changes with a chip for each of their items."""


def offered(changes=UNCHANGED, config=ENCODER, words=ENGLISH, before=A, **asked):
    """Return what the views are given, as the page reads it."""
    trace = encoder_trace(TOKENS)
    if config is BOTH:
        trace = writing_trace(TOKENS, ["[START]", "w1", "w2", "w3"])
        offsets = tuple((3 * place, 3 * place + 2) for place in range(len(TOKENS)))
        probs = np.eye(4, 2, dtype=np.float32)
        trace = Trace(**{**vars(trace), "probs": probs, "text": " ".join(TOKENS), "offsets": offsets})
    request = Request(**{"model": "made", "text": "t0 t1", "changes": changes} | asked)
    return json.loads(json.dumps(acts_of(words, config, request, before, trace)))


def after(act, changes=UNCHANGED, config=ENCODER):
    """Return the changes after an act that the page sends, kept in the address and read from there."""
    found = acted(config, changes, json.loads(json.dumps(act)))
    assert Changes(**json.loads(json.dumps(found.to_dict()))) == found
    return found


def head(name, layer, number, kind="encoder"):
    return {"do": "head", "name": name, "kind": kind, "layer": layer, "head": number}


def chips(*args, **kwargs):
    """Return text -> act of each chip."""
    return {chip["text"]: chip["act"] for chip in offered(*args, **kwargs)["chips"]}


def group(title, *args, **kwargs):
    """Return label -> choice of a group."""
    [found] = [each for each in offered(*args, **kwargs)["groups"] if each["title"] == title]
    return {choice["label"]: choice for choice in found["choices"]}


def test_a_head_is_switched_off_and_on_again():
    off = after(head("ablate", 1, 2))
    assert off == Changes(ablate=[(1, 2)])
    both = after(head("ablate", 0, 0), off)
    assert both == Changes(ablate=[(1, 2), (0, 0)])
    assert after(head("ablate", 1, 2), both) == Changes(ablate=[(0, 0)])
    assert after(head("ablate", 1, 2), off) == UNCHANGED


def test_a_head_has_one_pattern_at_most():
    uniform = after(head("uniform", 1, 2))
    assert uniform == Changes(patterns={(1, 2): "uniform"})
    previous = after(head("previous", 1, 2), uniform)
    assert previous == Changes(patterns={(1, 2): "previous"})
    two = after(head("uniform", 0, 1), previous)
    assert two == Changes(patterns={(1, 2): "previous", (0, 1): "uniform"})
    assert after(head("previous", 1, 2), two) == Changes(patterns={(0, 1): "uniform"})


@pytest.mark.parametrize("name", ["cut", "mute"])
def test_an_edge_is_taken_away_once(name):
    act = {"do": "edge", "name": name, "kind": "encoder", "layer": 1, "head": 2, "query": 4, "key": 3}
    gone = after(act)
    assert gone == Changes(**{name: [(1, 2, 4, 3)]})
    assert after(act, gone) == gone
    assert after(act | {"key": 1}, gone) == Changes(**{name: [(1, 2, 4, 3), (1, 2, 4, 1)]})


@pytest.mark.parametrize(
    ("title", "label", "name", "value"),
    [
        ("Scores before the softmax", "not divided", "scaling", False),
        ("Residual connections", "removed", "residual", False),
        ("Position encoding", "none", "positions", "none"),
        ("Order of the tokens", "tokens reversed", "order", "reversed"),
        ("Order of the tokens", "tokens shuffled", "order", "shuffled"),
        ("Positions", "5 further on", "shift", 5),
        ("Mask over the text", "no mask", "attention_mask", "none"),
        ("Mask over the text", "causal", "attention_mask", "causal"),
        ("Mask over the text", "window (neighbours only)", "attention_mask", "window:1"),
        ("Padding, as in a batch", "10 [PAD] appended", "padding", 10),
        ("In place of a head that is off", "its mean over this text", "reference", OWN),
    ],
)
def test_what_holds_for_all_heads_is_set_and_reset(title, label, name, value):
    first = Changes(ablate=[(0, 1)])
    choices = group(title, first)
    own = next(iter(choices))
    assert [name for name, choice in choices.items() if choice["pressed"]] == [own]
    changed = after(choices[label]["act"], first)
    assert changed == Changes(ablate=[(0, 1)], **{name: value})
    choices = group(title, changed)
    assert [name for name, choice in choices.items() if choice["pressed"]] == [label]
    assert after(choices[own]["act"], changed) == first


def test_what_takes_the_place_of_a_head_is_offered_where_one_is_off():
    titles = [each["title"] for each in offered()["groups"]]
    assert titles[:3] == ["Scores before the softmax", "Residual connections", "Position encoding"]
    assert titles[3:5] == ["Order of the tokens", "Positions"]
    assert titles[5:] == ["Mask over the text", "Padding, as in a batch"]
    assert list(chips(Changes(reference=OWN))) == []


@pytest.mark.parametrize(
    ("room", "changes", "expected"),
    [(9, UNCHANGED, False), (10, UNCHANGED, True), (0, Changes(padding=10), True)],
)
def test_padding_is_offered_where_there_is_room_and_can_always_be_taken_back(room, changes, expected):
    config = ENCODER.replace(max_len=len(TOKENS) + room)
    titles = [each["title"] for each in offered(changes, config)["groups"]]
    assert ("Padding, as in a batch" in titles) == expected


@pytest.mark.parametrize(
    ("room", "positions", "changes", "expected"),
    [
        (4, "sinusoidal", UNCHANGED, False),
        (5, "sinusoidal", UNCHANGED, True),
        (5, "none", UNCHANGED, False),
        (0, "none", Changes(shift=5), True),
    ],
)
def test_a_shift_is_offered_where_there_is_room_and_can_always_be_taken_back(
    room, positions, changes, expected
):
    config = ENCODER.replace(max_len=len(TOKENS) + room, positions=positions)
    titles = [each["title"] for each in offered(changes, config)["groups"]]
    assert ("Positions" in titles) == expected


def test_a_model_is_offered_what_it_does_not_have():
    assert list(group("Mask over the target", config=BOTH)) == [
        "the model’s own",
        "no mask",
        "window (neighbours only)",
    ]
    assert "Mask over the target" not in {each["title"] for each in offered(config=DECODER)["groups"]}
    assert "causal" not in group("Mask over the text", config=DECODER)
    assert "causal" in group("Mask over the text", config=BOTH)
    for kind in ("none", "sinusoidal", "sinusoidal-halves", "one-hot"):
        config = TransformerConfig(d_model=14, num_heads=2, positions=kind, max_len=5)
        acts = [choice["act"]["value"] for choice in group("Position encoding", config=config).values()]
        assert sorted(acts[1:]) == sorted({"none", *other_positions(config)} - {kind})
        assert kind not in acts
    odd = TransformerConfig(d_model=7, num_heads=1, positions="learned", max_len=8)
    assert other_positions(odd) == []


@pytest.mark.parametrize("changes", [EVERYTHING], ids=["all"])
def test_each_chip_takes_back_what_it_names(changes):
    found = chips(changes, BOTH)
    assert list(found) == [
        "encoder self-attention, Layer 1, head 2 off",
        "cross-attention, Layer 3, head 1 off",
        "feed-forward network of encoder layer 2 off",
        "feed-forward network of decoder layer 3 off",
        "encoder self-attention, Layer 1, head 3: Uniform attention",
        "masked self-attention, Layer 2, head 2: Previous token only",
        "cross-attention, Layer 1, head 2: “w2” → “t3” muted",
        "encoder self-attention, Layer 2, head 3: “t3” → “t4” cut",
        "masked self-attention, Layer 1, head 2: “w2” → “w1” cut",
        "cross-attention, Layer 3, head 3: “w1” → “t6” cut",
        "without “t1”, “t3”, “t4”",
        "scores not divided by √dₖ",
        "no residual connections",
        "position encoding: none",
        "tokens shuffled",
        "positions 5 further on",
        "mask: window (neighbours only)",
        "mask over the target: painted",
        "mask of the cross-attention: no mask",
        "10 [PAD] appended",
        "2 [PAD] after the target",
        "off = mean over this text",
        "Undo all",
    ]
    left = {name: set(getattr(changes, name)) for name in LISTS}
    for text, act in list(found.items())[:-1]:
        now = after(act, changes, BOTH)
        name = act["name"]
        if name in left:
            [gone] = left[name] - set(getattr(now, name))
            assert len(getattr(now, name)) == len(getattr(changes, name)) - 1
            left[name].discard(gone)
        assert now.changed_fields == changes.changed_fields or set(changes.changed_fields) - set(
            now.changed_fields
        ) == {name}
        assert text not in chips(now, BOTH)
        changes = now
    assert changes == UNCHANGED


def test_undoing_everything_is_offered_where_there_is_more_than_one_change():
    assert list(chips(Changes(scaling=False))) == ["scores not divided by √dₖ"]
    found = chips(Changes(scaling=False, positions="none"))
    assert list(found)[2:] == ["Undo all"]
    assert found["Undo all"] == {"do": "undo_all"}


@pytest.mark.parametrize(
    ("name", "made", "text"),
    [
        ("ablate", lambda number: (number // 3, number % 3), "5 heads off"),
        (
            "patterns",
            lambda number: ((number // 3, number % 3), "uniform" if number % 2 else "previous"),
            "5 heads: Uniform attention, Previous token only",
        ),
        ("ablate_ffn", lambda number: number, "5 feed-forward networks off"),
        ("cut", lambda number: (0, 0, number, 0), "5 edges cut"),
        ("mute", lambda number: (0, 0, number, 0), "5 cells muted"),
    ],
)
def test_more_than_four_share_one_chip(name, made, text):
    four = Changes(**{name: [made(number) for number in range(4)]}, scaling=False)
    assert len(chips(four)) == 4 + 1 + 1
    five = Changes(**{name: [made(number) for number in range(5)]}, scaling=False)
    found = chips(five)
    assert list(found) == [text, "scores not divided by √dₖ", "Undo all"]
    assert after(found[text], five) == Changes(scaling=False)


def test_an_edge_of_a_longer_text_is_named_by_its_places():
    found = chips(Changes(cut=[(0, 0, 9, 3)]))
    assert list(found) == ["Layer 1, head 1: “10” → “4” cut"]


def test_heads_are_marked_as_the_thumbnails_count_them():
    among = {each["name"]: each["among"] for each in offered(EVERYTHING, BOTH)["heads"]}
    expected = {"ablate": ["encoder-1", "cross-6"], "uniform": ["encoder-2"], "previous": ["decoder-4"]}
    assert among == expected


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_each_kind_of_attention_is_changed_by_its_name(kind):
    place = (1, 2) if kind == "encoder" else (kind, 1, 2)
    off = after(head("ablate", 1, 2, kind), config=BOTH)
    assert off == Changes(ablate=[place])
    assert after(head("ablate", 1, 2, kind), off, BOTH) == UNCHANGED
    edge = {"do": "edge", "name": "cut", "kind": kind, "layer": 1, "head": 2, "query": 3, "key": 0}
    assert after(edge, config=BOTH) == Changes(cut=[(*place, 3, 0)])


def test_a_decoder_alone_needs_no_name_of_its_attention():
    assert after(head("ablate", 1, 2, "decoder"), config=DECODER) == Changes(ablate=[(1, 2)])


def test_another_text_target_or_model_has_a_chip():
    assert chips(before=None, text="t0") == {}
    assert chips(text="t0") == {"another text": {"do": "undo", "name": "text"}}
    assert chips(target="w1") == {"another text": {"do": "undo", "name": "text"}}
    assert chips(model="other", text="t0") == {"model other": {"do": "undo", "name": "model"}}


def test_a_comparison_is_begun_or_ended():
    assert offered(before=None)["compare"] == {"label": "Compare", "act": {"do": "compare"}}
    assert offered()["compare"] == {"label": "End comparison", "act": {"do": "end"}}


def test_everything_is_said_in_chinese():
    found = offered(EVERYTHING, BOTH, CHINESE, text="t0")
    said = [found["title"], found["this_head"], found["no_edge"], found["compare"]["label"]]
    said += [each["label"] for each in (*found["heads"], *found["edges"])]
    said += [each["text"] for each in found["chips"]]
    for each in found["groups"]:
        said += [each["title"], *(choice["label"] for choice in each["choices"])]
    assert len(found["chips"]) == 22
    assert [text for text in said if not is_chinese(text)] == []


MALFORMED = [
    {"leave_out": [-1]},
    {"leave_out": [[0, 1]]},
    {"leave_out": [True]},
    {"ablate": [5]},
    {"ablate": [[0]]},
    {"ablate": [[0, 1, 2]]},
    {"ablate": [[0.5, 0]]},
    {"ablate": [[True, 0]]},
    {"ablate": [[-1, 0]]},
    {"ablate": [["nowhere", 0, 1]]},
    {"ablate": [{"cross": 0}]},
    {"cut": [5]},
    {"cut": [[0, 0, 1]]},
    {"cut": [[0, 0, 1, None]]},
    {"cut": [["cross", "0", 0, 1, 2]]},
    {"patterns": [[[0.5, 0], "uniform"]]},
    {"patterns": [[0, 0]]},
    {"patterns": [[[0, 0], "uniform", 1]]},
    {"patterns": [[[0, 0], [[1]]]]},
    {"patterns": {"encoder": "uniform"}},
    {"mute": [[0, 0, 1]]},
    {"ablate_ffn": [-1]},
    {"ablate_ffn": [["cross", 1]]},
    {"ablate_ffn": ["encoder"]},
    {"positions": [[1, 2]]},
    {"position_ids": [1, 2]},
    {"order": [1, 0]},
    {"order": "sorted"},
    {"padding": -1},
    {"padding": True},
    {"shift": 3},
    {"reference": ["A text"]},
    {"attention_mask": [[1]]},
    {"cross_attention_mask": "painted:"},
]


def test_a_press_leaves_a_word_out_and_a_second_one_brings_it_back():
    one = after({"do": "leave_out", "tokens": [4, 3]})
    assert one == Changes(leave_out=[3, 4])
    both = after({"do": "leave_out", "tokens": [1]}, one)
    assert both == Changes(leave_out=[1, 3, 4])
    assert after({"do": "leave_out", "tokens": [3, 4]}, both) == Changes(leave_out=[1])


def test_pieces_of_a_word_that_is_left_out_are_named_as_one():
    trace = encoder_trace(TOKENS)
    text, offsets = "unlikely film", ((0, 2), (2, 8), (9, 13), (13, 13), (13, 13), (13, 13), (13, 13))
    trace = Trace(**{**vars(trace), "text": text, "offsets": offsets})
    [chip, *_] = acts_of(
        ENGLISH, ENCODER, Request("made", text, changes=Changes(leave_out=[0, 1, 2])), None, trace
    )["chips"]
    assert chip["text"] == "without “unlikely”, “film”"


@pytest.mark.parametrize("values", MALFORMED, ids=json.dumps)
def test_changes_of_another_form_than_the_page_offers_are_none_of_its_own(values):
    assert not is_offered(Changes(**values))


def test_every_change_that_the_page_makes_is_one_that_its_address_may_hold():
    assert is_offered(Changes(**json.loads(json.dumps(EVERYTHING.to_dict()))))
    assert is_offered(UNCHANGED)
