"""Bodies of HTTP answers, unpacked piece by piece, so that a few bytes cannot unfold to gigabytes at once.

httpx unpacks each part of an answer whole, and any number of codings one in another. These hooks unpack one coding
themselves, in pieces, and count the bytes.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Final, cast

import httpx

from data.errors import MalformedAnswer

PIECE_BYTES: Final = 1 << 20
_GZIP: Final = 31  # zlib's number for a gzip header and the largest window
_CODINGS: Final = {"": None, "identity": None, "gzip": _GZIP, "x-gzip": _GZIP, "deflate": zlib.MAX_WBITS}


class _Unpacker:
    """Unpacks the parts of one body, and counts the bytes.

    Raises:
        MalformedAnswer: for several codings, an unknown one, damage, or more than `limit` bytes.
    """

    def __init__(self, response: httpx.Response, limit: int | None) -> None:
        self._host = response.request.url.netloc.decode()
        name = response.headers.pop("Content-Encoding", "").strip().lower()
        if name not in _CODINGS:
            raise MalformedAnswer(
                f'{self._host}: expected an answer packed with gzip, deflate or not at all, got "{name[:40]}"'
            )
        self._bits = _CODINGS[name]
        self._packed = zlib.decompressobj(self._bits) if self._bits is not None else None
        self._limit, self._n = limit, 0

    def pieces(self, part: bytes) -> Iterator[bytes]:
        """Yield the contents of a part in pieces of at most `PIECE_BYTES`."""
        while part:
            piece, part = self._next(part)
            self._n += len(piece)
            if self._limit is not None and self._n > self._limit:
                raise MalformedAnswer(f"{self._host}: an answer of more than {self._limit:,} bytes")
            yield piece

    def _next(self, part: bytes) -> tuple[bytes, bytes]:
        if self._packed is None:
            return part[:PIECE_BYTES], part[PIECE_BYTES:]
        if self._packed.eof:  # a gzip file may have several members
            self._packed = zlib.decompressobj(self._bits or _GZIP)
        try:
            piece = self._packed.decompress(part, PIECE_BYTES)
        except zlib.error as error:
            raise MalformedAnswer(f"{self._host}: the packed answer is damaged: {error}") from error
        return piece, self._packed.unused_data if self._packed.eof else self._packed.unconsumed_tail


class _Stream(httpx.SyncByteStream):
    """A body as its unpacked pieces."""

    def __init__(self, inner: httpx.SyncByteStream, unpacker: _Unpacker) -> None:
        self._inner, self._unpacker = inner, unpacker

    def __iter__(self) -> Iterator[bytes]:
        for part in self._inner:
            yield from self._unpacker.pieces(part)

    def close(self) -> None:
        self._inner.close()


def unpack_in_pieces(response: httpx.Response) -> None:
    """Replace the body of a response by its unpacked pieces; a response hook of `httpx.Client`.

    Raises:
        MalformedAnswer: for several codings, or an unknown one.
    """
    response.stream = _Stream(cast(httpx.SyncByteStream, response.stream), _Unpacker(response, None))


def at_most(limit: int, client: type) -> Callable[[httpx.Response], Awaitable[None]]:
    """Return a response hook of an asynchronous client that unpacks a body in pieces, of `limit` bytes in all.

    Args:
        limit: bytes.
        client: class of the client; that of the SDK is of `httpx` or of its fork, by version.

    Raises:
        MalformedAnswer: by the hook, as `unpack_in_pieces`, and by the body if it has more bytes.
    """
    library = next(base.__module__ for base in client.__mro__ if base.__name__ == "AsyncClient").partition(".")[0]
    stream_class: Any = sys.modules[library].AsyncByteStream

    class Stream(stream_class):  # type: ignore[misc]  # whichever library the SDK uses
        """A body as its unpacked pieces."""

        def __init__(self, inner: httpx.AsyncByteStream, unpacker: _Unpacker) -> None:
            self._inner, self._unpacker = inner, unpacker

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in self._inner:
                for piece in self._unpacker.pieces(part):
                    yield piece

        async def aclose(self) -> None:
            await self._inner.aclose()

    async def hook(response: httpx.Response) -> None:
        response.stream = Stream(cast(httpx.AsyncByteStream, response.stream), _Unpacker(response, limit))

    return hook
