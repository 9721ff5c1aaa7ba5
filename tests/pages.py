"""The pages of the app, run by Streamlit's own test harness."""

import base64
import contextlib
import functools
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner import script_runner
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ElementTree
from streamlit.util import calc_hash

from transformer_viz.ui import frame
from transformer_viz.ui.shell import language

# Each run of the harness reads the metadata of all installed packages; they stay the same.
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)

# Where Keras is imported, as in this process and never in the app's, each run would end by clearing its
# session: half a second of garbage collection.
assert callable(script_runner._clean_problem_modules)
script_runner._clean_problem_modules = lambda: None

# A page that fails fails its test, instead of being opened without what breaks it.
frame.whole_run = frame.recovered = contextlib.nullcontext

widget_states = ElementTree.get_widget_states


def widget_states_as_shown(tree):
    """Return the state of all widgets; the harness names their options again, outside any session."""
    shown_in = {"lang": tree._runner.session_state.get("lang", "en")}
    with patch.object(language, "st", SimpleNamespace(session_state=shown_in)):
        return widget_states(tree)


ElementTree.get_widget_states = widget_states_as_shown


@contextlib.contextmanager
def own_main():
    """Undo what the harness leaves behind: children of this process run the script that is its `__main__`."""
    main = sys.modules["__main__"]
    try:
        yield
    finally:
        sys.modules["__main__"] = main


PATIENCE = 300
"""Seconds after which a run of a page is taken to never end: other work may have the processors."""

APP = str(Path(__file__).parents[1] / "app.py")


def open_page(name="", **address):
    """Return the app at a page, "" for the first one, with an address."""
    app = AppTest.from_file(APP, default_timeout=PATIENCE)
    for key, value in address.items():
        app.query_params[key] = value
    return go_to_page(app, name)


def go_to_page(app, name):
    """Run another page."""
    if name:
        app._page_hash = calc_hash(name)
    return again(app)


def again(app):
    """Run the page once more; nothing may go wrong."""
    app.run()
    assert not app.exception
    return app


def press(app, label):
    """Press the one button of this label and run the page."""
    [button] = [button for button in app.button if button.label == label]
    button.click()
    return again(app)


def listed(app):
    """Return the names of the models in the list of the Models page."""
    return list(app.dataframe[0].value["name"])


def shown(app):
    """Return everything the page says, in one text."""
    kinds = (
        app.header,
        app.subheader,
        app.markdown,
        app.caption,
        app.info,
        app.error,
        app.warning,
        app.toast,
    )
    return "\n".join(element.value for kind in kinds for element in kind)


def components(app, module):
    """Return the components on the page that are made from a module of the views."""
    named = f"transformer_viz.{module}"
    return [each for each in app.get("bidi_component") if each.proto.component_name.endswith(named)]


def views_on(app):
    """Return the views on the page; the components around it show nothing."""
    around = ("history", "where", "goodbye", "translated")
    return [each for each in app.get("bidi_component") if not each.proto.component_name.endswith(around)]


def figures(app):
    """Return the Plotly figures of a page."""
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def array(packed):
    """Return an array of a figure."""
    if not isinstance(packed, dict):
        return np.array(packed)
    values = np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])
    shape = packed.get("shape")
    return values.reshape([int(size) for size in shape.split(",")]) if shape else values


def widget(kind, label):
    """Return the one widget of a kind with that label."""
    [found] = [each for each in kind if each.label == label]
    return found


def until(app, words, seconds=90):
    """Run the app until it shows these words."""
    deadline = time.monotonic() + seconds
    while words not in shown(again(app)):
        assert time.monotonic() < deadline, shown(app)
        time.sleep(0.2)
    return app
