"""Analysis of attention weights, masks and position encodings, in NumPy."""
