"""Small random models of transformers under names of the documentation: `python make_small_bert.py FOLDER`.

Run by a Python that has torch and transformers. A name of the hub that is a folder here is opened as that
folder.
"""

import sys
from pathlib import Path

from transformers import BertConfig, BertModel, BertTokenizerFast

NAMES = ("sentence-transformers/all-MiniLM-L6-v2", "google-bert/bert-base-uncased")
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the film was not good cat sat on mat lay rug"


def main(folder):
    """Write a model and its tokenizer for each name."""
    for name in NAMES:
        place = Path(folder) / name
        place.mkdir(parents=True)
        (place / "vocab.txt").write_text("\n".join(WORDS.split()))
        config = BertConfig(
            vocab_size=16, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64
        )
        BertModel(config).save_pretrained(place)
        BertTokenizerFast(str(place / "vocab.txt")).save_pretrained(place)


if __name__ == "__main__":
    main(sys.argv[1])
