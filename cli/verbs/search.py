"""`kb search`: species by a description."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, wiring


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
    from data.codec import to_json

    with wiring.opened(options.settings(kb=kb)) as store:
        found = library.search(store, text, wiring.load_encoders(store.info.profile).sentence, n=n)
    if form == "json":
        output.write(output.as_json([to_json(match) for match in found]))
    elif found:
        rows = [(rank, match.common_name, match.scientific_name, match.score) for rank, match in enumerate(found, 1)]
        output.write(output.as_table(["#", "common name", "scientific name", "score"], rows, right=["#", "score"]))
    else:
        output.write("No species found.")
