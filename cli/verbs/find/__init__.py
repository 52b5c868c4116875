"""`kb find`."""
