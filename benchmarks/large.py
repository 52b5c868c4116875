"""Time and peak memory of a large knowledge base on one machine, each step in a process of its own.

    python -m benchmarks.large [--species 1000,10000,30000,100000] [--folder DIR]

Made-up species with about 3.3 chunks and one reference photo each, in spaces of 384 dimensions, whose vectors come from
hashes. The pipeline, ledger, Chroma and matrices are the real ones. *anonymous* is the memory that the system cannot
take back, at the end of a step; the peak also counts mapped files. `benchmarks.growth` draws what this prints.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image

import kb
import recognize
from benchmarks.opening import COLOURS, RandomEncoder, ReadyPages
from data.arrays import FloatArray, as_unit_rows
from data.contracts import Encoders
from data.files import sha256_hex
from data.records import Failure, FetchedPage, LeftOut, PageRef, Source, Taxon, Term
from kb.lookup.context import remember
from kb.pipeline.settings import BuildSettings

DIM: Final = 384
SHOWN: Final = "avis-000007"  # in the photo
PARTS: Final = ("crown", "nape", "back", "rump", "throat", "breast", "belly", "tail", "bill", "legs", "cheeks", "wings")


class Encoder(RandomEncoder):
    """Random unit vectors; short texts, so that a summary has several chunks."""

    max_tokens = 30

    def encode_images(self, images: Sequence[object]) -> FloatArray:
        """Return, for all pictures, the vector of the first reference photo of `SHOWN`."""
        row = np.random.default_rng(int(sha256_hex(f"{SHOWN}0")[:8], 16)).normal(size=self.dim)
        return as_unit_rows(np.repeat(row[None, :], len(images), axis=0))


class Pages(ReadyPages):
    """Pages of three to four chunks."""

    def fetch(self, pages: Sequence[PageRef]) -> Iterator[tuple[PageRef, FetchedPage | LeftOut | Failure]]:
        """Yield pages of six or eight sentences on colours, two to a chunk."""
        for page in pages:
            number = int(page.title.split()[1])
            n = 6 if number % 10 < 7 else 8
            looks = [(PARTS[(number + i) % 12], COLOURS[(number // 7 ** (i % 7) + i) % 7]) for i in range(n)]
            body = " ".join(f"The {part} is {colour} with dark streaks down to the edge." for part, colour in looks)
            source = Source(title=page.title, revision=1)
            yield page, FetchedPage(page=page, body=body, media_type="text/plain", source=source)


def encoders() -> Encoders:
    """Return three encoders of 384 dimensions."""
    return Encoders(
        profile="random",
        text_image=(Encoder("random-text", DIM),),
        visual=Encoder("random-visual", DIM),
        sentence=Encoder("random-sentence", DIM),
    )


def taxa(n: int) -> list[Taxon]:
    """Return species in genera of ten and families of a hundred."""
    return [
        Taxon(
            taxon_id=f"avis-{i:06d}",
            scientific_name=f"Avis{i // 10:05d} {i:06d}",
            rank="species",
            common_names=(f"Made {i:06d} Bird",),
            lineage={"class": "Aves", "family": f"Familia{i // 100:04d}", "genus": f"Avis{i // 10:05d}"},
        )
        for i in range(n)
    ]


def build(path: Path, n: int) -> dict[str, Any]:
    """Build the knowledge base of `n` species, and return its contents."""
    made = encoders()
    source = Pages({encoder.space: encoder.dim for encoder in (*made.text_image, made.visual)})
    settings = BuildSettings(anchors_per_species=1)
    status = kb.build(path, taxa(n), source, made, settings=settings)
    return {"species": status.species, "chunks": status.chunks}


def verify(path: Path, n: int) -> dict[str, Any]:
    """Verify it."""
    del n
    found = kb.verify(path)
    return {"ok": found.ok, "digest": found.digest}


def open_only(path: Path, n: int) -> dict[str, Any]:
    """Open it and map the matrices."""
    del n
    with kb.open(path) as store:
        return {"rows": len(store.chunk_vectors("random-text").owners)}


def status(path: Path, n: int) -> dict[str, Any]:
    """Count its contents, as `kb status`."""
    del n
    with kb.open(path) as store:
        return {"chunks": store.status().chunks}


def identify(path: Path, n: int) -> dict[str, Any]:
    """Identify a photo twice; `again_s` is the second time."""
    del n
    out = io.BytesIO()
    Image.effect_noise((300, 300), 90).save(out, "PNG")
    with kb.open(path) as store:
        recognizer = recognize.Recognizer(store, encoders(), preset="vr-rag-v1")
        return _twice(lambda: next(iter(recognizer.identify([out.getvalue()]))).candidates[0].taxon_id)


def search(path: Path, n: int) -> dict[str, Any]:
    """Search by a description twice."""
    del n
    with kb.open(path) as store:
        sentence = encoders().sentence
        return _twice(lambda: kb.search(store, "red crown and black back", sentence)[0].taxon_id)


def context(path: Path, n: int) -> dict[str, Any]:
    """Look up a query with a name and a word of the trade twice."""
    with kb.open(path) as store:
        sentence = encoders().sentence
        return _twice(lambda: str(kb.context(store, f"Made {n // 2:06d} Bird with a cere", sentence).query))


def learn(path: Path, n: int) -> dict[str, Any]:
    """Store a term, as `kb context` does with a wiki or the web; `written_mib` is the system's count."""
    del n
    term = Term(term_id="term:zorblin", name="zorblin", definition="A knob on the bill.")
    with kb.open(path) as store:
        before = _written_mib()
        remember(store, [term], encoders().sentence)
        return {"written_mib": _written_mib() - before}


