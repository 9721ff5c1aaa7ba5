"""What models, texts and runs are made of, as plain values."""
