"""Write pairs anew whose Chinese sentence lacks the full stop, as people type it.

    python models/drop_stops.py PAIRS OUT [--share S] [--seed N]

PAIRS has the columns source (English) and target (Chinese). Only rows are taken that
`train --data PAIRS --columns text=target target=source --validation 0.03 --test-share 0.05` trains on: the
other rows stay unseen.
"""

import argparse
from pathlib import Path

import pandas as pd

from transformer_viz.data import read_pairs, split_pairs

STOP = "。"


def without_stops(pairs: pd.DataFrame, share: float, seed: int) -> pd.DataFrame:
    """Return a share of the pairs whose text ends in a full stop, without it: columns text and target."""
    ends = pairs[pairs["text"].str.endswith(STOP)].sample(frac=share, random_state=seed)
    return ends.assign(text=ends["text"].str.removesuffix(STOP))[["text", "target"]]


def main() -> None:
    """Write the pairs with the columns of the file that they are from."""
    parser = argparse.ArgumentParser(description="Write Chinese sentences without full stop.")
    parser.add_argument("pairs", type=Path, help="English and Chinese sentences")
    parser.add_argument("out", type=Path, help="the file of pairs to write")
    parser.add_argument("--share", type=float, default=0.3, help="share of the sentences (default 0.3)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice")
    arguments = parser.parse_args()
    pairs = read_pairs(arguments.pairs, {"text": "target", "target": "source"})
    train = split_pairs(pairs, validation=0.03, test=0.05).train
    found = without_stops(train, arguments.share, arguments.seed)
    found.rename(columns={"text": "target", "target": "source"}).to_csv(arguments.out, index=False)
    print(f"Wrote {len(found):,} pairs")


if __name__ == "__main__":
    main()