def _written_mib() -> float:
    lines = dict(line.split(": ", 1) for line in Path("/proc/self/io").read_text().splitlines())
    return int(lines["wchar"]) / 2**20


def _twice(work: Callable[[], str]) -> dict[str, Any]:
    first = work()
    began = time.perf_counter()
    if work() != first:
        raise AssertionError("expected the same answer twice")
    return {"answer": first, "again_s": round(time.perf_counter() - began, 4)}


STEPS: Final[dict[str, Callable[[Path, int], dict[str, Any]]]] = {
    "build": build,
    "verify": verify,
    "open": open_only,
    "status": status,
    "identify": identify,
    "search": search,
    "context": context,
    "learn": learn,
}


def memory() -> dict[str, float]:
    """Return the peak and the anonymous memory of this process in MiB."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {name: int(lines[key].split()[0]) / 1024 for name, key in (("peak", "VmHWM"), ("anonymous", "RssAnon"))}


def run_step(step: str, path: Path, n: int) -> dict[str, Any]:
    """Run a step in a process of its own, and return its seconds, memory and results."""
    command = [sys.executable, "-m", "benchmarks.large", "--step", step, "--folder", str(path), "--species", str(n)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{step} of {n:,} species failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def line_of(n: int, step: str, found: Mapping[str, Any]) -> str:
    """Return the printed line of a step, which `benchmarks.growth` reads."""
    shown = {key: round(value, 3) if isinstance(value, float) else value for key, value in found.items()}
    return f"{n:>8,} {step:9} {shown}\n"


def main() -> None:
    """Print a line for each size and step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--species", default="1000,10000,30000,100000")
    parser.add_argument("--folder", type=Path, help="where to build; by default a temporary folder")
    parser.add_argument("--step", choices=STEPS, help="run one step in this process, on the knowledge base --folder")
    parser.add_argument("--only", default=",".join(STEPS))
    args = parser.parse_args()
    if args.step:
        began, cpu = time.perf_counter(), time.process_time()
        found = STEPS[args.step](args.folder, int(args.species))
        spent = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}
        sys.stdout.write(json.dumps({**spent, **memory(), **found}) + "\n")
        return
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for n in map(int, args.species.split(",")):
            path = Path(args.folder or folder, f"large-{n}.kb")
            for step in args.only.split(","):
                found = run_step(step, path, n)
                sys.stdout.write(line_of(n, step, found))
                sys.stdout.flush()


if __name__ == "__main__":
    main()
