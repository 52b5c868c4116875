"""Darwin Core archives: the tables that `meta.xml` describes.

Source: Darwin Core text guide (TDWG). The core is read with its extension of vernacular names; others are ignored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from xml.etree import ElementTree

from data.errors import BadInput
from kb.checklist.stored.containers import Container
from kb.checklist.stored.tables import ID, Table, checklist_of_tables, heading
from kb.checklist.stored.usage import ChecklistFile, licence_name

META: Final = "meta.xml"


def read_archive(container: Container, meta: str) -> ChecklistFile:
    """Return the checklist in a Darwin Core archive.

    Raises:
        BadInput: if `meta.xml` is unusable, its core has other rows than taxa, or a file is missing.
    """
    root = _parsed(container, meta)
    cores = [node for node in root if _local(node.tag) == "core"]
    if not cores:
        raise BadInput(f"{container.place(meta)} has no core, expected a Darwin Core archive of taxa.")
    kind = heading(cores[0].get("rowType", ""))
    if kind not in ("taxon", ""):
        raise BadInput(
            f"{container.place(meta)}: the core has rows of {kind}, expected Taxon.",
            hint="Give the archive of a checklist; archives of occurrences have no taxonomy.",
        )
    core = _table(container, meta, cores[0])
    others = [
        _table(container, meta, node)
        for node in root
        if _local(node.tag) == "extension" and heading(node.get("rowType", "")) == "vernacularname"
    ]
    named = [other for other in others if "vernacularname" in other.columns]
    stated = _metadata(container, root.get("metadata") or "eml.xml")
    title, edition, licence = (stated.get(key, "") for key in ("title", "pubDate", "licence"))
    found = checklist_of_tables(container, "Darwin Core", core, named)
    return replace(found, title=title, edition=edition, licence=licence)


def _table(container: Container, meta: str, node: ElementTree.Element) -> Table:
    found: dict[str, list[ElementTree.Element]] = {}
    for each in node.iter():
        found.setdefault(_local(each.tag), []).append(each)
    locations = [each.text.strip() for each in found.get("location", ()) if each.text]
    files = [container.find(location.rsplit("/", 1)[-1]) for location in locations]
    missing = [location for location, file in zip(locations, files, strict=True) if file is None]
    if missing or not files:
        raise BadInput(f"{container.place(meta)} names {', '.join(missing) or 'no file'}, which the archive lacks.")
    columns, defaults = {}, {}
    try:
        for each in found.get("field", ()):
            term = heading(each.get("term", ""))
            if each.get("index") is not None:
                columns[term] = int(each.get("index", ""))
            if each.get("default"):
                defaults[term] = each.get("default", "")
        for each in (*found.get("id", ()), *found.get("coreid", ())):
            columns[ID] = int(each.get("index", "0"))
        skipped = int(node.get("ignoreHeaderLines") or 0)
    except ValueError as error:
        raise BadInput(f"{container.place(meta)}: expected a number as index: {error}.") from error
    delimiter = _unescaped(node.get("fieldsTerminatedBy", ","))
    quote = _unescaped(node.get("fieldsEnclosedBy", '"'))
    return Table(
        files=tuple(file for file in files if file),
        columns=columns,
        defaults=defaults,
        skipped_lines=skipped,
        delimiter=delimiter,
        quote=quote or None,
        encoding=node.get("encoding") or "utf-8",
    )


def _metadata(container: Container, name: str) -> dict[str, str]:
    """Return title, date of publication and licence from the archive's EML, as far as it states them."""
    file = container.find(name)
    if file is None:
        return {}
    found: dict[str, str] = {}
    for each in _parsed(container, file).iter():
        tag, text = _local(each.tag), " ".join("".join(each.itertext()).split())
        if tag in ("title", "pubDate"):
            found.setdefault(tag, text)
        elif tag in ("intellectualRights", "licensed", "licenseName"):
            addresses = [node.get("url", "") or (node.text or "") for node in each.iter() if node is not each]
            found.setdefault("licence", licence_name(" ".join([text, *addresses])))
    return found


def _parsed(container: Container, name: str) -> ElementTree.Element:
    text = container.read_text(name)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:  # entities can expand without end
        raise BadInput(f"{container.place(name)} declares entities, expected plain XML.")
    try:
        return ElementTree.fromstring(text)  # entities are refused above
    except ElementTree.ParseError as error:
        raise BadInput(f"{container.place(name)} is not XML: {error}.") from error


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _unescaped(text: str) -> str:
    return text.replace("\\t", "\t").replace("\\n", "\n").replace('\\"', '"')
