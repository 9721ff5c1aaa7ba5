"""Names of special tokens, in vocabularies made here and elsewhere."""

UNKNOWN = frozenset({"[UNK]", "<unk>"})
"""A word outside the vocabulary."""

MASKS = ("[MASK]", "<mask>")
"""A masked token."""

PADDING = frozenset({"[PAD]", "<pad>"})
"""Padding."""

EDGES = frozenset(
    {
        *("[START]", "[END]", "[CLS]", "[SEP]", "<s>", "</s>", "<bos>", "<eos>"),
        *("<|endoftext|>", "<|begin_of_text|>", "<|end_of_text|>", "<|im_start|>", "<|im_end|>"),
    }
)
"""The beginning or the end of a text or a sentence."""

SPECIAL = UNKNOWN | PADDING | EDGES | {*MASKS}
"""All of them."""
