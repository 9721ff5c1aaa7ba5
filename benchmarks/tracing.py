"""The cost of tracing, relative to untraced passes, stock Keras layers, and BERT in PyTorch.

`python benchmarks/tracing.py [part ...]`, parts: untraced, keras, bert, sentences, effects, answer, training,
memory.
Each measures a ratio in one run. "bert" needs PyTorch and Hugging Face's transformers;
OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1 in front of the command holds both to one thread.
"""

import argparse
import functools
import importlib.util
import multiprocessing
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.startup import import_with_keras
from transformer_viz.text.tokenizer import Tokenizer

ROUNDS = 31
LENGTHS = (16, 64, 128, 512)

BASE = TransformerConfig(
    vocab_size=30_522, max_len=512, d_model=768, num_layers=12, num_heads=12, ffn_dim=3072, activation="gelu",
    positions="learned", dropout=0.1,
)  # fmt: skip
"""The size of BERT base."""

SIZES = {
    "4 x 128": BASE.replace(vocab_size=8_000, d_model=128, num_layers=4, num_heads=8, ffn_dim=512),
    "12 x 768": BASE,
}
CLASSROOM = SIZES["4 x 128"]

WORDS = [f"w{i}" for i in range(2_000)]


def main():
    """Print the figures of the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", help=f"{', '.join(PARTS)}; none: all")
    parts = parser.parse_args().part or PARTS
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"unknown: {', '.join(unknown)}")
    for part in parts:
        PARTS[part]()


def untraced():
    """Print the ratio of a traced pass to a pass of the same model that returns only logits."""
    print("traced / untraced, same model")
    for name, config in SIZES.items():
        explorer = explore(config)
        against(name, explorer, compiled(explorer.model))


def stock_keras():
    """Print the ratio of a traced pass to stock Keras layers that return their attention weights."""
    print("traced / stock Keras layers with return_attention_scores=True")
    for name, config in SIZES.items():
        against(name, explore(config), compiled(stock_model(config, scores=True)))


def bert():
    """Print the ratio of a traced pass to Hugging Face's BERT with output_attentions=True.

    BERT runs in a separate process, as TensorFlow's and PyTorch's LLVM conflict.
    """
    if not (importlib.util.find_spec("torch") and importlib.util.find_spec("transformers")):
        print("bert: PyTorch and transformers are not installed")
        return
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=answer_as_bert, args=(there,), daemon=True)
    child.start()

    def attentions(ids):
        here.send(ids)
        return here.recv()

    print("traced / Hugging Face BERT base with output_attentions=True")
    against("12 x 768", explore(SIZES["12 x 768"]), attentions)
    child.kill()


def answer_as_bert(pipe):
    """Run BERT on token ids from the pipe; answer once its attentions are NumPy arrays."""
    import torch
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(attn_implementation="eager", output_attentions=True)).eval()
    while True:
        with torch.no_grad():
            arrays = [part.numpy() for part in model(torch.tensor(pipe.recv())).attentions]
        pipe.send(len(arrays))


def against(name, explorer, other):
    """Print the ratio of a traced pass to `other(token_ids)` for several lengths."""
    for length in LENGTHS:
        prepared = explorer.prepare(explorer.request(text(length)))
        ids = prepared.inputs["token_ids"]
        ours, theirs = interleaved(
            functools.partial(explorer.compute, prepared), functools.partial(other, ids)
        )
        show(f"{name}, {length} tokens", ours, theirs)


def sentences():
    """Print compilations and times of 300 sentences of 60 lengths with 50 interventions."""
    chance, explorer = random.Random(0), explore(CLASSROOM)
    changes = [{"ablate": [(i % 4, i % 8)]} for i in range(20)]
    changes += [{"cut": [(i % 4, i % 8, 3, 2)]} for i in range(20)]
    changes += [{"patterns": {(i % 4, i % 8): "uniform"}} for i in range(10)]
    lengths = [1 + length for length in range(4, 64)]
    explorer.trace(text(5))
    taken = []
    for i in range(300):
        asked, change = text(lengths[i % 60]), chance.choice(changes)
        start = time.perf_counter()
        explorer.trace(asked, **change)
        taken.append(1000 * (time.perf_counter() - start))
    median, late = statistics.median(taken), sorted(taken)[284]
    print("300 sentences of 60 lengths, 50 interventions, 4 x 128")
    print(f"  compilations {explorer.num_compilations}")
    print(f"  median {median:.2f} ms, p95 {late:.2f} ms, p95 / median {late / median:.2f}")


def effects():
    """Print the ratio of the effects of all heads to as many passes, each for one head."""
    print("effects of all heads, several in a pass / a pass for each")
    find = import_with_keras("questions.effects.heads").head_effects
    ablations = [
        ((layer, head),) for layer in range(CLASSROOM.num_layers) for head in range(CLASSROOM.num_heads)
    ]
    for length in (10, 30, 128):
        explorer, asked = explore(CLASSROOM), text(length)

        def one_by_one(explorer=explorer, asked=asked):
            for heads in [(), *ablations]:
                explorer.compute(explorer.prepare(explorer.request(asked, ablate=heads)), keep="logits")

        show(
            f"4 x 8 heads, {length} tokens",
            *interleaved(functools.partial(find, explorer, asked), one_by_one),
        )


def answer():
    """Print the ratio of the effects on an answer to a forward and backward pass of the same model."""
    print("effects of all cells and heads on the answer / one forward and backward pass, same model")
    measure = import_with_keras("questions.effects.measure")
    for name, config in SIZES.items():
        explorer = explore(config)
        for length in LENGTHS:
            prepared = explorer.prepare(explorer.request(text(length)))
            both = functools.partial(there_and_back(explorer.model), prepared.inputs["token_ids"])
            ours = functools.partial(measure.estimate, explorer, prepared, measure.Asked())
            show(f"{name}, {length} tokens", *interleaved(ours, both))


def training():
    """Print the ratio of a training step under `fit` to that of stock Keras layers."""
    import keras

    print("training step / stock Keras layers under fit, 32 x 64 tokens")
    models = [import_with_keras("network.model").Transformer(CLASSROOM), stock_model(CLASSROOM, scores=False)]
    ids, labels = np.random.default_rng(0).integers(1, 8_000, (32, 64), dtype=np.int32), np.arange(32) % 2
    for model in models:
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    ours, theirs = interleaved(*(lambda m=model: m.fit(ids, labels, verbose=0, epochs=4) for model in models))
    show("4 x 128", ours, theirs)


def memory():
    """Print the ratio of peak memory to returned bytes, for a trace of 12 x 12 heads and 512 tokens."""
    command = [sys.executable, __file__, "measure-memory"]
    print("peak memory of one 12 x 12-head trace of 512 tokens")
    print(subprocess.run(command, capture_output=True, text=True, check=True).stdout, end="")


def measure_memory():
    """Print the peak memory of one trace in this process (Linux)."""
    explorer = explore(BASE)
    explorer.trace(text(8))
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = resident("VmRSS")
    returned = explorer.trace(text(512)).nbytes / 2**20
    grown = resident("VmHWM") - before
    print(f"  returned {returned:.0f} MiB, grown by {grown:.0f} MiB, ratio {grown / returned:.2f}")


def resident(field):
    """Return a memory figure of this process in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def explore(config):
    """Return an explorer of a model with random parameters and made-up words."""
    explorer = import_with_keras("explorer.explorer")
    tokenizer = Tokenizer.train([" ".join(WORDS)], config.vocab_size)
    return explorer.Explorer(explorer.Transformer(config), tokenizer)


