"""Writes small models of the `transformers` library, with its answers.

    python tests/elsewhere/record.py            all of them
    python tests/elsewhere/record.py NAME...    those of `MODELS` that are named

Run by hand where torch and transformers are installed, which are no dependencies: the tests compare with the
folders and answers beside this file. Weights are random, with gains and biases that would show if they were
swapped; tokenizers are trained on a few sentences. `record_changes.py` then adds answers under masks.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import sentencepiece
import tokenizers
import torch
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = Path(__file__).parent / "models"

TEXTS = [
    "The film was not good, but the acting was unbelievably good.",
    "My friend's café in Zürich opens at 10 o'clock; I'll go there  twice.",
    "我不喜欢这部电影。",
    "Naïve readers 🙂 read e\u0301 and \u200d too.",
    "Un [MASK] or <mask> in the middle.",
]
"""Sentences with apostrophes, accents in two forms, Chinese, an emoji, double spaces, and typed masks."""

CORPUS = [*TEXTS, *(" ".join(text.split()[::-1]) for text in TEXTS)] * 3

SIZES = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}
SIZES |= {"intermediate_size": 40, "max_position_embeddings": 48}


def wordpiece(special=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")):
    """BERT's: lower case, accents stripped, each Chinese character a word."""
    found = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    found.normalizer = normalizers.BertNormalizer(lowercase=True)
    found.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    found.decoder = decoders.WordPiece()
    found.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=160, special_tokens=[*special]))
    ends = [(name, found.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    found.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    return found


def byte_level(special, template=None, *, prefix=False):
    """Byte-level BPE, of GPT-2 without marks, of RoBERTa with them."""
    found = tokenizers.Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    found.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    found.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=330, special_tokens=[*special], initial_alphabet=alphabet)
    )
    if template == "roberta":
        ends = [(name, found.token_to_id(name)) for name in ("</s>", "<s>")]
        found.post_processor = processors.RobertaProcessing(*ends, trim_offsets=True, add_prefix_space=prefix)
        found.add_special_tokens([tokenizers.AddedToken("<mask>", lstrip=True)])
    elif template:
        ends = [(template, found.token_to_id(template))]
        found.post_processor = processors.TemplateProcessing(single=f"{template} $A", special_tokens=ends)
    return found


def unigram(start="<s>", end="</s>", mask="<mask>", more=()):
    """XLM-R's and ALBERT's: pieces of sentences, "▁" for a space."""
    special = [start, "<pad>", end, "<unk>", mask, *more]
    found = tokenizers.Tokenizer(models.Unigram())
    found.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(tokenizers.Regex(" {2,}"), " ")]
    )
    found.pre_tokenizer = pre_tokenizers.Metaspace()
    found.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=160, special_tokens=special, unk_token="<unk>")
    found.train_from_iterator(CORPUS, trainer)
    ends = [(name, found.token_to_id(name)) for name in (start, end)]
    found.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}", pair=f"{start} $A {end} {end} $B {end}", special_tokens=ends
    )
    return found


def pieces_with_end(start="<pad>"):
    """T5's, Pegasus' and Marian's: sentence pieces, with an end and no beginning."""
    found = unigram(start=start)
    found.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", found.token_to_id("</s>"))]
    )
    return found


def pieces_with_language():
    """The first mBART's: a text ends with its language."""
    found = unigram(more=("en_XX", "fr_XX"))
    ends = [(name, found.token_to_id(name)) for name in ("</s>", "en_XX")]
    found.post_processor = processors.TemplateProcessing(single="$A </s> en_XX", special_tokens=ends)
    return found


