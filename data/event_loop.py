"""Shared event loop in its own thread, for synchronous code that waits for models.

HTTP clients belong to one event loop. Sharing a permanent loop allows calls from notebooks, threads and short loops.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")
PATIENCE_S = 5.0  # time for a cancelled coroutine to clean up

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_owner = 0


def background_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop that the process shares; its thread starts with the first call."""
    global _loop, _owner
    with _lock:
        if _loop is None or _owner != os.getpid():  # a forked child has the object, but not the thread
            _loop, _owner = asyncio.new_event_loop(), os.getpid()
            threading.Thread(target=_loop.run_forever, name="fieldmark-models", daemon=True).start()
        return _loop


async def in_background(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Return the result of `work`, run in the shared loop; cancelling the wait cancels it."""
    loop = background_loop()
    if asyncio.get_running_loop() is loop:
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


def wait_for(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Return the result of `work`, run in the shared loop while this thread waits; Ctrl-C cancels it.

    Raises:
        RuntimeError: if called from the shared loop, which would wait for itself.
    """
    loop = background_loop()
    if _is_running_here(loop):
        work.close()
        raise RuntimeError("expected a call from outside the event loop of the models; inside it, use await")
    is_over = threading.Event()

    async def watched() -> ResultT:
        try:
            return await work
        finally:
            is_over.set()

    future = asyncio.run_coroutine_threadsafe(watched(), loop)
    try:
        return future.result()
    except BaseException:
        # Files that it writes must stay open until it has stopped.
        if not future.done():
            future.cancel()
            is_over.wait(PATIENCE_S)
        raise


def run(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Return the result of `work`, also where an event loop runs already, as in a notebook; Ctrl-C cancels it.

    Such a loop waits; asynchronous programs await the asynchronous form instead.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return wait_for(work)


def _is_running_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
