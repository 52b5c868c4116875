"""Flipped bytes in any file of a knowledge base are found, or change no answer."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

from tests.faults.answers import answers, told
from tests.faults.bench import Bench
from tests.faults.draw import Draw

PLACES = ("ledger.sqlite*", "chroma/chroma.sqlite3", "chroma/*/*", "cache/*", "anchors/*/*", "articles/*/*", "kb.toml")
REMEDY = re.compile(r"repaired|filled again|written again|kb build|kb update|kb verify|[Rr]emove|next build")


def flip(base: Path, at_random: random.Random) -> str:
    """Flip one to 64 bits of one file, and return its name."""
    files = [file for file in sorted(base.glob(at_random.choice(PLACES))) if file.is_file() and file.stat().st_size]
    file = at_random.choice(files)
    content = bytearray(file.read_bytes())
    for _ in range(at_random.choice((1, 8, 64))):
        content[at_random.randrange(len(content))] ^= 1 << at_random.randrange(8)
    file.write_bytes(bytes(content))
    return str(file.relative_to(base))


def test_flipped_bytes_are_found_or_harmless(bench: Bench, draw: Draw, tmp_path: Path) -> None:
    whole = [told(each) for each in answers(bench, bench.copy(tmp_path / "whole"), "birds.kb")]

    def flipped(seed: int) -> str:
        shutil.rmtree(tmp_path / f"{seed - 1}", ignore_errors=True)
        folder = bench.copy(tmp_path / f"{seed}")  # a name of its own: the process that answers runs on
        name = flip(folder / "birds.kb", random.Random(seed))
        is_refused = False
        for ended, expected in zip(answers(bench, folder, "birds.kb"), whole, strict=True):
            assert ended.is_clear, f"{name}: a reader: {ended}"
            is_refused |= ended.code != 0
            assert ended.code != 0 or told(ended) == expected, f"{name}: a wrong answer in silence"
        verified = bench.call(folder, "verify", "--kb=birds.kb")
        assert verified.code in (0, 1), f"{name}: verify: {verified}"
        if verified.code == 0:
            assert not is_refused, f"{name}: readers refuse it, verify finds nothing"
            return "harmless"
        assert REMEDY.search(verified.stdout + verified.stderr), f"{name}: no remedy: {verified.stdout} {verified}"
        if bench.call(folder, "verify", "--kb=birds.kb").code != 0:
            return "found, for the user to mend"
        for ended, expected in zip(answers(bench, folder, "birds.kb"), whole, strict=True):
            assert ended.code == 0 and told(ended) == expected, f"{name}: not mended: {ended}"
        return "found and mended"

    draw.each(3, 300, flipped)
