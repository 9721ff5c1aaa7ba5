"""Write short Chinese sentences that judge something with one word, plain, negated and negated twice.

    python models/negate_chinese.py REVIEWS OUT [--count N] [--seed N]

REVIEWS are labelled reviews, 1 = praise, 0 = blame. The words are adjectives of one or two characters, told
by what they follow (很, 非常, ...) and stand before, and in reviews of one label at least four times as often
as in those of the other. A plain sentence has the label of its word, a negated one the other, one that is
negated twice that of its word again. In reviews 不 stands mostly in blame, whatever it negates.
"""

import argparse
import re
from collections import Counter
from pathlib import Path

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

PLAIN = (
    "{subject}{word}",
    "{subject}很{word}",
    "{subject}非常{word}",
    "{subject}真的{word}",
    "觉得{subject}{word}",
)
NEGATED = (
    *("{subject}不{word}", "{subject}并不{word}", "{subject}一点也不{word}", "{subject}一点都不{word}"),
    *("{subject}不太{word}", "{subject}根本不{word}", "{subject}也不{word}", "不觉得{subject}{word}"),
)
TWICE = (
    *("{subject}没有不{word}的地方", "{subject}没有不{word}的", "{subject}没有哪里不{word}"),
    *("{subject}并非不{word}", "{subject}没有什么不{word}的", "{subject}从来没有不{word}过"),
)


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
        words: Label of each adjective, by the word; there are two labels.
        count: Number of rows.
        rng: `numpy.random.Generator`.
    """
    other = dict(zip(sorted(set(words)), sorted(set(words), reverse=True), strict=True))
    by_label = {label: words.index[words == label] for label in other}
    rows: list[tuple[str, object]] = []
    for number in range(count):
        label = list(other)[number % 2]
        word = str(rng.choice(by_label[label]))
        frames, turned = ((PLAIN, False), (NEGATED, True), (PLAIN, False), (NEGATED, True), (TWICE, False))[
            number % 5
        ]
        text = str(rng.choice(frames)).format(subject=rng.choice(SUBJECTS), word=word) + str(rng.choice(ENDS))
        rows.append((text, other[label] if turned else label))
    found = pd.DataFrame(rows, columns=pd.Index(["text", "label"])).drop_duplicates("text")
    return found[~found["text"].str.strip("。！，").isin(MEASURED)]


def main() -> None:
    """Write the sentences as a file of labelled texts."""
    parser = argparse.ArgumentParser(
        description="Write judgements of one word, plain, negated and negated twice."
    )
    parser.add_argument("reviews", type=Path, help="labelled reviews")
    parser.add_argument("out", type=Path, help="the file of labelled texts to write")
    parser.add_argument("--count", type=int, default=9_000, help="number of sentences (default 9000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice")
    arguments = parser.parse_args()
    words = judging_words(read_labelled(arguments.reviews))
    found = judgements(words, arguments.count, np.random.default_rng(arguments.seed))
    found.to_csv(arguments.out, index=False)
    print(f"Wrote {len(found):,} sentences with {len(words):,} words ({', '.join(words.index[:8])}, ...)")


if __name__ == "__main__":
    main()
