"""The interactive attention views: plain ES modules, shared by the app and standalone pages."""

from transformer_viz.pictures.views.blocks import MAX_CELLS, block_names
from transformer_viz.pictures.views.change import attention_change
from transformer_viz.pictures.views.forming import curves_of, heads_forming
from transformer_viz.pictures.views.modules import module, served_modules, stylesheet, version
from transformer_viz.pictures.views.page import page
from transformer_viz.pictures.views.panel import Scale, panel, percent, weight_limit
from transformer_viz.pictures.views.payload import (
    LARGEST,
    Arrays,
    AttentionPayload,
    Evidence,
    effects_bytes,
    packed,
    payload_bytes,
    run_of,
    vectors_of,
)

__all__ = [
    "LARGEST",
    "MAX_CELLS",
    "Arrays",
    "AttentionPayload",
    "Evidence",
    "Scale",
    "attention_change",
    "block_names",
    "curves_of",
    "effects_bytes",
    "heads_forming",
    "module",
    "packed",
    "page",
    "panel",
    "payload_bytes",
    "percent",
    "run_of",
    "served_modules",
    "stylesheet",
    "vectors_of",
    "version",
    "weight_limit",
]
