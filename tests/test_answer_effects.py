"""Effects of cells, heads and words on an answer, beside small steps and what happens without them."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from running_app import ROOT
from small_models import REVIEWS, with_random_parameters

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.network.presets import PRESETS
from transformer_viz.questions.effects.answer import Answer, Asked, resolve
from transformer_viz.questions.effects.heads import head_effects
from transformer_viz.questions.effects.measure import effects
from transformer_viz.questions.effects.quality import CELLS, quality
from transformer_viz.questions.effects.words import words_of
from transformer_viz.store.load import load
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.trace.interventions import ATTENTION_KINDS
from transformer_viz.trace.request import UNCHANGED
from transformer_viz.trace.softmax import label_logits

TEXT, TARGET = "A lovely film, not good.", "one two three two"
STEP = 0.003


def value(explorer, answer, logits):
    """Return f, from probabilities in float64."""
    logits = np.atleast_2d(label_logits(explorer.config, logits))[list(answer.rows)].astype("f8")
    logits /= explorer.config.temperature
    if answer.versus is not None:
        return np.mean(
            [row[label] - row[answer.versus] for row, label in zip(logits, answer.labels, strict=True)]
        )
    probs = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    own = np.array([row[label] for row, label in zip(probs, answer.labels, strict=True)])
    return (np.log(own) - np.log1p(-own)).mean()


def steps(explorer, found, kind, patch, size=STEP, **asked):
    """Return how much f rises along a patch of attention weights, by central differences."""
    prepared, values = explorer.prepare(explorer.request(TEXT, **asked)), []
    neutral = explorer.forward.interventions(prepared, UNCHANGED)
    stack, field = ATTENTION_KINDS[kind]
    for step in (size, -size):
        attention = getattr(neutral[stack], field)._replace(weight_patch=(step * patch).astype("f4"))
        block = neutral[stack]._replace(**{field: attention})
        changed = prepared._replace(interventions=neutral | {stack: block})
        logits = explorer.compute(changed, keep="logits").logits
        values.append(value(explorer, found.answer, logits))
    return (values[0] - values[1]) / (2 * size)


@pytest.fixture(params=["encoder", "encoder-decoder", "decoder"])
def explored(request, explorer, translator, writer):
    chosen = {"encoder": explorer, "encoder-decoder": translator, "decoder": writer}[request.param]
    return chosen, {"target": TARGET} if chosen is translator else {}


def test_the_effect_of_a_word_is_what_the_answer_loses_when_its_tokens_are_left_out(explored):
    explorer, side = explored
    found, offsets = effects(explorer, TEXT, **side), explorer.trace(TEXT, **side).offsets
    rows = found.words[found.words["side"] == "text"]
    assert len(rows) > 4
    for row in rows.to_dict("records"):
        places = [at for at, (start, end) in enumerate(offsets) if row["start"] <= start < end <= row["end"]]
        trace = explorer.trace(TEXT, leave_out=places, **side)
        assert_allclose(
            row["value"], found.certainty.log_odds - value(explorer, found.answer, trace.logits), atol=2e-4
        )


@pytest.mark.parametrize("asked", [{}, {"answer": 2}, {"answer": 1, "versus": 2}])
def test_the_effect_of_heads_is_the_slope_along_their_weights(explored, asked):
    explorer, side = explored
    found, trace = effects(explorer, TEXT, **asked, **side), explorer.trace(TEXT, **side)
    for kind, (stack, field) in ATTENTION_KINDS.items():
        if kind not in found.cells:
            continue
        weights = np.stack([getattr(block, field).weights for block in getattr(trace, stack)])
        by_steps = np.zeros(weights.shape[:2])
        for layer, head in itertools.product(*map(range, weights.shape[:2])):
            patch = np.zeros_like(weights)
            patch[layer, head] = weights[layer, head]
            by_steps[layer, head] = steps(explorer, found, kind, patch, **side)
        assert np.linalg.norm(found.heads[kind] - by_steps) < 1e-3 * np.linalg.norm(by_steps) + 1e-4
        assert np.abs(by_steps).max() > 1e-3


def test_the_effect_of_a_cell_is_the_slope_along_its_weight(explored):
    explorer, side = explored
    found = effects(explorer, TEXT, **side)
    kind = [*found.cells][-1]
    stack, field = ATTENTION_KINDS[kind]
    blocks = getattr(explorer.trace(TEXT, **side), stack)
    weights = np.stack([getattr(block, field).weights for block in blocks])
    strongest = np.argsort(-np.abs(found.cells[kind]).ravel())[:5]
    for place in zip(*np.unravel_index(strongest, weights.shape), strict=True):
        patch = np.zeros_like(weights)
        patch[place] = weights[place]
        assert_allclose(
            found.cells[kind][place],
            steps(explorer, found, kind, patch, 0.02, **side),
            rtol=1e-3,
            atol=1e-5,
        )


@pytest.fixture(scope="module")
def bare():
    """Attention alone, one layer: the logit is linear in its weights."""
    config = PRESETS["attention-only"].replace(vocab_size=43, d_model=14, num_heads=7, max_len=23)
    return Explorer(with_random_parameters(config), Tokenizer.train(REVIEWS, 43))


def test_in_attention_alone_the_estimate_is_what_muting_a_cell_does(bare):
    found = effects(bare, TEXT)
    for place in ((0, 1, 2, 3), (0, 6, 0, 0)):
        muted = value(bare, found.answer, bare.trace(TEXT, mute=[place]).logits)
        assert_allclose(found.cells["encoder"][place], found.certainty.log_odds - muted, rtol=1e-3, atol=1e-6)


def test_a_word_does_what_is_lost_with_a_token_that_says_nothing_in_its_place(explored):
    explorer, side = explored
    found = effects(explorer, TEXT, **side)
    encoded = explorer.prepare(explorer.request(TEXT, **side)).source
    words = found.words[found.words["side"] == "text"]
    assert words["word"].tolist() == ["A", "lovely", "film", ",", "not", "good", "."]
    place = [start for start, _ in encoded.offsets].index(2)
    ids = encoded.ids.copy()
    ids[place] = explorer.config.unk_id
    given = ids[1:] if explorer.config.reads_start else ids
    without = value(explorer, found.answer, explorer.trace(given.tolist(), **side).logits)
    assert_allclose(words["value"].iloc[1], found.certainty.log_odds - without, atol=2e-5)
    assert found.stand_in == "[UNK]"
    assert set(found.words["by"]) == {"left out"}


@pytest.mark.parametrize("changes", [{}, {"ablate": [(0, 1)]}])
def test_where_no_token_says_nothing_a_word_is_deleted(changes):
    model, text = load(ROOT / "tests" / "elsewhere" / "models" / "gpt2"), "a lovely film"
    found, ids = effects(model, text, **changes), model.trace(text).token_ids.tolist()
    assert found.stand_in == ""
    words = words_of(model.prepare(model.request(text)).source)
    for word, measured in zip(words, found.words["value"], strict=True):
        left = [token for place, token in enumerate(ids) if place not in word.tokens]
        last = Answer((len(left) - 1,), found.answer.labels)
        without = value(model, last, model.trace(left, **changes).logits)
        assert_allclose(measured, found.certainty.log_odds - without, atol=2e-5)
        assert abs(measured) > 1e-3
    assert effects(model, text, cut=[(0, 1, 3, 2)]).words["value"].isna().all()  # no longer text fits


def test_the_answer_has_the_temperature_of_the_model(explorer):
    config = explorer.config.replace(temperature=2.0)
    cooler = Explorer(with_random_parameters(config), explorer.tokenizer)
    asked = {"answer": "good", "versus": "bad"}
    found, warm = effects(cooler, TEXT, **asked), effects(explorer, TEXT, **asked)
    assert_allclose(found.cells["encoder"], warm.cells["encoder"] / 2, atol=1e-7)
    assert_allclose(found.words["value"], warm.words["value"] / 2, atol=1e-6)


def test_words_of_the_target_count_too(translator):
    found = effects(translator, TEXT, target=TARGET)
    words = found.words[found.words["side"] == "target"]
    assert words["word"].tolist() == TARGET.split()
    ids = translator.trace(TEXT, target=TARGET).target_ids[1:].tolist()
    without = translator.trace(TEXT, target=[translator.config.unk_id, *ids[1:]])
    lost = found.certainty.log_odds - value(translator, found.answer, without.logits)
    assert_allclose(words["value"].iloc[0], lost, atol=2e-6)
    assert abs(lost) > 1e-5
    first = effects(translator, TEXT, target=TARGET, position=1)
    assert not first.words.query("side == 'target'")["value"].round(6).any()  # it reads none of them


@pytest.mark.parametrize(
    "changes", [{"ablate": [(0, 1)]}, {"mute": [(1, 0, 2, 1)]}, {"attention_mask": "causal"}]
)
def test_under_changes_the_effects_are_those_of_the_changed_run(explorer, changes):
    found, trace = effects(explorer, TEXT, **changes), explorer.trace(TEXT, **changes)
    assert_allclose(found.certainty.log_odds, value(explorer, found.answer, trace.logits), atol=1e-5)
    if "ablate" in changes:
        assert not found.cells["encoder"][0, 1].any()
    if "mute" in changes:
        assert found.cells["encoder"][1, 0, 2, 1] == 0
    if "attention_mask" in changes:
        assert not np.triu(found.cells["encoder"][0, 0], 1).any()


@pytest.mark.parametrize("asked", [{"answer": 0}, {"answer": 1, "versus": 0}])
def test_measured_heads_speak_of_the_same_answer(explorer, asked):
    found = head_effects(explorer, TEXT, **asked)
    answer = Answer((0,), (asked["answer"],), asked.get("versus"))
    whole = value(explorer, answer, explorer.trace(TEXT).logits)
    without = value(explorer, answer, explorer.trace(TEXT, ablate=[(1, 2)]).logits)
    assert_allclose(found.log_odds["encoder"][1, 2], whole - without, atol=1e-5)
    assert_allclose(found.answer.log_odds, effects(explorer, TEXT, **asked).certainty.log_odds, atol=1e-5)


def test_where_estimates_are_exact_they_agree_with_what_is_measured(bare):
    found = quality(bare, [TEXT, "Funny, warm and beautifully shot."])
    assert found["what"].tolist() == ["cells", "heads", "words"]
    assert found["count"].tolist() == [2 * CELLS, 2 * 7, 7 + 7]
    cells, heads, words = found.to_dict("records")
    assert min(cells["correlation"], heads["correlation"]) > 0.99
    assert_allclose(heads["estimated"], heads["measured"], rtol=1e-4)
    assert words["measured"] > 1e-3


def test_estimates_are_compared_for_every_kind_and_layer(translator):
    found = quality(translator, [(TEXT, TARGET)])
    rows = [("encoder", 0), ("encoder", 1), *((kind, n) for kind in ("decoder", "cross") for n in range(3))]
    for what, count in (("cells", CELLS), ("heads", 3)):
        part = found[found["what"] == what]
        assert [*zip(part["kind"], part["layer"], strict=True)] == rows
        assert set(part["count"]) == {count}
    assert found.loc[found["what"] == "words", "kind"].tolist() == ["text", "target"]


def test_the_answer_is_named(explorer, writer):
    labels = explorer.labels
    assert effects(explorer, TEXT, answer="good", versus="bad").labels == ("good",)
    assert effects(explorer, TEXT, answer="good", versus="bad").versus == "bad"
    assert effects(explorer, TEXT, answer=labels.index("fair")).labels == ("fair",)
    assert effects(writer, TEXT, answer="film").labels == ("film",)


@pytest.mark.parametrize(
    ("position", "rows"), [(None, (7,)), (-1, (7,)), (8, (7,)), (1, (0,)), (-2, (6,)), (3, (2,))]
)
def test_a_decoder_answers_in_front_of_the_token(writer, position, rows):
    prepared = writer.prepare(writer.request(TEXT))
    found = resolve(writer.config, Asked(position=position), prepared.source, None)
    assert found.rows == rows
    tokens = [*map(int, prepared.source.ids), -1]  # the next token is the likeliest
    assert found.labels == (tokens[rows[0] + 1],)


def test_padding_changes_nothing(writer):
    alone, padded = effects(writer, TEXT), effects(writer, TEXT, padding=4)
    assert_allclose(padded.words["value"], alone.words["value"], atol=1e-5)
    assert_allclose(padded.cells["decoder"][..., :-4, :-4], alone.cells["decoder"], atol=1e-6)


def test_a_row_stands_for_each_cell(translator):
    found = effects(translator, TEXT, target=TARGET)
    frame = found.to_frame()
    assert len(frame) == sum(cells.size for cells in found.cells.values())
    row = frame.query("kind == 'cross' and layer == 2 and head == 1 and query == 3 and key == 4").iloc[0]
    assert_allclose(row["effect"], found.cells["cross"][2, 1, 3, 4])
    assert (row["query_token"], row["key_token"]) == ("three", "not")


def test_another_text_or_answer_is_not_compiled_again(explorer):
    effects(explorer, TEXT)
    compiled = explorer.num_compilations
    for text, answer in (("film", 1), ("good " * 9, None)):
        effects(explorer, text, answer=answer)
    assert explorer.num_compilations == compiled


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"answer": "great"}, "There is no label 'great'. The labels are bad, fair, good."),
        ({"answer": 3}, "There is no label 3: they are numbered from 0 to 2."),
        ({"position": 1}, "This model answers with a class, not at a position: leave `position` out."),
    ],
)
def test_an_answer_that_is_not_there_is_named(explorer, asked, message):
    with pytest.raises(ValueError, match=message):
        effects(explorer, TEXT, **asked)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"position": 9}, "`position` must be from 1 to 8; negative ones count from the end. Received: 9."),
        (
            {"answer": "lovely film"},
            "'lovely film' is 2 tokens for this model",
        ),
    ],
)
def test_a_token_that_is_not_there_is_named(writer, asked, message):
    with pytest.raises(ValueError, match=message):
        effects(writer, TEXT, **asked)
