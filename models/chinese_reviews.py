"""Divide the Chinese reviews: what is trained on, test rows, and two kinds of goods that no training sees.

    python models/chinese_reviews.py HOTELS GOODS OUT

HOTELS (text,label) are the reviews of hotels, GOODS (text,label,category) those of seven kinds of goods.
Written to the folder OUT: test.csv.gz, a tenth of the reviews of hotels; books.csv.gz and milk.csv.gz, the
categories 书籍 and 蒙牛; train.csv.gz, all other rows whose text is in none of these. Many reviews of GOODS
stand among those of HOTELS, too.
"""

import argparse
from pathlib import Path

import pandas as pd

from transformer_viz.data.splits import split

UNSEEN = {"书籍": "books", "蒙牛": "milk"}
"""Category that no training sees -> its file."""

SHARE = 0.1
"""Share of the reviews of hotels that are test rows."""


def divided(hotels: pd.DataFrame, goods: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return name -> rows, with the columns text and label: "train", "test", "books", "milk"."""
    parts = split(hotels, test=SHARE)
    rows = {"test": parts.test}
    for category, name in UNSEEN.items():
        rows[name] = goods.loc[goods["category"] == category, ["text", "label"]]
    kept = set(pd.concat(rows.values())["text"].str.strip())
    seen = goods[~goods["category"].isin(UNSEEN)]
    others = pd.concat([parts.train, parts.validation, seen[["text", "label"]]])
    others = others[~others["text"].str.strip().isin(kept)].drop_duplicates("text")
    return {"train": others.sample(frac=1.0, random_state=0), **rows}


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("hotels", type=Path)
    parser.add_argument("goods", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    hotels, goods = (pd.read_csv(path, keep_default_na=False) for path in (arguments.hotels, arguments.goods))
    for name, rows in divided(hotels, goods).items():
        rows.to_csv(arguments.out / f"{name}.csv.gz", index=False)
        print(f"{name}: {len(rows):,} rows, {rows['text'].str.len().sum():,} characters")


if __name__ == "__main__":
    main()
