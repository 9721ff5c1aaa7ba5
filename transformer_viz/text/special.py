"""Names of special tokens, in vocabularies made here and elsewhere."""

import re
from collections.abc import Iterable

import numpy as np

PAD, UNK = "[PAD]", "[UNK]"
"""Padding, and a word outside the vocabulary, in the vocabularies made here."""

START, END = "[START]", "[END]"
"""First input token and last output token of a decoder made here."""

MASK = "[MASK]"
"""Placeholder of a masked token, as it is typed."""

UNKNOWN = frozenset({UNK, "<unk>"})
"""A word outside the vocabulary."""

MASKS = (MASK, "<mask>")
"""A masked token."""

PADDING_ELSEWHERE = "<pad>"
"""A token of models made elsewhere that is read like any other: the targets of T5 begin with it."""

LANGUAGES = (
    *("ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN", "hi_IN", "it_IT"),
    *("ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP", "nl_XX", "ro_RO", "ru_RU", "si_LK"),
    *("tr_TR", "vi_VN", "zh_CN", "af_ZA", "az_AZ", "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE"),
    *("km_KH", "mk_MK", "ml_IN", "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN"),
    *("te_IN", "th_TH", "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI"),
)
"""Tokens for the languages of mBART-50 (Tang et al., 2020), in the order of their ids."""

EDGES = frozenset(
    {
        *("[START]", "[END]", "[CLS]", "[SEP]", "<s>", "</s>", "<bos>", "<eos>"),
        *("<|endoftext|>", "<|begin_of_text|>", "<|end_of_text|>", "<|im_start|>", "<|im_end|>"),
        *LANGUAGES,
    }
)
"""The beginning or the end of a text or a sentence."""

SECOND = "[SEP]"
"""What is typed between two texts, whatever tokens stand between them."""

SPACE = "▁"
"""Prefix of a BPE token that begins a word."""

SPECIAL = UNKNOWN | EDGES | {PAD, PADDING_ELSEWHERE, *MASKS}
"""All special tokens."""

_NAMED = re.compile(r"<[|｜][^<>]*[|｜]>|</?[a-z_]+\d*>|\[[A-Z]+\d*\]")
"""How vocabularies write special tokens: <|im_start|>, <end_of_turn>, </s>, [CLS]."""


def is_special(token: str) -> bool:
    """Return whether a token is special by its name, in any vocabulary.

    >>> [is_special(token) for token in ("[CLS]", "<|im_start|>", "<start_of_turn>", "en_XX", "<", "[a]")]
    [True, True, True, True, False, False]
    """
    return token in SPECIAL or _NAMED.fullmatch(token) is not None


def masked(tokens: Iterable[str]) -> np.ndarray:
    """Return the positions of masked tokens: int (any,)."""
    return np.flatnonzero([token in MASKS for token in tokens])


def is_spaced(tokens: Iterable[str]) -> bool:
    """Return whether any of these tokens marks a space, as BPE tokens do."""
    return any(token.startswith(SPACE) for token in tokens)
