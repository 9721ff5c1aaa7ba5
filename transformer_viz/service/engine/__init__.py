"""The processes that answer questions about models.

Keras never enters the process that asks: Streamlit would clear its state after every click. Two child
processes answer instead, each with a queue of its own.
"""

from transformer_viz.service.engine.engine import MAX_WRITTEN, Engine, Progress
from transformer_viz.service.engine.worker import EngineError

__all__ = ["MAX_WRITTEN", "Engine", "EngineError", "Progress"]
