"""`kb show`."""
