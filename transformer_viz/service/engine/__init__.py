"""Processes that answer requests about models.

Keras never enters the app's own process: Streamlit would clear its state after every interaction. Two child
processes answer instead, each with its own queue.
"""

from transformer_viz.service.engine.engine import MAX_WRITTEN, Engine, Progress
from transformer_viz.service.engine.worker import EngineError

__all__ = ["MAX_WRITTEN", "Engine", "EngineError", "Progress"]
