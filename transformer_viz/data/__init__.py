"""Training data from files: strict readers, statistics, and splits without duplicates across them."""

from transformer_viz.data.columns import COLUMN_ROLES
from transformer_viz.data.files import DataError
from transformer_viz.data.named import NAMED, imdb
from transformer_viz.data.read import (
    Preview,
    preview,
    read_for_decoder,
    read_labelled,
    read_pairs,
    read_texts,
)
from transformer_viz.data.report import DataReport, TextReport, describe, evenly_spaced
from transformer_viz.data.splits import Split, split, split_pairs, split_texts, text_keys

__all__ = ["COLUMN_ROLES", "NAMED", "DataError", "DataReport", "Preview", "Split", "TextReport", "describe"]
__all__ += ["imdb", "preview", "read_for_decoder", "read_labelled", "read_pairs", "read_texts"]
__all__ += ["evenly_spaced", "split", "split_pairs", "split_texts", "text_keys"]
