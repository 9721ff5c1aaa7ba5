import numpy as np
import pytest

from transformer_viz.pictures.figures.panels import number_axis, signed_heatmap
from transformer_viz.pictures.theme import DIVERGING, largest


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_signed_values_are_centred_on_zero(theme):
    trace = signed_heatmap([[1, -3]], 3, theme)
    assert (trace["zmin"], trace["zmax"]) == (-3, 3)
    assert trace["z"].dtype == np.float32
    assert DIVERGING[theme][2][0] == 0.5
    assert len(DIVERGING[theme]) == 5


def test_nothing_but_zeros_has_a_scale_all_the_same():
    assert signed_heatmap([[0]], 0, "light")["zmax"] == 1


def test_the_largest_value_is_one_of_any_sign_and_no_gap():
    assert largest([[1, -3], [np.nan, 2]]) == 3
    assert largest([[np.nan]]) == 0
    assert largest([]) == 0


def test_an_axis_is_named_and_can_be_changed():
    axis = number_axis("position", "light", showgrid=True)
    assert axis["title"]["text"] == "position"
    assert axis["showgrid"]
