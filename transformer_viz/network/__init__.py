"""The Transformer, layer by layer; each layer returns what it computed."""
