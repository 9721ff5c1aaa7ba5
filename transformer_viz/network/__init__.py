"""The Transformer: masks, layers and the model, all of which return their intermediate tensors."""
