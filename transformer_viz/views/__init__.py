"""The interactive views of attention: plain ES modules, the same in the app and in an offline page."""

from transformer_viz.views.modules import module, stylesheet
from transformer_viz.views.page import page
from transformer_viz.views.payload import pack

__all__ = ["module", "pack", "page", "stylesheet"]
