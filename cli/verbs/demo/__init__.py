"""`kb demo`."""
