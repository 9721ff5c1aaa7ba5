"""Writers that are killed: see `killing.py`, which kills as often as one likes."""

from killing import kill_writers


def test_writers_killed_fifteen_times_lose_mix_and_halve_nothing(tmp_path):
    checked = kill_writers(tmp_path, 15, seed=5)
    assert checked["kills"] == 15
    assert all(checked[kind] > 0 for kind in ("upload", "event", "checkpoint", "frame", "created", "deleted"))