def text(length):
    """Return a text of `length` words."""
    return " ".join(random.Random(length).choices(WORDS, k=length))


def stock_model(config, *, scores):
    """Return the same post-norm encoder, built from stock Keras layers as in tutorials."""
    import keras

    ids = keras.Input((None,), dtype="int32")
    positions = keras.layers.Lambda(lambda x: keras.ops.arange(keras.ops.shape(x)[1])[None])(ids)
    x = keras.layers.Embedding(config.vocab_size, config.d_model)(ids)
    x = x + keras.layers.Embedding(config.max_len, config.d_model)(positions)
    mask = keras.layers.Lambda(lambda x: keras.ops.not_equal(x, 0)[:, None, :])(ids)
    weights = []
    for _ in range(config.num_layers):
        attention = keras.layers.MultiHeadAttention(config.num_heads, config.head_dim)
        y = attention(x, x, attention_mask=mask, return_attention_scores=scores)
        if scores:
            y, found = y
            weights.append(found)
        x = keras.layers.LayerNormalization(epsilon=1e-6)(x + keras.layers.Dropout(config.dropout)(y))
        y = keras.layers.Dense(config.ffn_dim, activation=config.activation)(x)
        y = keras.layers.Dropout(config.dropout)(keras.layers.Dense(config.d_model)(y))
        x = keras.layers.LayerNormalization(epsilon=1e-6)(x + y)
    pooled = keras.layers.Dropout(config.dropout)(keras.layers.GlobalAveragePooling1D()(x))
    logits = keras.layers.Dense(config.num_outputs)(pooled)
    return keras.Model(ids, [logits, *weights] if scores else logits)


def compiled(model):
    """Return a forward pass of open length, compiled once, that returns NumPy arrays."""
    import keras
    import tensorflow as tf

    run = tf.function(model.__call__, input_signature=[tf.TensorSpec((None, None), tf.int32)])
    return lambda ids: keras.tree.map_structure(lambda tensor: tensor.numpy(), run(ids))


def there_and_back(model):
    """Return a pass of open length, forward to a logit and back to all weights, compiled once."""
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
    def differentiate(ids):
        with tf.GradientTape() as tape:
            logit = model(ids)[0, 0]
        return logit, tape.gradient(logit, [variable.value for variable in model.trainable_variables])

    return lambda ids: differentiate(ids)[0].numpy()


def interleaved(first, second):
    """Return the seconds of both functions, called alternately."""
    taken = [], []
    for round_number in range(ROUNDS + 2):
        for function, times in zip((first, second), taken, strict=True):
            start = time.perf_counter()
            function()
            if round_number >= 2:
                times.append(time.perf_counter() - start)
    return taken


def show(name, ours, theirs):
    """Print both medians and the median of the ratios."""
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    a, b = (1000 * statistics.median(times) for times in (ours, theirs))
    print(f"  {name:24} {a:8.1f} ms / {b:8.1f} ms = {ratio:.2f}", flush=True)


PARTS = {
    "untraced": untraced,
    "keras": stock_keras,
    "bert": bert,
    "sentences": sentences,
    "effects": effects,
    "answer": answer,
    "training": training,
    "memory": memory,
}

if __name__ == "__main__":
    measure_memory() if sys.argv[1:] == ["measure-memory"] else main()
