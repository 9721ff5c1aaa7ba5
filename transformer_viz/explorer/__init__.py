"""A model that answers: its passes, the texts it writes, its gradients, the attention of any Keras model."""
