"""Time to build and open a knowledge base of all the world's birds, and its memory.

    python -m benchmarks.opening [--species 11131] [--dim 768] [--encoders 3]

Measures the store, not the models, with synthetic species and random unit vectors. Aims: opening with a warm cache in
under 0.5 s, memory under 1.5 times the vectors, disk without photos and articles under 2.6 times (Chroma and the
matrices each hold the vectors). With `--vectors`, anchors come as vectors alone, like the shipped ones.
"""

from __future__ import annotations

import argparse
import io
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL.Image import Image, new

import kb
from data.arrays import FloatArray, as_unit_rows
from data.contracts import Encoders
from data.files import sha256_hex
from data.records import (
    Anchor,
    AnchorImage,
    Article,
    Failure,
    FetchedPage,
    LeftOut,
    PageRef,
    Progress,
    Section,
    Source,
    Taxon,
)
from kb.sources.article_source import AnchorBatch, ArticleSource

COLOURS = ("red", "blue", "green", "yellow", "black", "white", "brown")


class RandomEncoder:
    """Random unit vectors, determined by the text."""

    max_tokens = 77

    def __init__(self, name: str, dim: int) -> None:
        self.name = self.space = name
        self.dim = dim

    def count_tokens(self, text: str) -> int:
        """Return the number of words."""
        return len(text.split())

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows."""
        seeds = [int(sha256_hex(self.space + text)[:8], 16) for text in texts]
        rows = [np.random.default_rng(seed).normal(size=self.dim) for seed in seeds]
        return as_unit_rows(np.stack(rows)) if rows else np.zeros((0, self.dim), dtype=np.float32)

    def encode_images(self, images: Sequence[object]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows, determined by the first pixel."""
        return self.encode_texts([str(image.getpixel((0, 0))) for image in images if isinstance(image, Image)])


