"""Training and measurement of the starter models."""
