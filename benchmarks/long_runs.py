"""Long runs: photos and pages by the ten thousand, with rate and memory over time.

    python -m benchmarks.long_runs photos --photos ../shared/birds/photos [--n 100000] [--fast] [--work FOLDER]
    python -m benchmarks.long_runs pages [--n 11131] [--work FOLDER]
    python -m benchmarks.long_runs models [--n 1000] [--work FOLDER]

`photos` runs `kb identify --output` on links to the photos of a folder, each photo linked as often as it takes.
`pages` runs `kb build --taxon Aves` from a stand-in wiki on this machine, with a page of made-up text and a photo for
each of the first `n` species of the checklist; it has no faults and answers at once, so the rate is that of Fieldmark.
`models` does the same with `--distiller model` and a scripted model that takes two seconds for a reply, 32 at a time;
it counts replies. Their processor time says how many models one process can keep at work.
Each runs in a process of its own, whose memory and processor time are read every second. A run of `photos` that was
stopped resumes with the same `--work`. The table has a row per tenth of the photos, or per stage of the build; `--plot`
draws both over time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle, groupby, islice
from pathlib import Path
from typing import Any

from kb.checklist.avilist import load_checklist
from kb.checklist.selection import select
from tests.servers.faulty_wiki import FaultyWiki, File, jpeg
from tests.servers.openai_server import OpenAIServer
from tests.servers.scripted_distiller import slowly
from training.starter.confidence.charts import Line, Panel, draw

PROGRAM = "import sys; from cli.main import main; sys.exit(main())"
N_ROWS = 10
N_POINTS = 200  # of a chart
REPLY_S = 2.0  # of the scripted model
AT_ONCE = 32
COLOURS = ("black", "white", "red", "brown", "grey", "yellow", "green", "blue", "orange", "buff")
PARTS = ("crown", "back", "breast", "belly", "tail", "wings", "bill", "legs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """State of a run: seconds since its start, items done, resident MiB, seconds of processor time, requests."""

    seconds: float
    done: int
    memory_mib: float
    worked_s: float
    requests: int = 0
    stage: str = ""


def sampled(
    arguments: list[str], log: Path, done: Callable[[], int], requests: Callable[[], int] = lambda: 0
) -> list[Sample]:
    """Run `kb` with the arguments in a process and return a sample for each second; its progress goes to `log`."""
    began, samples = time.monotonic(), []
    with log.open("w") as progress:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=progress
        )
    ticks = os.sysconf("SC_CLK_TCK")
    while process.poll() is None:
        try:
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        except (OSError, IndexError):
            break
        memory, worked = pages * os.sysconf("SC_PAGE_SIZE") / 2**20, (int(fields[11]) + int(fields[12])) / ticks
        *_, stage = ["", *(line.split()[0] for line in log.read_text().splitlines() if " of " in line)]
        samples.append(Sample(seconds=time.monotonic() - began, done=done(), memory_mib=memory, worked_s=worked,
                              requests=requests(), stage=stage))  # fmt: skip
        time.sleep(1)
    if process.wait():
        raise SystemExit(f"kb {arguments[0]} ended with {process.returncode}\n{log.read_text()[-2000:]}")
    return samples


def lines(file: Path) -> Callable[[], int]:
    """Return a function that counts the lines of a growing file, reading what is new."""
    at, n = 0, 0

    def count() -> int:
        nonlocal at, n
        if file.exists():
            with file.open("rb") as stream:
                stream.seek(at)
                while block := stream.read(2**20):
                    at, n = at + len(block), n + block.count(b"\n")
        return n

    return count


def by_tenth(samples: list[Sample]) -> Iterator[list[Sample]]:
    """Yield the samples in each tenth of the work."""
    first, last = samples[0].done, samples[-1].done
    edges = [first + (last - first) * part / N_ROWS for part in range(N_ROWS + 1)]
    at = 0
    for high in edges[1:]:
        end = next(number for number, each in enumerate(samples) if each.done >= high)
        if end > at:
            yield samples[at : end + 1]
            at = end


def by_stage(samples: list[Sample]) -> Iterator[list[Sample]]:
    """Yield the samples of each stage of a build."""
    for _, inside in groupby(samples, key=lambda each: each.stage):
        yield list(inside)


def table(groups: Iterable[list[Sample]]) -> Iterator[str]:
    """Yield a row for each group of samples: items done, their rate by the clock and by processor time, and memory."""
    yield "| stage | done | from s | to s | a second | a processor second | memory, median MiB | most | requests |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for inside in groups:
        if len(inside) < 2:
            continue
        start, end = inside[0], inside[-1]
        n, took, worked = end.done - start.done, end.seconds - start.seconds, end.worked_s - start.worked_s
        rates = f"{n / took:.1f} | {n / max(worked, 0.01):.1f}" if n else "- | -"
        memory = sorted(each.memory_mib for each in inside)
        yield (
            f"| {start.stage} | {end.done:,} | {start.seconds:,.0f} | {end.seconds:,.0f} | {rates} | "
            f"{memory[len(memory) // 2]:,.0f} | {memory[-1]:,.0f} | {end.requests:,} |"
        )


def plot(samples: list[Sample], what: str) -> str:
    """Return a chart of memory and of the shares of work and requests over time."""
    last = samples[-1]
    samples = [*samples[:: -(-len(samples) // N_POINTS)], last]
    lines = {
        what: [each.done / max(last.done, 1) for each in samples],
        "memory": [each.memory_mib / 1024 for each in samples],
        "requests": [each.requests / max(last.requests, 1) for each in samples],
    }
    if not last.requests:
        del lines["requests"]
    drawn = [
        Line(name=name, points=[(each.seconds / last.seconds, y) for each, y in zip(samples, ys, strict=True)],
             is_marked=False)
        for name, ys in lines.items()
    ]  # fmt: skip
    title = f"{last.done:,} {what} in {last.seconds:,.0f} s"
    return draw([Panel(title=title, lines=drawn)], x="share of the time", y="share of all; GiB of memory", top=2.0)


def photos(args: argparse.Namespace, work: Path) -> list[Sample]:
    """Identify `n` links to photos."""
    folder, output = work / "photos", work / "rows.jsonl"
    files = sorted(path.resolve() for path in args.photos.rglob("*.jpg"))
    for number, file in enumerate(islice(cycle(files), args.n)):
        link = folder / f"{number // 1000:03}" / f"{number:06}.jpg"
        if not link.is_symlink():  # a run that was stopped has made some
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file)
    more = ["--fast"] if args.fast else []
    arguments = ["identify", str(folder), "--output", str(output), "--quiet", *more]
    return sampled(arguments, work / "progress.txt", lines(output))


class ManyPages(FaultyWiki):
    """A wiki that knows its revisions by heart; the pages are not searched for every answer."""

    def fill(self, n: int) -> None:
        """Write the pages of `n` species, each with a photo."""
        for number, taxon in enumerate(islice(select(load_checklist(), "Aves"), n)):
            name, title = taxon.scientific_name, taxon.common_names[0] if taxon.common_names else taxon.scientific_name
            photo, shade = f"Bird{number}.jpg", (number % 251, number // 7 % 251, number // 49 % 251)
            metadata = {"LicenseShortName": "CC0", "Artist": "Made up"}
            self.files[photo] = File(content=jpeg(shade), metadata=metadata)
            colours = [COLOURS[number // 10**place % 10] for place in range(4)]
            looks = " ".join(
                f"The {part} is {colours[at % 4]}, with a {colours[(at + 1) % 4]} edge."
                for at, part in enumerate(PARTS)
            )
            self.pages[title] = (
                f"<p>The <b>{title}</b> (<i>{name}</i>) is a bird.</p><h2>Description</h2><p>{looks}</p>"
                f'<figure><a href="/wiki/File:{photo}"><img src="/photos/{photo}"></a></figure>'
            )
            genus, epithet = name.split()[:2]
            self.wikitext[title] = (
                f"{{{{Speciesbox|name={title}|genus={genus}|species={epithet}|image={photo}}}}}\n{self.pages[title]}"
            )
            self.pages[name] = f"#REDIRECT {title}"
        self._revisions = {title: number for number, title in enumerate(self.pages, start=1)}
        self._names = {self._target(title): title for title in self.pages if self._target(title) != title}

    def _page(self, title: str) -> dict[str, Any]:
        if title not in self.pages:
            return {"ns": 0, "title": title, "missing": True}
        revision = self._revisions[title]
        content = {"slots": {"main": {"content": self.wikitext[title]}}}
        name = self._names.get(title)
        return {
            "ns": 0, "title": title, "lastrevid": revision, "revisions": [{"revid": revision, **content}],
            "redirects": [{"ns": 0, "title": name}] if name else [],
        }  # fmt: skip


def pages(args: argparse.Namespace, work: Path, *more: str, n_replies: Callable[[], int] | None = None) -> list[Sample]:
    """Build `n` species from a stand-in wiki; pages are counted, or replies of a model."""
    path = work / "birds.kb"
    wiki = ManyPages()
    wiki.fill(args.n)
    with wiki.running():
        samples = sampled(
            ["build", "--taxon", "Aves", "--api-url", wiki.api_url, "--kb", str(path), *more],
            work / "progress.txt",
            n_replies or (lambda: sum(request.get("action") == "parse" for request in list(wiki.requests))),
            lambda: len(wiki.requests) + len(wiki.photos_asked),
        )
    shown = subprocess.run([sys.executable, "-c", PROGRAM, "status", "--kb", str(path), "--format", "json"],
                           check=True, capture_output=True, text=True)  # fmt: skip
    status = json.loads(shown.stdout)
    sys.stdout.write(f"species {status['species']:,}, most requests at once {wiki.most_at_once}\n\n")
    return samples


def models(args: argparse.Namespace, work: Path) -> list[Sample]:
    """Build `n` species from a stand-in wiki and a scripted model."""
    settings = work / "models.toml"
    with OpenAIServer(lambda call: slowly(REPLY_S, call)) as server:
        settings.write_text(
            f'[llm.text]\nmodel = "scripted"\nbase_url = "{server.base_url}"\nprice_in = 0.1\nprice_out = 0.4\n'
            f"max_concurrent = {AT_ONCE}\n"
        )
        more = ("--distiller", "model", "--settings", str(settings))
        return pages(args, work, *more, n_replies=lambda: server.n_calls)


RUNS = {"photos": (photos, 100_000), "pages": (pages, 11_131), "models": (models, 1_000)}
"""Name -> function, and usual number of photos or pages."""


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", choices=RUNS)
    parser.add_argument("--photos", type=Path, help="Folder of photos.")
    parser.add_argument("--n", type=int, help="Number of photos or pages.")
    parser.add_argument("--fast", action="store_true", help="As kb identify --fast.")
    parser.add_argument("--plot", type=Path, help="SVG to write.")
    parser.add_argument("--work", type=Path, help="Folder to keep.")
    args = parser.parse_args()
    run, usual = RUNS[args.run]
    args.n = args.n or usual
    with tempfile.TemporaryDirectory() as scratch:
        work = args.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        samples = run(args, work)
        groups = by_tenth(samples) if args.run == "photos" else by_stage(samples)
        sys.stdout.write("\n".join(table(groups)) + "\n")
        if args.plot:
            args.plot.write_text(plot(samples, "photos" if args.run == "photos" else "pages"))
        peak = max(sample.memory_mib for sample in samples)
        sys.stdout.write(f"\n{time.monotonic() - began:,.0f} s in all, memory at most {peak:,.0f} MiB\n")


if __name__ == "__main__":
    main()
