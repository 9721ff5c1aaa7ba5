"""Training of a Transformer on a user's own data, from a file to a model folder."""
