"""Make the knowledge that ships with Fieldmark: `python -m training.knowledge.make --data ../shared/birds`.

Reads descriptions, articles and photos that may not be shipped, and writes what may: names, facts on which independent
sources agree, sentences of our own, and vectors. Run it again whenever the starter encoders change. The species that
were written by hand stay as they are, and so do the terms.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from cli.common.output import note
from data.codec import dumps
from data.starter.knowledge import SPECIES_FILE, StarterSpecies, read_species
from data.starter.vectors import FILE

STARTER = Path(__file__).resolve().parent.parent / "data" / "starter"


@click.command()
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    help="The folder of descriptions, articles and photos.",
)
@click.option("--out", type=click.Path(path_type=Path), default=STARTER, metavar="DIR", help="Where to write.")
@click.option("--facts/--no-facts", default=True, help="Write species.jsonl.")
@click.option("--vectors/--no-vectors", default=True, help="Write vectors.npz, with the starter encoders as they are.")
def make_starter(data: Path, out: Path, facts: bool, vectors: bool) -> None:
    """Make the facts, sentences and vectors that ship with Fieldmark."""
    import recognize
    from kb.checklist.avilist import load_checklist
    from training.knowledge.species import make_species
    from training.knowledge.vectors import make_vectors

    if facts:
        by_hand = [species for species in read_species() if species.by_hand]
        species = make_species(data, load_checklist(), by_hand)
        lines = "".join(f"{dumps(entry)}\n" for entry in species)
        (out / SPECIES_FILE).write_text(lines, encoding="utf-8")
        note(summary_of(species))
    if vectors:
        content, report = make_vectors(data, recognize.load_encoders("starter"))
        (out / FILE).write_bytes(content)
        note(report)


def summary_of(species: list[StarterSpecies]) -> str:
    """Return how much is known, in a line."""
    n_full = sum(entry.n_agreed >= 3 and bool(entry.text) for entry in species)
    return (
        f"{len(species)} species, {sum(bool(entry.text) for entry in species)} with a text, "
        f"{n_full} of them of three facts or more, {sum(entry.by_hand for entry in species)} by hand"
    )


if __name__ == "__main__":
    sys.exit(make_starter())
