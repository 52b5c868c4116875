"""`kb doctor`."""
