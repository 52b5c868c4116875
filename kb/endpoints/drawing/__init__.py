"""Drawings by a model behind an images API (`[llm.image]`): requests, a cache of files, retries and a cost limit."""
