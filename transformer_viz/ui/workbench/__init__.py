"""The workbench: one model and one text in one component, with data routes beside Streamlit's own."""
