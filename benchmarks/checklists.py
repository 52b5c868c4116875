"""Indexing and look-up of a checklist as large as the Catalogue of Life.

A made-up Darwin Core table of 2.2 million names (species, synonyms, genera, families, and common names) is written to a
temporary folder, indexed in a process of its own, and searched. It prints seconds, peak memory, size, and the time of
look-ups: names as written, with author, synonyms, common names, and suggestions for misspelt names.

Command: python -m benchmarks.checklists [--names 2200000]
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import click
import numpy as np

from kb.checklist.selection import select
from kb.checklist.shelf import Shelf

SYLLABLES = [first + vowel for first in "bcdflmnprstv" for vowel in "aeiou"]
ENDINGS = ("ensis", "us", "a", "um", "oides", "icola", "i", "ae")
SPECIES_PER_GENUS, GENERA_PER_FAMILY, FAMILIES_PER_ORDER = 9, 20, 15
N_LOOKED_UP = 300
N_SAMPLED = 200_000  # names looked up are among the first


def rows(n_names: int) -> Iterator[str]:
    """Yield a table of taxa with a heading; a fifth of the names are synonyms."""
    draw = random.Random(1)

    def word(n: int) -> str:
        return "".join(draw.choice(SYLLABLES) for _ in range(n))

    yield "taxonID\tparentNameUsageID\tacceptedNameUsageID\tscientificName\ttaxonRank\ttaxonomicStatus\tvernacularName"
    yield "1\t\t\tAnimalia\tkingdom\taccepted\t"
    n, family, order = 1, 1, 1
    n_genera = 0
    while n < n_names:
        n += 1
        if n_genera % (GENERA_PER_FAMILY * FAMILIES_PER_ORDER) == 0:
            order = n
            yield f"{n}\t1\t\t{word(4).capitalize()}ptera\torder\taccepted\t"
            n += 1
        if n_genera % GENERA_PER_FAMILY == 0:
            family = n
            yield f"{n}\t{order}\t\t{word(3).capitalize()}idae Author, 1850\tfamily\taccepted\t"
            n += 1
        n_genera += 1
        genus, genus_name = n, word(3).capitalize()
        yield f"{n}\t{family}\t\t{genus_name} Author, 1860\tgenus\taccepted\t"
        for _ in range(SPECIES_PER_GENUS):
            n += 1
            species = n
            epithet = word(3) + draw.choice(ENDINGS)
            common = f"{word(2).capitalize()} {word(2)} beetle" if draw.random() < 0.1 else ""
            yield f"{n}\t{genus}\t\t{genus_name} {epithet} (Author & Other, 1900)\tspecies\taccepted\t{common}"
            if draw.random() < 0.25:
                n += 1
                yield f"{n}\t\t{species}\t{word(3).capitalize()} {epithet} Author, 1900\tspecies\tsynonym\t"


def index(home: Path, file: Path, results: multiprocessing.Queue[tuple[float, float, float]]) -> None:
    """Index the file, and put seconds, those of the processor, and peak memory in MiB into a queue."""
    began, worked = time.monotonic(), time.process_time()
    Shelf(home).add(file, "large")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    results.put((time.monotonic() - began, time.process_time() - worked, peak))


def timed(look_up: Callable[[str], object], names: list[str]) -> str:
    """Return median, 99th percentile and maximum of the CPU milliseconds of a look-up; other programs do not count."""
    times = []
    for name in names:
        began = time.process_time()
        look_up(name)
        times.append(1000 * (time.process_time() - began))
    return f"median {np.median(times):.2f} ms, 99 % {np.percentile(times, 99):.2f} ms, at most {max(times):.2f} ms"


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=int, default=2_200_000)
    n_names = parser.parse_args().names
    with tempfile.TemporaryDirectory() as folder:
        file, home = Path(folder) / "large.tsv", Path(folder) / "home"
        with file.open("w", encoding="utf-8") as out:
            out.writelines(f"{row}\n" for row in rows(n_names))
        results: multiprocessing.Queue[tuple[float, float, float]] = multiprocessing.get_context("spawn").Queue()
        process = multiprocessing.get_context("spawn").Process(target=index, args=(home, file, results))
        process.start()
        seconds, worked, peak = results.get()
        process.join()
        shelf = Shelf(home)
        size = shelf.path_of("large").stat().st_size / 2**20
        click.echo(
            f"file {file.stat().st_size / 2**20:.0f} MiB, index {size:.0f} MiB: {seconds:.0f} s, "
            f"{worked:.0f} s of a processor, peak {peak:.0f} MiB"
        )
        large = shelf.stored("large")
        click.echo(f"{large.n_species:,} species, {int(large.meta['n_synonyms']):,} synonyms")
        lines = [line.split("\t") for line in islice(rows(n_names), N_SAMPLED)]
        species = random.Random(2).sample([line for line in lines if line[4] == "species"], N_LOOKED_UP)
        names = [line[3] for line in species]
        plain = [" ".join(name.split()[:2]) for name in names]
        misspelt = [
            name[:at] + name[at + 1 :] for name in plain for at in [random.Random(name).randrange(1, len(name))]
        ]
        named = (line[3].split()[0] for line in lines if line[4] == "family")
        families = [name for name in named if large.find(name) is not None]
        click.echo(f"by name: {timed(large.find, plain)}")
        click.echo(f"with author: {timed(large.find, names)}")
        click.echo(f"common name: {timed(large.find, [line[6] for line in lines if len(line) > 6 and line[6]][:300])}")
        click.echo(f"suggestions: {timed(large.suggest, misspelt)}")
        found = sum(right in large.suggest(wrong) for right, wrong in zip(plain, misspelt, strict=True))
        click.echo(f"the right name among 5 suggestions: {found} of {len(plain)}")
        click.echo(f"species of family: {timed(lambda name: select(large, name), families[:50])}")


if __name__ == "__main__":
    main()
