"""Readers of the retrieval data sets of CoTRR, as published; nothing is downloaded, and no part of them is shipped."""
