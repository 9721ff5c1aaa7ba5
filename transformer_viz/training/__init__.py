"""Training a Transformer on a user's own rows, from a file to a model folder."""
