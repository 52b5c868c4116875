"""Tables of pages for species and terms."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from data.contracts import Checklist
from data.errors import BadInput
from data.records import LeftOut, PageRef, Taxon
from data.tables import cells_of
from kb import reasons
from kb.addresses import is_web_address
from kb.checklist.name_files import NamesFile
from kb.checklist.names import fold
from kb.checklist.selection import species_named
from kb.sources.web_pages import page_of

_log = logging.getLogger(__name__)
_HEADINGS: Final = {"address": ("address", "url", "page", "link", "file"), "term": ("term",)}
HINT = "Expected a name and an address a row, such as: Mallard,https://example.org/mallard"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageList:
    """Pages of species, addresses of terms, and unmatched rows."""

    pages: tuple[tuple[Taxon, PageRef], ...] = ()
    terms: tuple[tuple[str, str], ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def read_pages(path: Path, checklist: Checklist, held: Sequence[Taxon] = ()) -> PageList:
    """Return the pages in a table: name and address in each row, or columns `species`, `term` and `address`.

    A name is that of a species of the knowledge base or the checklist, or genus and epithet in a column
    `scientific_name`; without such a column, other names in lower case are terms. Files are relative to the table.

    Args:
        path: any table that `data.tables` reads; lines that begin with `#` are skipped.
        checklist: the checklist.
        held: the species of the knowledge base, which come first.

    Raises:
        BadInput: with the line number, if a row has no name or no address, or if no row can be used.
    """
    by_name = {fold(name): taxon for taxon in held for name in taxon.names}
    pages: dict[str, tuple[Taxon, PageRef]] = {}
    terms: dict[tuple[str, str], None] = {}
    left_out = []
    number = 0
    for number, row in _rows(path):
        address, place, term = row.get("address"), f"{path}: line {number}", row.get("term")
        name = row.get("scientific") or row.get("common") or term
        if not address or not name:
            given = ", ".join(filter(None, (name, address)))
            raise BadInput(f"{place}: expected a name and an address, got {given!r}.", hint=HINT)
        if not is_web_address(address):
            address = str((path.parent / address).resolve())
        try:
            taxon = None if term else _taxon(row, name, checklist, by_name)
            page = page_of("" if taxon is None else taxon.taxon_id, address)
        except BadInput as error:
            raise BadInput(f"{place}: {error}", hint=error.hint) from error
        if taxon is not None:
            pages.setdefault(page.subject_id, (taxon, page))
        elif term or (row.get("may be a term") and name[:1].islower()):
            terms[name, page.title] = None
        else:
            near = ", ".join(checklist.suggest(name, 3))
            detail = f"line {number}" + (f"; did you mean {near}?" if near else "")
            left_out.append(LeftOut(name=name, reason=reasons.NOT_IN_CHECKLIST, detail=detail))
    if not number:
        raise BadInput(f"{path}: expected names and addresses, got an empty table.", hint=HINT)
    if not pages and not terms:
        raise BadInput(f"{path}: none of the names are in {checklist.name}.", hint=left_out[0].detail)
    return PageList(pages=tuple(pages.values()), terms=tuple(terms), left_out=tuple(left_out))


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line and cells of each row by meaning; without a heading, those of a name and an address."""
    file = NamesFile(path, also=_HEADINGS, needed=lambda found: "address" in found)
    for note in file.table.notes:
        _log.warning("%s: %s", path, note)
    if not file.is_table:
        for line, text in file.lines():
            cells = cells_of(text, file.table.separator or ",")
            if any(cells[2:]):
                hint = "Put quotation marks around an address that contains the separator."
                raise file.table.refused(f"expected a name and an address, got {text!r}", line=line, hint=hint)
            yield line, dict(zip(("common", "address"), cells, strict=False)) | {"may be a term": "yes"}
        return
    is_mixed = any(fold(name) == "name" for name in file.columns.get("common", ()))
    for row in file.rows(every=True):
        if row.cells[file.table.heading[0]].startswith("#"):
            continue
        found = {meaning: row.cells[file.columns[meaning][0]] for meaning in _HEADINGS if meaning in file.columns}
        found |= {"scientific": row.scientific, "common": row.common, "may be a term": "yes" if is_mixed else ""}
        yield row.line, {meaning: cell for meaning, cell in found.items() if cell}


def _taxon(row: Mapping[str, str], name: str, checklist: Checklist, by_name: Mapping[str, Taxon]) -> Taxon | None:
    for each in (row.get("scientific"), row.get("common")):
        taxon = (by_name.get(fold(each)) or checklist.find(each)) if each else None
        if taxon is not None and "species" not in taxon.lineage:
            if taxon.rank != "species":
                raise BadInput(f"{each} is a {taxon.rank}, expected a species.")
            return taxon
    if "scientific" in row and len(row["scientific"].split()) == 2 and row["scientific"][:1].isupper():
        return species_named(checklist, name, common_names=[row["common"]] if "common" in row else [])
    return None
