"""The Streamlit app: read widgets, ask the engine, draw. Keras never comes in here."""
