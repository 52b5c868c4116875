"""Threads for wiki requests, abandoned when a build is stopped."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from kb.sources.mediawiki.client.wiki_client import N_CONCURRENT


@contextmanager
def wiki_workers(name: str) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of as many threads as a wiki allows concurrent requests.

    Submitted work is finished when the block ends. If the block raises, including on Ctrl-C, no more work
    starts and threads are not joined: a slow wiki may take a minute for its answer.
    """
    pool = ThreadPoolExecutor(N_CONCURRENT, thread_name_prefix=name)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
