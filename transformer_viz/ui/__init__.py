"""The Streamlit app: widgets, requests to the engine, drawing; never imports Keras."""
