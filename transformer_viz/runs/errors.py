"""What can go wrong with a training run, said in one sentence."""


class RunError(ValueError):
    """A run is not there, or cannot do what was asked of it; says why and the way out."""
