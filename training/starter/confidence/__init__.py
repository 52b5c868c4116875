"""Fitting and measuring of the confidence."""
