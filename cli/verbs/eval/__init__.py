"""`kb eval`."""
