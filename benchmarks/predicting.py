"""Rows a second of a whole file, beside the pipeline of transformers with a model of the same shape.

`python benchmarks/predicting.py --data reviews.csv --torch ~/torch/bin/python [--rows 4096]`

`imdb-sentiment` predicts the first rows of a file of texts and labels, reading and writing included. Another
Python, with torch and transformers, on as many threads, reads the same texts with the same tokenizer and a
random BERT of as many layers, heads and numbers, with learned positions and a tanh layer before the classes:
once by `pipeline` with each of several batch sizes, of which the best counts, and once by the model alone on
the batches that are computed here, sorted by length. Both in turn, the faster of two rounds each.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import transformer_viz as tv
from transformer_viz import store
from transformer_viz.data import read_labelled
from transformer_viz.questions.evaluation.predictions import BATCH_SIZE, BLOCK

MODEL = "imdb-sentiment"
ROUNDS = 2
BATCHES = (8, 32, 64, 128)
"""Batch sizes of the pipeline."""

THEIRS = """
import json, sys, time
import torch, transformers
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast, pipeline
facts = json.load(open(sys.argv[1]))
torch.set_num_threads(facts["threads"])
tokenizer = PreTrainedTokenizerFast(
    tokenizer_file=facts["tokenizer"], pad_token="[PAD]", unk_token="[UNK]", model_max_length=512
)
model = BertForSequenceClassification(BertConfig(**facts["sizes"])).eval()
texts = facts["texts"]
seconds = {}
for size in facts["batches"]:
    ask = pipeline("text-classification", model=model, tokenizer=tokenizer, batch_size=size, truncation=True)
    ask(texts[:size])
    begun = time.perf_counter()
    ask(texts)
    seconds[size] = time.perf_counter() - begun
begun = time.perf_counter()
with torch.no_grad():
    for start in range(0, len(texts), facts["block"]):
        block = sorted(texts[start : start + facts["block"]], key=len, reverse=True)
        ids = [each[:512] for each in tokenizer(block)["input_ids"]]
        for first in range(0, len(ids), facts["batch"]):
            part = tokenizer.pad({"input_ids": ids[first : first + facts["batch"]]}, return_tensors="pt")
            model(**part).logits.softmax(-1).tolist()
print(json.dumps({"pipeline": seconds, "batches": time.perf_counter() - begun}))
"""


def main():
    """Print rows a second of each way, and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--torch", default=sys.executable)
    parser.add_argument("--rows", type=int, default=4_096)
    arguments = parser.parse_args()
    rows = read_labelled(arguments.data).head(arguments.rows)
    explorer = tv.load(MODEL)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        rows[["text"]].to_csv(file, index=False, quoting=csv.QUOTE_ALL)
        facts = facts_for_torch(explorer.config, rows["text"].tolist(), Path(folder))
        tv.predict_file(explorer, file, Path(folder) / "warm.csv")
        ours, pipelines, batches = [], [], []
        for number in range(ROUNDS):
            begun = time.perf_counter()
            tv.predict_file(explorer, file, Path(folder) / f"{number}.csv")
            ours.append(time.perf_counter() - begun)
            command = [arguments.torch, "-c", THEIRS, facts]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            pipelines.append(found["pipeline"])
            batches.append(found["batches"])
    best = {size: min(each[size] for each in pipelines) for size in pipelines[0]}
    size = min(best, key=best.get)
    for name, seconds in (
        ("predict_file", min(ours)),
        (f"pipeline, batches of {size}", best[size]),
        ("the model alone, the same batches", min(batches)),
    ):
        print(f"{name:36}{len(rows) / seconds:8,.0f} rows a second{seconds / min(ours):8.2f} times as long")


def facts_for_torch(config, texts, folder):
    """Write what the other Python needs; return the file."""
    tokenizer = folder / "tokenizer.json"
    tokenizer.write_text(store.read_tokenizer(MODEL), encoding="utf-8")
    sizes = {
        "vocab_size": config.vocab_size,
        "hidden_size": config.d_model,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "intermediate_size": config.ffn_dim,
        "max_position_embeddings": config.max_len,
        "hidden_act": config.activation,
        "num_labels": len(config.labels),
    }
    facts = {"sizes": sizes, "texts": texts, "tokenizer": str(tokenizer), "batches": BATCHES}
    facts |= {"threads": os.cpu_count(), "block": BLOCK, "batch": BATCH_SIZE}
    file = folder / "facts.json"
    file.write_text(json.dumps(facts))
    return str(file)


if __name__ == "__main__":
    main()
