"""`kb checklist`: the checklists of this machine."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from cli.common import options, output
from cli.common.output import named_calls

if TYPE_CHECKING:
    from kb.checklist.shelf import Shelf
    from kb.checklist.stored.stored_checklist import StoredChecklist

RESERVED = ("avilist", "wiki")
MOST = 8  # languages and taxa in a report


@click.group()
def checklist() -> None:
    """Add, list, show and remove checklists of species for kb build and kb taxa."""


@checklist.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", metavar="N", help="Name of the checklist.  [default: name of the file]")
def add(file: Path, name: str | None) -> None:
    """Add the checklist in FILE: Darwin Core (archive or table), ColDP (zip or folder) or a CSV.

    A CSV has a column scientific_name; class, order, family, genus, common_name, common_name_de (any language) and
    synonyms are optional. The names are indexed once; a checklist of the same name is replaced.

    Example: kb checklist add butterflies.csv
    """
    with named_calls(quiet=options.invocation().quiet) as report:
        added = _shelf().add(file, name, report)
    output.write(_text(added))
    if added.problems:
        output.note("Rows skipped or repaired:\n" + "\n".join(f"  {line}" for line in added.problems))


@checklist.command(name="list")
def list_() -> None:
    """List the checklists."""
    from data.errors import StoreError
    from kb.checklist.avilist import load_checklist

    shelf, birds = _shelf(), load_checklist()
    edition = birds.name.rpartition(" ")[2]
    every = birds.find("Aves")
    rows = [["avilist", edition, f"{birds.n_species_of(every):,}" if every else "", "", "shipped"]]
    for name in shelf.names():
        try:
            found = shelf.stored(name)
        except StoreError:
            rows.append([name, "", "", "", "damaged or outdated; add its file again"])
            continue
        synonyms = f"{int(found.meta['n_synonyms']):,}"
        rows.append([name, found.meta["edition"], f"{found.n_species:,}", synonyms, found.meta["form"]])
    rows.append(["wiki", "", "", "", "taxoboxes of a wiki, for kb build"])
    output.write(
        output.as_table(["name", "edition", "species", "synonyms", "format"], rows, right=["species", "synonyms"])
    )


@checklist.command()
@click.argument("name")
def show(name: str) -> None:
    """Show a checklist: edition, species, languages of the common names, and skipped rows.

    NAME is that of a checklist, or a file, which is not added.
    """
    from kb.checklist.shelf import Shelf, digest_of
    from kb.checklist.stored.stored_checklist import StoredChecklist

    shelf, file = _shelf(), Path(name).expanduser()
    with TemporaryDirectory() as folder:
        if name in shelf.names() or name.lower() in RESERVED or not file.exists():
            found = shelf.open(name)
        else:
            found = shelf.with_digest(digest_of(file)) or Shelf(Path(folder)).add(file)
        if not isinstance(found, StoredChecklist):
            species = "as the taxoboxes of a wiki state them"
            output.write(output.as_fields({"checklist": found.name, "species": species}))
        elif found.group:
            species = f"{found.n_species:,}"
            fields = {"checklist": found.name, "group": found.group, "species": species, "sha256": found.digest}
            output.write(output.as_fields(fields))
        else:
            output.write(_text(found))


@checklist.command()
@click.argument("name")
def remove(name: str) -> None:
    """Remove an added checklist from this machine; knowledge bases built with it keep their species."""
    _shelf().remove(name)
    output.note(f"Removed the checklist {name}.")


def _shelf() -> Shelf:
    from kb.checklist.shelf import Shelf

    settings = options.settings()
    return Shelf(settings.home, language=settings.language or "en")


def _text(found: StoredChecklist) -> str:
    languages: dict[str, int] = json.loads(found.meta["languages"])
    common = [f"{language or 'language not stated'} {n:,}" for language, n in languages.items()]
    top = [f"{taxon.scientific_name} {n:,}" for taxon in found.top_taxa() if (n := found.n_species_of(taxon))]
    return output.as_fields(
        {
            "checklist": found.meta["name"],
            "title": found.meta["title"] or None,
            "edition": found.meta["edition"] or None,
            "licence": found.meta.get("licence") or None,
            "format": found.meta["form"],
            "file": found.meta["file"],
            "sha256": found.digest,
            "species": f"{found.n_species:,}",
            "taxa": f"{int(found.meta['n_taxa']):,}",
            "synonyms": f"{int(found.meta['n_synonyms']):,}",
            "common names": _first(common, "languages"),
            "species below": _first(top, "taxa"),
            "rows skipped or repaired": "\n".join(found.problems) or None,
        }
    )


def _first(texts: list[str], noun: str) -> str | None:
    more = [f"{len(texts) - MOST:,} more {noun}"] if len(texts) > MOST else []
    return ", ".join([*texts[:MOST], *more]) or None
