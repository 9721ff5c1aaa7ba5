"""What is drawn by the modules of the views, as components of Streamlit."""

import functools

import streamlit as st

from transformer_viz.pictures import views


@functools.cache
def component(module, *stylesheets):
    """Return what shows a module; registered once in a process.

    Args:
        module: Its name, as `views.module` takes it.
        *stylesheets: Names of its CSS; without any, it shows nothing.
    """
    return st.components.v2.component(
        f"transformer_viz.{module}",
        html="<div></div>",
        css="\n".join(map(views.stylesheet, stylesheets)) or None,
        js=views.module(module),
    )
