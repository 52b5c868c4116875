"""Bytes of a file as a failing disk or a killed copy leaves them."""

import random


def damaged(content: bytes, seed: int) -> bytes:
    """Return the content with flipped bits, a foreign block, bytes that are no text, or without its end."""
    at_random = random.Random(seed)
    found = bytearray(content)
    at = at_random.randrange(len(found))
    kind = seed % 5
    if kind == 0:
        for _ in range(8):
            found[at_random.randrange(len(found))] ^= 1 << at_random.randrange(8)
    elif kind == 1:
        del found[at:]
    elif kind == 2:
        found[at : at + 256] = at_random.randbytes(256)
    elif kind == 3:
        found[at : at + 2_000] = b"\xff" * 2_000
    else:
        found = bytearray(at_random.randbytes(len(found)))
    return bytes(found)
