"""Training data from files: strict readers, statistics, and splits without duplicates across them."""

from transformer_viz.data.bad_rows import BadRows
from transformer_viz.data.columns import COLUMN_ROLES, OPTIONAL
from transformer_viz.data.files import DataError, Source
from transformer_viz.data.named import NAMED, imdb
from transformer_viz.data.options import RECOGNISED, ReadOptions
from transformer_viz.data.read import (
    Preview,
    preview,
    read_for_decoder,
    read_labelled,
    read_pairs,
    read_texts,
)
from transformer_viz.data.report import DataReport, TextReport, describe, evenly_spaced
from transformer_viz.data.splits import (
    Split,
    split,
    split_pairs,
    split_texts,
    text_keys,
    without_rare_labels,
)

__all__ = [
    "COLUMN_ROLES",
    "NAMED",
    "OPTIONAL",
    "RECOGNISED",
    "BadRows",
    "DataError",
    "DataReport",
    "Preview",
    "ReadOptions",
    "Source",
    "Split",
    "TextReport",
    "describe",
    "evenly_spaced",
    "imdb",
    "preview",
    "read_for_decoder",
    "read_labelled",
    "read_pairs",
    "read_texts",
    "split",
    "split_pairs",
    "split_texts",
    "text_keys",
    "without_rare_labels",
]
