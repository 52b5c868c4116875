"""Damage to bytes and texts by seed: flipped, cut, repeated, replaced by values that break readers."""

import json
import random

from tests.servers.mutating_wiki import WRONG, paths_in

ODD = (
    b"\x00", b"\xff\xfe", b"\xed\xa0\xbd", b"\r\n", b'"', b"'", b"\t", b",", b"{", b"[" * 3_000, b"]}", b"null", b"-1",
    b"1e999", b"9" * 400, b"NaN", b"\\ud83d", b"<", b"</", b"<table>" * 300, b"&#0;", b"&#x110000;", b"<!--", b"=",
    b"../../", b"\xe2\x80\xae", b"\x1b[2J",
)  # fmt: skip


def mutated(content: bytes, at_random: random.Random) -> bytes:
    if content[:1] == b"{" and at_random.random() < 0.5:
        return _other_value(content, at_random)
    found = bytearray(content)
    for _ in range(at_random.randint(1, 4)):
        at = at_random.randrange(len(found) + 1)
        kind = at_random.randrange(6)
        if kind == 0 and found:
            found[at % len(found)] ^= 1 << at_random.randrange(8)
        elif kind == 1:
            del found[at : at + at_random.choice((1, 2, 16, 1 << 20))]
        elif kind == 2:
            found[at:at] = at_random.choice(ODD)
        elif kind == 3:
            found[at : at + 4] = at_random.choice((b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x00"))
        elif kind == 4:
            start = at_random.randrange(len(found) + 1)
            found[at:at] = found[start : start + at_random.choice((8, 64, 512))]
        else:
            found[at : at + 32] = at_random.randbytes(32)
    return bytes(found)


def _other_value(content: bytes, at_random: random.Random) -> bytes:
    found = json.loads(content)
    *above, last = at_random.choice([path for path in paths_in(found) if path])
    inner = found
    for step in above:
        inner = inner[step]
    inner[last] = at_random.choice(WRONG)
    return json.dumps(found).encode()
