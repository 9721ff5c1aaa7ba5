"""The deliberate breaks that `make mutants` tries can still be made."""

import pytest
from mutants.run import ROOT, breaks, broken


@pytest.mark.parametrize("entry", breaks(), ids=lambda entry: entry["name"])
def test_a_break_changes_one_place_of_the_file_it_names(entry):
    text = (ROOT / entry["file"]).read_text(encoding="utf-8")
    assert broken(text, entry) != text


def test_every_break_has_a_name_of_its_own():
    names = [entry["name"] for entry in breaks()]
    assert len(set(names)) == len(names)
