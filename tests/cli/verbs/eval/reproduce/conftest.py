"""Fixtures of `kb rerank`, also for reproduced tables."""

from tests.cli.verbs.rerank.conftest import birds

__all__ = ["birds"]
