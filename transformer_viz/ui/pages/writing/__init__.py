"""The Writing page."""
