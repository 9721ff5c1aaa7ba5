"""Uses of a trained model: tracing, interventions, gradients, generation and evaluation."""
