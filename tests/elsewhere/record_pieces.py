"""Writes small SentencePiece models, and the ids of texts by them: `python tests/elsewhere/record_pieces.py`.

Run by hand where transformers and protobuf are installed. The ids of a text are those of the sentencepiece
library, with which models were trained, put into the places that a family of models gives them; beside them
stands whether the tokenizer that transformers makes of the same file gives the same.
"""

import json
import re
import tempfile
import unicodedata
from pathlib import Path

import sentencepiece
import transformers
from record import CORPUS, TEXTS
from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES

HERE = Path(__file__).parent / "pieces"

MORE = [
    'In 1999, (not 2001) it cost £9,000 - "cheap".',
    "Ｆｕｌｌ width, ﬁne; tab\there,\nand a new line   ",
    "A ``quoted'' word</s> and <extra_id_0>, then <unk>.",
    "  two in front, three   inside",
]
"""Numbers with commas, what normalisation changes, special tokens as they are typed, spaces everywhere."""

RULES = {"\t": " ", "\n": " ", "ﬁ": "fi", "e\u0301": "é", "\u200d": " "}
RULES |= {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
"""Characters -> what they are normalised to: a small part of what T5's file has whole."""

FAIRSEQ = {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1, "vocab_size": 110, "few_rules": True}
T5 = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
BYTES = {"model_type": "bpe", "byte_fallback": True, "split_digits": True, "vocab_size": 360}
BYTES |= {"allow_whitespace_only_pieces": True, "normalization_rule_name": "identity"}
BYTES |= {"remove_extra_whitespaces": False, "character_coverage": 0.98}
START = {"add_bos_token": True}

KINDS = {
    "t5": ("spiece.model", "T5Tokenizer", T5 | {"vocab_size": 110}, {}),
    "mt5": (
        "spiece.model",
        "T5Tokenizer",
        T5 | {"byte_fallback": True, "vocab_size": 360, "character_coverage": 0.98, "few_rules": True},
        {"extra_ids": 3},
    ),
    "pegasus": ("spiece.model", "PegasusTokenizer", T5 | {"vocab_size": 110, "few_rules": True}, {}),
    "xlm-roberta": ("sentencepiece.bpe.model", "XLMRobertaTokenizer", FAIRSEQ, {}),
    "camembert": ("sentencepiece.bpe.model", "CamembertTokenizer", FAIRSEQ, {}),
    "mbart": (
        "sentencepiece.bpe.model",
        "MBart50Tokenizer",
        FAIRSEQ,
        {"src_lang": "fr_XX", "tokenizer_class": "MBart50Tokenizer"},
    ),
    "albert": (
        "spiece.model",
        "AlbertTokenizer",
        {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "vocab_size": 110, "few_rules": True}
        | {"control_symbols": "[CLS],[SEP],[MASK]", "user_defined_symbols": '(,),",-,.,£'},
        {},
    ),
    "llama": ("tokenizer.model", "LlamaTokenizer", BYTES | {"unk_id": 0, "bos_id": 1, "eos_id": 2}, START),
    "gemma": (
        "tokenizer.model",
        "GemmaTokenizer",
        BYTES
        | {"pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3, "add_dummy_prefix": False}
        | {"eos_piece": "<eos>", "bos_piece": "<bos>", "user_defined_symbols": "<unused0>,▁▁,▁▁▁"},
        START,
    ),
}
"""Type of model -> file, class of its tokenizer, how the pieces are learned, and tokenizer_config.json."""


def main():
    """Write all folders."""
    for kind, (file, cls, options, settings) in KINDS.items():
        folder = HERE / kind
        folder.mkdir(parents=True, exist_ok=True)
        train(folder / file, options)
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / file))
        theirs = getattr(transformers, cls).from_pretrained(folder)
        rows = []
        for text in [*TEXTS, *MORE]:
            ids = LAYOUTS[kind](pieces, text)
            same = theirs(text).input_ids == ids
            rows.append({"text": text, "ids": ids, "transformers": same})
        (folder / "texts.json").write_text(json.dumps(rows, ensure_ascii=False, indent=0))
        print(kind, [row["transformers"] for row in rows])


