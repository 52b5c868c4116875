"""Maker of the table of names of birds: `python -m training.names birdnet_analyzer-2.4.0-py3-none-any.whl`.

Reads the labels of BirdNET in 37 languages from the wheel of the package `birdnet-analyzer` (MIT License), the codes of
banders and the American names from the tables of the package `birdnames`, and `everyday.tsv`, which is ours. A label
that repeats the English one is a gap in BirdNET's list and is left out.
"""

from __future__ import annotations

import csv
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np

from kb.checklist.avilist import load_checklist
from kb.checklist.bird_names import CODES, FILE
from kb.checklist.names import fold
from training.names.avilist import tables_folder

LABELS = re.compile(r"labels/V2\.4/.*_Labels_(\w+)\.txt$")
CODES_OF_LANGUAGES = {"en_uk": "en-gb", "in": "id"}  # BirdNET's -> ISO 639 and region
CODE_COLUMNS = {"bbl_2025": ("bbl_alpha",), "ibp_2024": ("ibp_alpha", "ibp_alpha6")}
AMERICAN = "en-us"


@click.command()
@click.argument("wheel", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=FILE, metavar="FILE", help="Table.")
def main(wheel: Path, out: Path) -> None:
    """Make the table of names that ships with Fieldmark."""
    checklist = load_checklist()
    species = [taxon for top in checklist.top_taxa() for taxon in checklist.species_of(top)]
    at = {taxon.scientific_name: i for i, taxon in enumerate(species)}
    names: dict[str, list[list[str]]] = {}  # language -> names of each species, the one to show first
    for language, scientific, listed in (*labels(wheel), *american_names(), *codes(), *everyday_names()):
        found = checklist.find(scientific)
        if found is None or found.scientific_name not in at:
            continue
        if language not in names:
            names[language] = [[] for _ in species]
        held = names[language][at[found.scientific_name]]
        held += [name for name in listed if name not in held]
    keys: set[tuple[int, int, int]] = set()
    languages = sorted(names)
    for number, language in enumerate(languages):
        for i, listed in enumerate(names[language]):
            own = set(map(fold, species[i].names))
            keys |= {(zlib.crc32(key.encode()), i, number) for name in listed if (key := fold(name)) not in own}
    rows = np.array(sorted(keys), np.uint32)
    texts = {each: "\n".join("|".join(listed) for listed in names[each]) for each in languages}
    texts |= {"species": "\n".join(at), "languages": "\n".join(languages)}
    np.savez_compressed(
        out,
        allow_pickle=False,
        key=rows[:, 0],
        position=rows[:, 1].astype(np.uint16),
        language=rows[:, 2].astype(np.uint8),
        **{name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items()},
    )
    click.echo(f"{len(keys):,} names in {len(languages)} languages, {out.stat().st_size:,} bytes")


def labels(wheel: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield language, scientific name and name of BirdNET's labels, the names that AviList uses first."""
    with zipfile.ZipFile(wheel) as opened:
        files = {match[1]: name for name in opened.namelist() if (match := LABELS.search(name))}
        tables = {code: [row.split("_", 1) for row in opened.read(name).decode().split("\n") if "_" in row]
                  for code, name in files.items()}  # fmt: skip
    english = dict(tables["en_uk"])
    for code, rows in tables.items():
        language = CODES_OF_LANGUAGES.get(code, code.lower().replace("_", "-"))
        # Of two species that AviList has joined, the one that still has its name gives the name to show.
        for scientific, name in sorted(rows, key=lambda row: not _is_current(row[0])):
            if code == "en_uk" or name not in (english.get(scientific), scientific):
                yield language, scientific, [name[:1].upper() + name[1:] if language == "de" else name]


def american_names() -> Iterator[tuple[str, str, list[str]]]:
    """Yield the English names of eBird, which are those of American birders."""
    return ((AMERICAN, row["scientific_name"], [row["ebird_common_name"]]) for row in _rows("ebird_2024"))


def codes() -> Iterator[tuple[str, str, list[str]]]:
    """Yield the codes of the Bird Banding Laboratory and the Institute for Bird Populations, of one species each."""
    for table, columns in CODE_COLUMNS.items():
        for row in _rows(table):
            yield CODES, row["scientific_name"], [code for column in columns if (code := row[column])]


def everyday_names() -> Iterator[tuple[str, str, list[str]]]:
    """Yield the rows of `everyday.tsv`."""
    for line in Path(__file__).with_name("everyday.tsv").read_text(encoding="utf-8").splitlines()[2:]:
        language, scientific, names = line.split("\t")
        if load_checklist().find(scientific) is None:
            raise click.ClickException(f"everyday.tsv: {scientific} is not in AviList")
        yield language, scientific, names.split(";")


def _is_current(scientific: str) -> bool:
    found = load_checklist().find(scientific)
    return found is not None and found.scientific_name == scientific


def _rows(table: str) -> list[dict[str, str]]:
    with (tables_folder() / f"{table}_taxonomy.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


if __name__ == "__main__":
    main()
