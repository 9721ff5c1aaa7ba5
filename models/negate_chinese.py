"""Write short Chinese sentences that judge something with one word, plain, negated and negated twice.

    python models/negate_chinese.py REVIEWS OUT [--count N] [--seed N]

REVIEWS are labelled reviews, 1 = praise, 0 = blame. Most words are adjectives of one or two characters, told
by what they follow (很, 非常, ...) and stand before, and in reviews of one label at least four times as often
as in those of the other; the others are nouns, verbs and feelings from a list. A plain sentence has the label
of its word, a negated one the other, one that is negated twice that of its word again. In reviews 不 stands
mostly in blame, whatever it negates.
"""

import argparse
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.negation import CHINESE_BLAME, CHINESE_PRAISE
from transformer_viz.data import read_labelled

MEASURED = {text.strip("。") for pair in (*CHINESE_PRAISE, *CHINESE_BLAME) for text in pair}
"""Sentences that models are measured on, which none is trained on."""

DEGREE = re.compile(
    r"(?:很|非常|挺|特别|十分|相当|比较|太)([\u4e00-\u9fff]{1,2}?)(?=[，。！；、,.!;\s了的]|$)"
)
"""What an adjective follows, and what it stands before."""

NO_ADJECTIVE = re.compile("[不没了的啊]")
"""What is in no adjective."""

TIMES, ODDS = 15, 4.0
"""Least number of reviews with a word, and how much more often these have its label than the other."""

SUBJECTS = (
    *("", "房间", "服务", "早餐", "位置", "酒店", "前台", "环境", "设施", "洗手间", "客服", "物流", "包装"),
    *("屏幕", "速度", "键盘", "外观", "手感", "质量", "味道", "水果", "效果", "东西", "感觉", "这里"),
)
ENDS = ("。", "！", "，", "")


class Kind(NamedTuple):
    """A kind of words, and the sentences that are made with them.

    Attributes:
        share: Share of the sentences.
        plain: Sentences that say the word of the subject.
        negated: Those that deny it.
        twice: Those that deny that they deny it.
        praise: Words of praise; with `blame` empty, the adjectives of the reviews.
        blame: Words of blame.
    """

    share: float
    plain: tuple[str, ...]
    negated: tuple[str, ...]
    twice: tuple[str, ...]
    praise: tuple[str, ...] = ()
    blame: tuple[str, ...] = ()


KINDS = (
    Kind(
        0.6,
        ("{0}{1}", "{0}很{1}", "{0}非常{1}", "{0}真的{1}", "觉得{0}{1}"),
        (
            *("{0}不{1}", "{0}并不{1}", "{0}一点也不{1}", "{0}一点都不{1}", "{0}不太{1}", "{0}根本不{1}"),
            *("{0}也不{1}", "不觉得{0}{1}", "{0}不是很{1}", "不能说{0}{1}", "没有人觉得{0}{1}"),
        ),
        (
            *(
                "{0}没有不{1}的地方",
                "{0}没有不{1}的",
                "{0}没有哪里不{1}",
                "{0}并非不{1}",
                "{0}没有什么不{1}的",
            ),
            *("{0}从来没有不{1}过", "{0}不是不{1}", "不能说{0}不{1}", "没有人觉得{0}不{1}"),
        ),
    ),
    Kind(
        0.2,
        ("{0}有{1}", "{0}有很多{1}", "{0}真的有{1}"),
        ("{0}没有{1}", "{0}没有任何{1}", "{0}没什么{1}", "{0}一点{1}都没有", "{0}毫无{1}"),
        ("{0}不是没有{1}", "不能说{0}没有{1}", "{0}并非没有{1}"),
        ("特色", "礼貌", "质感", "耐心", "保障", "优惠", "香味", "信号", "惊喜", "热水", "档次", "品味"),
        ("噪音", "划痕", "灰尘", "霉味", "毛病", "瑕疵", "虫子", "污渍", "裂缝", "色差", "烟味", "问题"),
    ),
    Kind(
        0.1,
        ("{0}{1}了", "{0}都{1}了", "{0}已经{1}了"),
        ("{0}没有{1}", "{0}没{1}", "{0}一点也没{1}", "{0}从来没有{1}过"),
        ("{0}不是没{1}", "{0}没有哪次没{1}"),
        ("改进", "降价", "升级", "提高"),
        ("坏", "烂", "漏", "碎", "发霉", "变形", "掉漆", "死机", "受潮", "融化"),
    ),
    Kind(
        0.1,
        ("{0}让人{1}", "{0}令人{1}", "{0}真让人{1}"),
        ("{0}没有让人{1}", "{0}不会让人{1}", "{0}并不让人{1}"),
        ("{0}没有不让人{1}的", "{0}不是不让人{1}"),
        ("愉快", "放心", "感动", "开心", "安心", "踏实", "轻松", "温暖"),
        ("气愤", "恶心", "无语", "难受", "生气", "头疼", "心烦", "讨厌"),
    ),
)
"""Adjectives, then what a thing has, what has happened to it, and what one feels. Of the last three, no word
stands in `MEASURED`.
"""


