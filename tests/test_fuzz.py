"""Everything that reads foreign bytes, with a few hundred of them; `make fuzz` tries millions."""

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FUZZ = Path(__file__).parent / "fuzz"
sys.path.insert(0, str(FUZZ))

import targets  # noqa: E402
from mutations import mutated  # noqa: E402

CORPUS = sorted(FUZZ.glob("corpus/*/*"))


@pytest.mark.parametrize("name", targets.TARGETS)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_foreign_bytes_are_read_or_refused_in_a_sentence(name, data):
    targets.TARGETS[name](data.draw(mutated(targets.seeds(name))))


@pytest.mark.parametrize("name", targets.TARGETS)
def test_what_fuzzing_begins_with_is_valid(name):
    for seed in targets.seeds(name):
        assert targets.TARGETS[name](seed), seed[:100]


def test_something_that_fuzzing_found_is_kept():
    assert CORPUS


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_what_fuzzing_found_stays_mended(file):
    targets.TARGETS[file.parent.name](file.read_bytes())


def test_a_reader_that_fails_is_found():
    def broken(data):
        with targets.sentences():
            {}[data]

    with pytest.raises(KeyError):
        broken(b"")
    with pytest.raises(ValueError, match="invalid literal"), targets.sentences():
        int("x")
