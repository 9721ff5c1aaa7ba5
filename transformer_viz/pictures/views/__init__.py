"""The interactive attention views: plain ES modules, shared by the app and standalone pages."""

from transformer_viz.pictures.views.forming import curves_of, heads_forming
from transformer_viz.pictures.views.modules import bundle, served_modules, stylesheet, version
from transformer_viz.pictures.views.page import page
from transformer_viz.pictures.views.payload import (
    LARGEST,
    OF_NO_LAYER,
    Arrays,
    AttentionPayload,
    Evidence,
    effect_arrays,
    packed,
    payload_bytes,
    run_of,
    vectors_of,
)

__all__ = [
    "LARGEST",
    "OF_NO_LAYER",
    "Arrays",
    "AttentionPayload",
    "Evidence",
    "bundle",
    "curves_of",
    "effect_arrays",
    "heads_forming",
    "packed",
    "page",
    "payload_bytes",
    "run_of",
    "served_modules",
    "stylesheet",
    "vectors_of",
    "version",
]
