"""Which heads find the words that a word depends on."""
