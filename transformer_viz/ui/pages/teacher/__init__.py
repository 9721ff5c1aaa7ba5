"""The teacher's page."""
