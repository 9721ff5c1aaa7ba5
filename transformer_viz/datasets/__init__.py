"""Texts to train on, from a file: read strictly, described, split without leaks."""

from transformer_viz.datasets.columns import KINDS
from transformer_viz.datasets.files import DataError
from transformer_viz.datasets.named import NAMED, imdb
from transformer_viz.datasets.parts import Split, split, split_pairs, split_texts
from transformer_viz.datasets.read import (
    Preview,
    preview,
    read_for_decoder,
    read_labelled,
    read_pairs,
    read_texts,
)
from transformer_viz.datasets.report import DataReport, TextReport, describe, spread

__all__ = ["KINDS", "NAMED", "DataError", "DataReport", "Preview", "Split", "TextReport", "describe"]
__all__ += ["imdb", "preview", "read_for_decoder", "read_labelled", "read_pairs", "read_texts"]
__all__ += ["split", "split_pairs", "split_texts", "spread"]
