"""Which words speak for which label."""
