"""Texts to train on, from a file: read strictly, described, split without leaks."""

from transformer_viz.data.columns import KINDS
from transformer_viz.data.files import DataError
from transformer_viz.data.named import NAMED, imdb
from transformer_viz.data.parts import Split, split, split_pairs, split_texts
from transformer_viz.data.read import (
    Preview,
    preview,
    read_for_decoder,
    read_labelled,
    read_pairs,
    read_texts,
)
from transformer_viz.data.report import DataReport, TextReport, describe, spread

__all__ = ["KINDS", "NAMED", "DataError", "DataReport", "Preview", "Split", "TextReport", "describe"]
__all__ += ["imdb", "preview", "read_for_decoder", "read_labelled", "read_pairs", "read_texts"]
__all__ += ["split", "split_pairs", "split_texts", "spread"]
