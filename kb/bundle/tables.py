"""Tables of a bundle: their columns, and the rows of species, terms and photos."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from data.codec import dumps
from data.files import sha256_hex, writing
from data.frames import Columns, write_parquet
from data.records import HIGHER_RANKS, Anchor, Source, SpeciesEntry, Term

Row = dict[str, Any]
SUFFIXES = {"image/jpeg": ".jpg"} | {f"image/{name}": f".{name}" for name in ("png", "gif", "webp", "tiff")}
_PLAIN = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")

_SOURCE: Columns = {
    "title": "text",
    "url": "text",
    "revision": "integer",
    "article_licence": "text",
    "language": "text",
}
_NAMES: Columns = dict.fromkeys(("taxon_id", "scientific_name", "common_name", *HIGHER_RANKS), "text")
_CREDIT: Columns = dict.fromkeys(
    ("caption", "author", "licence", "licence_url", "page_url", "file", "media_type", "sha256"), "text"
)
IMAGES: Columns = {"file_name": "text", **_NAMES, **_CREDIT}
SPECIES: Columns = {
    **_NAMES,
    "common_names": "texts",
    "summary": "text",
    "distiller": "text",
    "marks": "texts",
    "anchors": "integer",
    **_SOURCE,
    "record": "text",
}
TERMS: Columns = {
    **dict.fromkeys(("term_id", "name", "definition", "look_for"), "text"),
    **{"aliases": "texts", **_SOURCE, "record": "text"},
}
ARTICLES: Columns = {"sha256": "text", "text": "text"}
SUBJECTS: Columns = dict.fromkeys(("subject_id", "kind", "name", "record"), "text")
STEPS: Columns = dict.fromkeys(("subject_id", "stage", "space", "fingerprint", "status", "error", "output"), "text")
LEFT_OUT: Columns = dict.fromkeys(("name", "reason", "detail"), "text")
VECTORS: Columns = {"subject_id": "text", "item_id": "text", "vector": "vector"}


def species_row(entry: SpeciesEntry) -> Row:
    """Return the row of a species; `record` is the complete entry as JSON, with evidence and credits."""
    summary = entry.summary
    return {
        **_names(entry),
        "common_names": list(entry.taxon.common_names),
        "summary": summary.text if summary else None,
        "distiller": summary.distiller if summary else None,
        "marks": list(entry.marks),
        "anchors": len(entry.anchors),
        **_source(entry.source),
        "record": dumps(entry),
    }


def term_row(term: Term) -> Row:
    """Return the row of a term."""
    columns = {name: getattr(term, name) for name in ("term_id", "name", "definition", "look_for")}
    return {**columns, "aliases": list(term.aliases), **_source(term.source), "record": dumps(term)}


def image_name(taxon_id: str, anchor: Anchor) -> str:
    """Return the path of a photo in a bundle: in `images/` if other programs read its format, else `other-images/`."""
    folder = taxon_id if _PLAIN.fullmatch(taxon_id) else f"species-{sha256_hex(taxon_id)[:12]}"
    suffix = SUFFIXES.get(anchor.media_type)
    name = f"{folder}/{(anchor.sha256 or '')[:20]}{suffix or '.bin'}"
    return f"images/{name}" if suffix else f"other-images/{name}"


def image_row(entry: SpeciesEntry, anchor: Anchor, file_name: str) -> Row:
    """Return the row of a photo in `metadata.parquet`: species and attribution."""
    credit = {column: getattr(anchor, column) for column in _CREDIT}
    return {"file_name": file_name, **_names(entry), **credit}


def write_table(path: Path, rows: Iterable[Row], columns: Columns) -> None:
    """Write rows as Parquet in a folder that is made for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path):
        write_parquet(path, rows, columns)


def _names(entry: SpeciesEntry) -> Row:
    taxon = entry.taxon
    names = {"taxon_id": taxon.taxon_id, "scientific_name": taxon.scientific_name, "common_name": taxon.common_name}
    return {**names, **{rank: taxon.lineage.get(rank) for rank in HIGHER_RANKS}}


def _source(source: Source | None) -> Row:
    if source is None:
        return {}
    columns = {name: getattr(source, name) for name in ("title", "url", "revision", "language")}
    return {**columns, "article_licence": source.licence}
