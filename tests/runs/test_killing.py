"""Writers that are killed: see `killing.py`, which kills as often as one likes."""

import pytest
from killing import KINDS, kill_writers


@pytest.mark.parametrize("kills", [3, pytest.param(15, marks=pytest.mark.thorough)])
def test_writers_killed_again_and_again_lose_mix_and_halve_nothing(tmp_path, kills):
    checked = kill_writers(tmp_path, kills, seed=5)
    assert checked["kills"] == kills
    assert all(checked[kind] > 0 for kind in KINDS)