class MarianFiles:
    """Marian's own files: pieces of each side, and one vocabulary; they have no offsets."""

    def __init__(self):
        self.place, tokens = Path(tempfile.mkdtemp()), ["</s>", "<unk>"]
        for side, lines in {"source": CORPUS, "target": [text[::-1] for text in CORPUS]}.items():
            (self.place / side).write_text("\n".join(lines), encoding="utf-8")
            options = {"input": self.place / side, "model_prefix": self.place / side, "vocab_size": 70}
            sentencepiece.SentencePieceTrainer.train(
                **options, bos_id=-1, pad_id=-1, character_coverage=0.98, minloglevel=2
            )
            (self.place / f"{side}.model").rename(self.place / f"{side}.spm")
            found = sentencepiece.SentencePieceProcessor(model_file=str(self.place / f"{side}.spm"))
            tokens += [found.id_to_piece(number) for number in range(found.get_piece_size())]
        ids = {token: number for number, token in enumerate(dict.fromkeys([*tokens, ">>fra<<", "<pad>"]))}
        (self.place / "vocab.json").write_text(json.dumps(ids))
        paths = (str(self.place / name) for name in ("source.spm", "target.spm", "vocab.json"))
        self.tokenizer = transformers.MarianTokenizer(*paths)

    def encode(self, text):
        ids = self.tokenizer(text).input_ids
        special = [int(number == 0) for number in ids]
        return SimpleNamespace(ids=ids, offsets=None, special_tokens_mask=special)

    def get_vocab_size(self):
        return len(self.tokenizer)

    def token_to_id(self, token):
        return self.tokenizer.convert_tokens_to_ids(token)

    def save(self, path):
        for name in ("source.spm", "target.spm", "vocab.json"):
            shutil.copyfile(self.place / name, Path(path).parent / name)

    def encode_target(self, text):
        return self.tokenizer(text_target=text).input_ids


def llama_pieces():
    """Llama's: BPE with "▁" for a space and bytes for what is unknown."""
    special = ["<unk>", "<s>", "</s>"]
    pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    found = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    found.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    found.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=special + pieces, limit_alphabet=40)
    found.train_from_iterator(CORPUS, trainer)
    content = json.loads(found.to_str())
    content["added_tokens"] = content["added_tokens"][: len(special)]  # the bytes are no special tokens
    found = tokenizers.Tokenizer.from_str(json.dumps(content))
    found.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return found


GPT = ["<|endoftext|>"]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>"]
LLAMA = {"num_key_value_heads": 2, "rope_theta": 500.0, "bos_token_id": 1, "eos_token_id": 2}

LLAMA3 = {"rope_type": "llama3", "rope_theta": 50.0, "factor": 3.0, "low_freq_factor": 0.5}
LLAMA3 |= {"high_freq_factor": 2.0, "original_max_position_embeddings": 16}
LINEAR = {"rope_type": "linear", "factor": 4.0}
YARN = {"rope_type": "yarn", "rope_theta": 50.0, "factor": 2.0, "original_max_position_embeddings": 24}
YARN |= {"beta_fast": 3.0}
LONGROPE = {"rope_type": "longrope", "rope_theta": 50.0, "short_factor": [1.0, 1.5]}
LONGROPE |= {"long_factor": [2.0, 9.0], "original_max_position_embeddings": 40}

LABELS = {"id2label": {0: "dull", 1: "fine", 2: "great"}}

BART = {"d_model": 24, "encoder_layers": 2, "decoder_layers": 2, "max_position_embeddings": 48}
BART |= dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4)
BART |= dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 40)
T5 = {"d_model": 24, "d_kv": 8, "d_ff": 40, "num_layers": 2, "num_heads": 4}
T5 |= {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 12}
ENDS = {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0}

GEMMA2 = SIZES | {"num_hidden_layers": 3, "num_key_value_heads": 2, "head_dim": 8, "sliding_window": 5}
GEMMA2 |= {"query_pre_attn_scalar": 6, "attn_logit_softcapping": 1.5, "final_logit_softcapping": 4.0}
GEMMA2 |= {"bos_token_id": 1, "eos_token_id": 2}
GEMMA3 = SIZES | {"num_hidden_layers": 5, "num_key_value_heads": 1, "head_dim": 8, "sliding_window": 6}
GEMMA3 |= {"query_pre_attn_scalar": 20, "sliding_window_pattern": 3, "bos_token_id": 1, "eos_token_id": 2}
GEMMA3 |= {"rope_theta": 500.0, "rope_local_base_freq": 20.0}
MODERNBERT = SIZES | {"num_hidden_layers": 5, "local_attention": 6, "global_attn_every_n_layers": 3}
MODERNBERT |= {"global_rope_theta": 500.0, "local_rope_theta": 20.0, "pad_token_id": 0}
MODERNBERT |= dict.fromkeys(("bos_token_id", "cls_token_id"), 2)
MODERNBERT |= dict.fromkeys(("eos_token_id", "sep_token_id"), 3)

