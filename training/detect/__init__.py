"""Maker of the detector file."""
