"""The parts of Streamlit that are not public but used are still there."""

from streamlit.testing.v1 import AppTest

from transformer_viz.ui.shell.session import visitor


def test_streamlit_still_tells_sessions_and_their_history():
    def script():
        import streamlit as st

        from transformer_viz.ui.shell.session import is_fragment_run, is_history_navigation, page_id, visitor

        for fact in (is_history_navigation(), is_fragment_run(), page_id(), visitor()):
            st.text(fact)

    app = AppTest.from_function(script).run()
    assert not app.exception
    is_back, is_part, page, word = (text.value for text in app.text)
    assert is_back == is_part == "False"
    assert page
    assert word != "server"


def test_outside_a_session_the_server_speaks():
    assert visitor() == "server"
