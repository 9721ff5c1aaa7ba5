"""Compilations and times of 200 traces of mixed length with one `Explorer`.

`python benchmarks/explorer.py [--model imdb-sentiment]`. The baseline is the untraced forward pass of the
same model on the same texts, in the same run.
"""

import argparse
import random
import statistics
import time

from transformer_viz.network.config import UNK_ID
from transformer_viz.network.startup import import_with_keras

SENTENCES, LONGEST = 200, 200


def main():
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="imdb-sentiment")
    explorer = import_with_keras("store.load").load(parser.parse_args().model)
    texts = sentences(explorer.tokenizer)
    first = milliseconds(explorer.trace, texts[0])
    traced = [milliseconds(explorer.trace, text) for text in texts[1:]]
    explorer.predict(texts[:1])
    untraced = [milliseconds(explorer.predict, [text]) for text in texts[1:]]
    print(f"{SENTENCES} sentences of 1 to {LONGEST} words, {explorer.config.num_parameters:,} parameters")
    print(f"compilations            {explorer.num_compilations}")
    print(f"first trace             {first:8.1f} ms (compiles)")
    print(f"median of the others    {statistics.median(traced):8.2f} ms, p95 {quantile(traced, 0.95):.2f} ms")
    ratio = statistics.median(t / u for t, u in zip(traced, untraced, strict=True))
    print(f"traced / predicted only {ratio:8.2f}")


def sentences(tokenizer):
    """Return texts of random known words and random lengths."""
    chance = random.Random(0)
    words = [tokenizer.token(i) for i in range(UNK_ID + 1, tokenizer.vocab_size)]
    return [" ".join(chance.choices(words, k=chance.randint(1, LONGEST))) for _ in range(SENTENCES)]


def milliseconds(function, *arguments):
    """Return the duration of one call."""
    start = time.perf_counter()
    function(*arguments)
    return 1000 * (time.perf_counter() - start)


def quantile(values, share):
    """Return a quantile of the values."""
    return sorted(values)[int(share * (len(values) - 1))]


if __name__ == "__main__":
    main()
