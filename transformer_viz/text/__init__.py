"""Tokenizers: training, encoding and decoding, and checks of untrusted tokenizer files."""
