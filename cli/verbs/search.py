"""`kb search`: species by a description."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, reports, wiring


@click.command()
@options.words_argument("text")
@options.kb_option()
@click.option(
    "--top", "n", type=click.IntRange(min=1), metavar="N", default=10, show_default=True, help="Number of species."
)
@options.format_option("table", "json")
def search(text: str, kb: Path | None, n: int, form: str) -> None:
    """Find the species nearest to the description TEXT.

    Example: kb search "red crest, black mask, thick orange bill"
    """
    import kb as library
    from kb.lookup.entries import missing_species, subspecies_of, why_missing

    with wiring.open_knowledge_base(options.settings(kb=kb)) as store:
        found = library.search(store, text, wiring.load_encoders(store.info.profile).sentence, n=n)
        lumped = subspecies_of(store, text)
        missing = missing_species(store, text if lumped is None else lumped[0].scientific_name)
        said = (f"{lumped[1]}.",) if lumped is not None else ()
        if language := reports.lacks_language(store):
            said = (*said, f"{language}.")
        notes = " ".join((*said, *(why_missing(store, missing) if missing is not None else ())))
    rows = [(rank, match.common_name, match.scientific_name, match.score) for rank, match in enumerate(found, 1)]
    table = output.as_table(["#", "common name", "scientific name", "score"], rows, right=["#", "score"])
    text = table if rows else "No species found."
    if notes and form == "json":
        output.note(notes)
    output.write_record(form, found, lambda: f"{output.wrapped(notes)}\n\n{text}" if notes else text)
