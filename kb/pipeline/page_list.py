"""Tables of pages for species and terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from data.contracts import Checklist
from data.errors import BadInput
from data.records import LeftOut, PageRef, Taxon
from kb import reasons
from kb.addresses import is_web_address
from kb.checklist.name_files import columns_of, read_names_file, scientific_name_in, table_rows
from kb.checklist.names import fold
from kb.checklist.selection import species_named
from kb.sources.web_pages import page_of

_ADDRESS = frozenset(("address", "url", "page", "link", "file"))
_NAME = "name"
_TERM = "term"
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
        path: CSV with commas, semicolons or tabs; lines that begin with `#` are skipped.
        checklist: the checklist.
        held: the species of the knowledge base, which come first.

    Raises:
        BadInput: with the line number, if a row has no name or no address, or if no row can be used.
    """
    rows = table_rows(read_names_file(path), path)
    if not rows:
        raise BadInput(f"{path}: expected names and addresses, got an empty table.", hint=HINT)
    columns = _columns(rows[0][1])
    body = rows[1:] if columns else rows
    columns = columns or {_NAME: 0, "address": 1}
    by_name = {fold(name): taxon for taxon in held for name in taxon.names}
    pages: dict[str, tuple[Taxon, PageRef]] = {}
    terms: dict[tuple[str, str], None] = {}
    left_out = []
    for number, cells in body:
        row = {column: cells[i] for column, i in columns.items() if i < len(cells) and cells[i]}
        if whole := scientific_name_in(cells, columns):
            row["scientific"] = whole
        address, place = row.get("address"), f"{path}: line {number}"
        term = row.get(_TERM)
        name = row.get("scientific") or row.get("common") or row.get(_NAME) or term
        if not address or not name:
            raise BadInput(f"{place}: expected a name and an address, got {', '.join(cells)!r}.", hint=HINT)
        if not is_web_address(address):
            address = str((path.parent / address).resolve())
        try:
            taxon = None if term else _taxon(row, name, checklist, by_name)
            page = page_of("" if taxon is None else taxon.taxon_id, address)
        except BadInput as error:
            raise BadInput(f"{place}: {error}", hint=error.hint) from error
        if taxon is not None:
            pages.setdefault(page.subject_id, (taxon, page))
        elif term or (_NAME in row and name[:1].islower()):
            terms[name, page.title] = None
        else:
            near = ", ".join(checklist.suggest(name, 3))
            detail = f"line {number}" + (f"; did you mean {near}?" if near else "")
            left_out.append(LeftOut(name=name, reason=reasons.NOT_IN_CHECKLIST, detail=detail))
    if not pages and not terms:
        raise BadInput(f"{path}: none of the names are in {checklist.name}.", hint=left_out[0].detail)
    return PageList(pages=tuple(pages.values()), terms=tuple(terms), left_out=tuple(left_out))


def _columns(heading: Sequence[str]) -> dict[str, int]:
    """Return column -> position, or {} for a first row without headings."""
    folded = [fold(cell) for cell in heading]
    address = next((i for i, cell in enumerate(folded) if cell in _ADDRESS), None)
    if address is None:
        return {}
    columns = {**columns_of(heading), "address": address}
    if _TERM in folded:
        columns[_TERM] = folded.index(_TERM)
    if "common" in columns and folded[columns["common"]] == _NAME:
        columns[_NAME] = columns.pop("common")
    return columns


def _taxon(row: Mapping[str, str], name: str, checklist: Checklist, by_name: Mapping[str, Taxon]) -> Taxon | None:
    for each in (row.get("scientific"), row.get("common"), row.get(_NAME)):
        if each and (taxon := by_name.get(fold(each)) or checklist.find(each)) is not None:
            if taxon.rank != "species":
                raise BadInput(f"{each} is a {taxon.rank}, expected a species.")
            return taxon
    if "scientific" in row and len(row["scientific"].split()) == 2 and row["scientific"][:1].isupper():
        return species_named(checklist, name, common_names=[row["common"]] if "common" in row else [])
    return None