def train(file, options):
    """Learn pieces from the sentences of record.py."""
    with tempfile.TemporaryDirectory() as place:
        lines = Path(place, "lines.txt")
        lines.write_text("\n".join(CORPUS + [text.lower() for text in CORPUS] + MORE), encoding="utf-8")
        rules = Path(place, "rules.tsv")
        rules.write_text("".join(f"{_code(left)}\t{_code(right)}\n" for left, right in RULES.items()))
        options = {"input": lines, "model_prefix": Path(place, "found"), "hard_vocab_limit": False} | options
        if options.pop("few_rules", False):
            options["normalization_rule_tsv"] = rules
        sentencepiece.SentencePieceTrainer.train(**options, minloglevel=2)
        file.write_bytes(Path(place, "found.model").read_bytes())


def _code(text):
    return " ".join(f"{ord(each):x}" for each in text)


def split(pieces, text, special, place, prepare=lambda text: text):
    """Return the ids of a text: `special` tokens have theirs, what is between them those of its pieces."""
    found = []
    for part in re.split("({})".format("|".join(map(re.escape, special))), text):
        if part in special:
            found.append(special[part])
        elif part:
            found += map(place, pieces.encode(prepare(part)))
    return found


def t5(pieces, text, count=100):
    size = pieces.get_piece_size()
    special = {f"<extra_id_{number}>": size + count - 1 - number for number in range(count)}
    special |= {"<pad>": 0, "</s>": 1, "<unk>": 2}
    return [*split(pieces, text, special, int), 1]


def pegasus(pieces, text):
    special = {"<pad>": 0, "</s>": 1, "<mask_1>": 2, "<mask_2>": 3, "<unk>": 105}
    return [*split(pieces, text, special, lambda number: number + 103), 1]


def fairseq(pieces, text, languages=()):
    size = pieces.get_piece_size()
    special = {name: number for number, name in enumerate(("<s>", "<pad>", "</s>", "<unk>"))}
    names = (*languages, "<mask>")
    special |= {name: size + 1 + number for number, name in enumerate(names)}
    found = split(pieces, text, special, lambda number: number + 1 if number else 3)
    return [special["fr_XX"] if languages else 0, *found, 2]


def camembert(pieces, text):
    special = {"<pad>": 1, "<unk>": 3, "<s>": 5, "</s>": 6, "<mask>": pieces.get_piece_size() + 4}
    return [5, *split(pieces, text, special, lambda number: number + 4 if number else 3), 6]


def albert(pieces, text):
    special = {name: pieces.piece_to_id(name) for name in ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")}

    def prepare(part):
        part = " ".join(part.split()).replace("``", '"').replace("''", '"')
        part = unicodedata.normalize("NFKD", part)
        return "".join(each for each in part if not unicodedata.combining(each)).lower()

    return [special["[CLS]"], *split(pieces, text, special, int, prepare), special["[SEP]"]]


def llama(pieces, text):
    marks = (number for number in range(9) if pieces.is_control(number) or pieces.is_unknown(number))
    special = {pieces.id_to_piece(number): number for number in marks}
    return [pieces.bos_id(), *split(pieces, text, special, int)]


LAYOUTS = {
    "t5": t5,
    "mt5": lambda pieces, text: t5(pieces, text, 3),
    "pegasus": pegasus,
    "xlm-roberta": fairseq,
    "camembert": camembert,
    "mbart": lambda pieces, text: fairseq(pieces, text, FAIRSEQ_LANGUAGE_CODES),
    "albert": albert,
    "llama": llama,
    "gemma": llama,
}
"""Type of model -> the ids of a text."""


if __name__ == "__main__":
    main()
