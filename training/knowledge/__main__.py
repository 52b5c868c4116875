"""Maker of the knowledge that ships with Fieldmark: `python -m training.knowledge --data ../shared/birds`.

Reads descriptions, articles and photos that may not be redistributed, and writes the names of all species that they
show or describe, facts on which independent sources agree, sentences of our own, and vectors. Run it again after any
change of the starter encoders. Species written by hand and terms stay unchanged.
"""

from __future__ import annotations

from pathlib import Path

import click

import data.starter
import recognize
from data.codec import dumps
from data.starter.knowledge import FILE, SPECIES_FILE, StarterSpecies, read_species
from kb.checklist.avilist import load_checklist
from training.knowledge.species import make_species, names_of
from training.knowledge.vectors import make_vectors

STARTER = Path(data.starter.__file__).parent
NO_NAMES = '"names_by_language":{},'
"""Left out of the file, which would say it of every species."""


@click.command()
@click.option(
    "--data",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    help="Folder of descriptions, articles and photos.",
)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=STARTER, metavar="DIR", help="Output folder."
)
@click.option("--facts/--no-facts", default=True, help="Write species.jsonl.")
@click.option("--vectors/--no-vectors", default=True, help="Write vectors.npz with the current starter encoders.")
def main(folder: Path, out: Path, facts: bool, vectors: bool) -> None:
    """Make the facts, sentences and vectors that ship with Fieldmark."""
    out.mkdir(parents=True, exist_ok=True)
    if facts:
        by_hand = [species for species in read_species() if species.by_hand]
        checklist = load_checklist()
        species = make_species(folder, checklist, by_hand)
        (out / SPECIES_FILE).write_text(lines_of(species), encoding="utf-8")
        click.echo(summary_of(species))
        found = {name: checklist.find(name) for name in names_of(folder)}
        unknown = [name for name, taxon in found.items() if taxon is None or taxon.rank != "species"]
        click.echo(f"{len(unknown)} names are no species of {checklist.name}: {', '.join(unknown)}")
    if vectors:
        content, report = make_vectors(folder, recognize.load_encoders("starter"))
        (out / FILE).write_bytes(content)
        click.echo(report)


def lines_of(species: list[StarterSpecies]) -> str:
    """Return the species as lines of JSON."""
    return "".join(f"{dumps(entry).replace(NO_NAMES, '')}\n" for entry in species)


def summary_of(species: list[StarterSpecies]) -> str:
    """Return the numbers of species, texts and texts of at least three facts, in one line."""
    n_full = sum(n_agreed(entry) >= 3 and bool(entry.text) for entry in species)
    return (
        f"{len(species)} species, {sum(bool(entry.text) for entry in species)} with a text, "
        f"{n_full} of these with at least three facts, {sum(entry.by_hand for entry in species)} by hand"
    )


def n_agreed(species: StarterSpecies) -> int:
    """Return the number of colours, shades and shape words in the facts of a species."""
    return sum(
        len(fact.colours) + bool(fact.shade and not fact.colours) + len(list(filter(None, fact.shape.split(", "))))
        for fact in species.facts
    )


if __name__ == "__main__":
    main()
