"""`kb identify`."""