MODELS = {
    "bert": ("BertModel", wordpiece, SIZES),
    "bert-masked": ("BertForMaskedLM", wordpiece, SIZES),
    "bert-classes": (
        "BertForSequenceClassification",
        wordpiece,
        SIZES | LABELS,
    ),
    "bert-score": ("BertForSequenceClassification", wordpiece, SIZES | {"id2label": {0: "relevant"}}),
    "distilbert": (
        "DistilBertForMaskedLM",
        wordpiece,
        {"dim": 24, "n_layers": 2, "n_heads": 4, "hidden_dim": 40, "max_position_embeddings": 48},
    ),
    "distilbert-classes": (
        "DistilBertForSequenceClassification",
        wordpiece,
        {"dim": 24, "n_layers": 2, "n_heads": 4, "hidden_dim": 40, "max_position_embeddings": 48},
    ),
    "electra-classes": ("ElectraForSequenceClassification", wordpiece, SIZES | {"embedding_size": 24}),
    "electra-small": ("ElectraForMaskedLM", wordpiece, SIZES | {"embedding_size": 14}),
    "albert": (
        "AlbertForMaskedLM",
        lambda: unigram("[CLS]", "[SEP]", "[MASK]"),
        SIZES | {"embedding_size": 14},
    ),
    "albert-classes": (
        "AlbertForSequenceClassification",
        lambda: unigram("[CLS]", "[SEP]", "[MASK]"),
        SIZES | {"embedding_size": 24},
    ),
    "roberta": (
        "RobertaForMaskedLM",
        lambda: byte_level(ROBERTA, "roberta"),
        SIZES | {"pad_token_id": 1, "type_vocab_size": 1, "max_position_embeddings": 50},
    ),
    "roberta-classes": (
        "RobertaForSequenceClassification",
        lambda: byte_level(ROBERTA, "roberta"),
        SIZES | {"pad_token_id": 1, "type_vocab_size": 1, "max_position_embeddings": 50},
    ),
    "mpnet": (
        "MPNetForMaskedLM",
        lambda: byte_level(ROBERTA, "roberta"),
        SIZES | {"pad_token_id": 1, "max_position_embeddings": 50},
    ),
    "xlm-roberta": (
        "XLMRobertaForMaskedLM",
        unigram,
        SIZES | {"pad_token_id": 1, "type_vocab_size": 2, "max_position_embeddings": 50},
    ),
    "gpt2": (
        "GPT2LMHeadModel",
        lambda: byte_level(GPT),
        {"n_embd": 24, "n_layer": 2, "n_head": 4, "n_positions": 48},
    ),
    "gpt2-classes": (
        "GPT2ForSequenceClassification",
        lambda: byte_level(["<pad>", *GPT]),
        {"n_embd": 24, "n_layer": 2, "n_head": 4, "n_positions": 48, "pad_token_id": 0} | LABELS,
    ),
    "gpt-neo": (
        "GPTNeoForCausalLM",
        lambda: byte_level(GPT),
        {"hidden_size": 24, "num_layers": 3, "num_heads": 4, "intermediate_size": 40, "window_size": 5}
        | {"max_position_embeddings": 48, "attention_types": [[["local", "global", "local"], 1]]},
    ),
    "opt": (
        "OPTForCausalLM",
        lambda: byte_level(["<s>", "<pad>", "</s>"], "</s>"),
        {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 40}
        | {"max_position_embeddings": 48, "word_embed_proj_dim": 24, "bos_token_id": 2},
    ),
    "gpt-neox": ("GPTNeoXForCausalLM", lambda: byte_level(GPT), SIZES | {"rotary_pct": 0.67}),
    "gpt-neox-serial": (
        "GPTNeoXForCausalLM",
        lambda: byte_level(GPT),
        SIZES | {"rotary_pct": 0.34, "use_parallel_residual": False, "rotary_emb_base": 300},
    ),
    "llama": ("LlamaForCausalLM", llama_pieces, SIZES | LLAMA),
    "llama-scaled": ("LlamaForCausalLM", llama_pieces, SIZES | LLAMA | {"rope_parameters": LLAMA3}),
    "llama-yarn": ("LlamaForCausalLM", llama_pieces, SIZES | LLAMA | {"rope_parameters": YARN}),
    "mistral": ("MistralForCausalLM", llama_pieces, SIZES | LLAMA | {"sliding_window": 5}),
    "mistral-vectors": ("MistralModel", llama_pieces, SIZES | LLAMA | {"sliding_window": 5}),
    "qwen2": (
        "Qwen2ForCausalLM",
        lambda: byte_level(GPT),
        SIZES | {"num_key_value_heads": 2, "tie_word_embeddings": True},
    ),
    "qwen3-classes": (
        "Qwen3ForSequenceClassification",
        lambda: byte_level(["<pad>", *GPT]),
        SIZES | {"num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0} | LABELS,
    ),
    "data2vec": (
        "Data2VecTextForMaskedLM",
        lambda: byte_level(ROBERTA, "roberta"),
        SIZES | {"pad_token_id": 1, "type_vocab_size": 1, "max_position_embeddings": 50},
    ),
    "starcoder2": (
        "Starcoder2ForCausalLM",
        lambda: byte_level(GPT),
        SIZES | {"num_key_value_heads": 2, "sliding_window": 6},
    ),
    "stablelm": (
        "StableLmForCausalLM",
        lambda: byte_level(GPT),
        SIZES | {"num_key_value_heads": 2, "use_qkv_bias": True, "partial_rotary_factor": 0.67},
    ),
    "phi": (
        "PhiForCausalLM",
        lambda: byte_level(GPT),
        SIZES | {"num_key_value_heads": 2, "partial_rotary_factor": 0.67},
    ),
    "phi3": (
        "Phi3ForCausalLM",
        llama_pieces,
        SIZES | LLAMA | {"sliding_window": 7, "pad_token_id": 2},
    ),
    "phi3-long": (
        "Phi3ForCausalLM",
        llama_pieces,
        SIZES
        | LLAMA
        | {"pad_token_id": 2, "max_position_embeddings": 400, "original_max_position_embeddings": 40}
        | {"partial_rotary_factor": 0.67, "rope_parameters": LONGROPE},
    ),
    "bart": (
        "BartForConditionalGeneration",
        lambda: byte_level(ROBERTA, "roberta"),
        BART | {"decoder_layers": 3, "forced_bos_token_id": 0},
    ),
    "mbart-25": (
        "MBartForConditionalGeneration",
        pieces_with_language,
        BART | {"scale_embedding": True, "activation_function": "relu", "decoder_start_token_id": 6},
    ),
    "pegasus": (
        "PegasusForConditionalGeneration",
        pieces_with_end,
        BART | {"scale_embedding": True, "activation_function": "relu"} | ENDS,
    ),
    "marian-pieces": (
        "MarianMTModel",
        MarianFiles,
        BART | {"activation_function": "swish", "eos_token_id": 0, "forced_eos_token_id": 0},
    ),
    "t5": ("T5ForConditionalGeneration", pieces_with_end, T5 | ENDS | {"num_decoder_layers": 3}),
    "t5-untied": (
        "T5ForConditionalGeneration",
        pieces_with_end,
        T5 | ENDS | {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu"},
    ),
    "t5-encoder": ("T5EncoderModel", pieces_with_end, T5 | ENDS),
    "mt5": ("MT5ForConditionalGeneration", pieces_with_end, T5 | ENDS),
    "gemma2": ("Gemma2ForCausalLM", llama_pieces, GEMMA2),
    "gemma3": ("Gemma3ForCausalLM", llama_pieces, GEMMA3 | {"rope_scaling": LINEAR}),
    "modernbert-masked": ("ModernBertForMaskedLM", wordpiece, MODERNBERT),
    "modernbert-classes": ("ModernBertForSequenceClassification", wordpiece, MODERNBERT | LABELS),
    "modernbert-mean": (
        "ModernBertForSequenceClassification",
        wordpiece,
        MODERNBERT | LABELS | {"classifier_pooling": "mean", "classifier_bias": True, "norm_bias": True},
    ),
    "qwen2-mixed": (
        "Qwen2ForCausalLM",
        lambda: byte_level(GPT),
        SIZES
        | {"num_hidden_layers": 3, "num_key_value_heads": 2}
        | {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 2},
    ),
}
"""Name -> class, tokenizer, and settings."""


def main(names):
    """Write the folders of some models; of all if none is named."""
    for name in names or MODELS:
        kind, make_tokenizer, settings = MODELS[name]
        shutil.rmtree(HERE / name, ignore_errors=True)
        record(name, kind, make_tokenizer(), dict(settings))
        print(name)


def record(name, kind, backend, settings):
    """Write one model, and what it answers to the first text, alone and in a batch behind padding."""
    torch.manual_seed(len(name))
    cls, folder = getattr(transformers, kind), HERE / name
    settings |= {"vocab_size": backend.get_vocab_size() + 2}  # some embeddings have more rows than tokens
    labels, forced = settings.get("id2label"), settings.pop("forced_bos_token_id", None)
    settings |= {"label2id": {label: number for number, label in labels.items()}} if labels else {}
    if isinstance(backend, MarianFiles):
        padding = backend.token_to_id("<pad>")
        settings |= {"pad_token_id": padding, "decoder_start_token_id": padding}
    if backend.token_to_id(GPT[0]) == 0:
        settings |= {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
    model = cls(cls.config_class(**settings)).eval()
    if name == "t5-untied":  # as the files of version 1.1 are; the library's class ties them
        model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight) / 4)
    noise = 0.05 if "T5" in kind else 0.15  # scores that are not divided would be as large as 15
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=noise)
    if forced is not None:
        model.generation_config.forced_bos_token_id = forced
    model.save_pretrained(folder)
    model = cls.from_pretrained(folder, attn_implementation="eager").eval()
    backend.save(str(folder / "tokenizer.json"))
    encodings = [backend.encode(text) for text in TEXTS]
    texts = [
        {"ids": each.ids, "offsets": each.offsets, "special": each.special_tokens_mask} for each in encodings
    ]
    if isinstance(backend, MarianFiles):
        for text, each in zip(TEXTS, texts, strict=True):
            each["target"] = backend.encode_target(text)
    (folder / "texts.json").write_text(json.dumps(texts))
    ids = [encodings[0].ids, encodings[2].ids[:5]]
    padded = torch.tensor([ids[0], ids[1] + [0] * (len(ids[0]) - 5)])
    mask = torch.tensor([[1] * len(ids[0]), [1] * 5 + [0] * (len(ids[0]) - 5)])
    asked = {"attention_mask": mask, "output_attentions": True, "output_hidden_states": True}
    answers = {"ids": padded.numpy(), "mask": mask.numpy()}
    if model.config.is_encoder_decoder:
        start = [number for number in (model.config.decoder_start_token_id, forced) if number is not None]
        target = torch.tensor([start + encodings[3].ids[1:7], start + encodings[2].ids[1:7]])
        with torch.no_grad():
            found = model(padded, decoder_input_ids=target, **asked)
        answers |= {
            "target": target.numpy(),
            "attentions": torch.stack(found.encoder_attentions, 1).numpy(),
            "decoder": torch.stack(found.decoder_attentions, 1).numpy(),
            "cross": torch.stack(found.cross_attentions, 1).numpy(),
            "memory": found.encoder_last_hidden_state.numpy(),
            "hidden": found.decoder_hidden_states[-1].numpy(),
        }
    else:
        with torch.no_grad():
            found = model(padded, **asked)
        answers |= {
            "attentions": torch.stack(found.attentions, 1).numpy(),
            "hidden": found.hidden_states[-1].numpy(),
        }
    if getattr(found, "logits", None) is not None:
        answers["logits"] = found.logits.numpy()
    np.savez_compressed(folder / "answers.npz", **answers)


if __name__ == "__main__":
    main(sys.argv[1:])
