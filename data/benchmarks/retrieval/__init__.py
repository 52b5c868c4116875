"""Readers of retrieval data sets as published; nothing is downloaded, and no part of them is shipped."""
