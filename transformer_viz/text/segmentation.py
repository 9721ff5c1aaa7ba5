"""Words of Chinese texts, which are written without spaces."""

import re

CHINESE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
"""A Chinese character."""

KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa]")
"""A letter of Japanese, whose words are others."""


def chinese_words(text: str) -> list[tuple[int, int]]:
    """Return the words with Chinese characters in a text, as jieba finds them.

    The likeliest sequence of words of its dictionary, and for what that lacks, of a hidden Markov model
    (https://github.com/fxsjy/jieba). The dictionary is that of simplified characters; in traditional ones
    more words fall apart.

    Returns:
        (start, end) of each word, in characters; empty for a Japanese text.

    >>> chinese_words("服务员态度好, OK"), chinese_words("a film")
    ([(0, 3), (3, 5), (5, 6)], [])
    """
    if not CHINESE.search(text) or KANA.search(text):
        return []
    import rjieba  # noqa: PLC0415  its dictionary takes 34 MB, which only Chinese texts need

    return [(start, end) for word, start, end in rjieba.tokenize(text) if CHINESE.search(word)]
