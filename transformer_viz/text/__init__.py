"""Text into tokens, and which tokenizers are read."""
