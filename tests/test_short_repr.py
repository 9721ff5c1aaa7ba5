import numpy as np
import pytest
from running_app import ROOT

import transformer_viz as tv
from transformer_viz.explorer.gradients import gradients
from transformer_viz.language.short_repr import short_repr
from transformer_viz.network.tensors import Intervention

TEXT = "a lovely film"


@pytest.fixture(scope="module")
def values(translator):
    """One of each public value that may hold an array, of a model with all kinds of attention."""
    trace = translator.trace(TEXT, target="one two")
    patch = tv.ActivationPatch(trace, "encoder.0.resid_mid", (0,))
    changes = {"patches": [patch], "attention_mask": np.ones((3, 3), bool), "order": (2, 0, 1)}
    survey = tv.head_survey(translator, [(TEXT, "one two")] * 50)
    return {
        "Explorer": translator,
        "Trace": trace,
        "ModelTrace": trace.values,
        "BlockTrace": trace.decoder[0],
        "AttentionTrace": trace.encoder[0].attention,
        "Attentions": trace.kinds()["cross"],
        "ActivationPatch": patch,
        "Request": translator.request("word " * 500, **changes),
        "Changes": tv.Changes(patterns={(0, 1): np.ones((3, 3))}),
        "Intervention": Intervention(1.0, np.zeros((3, 3)), 1.0),
        "Prepared": translator.prepare(translator.request(TEXT)),
        "Generation": translator.generate(TEXT, max_new=3),
        "HeadEffects": tv.head_effects(translator, TEXT, target="one two"),
        "Gradients": gradients(translator, TEXT, output=1, target="one two"),
        "HeadSurvey": survey,
        "HeadRoles": survey.roles,
        "KindRoles": survey.roles.kinds["cross"],
        "Page": tv.show(trace),
    }


def test_every_public_value_is_shown_on_one_short_line_without_numbers_of_arrays(values):
    for name, value in values.items():
        shown = repr(value)
        assert shown.startswith(f"{name}("), shown
        assert "\n" not in shown
        assert "array(" not in shown
        assert len(shown) < 700, shown


def test_a_trace_is_shown_by_its_texts_its_layers_and_its_output(values):
    assert repr(values["Trace"]) == (
        "Trace(model='translator', text='a lovely film', target_text='one two', "
        "encoder=2 × BlockTrace, decoder=3 × BlockTrace, probs=float32 (3, 13))"
    )


def test_an_explorer_is_shown_by_its_name_and_its_size():
    assert repr(tv.load(ROOT / "models" / "reverse-digits")) == (
        "Explorer('reverse-digits', encoder-decoder, 1 + 1 layers of 4 heads, 116,864 parameters)"
    )


def test_only_what_was_changed_is_shown():
    assert repr(tv.Changes()) == "Changes()"
    changes = tv.Changes(ablate=[(0, 3)], attention_mask=np.ones((2, 2), bool))
    assert repr(changes) == "Changes(ablate=((0, 3),), attention_mask=bool (2, 2))"
    assert (
        repr(tv.Request("m", "a film"))
        == "Request(model='m', text='a film', changes=Changes(), wants='trace')"
    )


def test_a_long_list_is_shown_by_its_first_items():
    assert short_repr(tv.Changes(order=[*range(9)]), ["order"]) == "Changes(order=(0, 1, 2, 3, ...))"
