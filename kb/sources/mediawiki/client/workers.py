"""Threads that ask a wiki, and are not waited for when a build is stopped."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from kb.sources.mediawiki.client.wiki_client import N_CONCURRENT


@contextmanager
def wiki_workers(name: str) -> Iterator[ThreadPoolExecutor]:
    """Give a pool of as many threads as may ask a wiki at a time.

    What was handed in is finished when the block ends. When it is left by an exception, Ctrl-C among them, nothing more
    is begun and nobody waits: a slow wiki may take a minute for the answer that a thread is waiting for.
    """
    pool = ThreadPoolExecutor(N_CONCURRENT, thread_name_prefix=name)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
