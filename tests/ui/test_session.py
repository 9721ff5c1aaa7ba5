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


def test_streamlit_still_tells_whether_another_run_is_asked_for():
    def script():
        import streamlit as st
        from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

        from transformer_viz.ui.shell.session import give_way

        give_way()
        st.text("goes on")
        if "asked" not in st.session_state:
            st.session_state.asked = True
            part = RerunData(fragment_id_queue=["a part of the page"])
            get_script_run_ctx().script_requests.request_rerun(part)
            give_way()
            st.text("never")
        st.text("ends")

    app = AppTest.from_function(script).run()
    assert not app.exception
    assert [text.value for text in app.text] == ["goes on", "ends"]


def test_outside_a_session_the_server_speaks():
    assert visitor() == "server"
