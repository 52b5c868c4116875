"""`kb build`."""
