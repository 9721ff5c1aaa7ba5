"""What is done with a trained model: trace it, change it, let it write, measure it."""
