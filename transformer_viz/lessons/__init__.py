"""Lessons: their texts, and how they are read."""