class ReadyPages(ArticleSource):
    """Pages that need no download, with three anchors per species as vectors."""

    name, parser = "ready", "ready/1"

    def __init__(self, spaces: dict[str, int]) -> None:
        self._spaces = spaces

    def locate(self, taxa: Sequence[Taxon]) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:  # noqa: D102
        for taxon in taxa:
            yield taxon, PageRef(subject_id=taxon.taxon_id, title=taxon.scientific_name, revision=1)

    def locate_terms(  # noqa: D102
        self, terms: Sequence[tuple[str, str | None]]
    ) -> Iterator[tuple[str, PageRef | LeftOut]]:
        yield from ()

    def fetch(  # noqa: D102
        self, pages: Sequence[PageRef]
    ) -> Iterator[tuple[PageRef, FetchedPage | LeftOut | Failure]]:
        for page in pages:
            number = int(page.title.split()[1])
            colours = [COLOURS[(number // 7**i) % 7] for i in range(6)]
            body = (
                f"The crown is {colours[0]} and the back is {colours[1]} with dark streaks down to the rump. "
                f"The throat and breast are {colours[2]}, the belly is {colours[3]} and the flanks are barred. "
                f"The bill is long and {colours[4]} with a pale tip, and the legs and feet are {colours[5]}. "
                "The tail is long and black with white outer feathers, and the wings show two pale bars."
            )
            source = Source(title=page.title, revision=1)
            yield page, FetchedPage(page=page, body=body, media_type="text/plain", source=source)

    def parse(self, fetched: FetchedPage) -> Article:  # noqa: D102
        section = Section(title="Description", level=2, start=0, end=len(fetched.body))
        return Article(source=fetched.source, text=fetched.body, sections=(section,))

    def fetch_anchors(  # noqa: D102
        self, articles: Sequence[tuple[str, Article]], *, limit: int
    ) -> Iterator[tuple[str, AnchorBatch | Failure]]:
        for key, _ in articles:
            images = []
            for place in range(limit):
                seed = int(sha256_hex(f"{key}{place}")[:8], 16)
                vectors = {}
                for space, dim in self._spaces.items():
                    row = np.random.default_rng(seed).normal(size=dim)
                    vectors[space] = tuple((row / np.linalg.norm(row)).tolist())
                images.append(AnchorImage(anchor=Anchor(anchor_id=f"{key}-{place}", subject_id=key), vectors=vectors))
            yield key, AnchorBatch(images=tuple(images), skipped=())


class Photographed(ReadyPages):
    """The same with three small photos per species, each of a colour of its own."""

    def fetch_anchors(  # noqa: D102
        self, articles: Sequence[tuple[str, Article]], *, limit: int
    ) -> Iterator[tuple[str, AnchorBatch | Failure]]:
        for key, _ in articles:
            images = []
            for place in range(limit):
                colour = tuple(bytes.fromhex(sha256_hex(f"{key}{place}")[:6]))
                new("RGB", (64, 64), colour).save(packed := io.BytesIO(), "PNG")
                sha256 = sha256_hex(packed.getvalue())
                anchor = Anchor(anchor_id=sha256, subject_id=key, sha256=sha256, media_type="image/png")
                images.append(AnchorImage(anchor=anchor, content=packed.getvalue()))
            yield key, AnchorBatch(images=tuple(images), skipped=())


OPEN = """
import os, sys, time
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
before = resident()
start = time.perf_counter()
import kb
imported = time.perf_counter()
store = kb.open(sys.argv[1])
tables = [store.chunk_vectors(space) for space in store.info.text_image]
tables += [store.anchor_vectors(space) for space in store.info.anchor_spaces]
opened = time.perf_counter()
checksum = sum(float(table.vectors.sum()) for table in tables)
after = resident()
size = sum(table.vectors.nbytes for table in tables)
print(f"import {imported - start:.3f} s, open {opened - imported:.3f} s, "
      f"vectors {size / 2**20:.0f} MiB, memory {(after - before) / 2**20:.0f} MiB with all vectors read")
"""


def main() -> None:
    """Build the knowledge base, open it in new processes, and print times and memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--species", type=int, default=11_131, help="number of species")
    parser.add_argument("--dim", type=int, default=768, help="dimension of the text-image vectors")
    parser.add_argument("--encoders", type=int, default=3, help="number of text-image encoders")
    parser.add_argument("--vectors", action="store_true", help="anchors as vectors alone, without photos")
    args = parser.parse_args()
    text_image = tuple(RandomEncoder(f"random-{i}", args.dim) for i in range(args.encoders))
    visual = RandomEncoder("random-visual", 1024)
    encoders = Encoders(
        profile="random", text_image=text_image, visual=visual, sentence=RandomEncoder("random-sentence", 384)
    )
    taxa = [
        Taxon(taxon_id=f"avis-{i:05d}", scientific_name=f"Avis {i:05d}", rank="species", lineage={"class": "Aves"})
        for i in range(args.species)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "all.kb")
        start = time.perf_counter()
        kind = ReadyPages if args.vectors else Photographed
        source = kind({encoder.space: encoder.dim for encoder in (*text_image, visual)})
        began: dict[str, float] = {}  # stage -> time of its first step

        def note(step: Progress) -> None:
            began.setdefault(step.stage, time.perf_counter())

        status = kb.build(path, taxa, source, encoders, progress=note)
        ends = [*list(began.values())[1:], time.perf_counter()]
        stages = (f"{stage} {end - begin:.1f} s" for (stage, begin), end in zip(began.items(), ends, strict=True))
        sys.stdout.write(f"stages: {', '.join(stages)}\n")
        sys.stdout.write(
            f"built {status.species:,} species, {status.chunks:,} chunks, {status.anchors:,} anchors"
            f" in {time.perf_counter() - start:.1f} s, {time.process_time():.1f} s of CPU,"
            f" {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB\n"
        )
        sources = (path / "anchors", path / "articles")
        files = [file for file in path.rglob("*") if file.is_file() and not {*sources} & {*file.parents}]
        n_bytes = sum({file.stat().st_ino: file.stat().st_blocks * 512 for file in files}.values())  # links once
        n_rows = status.chunks * args.encoders * args.dim + status.anchors * (args.encoders * args.dim + 1024)
        n_vectors = 4 * (n_rows + 384 * status.species)
        sys.stdout.write(f"disk {n_bytes / 2**20:.0f} MiB, {n_bytes / n_vectors:.2f} times the vectors\n")
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", OPEN, str(path)], capture_output=True, text=True, check=True)
            sys.stdout.write(done.stdout)
        start = time.perf_counter()
        verification = kb.verify(path)
        sys.stdout.write(f"verify: ok {verification.ok} in {time.perf_counter() - start:.1f} s\n")
        sys.stdout.write(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB\n")


if __name__ == "__main__":
    main()
