"""`kb add`: texts and photos of one's own, for a species of any checklist or of none, or a term."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, upkeep, upkeep_text
from cli.common.config import PROFILES

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@options.kb_option("The knowledge base, made if need be; without it FIELDMARK_KB.")
@click.option("--name", metavar="NAME", help="The species: any name of the checklist, or genus and epithet.")
@click.option("--term", metavar="TERM", help="A word of the trade, in place of a species.")
@click.option("--common-name", "common_names", multiple=True, metavar="NAME", help="English names, the best first.")
@click.option("--text", "texts", multiple=True, type=FILE, metavar="FILE", help="Plain text or Markdown on its looks.")
@click.option("--photo", "photos", multiple=True, type=FILE, metavar="FILE", help="A photo; may be repeated.")
@click.option("--author", metavar="NAME", help="Whom the photos are owed to.")
@click.option("--licence", metavar="NAME", help="The licence of text and photos, such as CC BY 4.0.")
@click.option("--url", metavar="URL", help="Where text and photos come from.")
@click.option("--as-is", is_flag=True, help="Take each sentence of the text as it stands, not its visual part.")
@click.option("--class", "class_", metavar="NAME", help="The class, for a species that no checklist has.")
@click.option("--order", metavar="NAME", help="Its order.")
@click.option("--family", metavar="NAME", help="Its family.")
@click.option("--genus", metavar="NAME", help="Its genus.  [default: the first word of NAME]")
@click.option("--profile", type=click.Choice(PROFILES), help="For a new knowledge base.  [default: starter]")
@options.format_option("text", "json")
def add(
    kb: Path | None,
    name: str | None,
    term: str | None,
    common_names: tuple[str, ...],
    texts: tuple[Path, ...],
    photos: tuple[Path, ...],
    author: str | None,
    licence: str | None,
    url: str | None,
    as_is: bool,
    class_: str | None,
    order: str | None,
    family: str | None,
    genus: str | None,
    profile: str | None,
    form: str,
) -> None:
    """Add a species, a term, or more photos of your own; the very next kb identify knows them.

    They come beside what a wiki gave, and stay when that is updated. The same file given again changes nothing. With a
    name alone, what kb remove took out is let in again by the next build.

    Example: kb add --kb my.kb --name "Vanessa atalanta" --common-name "Red Admiral" --text admiral.txt --photo a.jpg
    """
    from data.codec import to_json

    addendum = upkeep.Addendum(
        name=name, term=term, common_names=common_names,
        lineage={rank: value for rank, value in
                 (("class", class_), ("order", order), ("family", family), ("genus", genus)) if value},
        texts=texts, photos=photos, author=author, licence=licence, url=url, as_is=as_is,
    )  # fmt: skip
    added = upkeep.added(options.settings(kb=kb, profile=profile), addendum)
    output.write(output.as_json(to_json(added)) if form == "json" else upkeep_text.added_text(added))
