"""`kb context`."""
