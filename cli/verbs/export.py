"""`kb export`: a knowledge base as a bundle of Parquet tables and images."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, wiring
from data.words import plural


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@options.kb_option(needed=True)
@click.option("--vectors/--no-vectors", default=True, show_default=True, help="Include the vectors.")
@click.option("--unfree-pages", is_flag=True,
              help="Include unfree web pages and answers of web searches, for private use.")  # fmt: skip
@options.format_option("text", "json")
def export(out: Path, kb: Path | None, vectors: bool, unfree_pages: bool, form: str) -> None:
    """Write a knowledge base to the folder OUT as Parquet tables and images.

    Other programs can read it. It has a dataset card, author and licence of every photo, and the sha256 of every file.
    kb import turns it into the same knowledge base again, but for web pages without a free licence and answers of web
    searches, which are left out.

    Example: kb export --kb birds.kb birds-dataset
    """
    import kb as library
    from kb.bundle.withheld import withheld_pages
    from kb.curate.credits import PhotoCredit, collect_credits
    from kb.store.layout import Layout

    path = wiring.required_path(options.settings(kb=kb))
    exported = library.export_bundle(
        path,
        out,
        with_vectors=vectors,
        with_unfree_pages=unfree_pages,
        load_encoders=lambda: wiring.load_encoders(Layout(path).require().profile),
    )
    fields = {
        "bundle": str(out),
        "species": f"{exported.species:,}",
        "terms": f"{exported.terms:,}",
        "images": f"{exported.images:,}",
        "files": f"{exported.files:,}",
        "size": f"{exported.bytes / 1e6:,.1f} MB",
        "left out": plural(exported.withheld_pages, "web text") if exported.withheld_pages else None,
        "digest": exported.digest,
    }
    output.write_record(form, exported, lambda: output.as_fields(fields))
    with library.open(path) as store:
        withheld = set(withheld_pages(store.ledger, with_unfree=unfree_pages).values())
        unfree = [
            each for each in collect_credits(store).unpublishable
            if isinstance(each, PhotoCredit)
            or (withheld.isdisjoint((each.url, each.title)) and not (each.url or "").startswith("file:"))  # never out
        ]  # fmt: skip
    if unfree:
        names = output.first_few([each.file if isinstance(each, PhotoCredit) else each.title for each in unfree])
        output.warn(
            f"{plural(len(unfree), 'text or photo', 'texts and photos')} of the bundle must not be published (licence "
            f"not free or unknown): {names}. kb credits lists them"
        )
