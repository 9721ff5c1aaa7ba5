"""One forward pass as numbers: what a model computed for a text, what changed, and two compared."""