def judging_words(reviews: pd.DataFrame) -> pd.Series:
    """Return the label of each adjective, by the word."""
    found = {
        label: Counter(word for text in texts for word in set(DEGREE.findall(text)))
        for label, texts in reviews.groupby("label")["text"]
    }
    rows = reviews["label"].value_counts()
    first, second = sorted(found)
    labels = {}
    for word in found[first] | found[second]:
        shares = found[first][word] / rows[first], found[second][word] / rows[second]
        often = found[first][word] + found[second][word] >= TIMES
        if often and max(shares) >= ODDS * min(shares) and not NO_ADJECTIVE.search(word):
            labels[word] = first if shares[0] > shares[1] else second
    return pd.Series(labels)


def judgements(words: pd.Series, count: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return columns text and label: of five sentences two are plain, two negated, and one is negated twice.

    Args:
        words: Label of each adjective, by the word; of the two labels, the greater one is praise.
        count: Number of rows, before those that repeat one or are measured on are left out.
        rng: `numpy.random.Generator`.
    """
    blame, praise = sorted(set(words))
    other = {blame: praise, praise: blame}
    adjectives = {label: words.index[words == label] for label in other}
    rows: list[tuple[str, object]] = []
    for number in range(count):
        kind = KINDS[rng.choice(len(KINDS), p=[each.share for each in KINDS])]
        label = (blame, praise)[number % 2]
        word = str(rng.choice({blame: kind.blame, praise: kind.praise}[label] or adjectives[label]))
        frames = (kind.plain, kind.negated, kind.plain, kind.negated, kind.twice)[number % 5]
        text = str(rng.choice(frames)).format(rng.choice(SUBJECTS), word) + str(rng.choice(ENDS))
        rows.append((text, other[label] if frames is kind.negated else label))
    found = pd.DataFrame(rows, columns=pd.Index(["text", "label"])).drop_duplicates("text")
    return found[~found["text"].str.strip("。！，").isin(MEASURED)]


def main() -> None:
    """Write the sentences as a file of labelled texts."""
    parser = argparse.ArgumentParser(
        description="Write judgements of one word, plain, negated and negated twice."
    )
    parser.add_argument("reviews", type=Path, help="labelled reviews")
    parser.add_argument("out", type=Path, help="the file of labelled texts to write")
    parser.add_argument("--count", type=int, default=12_000, help="number of sentences (default 12000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice")
    arguments = parser.parse_args()
    words = judging_words(read_labelled(arguments.reviews))
    found = judgements(words, arguments.count, np.random.default_rng(arguments.seed))
    found.to_csv(arguments.out, index=False)
    print(f"Wrote {len(found):,} sentences with {len(words):,} words ({', '.join(words.index[:8])}, ...)")


if __name__ == "__main__":
    main()
