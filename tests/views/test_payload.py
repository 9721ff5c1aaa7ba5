import numpy as np
import pytest
from made_traces import encoder_trace, packed, unpack, writing_trace
from numpy.testing import assert_array_equal

from transformer_viz.network.tensors import weights_only
from transformer_viz.pictures.theme import HEADS
from transformer_viz.pictures.views import payload
from transformer_viz.trace.trace import Trace

TOKENS = ["the", "cat", "sat", "on", "the"]
KINDS = ["encoder", "decoder", "cross"]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return writing_trace(TOKENS, ["[START]", "die", "Katze"])


@pytest.fixture(scope="module")
def read(trace):
    return unpack(packed(trace))


def stacked(found, name):
    return np.stack([getattr(layer, name) for layer in found.layers])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["weights", "scores"])
def test_the_bytes_are_what_the_trace_holds_in_half_precision(trace, read, kind, name):
    expected = stacked(trace.kinds()[kind], name).astype(np.float16)
    found = read[1][kind][name]
    assert found.dtype == np.float16
    assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_the_lengths_of_the_values_are_there(trace, read, kind):
    values = stacked(trace.kinds()[kind], "value")
    assert_array_equal(read[1][kind]["norms"], np.sqrt((values**2).sum(axis=-1)).astype(np.float16))


@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_stands_there_row_by_row_however_it_was_kept(trace, read, kind):
    found = trace.kinds()[kind]
    expected = np.broadcast_to(found.mask, (1, 1, *found.layers[0].weights.shape[1:]))
    assert_array_equal(read[1][kind]["mask"], expected)
    assert not read[1][kind]["weights"][..., ~expected[0, 0]].any()


def test_a_mask_of_each_head_is_kept_head_by_head():
    mask = np.random.default_rng(3).random((3, 5, 5)) < 0.5
    header, arrays = unpack(packed(encoder_trace(TOKENS, mask=mask)))
    assert header["attentions"][0]["maskHeads"] == 3
    assert_array_equal(arrays["encoder"]["mask"], mask[None])


def test_every_array_begins_where_a_typed_array_may():
    payload = packed(encoder_trace(TOKENS, heads=1, layers=1))
    header, _ = unpack(payload)
    length = int.from_bytes(payload[:8], "little")
    starts = [length, *(facts["at"] for facts in header["attentions"][0]["arrays"].values())]
    assert {start % 8 for start in starts} == {0}


def test_the_header_says_what_there_is_in_the_order_it_ran(trace, read):
    header, _ = read
    assert header["model"] == "made"
    assert [found["kind"] for found in header["attentions"]] == KINDS
    cross = header["attentions"][2]
    sizes = {name: cross[name] for name in ("layers", "heads", "queries", "keys", "maskHeads")}
    assert sizes == {"layers": 3, "heads": 3, "queries": 3, "keys": 5, "maskHeads": 1}
    assert (cross["queryTokens"], cross["keyTokens"]) == ([*trace.target_tokens], TOKENS)
    assert cross["name"] == "cross-attention"
    assert cross["sayings"][4] == "cross 1 1 looks around."
    assert len(cross["sayings"]) == 9
    assert header["themes"]["dark"]["heads"] == HEADS["dark"]


def test_figures_stand_there_head_by_head_and_none_where_there_is_none(trace):
    entropy = np.arange(6.0).reshape(2, 3)
    entropy[1, 1] = np.nan
    metrics = {"encoder": {"entropy": entropy}, "decoder": {}, "cross": {}}
    header, _ = unpack(packed(trace, metrics=metrics))
    assert header["attentions"][0]["figures"] == {"entropy": [0, 1, 2, 3, None, 5]}


def test_a_trace_of_weights_alone_is_shown_without_scores(trace):
    kept = Trace(**{**vars(trace), "values": weights_only(trace.values)})
    header, arrays = unpack(packed(kept))
    assert [sorted(found["arrays"]) for found in header["attentions"]] == [["mask", "weights"]] * 3
    assert [found["lacking"] for found in header["attentions"]] == ["only_weights"] * 3
    assert_array_equal(arrays["cross"]["weights"], unpack(packed(trace))[1]["cross"]["weights"])


def test_of_many_heads_and_a_long_text_the_scores_stay_behind(trace, monkeypatch):
    weights = [each.layers[0].weights.size * len(each.layers) for each in trace.kinds().values()]
    assert len({*weights}) > 1
    monkeypatch.setattr(payload, "MAX_SCORES", min(weights))
    header, _ = unpack(packed(trace))
    for found, size in zip(header["attentions"], weights, strict=True):
        assert ("scores" in found["arrays"]) == (size == min(weights))
        assert found.get("lacking") == (None if size == min(weights) else "no_scores")


def test_numbers_that_half_precision_cannot_hold_are_the_largest_it_can():
    trace = encoder_trace(TOKENS, layers=1)
    attention = trace.encoder[0].attention
    attention.scores[0, 0, :2] = [1e9, -np.inf]
    attention.value[0, 0] = 1e9
    _, arrays = unpack(packed(trace))
    assert_array_equal(arrays["encoder"]["scores"][0, 0, 0, :2], [65504, -65504])
    assert arrays["encoder"]["norms"][0, 0, 0] == 65504


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("<img src=x onerror=a()>", "<img src=x onerror=a()>"),
        ("<img src=x onerror=alert(1)>", "<img src=x onerror=aler…"),
        ("</script>", "</script>"),
        ('"\\', '"\\'),
        ("\x00", "␀"),
        ("a\nb", "a␊b"),
        ("\u202e", "⟨U+202E⟩"),
        ("好", "好"),
        ("{key}", "{key}"),
    ],
)
def test_a_token_is_plain_text_with_nothing_invisible_in_it(token, shown):
    header, _ = unpack(packed(encoder_trace(["the", token])))
    [found] = header["attentions"]
    assert (found["queryTokens"][1], found["keyTokens"][1]) == (shown, shown)


def test_the_same_trace_is_the_same_bytes(trace):
    assert packed(trace) == packed(trace)
