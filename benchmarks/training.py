"""Training speed: epochs compared with stock Keras layers under `fit`, and steps per second of a small model.

`python benchmarks/training.py [--data CSV] [--rows 25000]`. Alternating epochs of the first model of many
IMDB tutorials (`attention-only`: 20,000 words, 80 tokens, batches of 32); then the steps per second of a
model so small that the loop itself dominates. Without --data the texts are random words.
"""

import argparse
import statistics
import time
from types import SimpleNamespace

import numpy as np

from transformer_viz.network.config import UNK_ID
from transformer_viz.network.presets import PRESETS
from transformer_viz.network.startup import import_with_keras
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.settings import TrainingSettings

ROUNDS = 3
CONFIG = PRESETS["attention-only"]
SETTINGS = TrainingSettings(batch_size=32)


def main():
    """Print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="CSV with the columns text,label")
    parser.add_argument("--rows", type=int, default=25_000)
    arguments = parser.parse_args()
    loop = import_with_keras("training.loop")
    ids, labels = rows(arguments.data, arguments.rows)
    dataset = dataset_of(ids, labels)
    trainer, stock = loop.ModelTrainer(dataset, SETTINGS), stock_model()
    names, taken = ("ours", "stock Keras"), ([], [])
    for number in range(ROUNDS + 1):
        short = slice(640) if number == 0 else slice(None)  # compiles
        epochs = (
            lambda s=short: our_epoch(loop, dataset_of(ids[s], labels[s]), trainer),
            lambda s=short: stock.fit(ids[s], labels[s], batch_size=SETTINGS.batch_size, verbose=0),
        )
        for epoch, times in zip(epochs, taken, strict=True):
            start = time.perf_counter()
            epoch()
            if number:
                times.append(time.perf_counter() - start)
    print(f"attention-only, {len(ids):,} rows of {CONFIG.max_len} tokens, batches of {SETTINGS.batch_size}")
    for name, times in zip(names, taken, strict=True):
        print(f"  {name:12} {statistics.median(times):6.1f} s an epoch")
    ratio = statistics.median(ours / theirs for ours, theirs in zip(*taken, strict=True))
    print(f"  ours / stock Keras {ratio:.2f}")
    tiny(loop)


def tiny(loop):
    """Print the steps per second of a small encoder-decoder, with and without the training loop."""
    config = PRESETS["vaswani-tiny"].replace(num_layers=1, num_decoder_layers=1)
    settings = TrainingSettings(batch_size=64)
    dataset = import_with_keras("training.text_pairs").TextPairs(
        TrainingJob(config=config, settings=settings, data="reverse", rows=20_000)
    )
    trainer = loop.ModelTrainer(dataset, settings)
    our_epoch(loop, dataset, trainer, settings, steps=20)
    batch = next(iter(dataset.batches(settings, 0)))
    whole, bare = [], []
    for _ in range(ROUNDS):
        whole.append(our_epoch(loop, dataset, trainer, settings))
        start = time.perf_counter()
        for _ in range(200):
            trainer.train(*batch, 1e-3)
        bare.append(200 / (time.perf_counter() - start))
    print("vaswani-tiny with 1 + 1 blocks on `reverse`, batches of 64")
    print(f"  {statistics.median(whole):.0f} steps a second; on one batch again and again")
    print(f"  {statistics.median(bare):.0f}")


def our_epoch(loop, dataset, trainer, settings=SETTINGS, steps=None):
    """Train for an epoch as a run does; return the steps per second."""
    start, totals, done = time.perf_counter(), loop.Totals(), 0
    for batch in dataset.batches(settings, 0):
        totals.add(trainer.train(*batch, 1e-3))
        done += 1
        if done == steps:
            break
    return done / (time.perf_counter() - start)


def rows(data, count):
    """Return token ids (row, position) and labels, from a file or random."""
    if data is None:
        chance = np.random.default_rng(0)
        ids = chance.integers(UNK_ID, CONFIG.vocab_size, (count, CONFIG.max_len), dtype=np.int32)
        return ids, chance.integers(0, 2, count, dtype=np.int32)
    from transformer_viz.data import read_labelled
    from transformer_viz.data.batches import pad
    from transformer_viz.text.tokenizer import Tokenizer

    frame = read_labelled(data)[:count]
    tokenizer = Tokenizer.train(frame["text"], CONFIG.vocab_size)
    ids = pad(tokenizer.encode_batch(frame["text"], max_len=CONFIG.max_len))
    return ids, (frame["label"] == frame["label"].max()).to_numpy(np.int32)


def dataset_of(ids, labels):
    """Return a stand-in for a dataset with these rows."""
    from transformer_viz.training import labelled_texts, objectives

    def batches(settings, epoch):
        order = np.random.default_rng(epoch).permutation(len(ids))
        for start in range(0, len(ids), settings.batch_size):
            chosen = order[start : start + settings.batch_size]
            yield ids[chosen], labels[chosen]

    return SimpleNamespace(
        config=CONFIG,
        signature=labelled_texts.LabelledTexts.signature,
        objective=lambda settings: objectives.classification(CONFIG),
        batches=batches,
    )


def stock_model():
    """Return the same model, built from stock Keras layers as in tutorials."""
    import keras
    from keras import layers, ops

    def heads(x):
        split = ops.reshape(x, (-1, CONFIG.max_len, CONFIG.num_heads, CONFIG.head_dim))
        return ops.transpose(split, (0, 2, 1, 3))

    ids = keras.Input((CONFIG.max_len,), dtype="int32")
    x = layers.Embedding(CONFIG.vocab_size, CONFIG.d_model)(ids)
    query, key, value = (heads(layers.Dense(CONFIG.d_model, use_bias=False)(x)) for _ in range(3))
    scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))) / CONFIG.head_dim**0.5
    context = ops.transpose(ops.matmul(ops.softmax(scores), value), (0, 2, 1, 3))
    joined = ops.reshape(context, (-1, CONFIG.max_len, CONFIG.d_model))
    pooled = layers.Dropout(CONFIG.dropout)(layers.GlobalAveragePooling1D()(joined))
    model = keras.Model(ids, layers.Dense(1)(pooled))
    if model.count_params() != CONFIG.num_parameters:
        raise RuntimeError("The two models are not the same.")
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)])
    return model


if __name__ == "__main__":
    main()
