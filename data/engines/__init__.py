"""Engines: one contract for long work on this machine and on a cluster."""
