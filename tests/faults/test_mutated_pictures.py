"""Mutated pictures are read or refused: none crashes, none takes over 2 s of CPU or 500 MB."""

from __future__ import annotations

import io
import random
import resource
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.drawn_birds import drawn_bird
from tests.faults.draw import Draw
from tests.faults.mutate import mutated
from tests.faults.running import CONTEXT

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "MPO", "HEIF", "AVIF")
BATCH = 100
MOST_CPU_S = 2.0
MOST_BYTES = 500 * 10**6


@pytest.fixture(scope="module")
def originals() -> list[bytes]:
    """One drawing in every format, in colour, and in grey or progressive where the format has that."""
    import pillow_heif

    pillow_heif.register_heif_opener()
    drawing = Image.open(io.BytesIO(drawn_bird("bubo-scandiacus"))).convert("RGB").resize((320, 240))
    found = []
    for name in FORMATS:
        for picture, more in ((drawing, {}), (drawing.convert("L"), {"progressive": True} if name == "JPEG" else {})):
            out = io.BytesIO()
            picture.convert("RGB" if name in ("HEIF", "AVIF", "WEBP") else picture.mode).save(out, name, **more)
            found.append(out.getvalue())
    return found


def read_all(seeds: list[int], originals: list[bytes], file: Path, pipe: Any) -> None:
    """Read pictures one after the other and send what each led to; a crash ends the process."""
    from data.errors import BadImage
    from data.images.decode import read_image

    for seed in seeds:
        at_random = random.Random(seed)
        file.write_bytes(mutated(at_random.choice(originals), at_random))
        started, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            read_image(file, min_side=512)
            outcome = "read"
        except BadImage:
            outcome = "refused"
        except BaseException as error:
            outcome = f"{type(error).__name__}: {error}"
        taken = time.process_time() - started
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        pipe.send((seed, outcome, taken, grown))
    pipe.send(None)


def test_mutated_pictures_are_read_or_refused(originals: list[bytes], draw: Draw, tmp_path: Path) -> None:
    found: dict[int, tuple[str, float, int]] = {}

    def read_from(seed: int) -> None:
        """Read a batch in a process; it holds the limits of one, and a crash costs one picture."""
        ours, theirs = CONTEXT.Pipe(duplex=False)
        seeds = list(range(seed, seed + BATCH))
        reader = CONTEXT.Process(target=read_all, args=(seeds, originals, tmp_path / "picture", theirs))
        reader.start()
        theirs.close()
        while True:
            try:
                answer = ours.recv() if ours.poll(60) else None
            except EOFError:
                break
            if answer is None:
                break
            found[answer[0]] = answer[1:]
        reader.join(5)
        reader.kill()
        reader.join()
        found.setdefault(seed, (f"no answer; exit code {reader.exitcode}", 0.0, 0))

    def read(seed: int) -> str:
        if seed not in found:
            read_from(seed)
        outcome, cpu_s, n_bytes = found.pop(seed)
        assert outcome in ("read", "refused"), outcome
        assert cpu_s < MOST_CPU_S, f"{cpu_s:.1f} s of CPU"
        assert n_bytes < MOST_BYTES, f"{n_bytes / 1e6:.0f} MB"
        return outcome

    draw.each(300, 10_000, read)
