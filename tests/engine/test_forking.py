import sys
import tempfile

import pytest

from transformer_viz.service.forking import LONGEST_FOLDER, context


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere children start afresh")
@pytest.mark.parametrize(("more", "method"), [(0, "forkserver"), (1, "spawn")])
def test_children_are_forked_unless_the_path_of_a_socket_is_too_long(monkeypatch, more, method):
    monkeypatch.setattr(tempfile, "tempdir", "/" * (LONGEST_FOLDER + more))
    assert context().get_start_method() == method


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere children start afresh")
def test_the_longest_folder_leaves_room_for_a_socket():
    names = "/pymp-12345678/listener-12345678"
    assert LONGEST_FOLDER + len(names) < 108  # sun_path in unix(7), with its zero
