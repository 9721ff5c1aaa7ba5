"""Transformer Viz in the browser: `streamlit run app.py`."""

if __name__ == "__main__":  # run by Streamlit for each session
    from transformer_viz.ui.frame import show

    show()
elif __name__ != "__mp_main__":  # the server, which starts the engine before the first session
    import streamlit as st

    from transformer_viz.network.startup import choose_tensorflow
    from transformer_viz.ui.shell.server import lifespan
    from transformer_viz.ui.shell.unexpected import show_unexpected
    from transformer_viz.ui.shell.web import MIDDLEWARE, ROUTES, stay_offline
    from transformer_viz.ui.workbench.routes import ROUTES as DATA_ROUTES

    choose_tensorflow()
    stay_offline()
    app = st.App(
        __file__,
        lifespan=lifespan,
        middleware=MIDDLEWARE,
        routes=[*ROUTES, *DATA_ROUTES],
        on_script_error=show_unexpected,
    )
