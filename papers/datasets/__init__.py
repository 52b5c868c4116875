"""Readers of published data sets in their own form. No data set is shipped."""
