"""Keywords in XMP sidecars, as Lightroom, digiKam, darktable and others read them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.dom.minidom import Document, Element, parseString
from xml.parsers.expat import ExpatError

from data.errors import BadInput
from data.files import write_atomic
from data.images import RAW
from data.images.exif import sidecars_of
from data.records import Answer, Identification
from recognize.exports.document import photos_of

DC: Final = "http://purl.org/dc/elements/1.1/"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
OTHER_LISTS: Final = (
    ("http://www.digikam.org/ns/1.0/", "TagsList"),
    ("http://ns.adobe.com/lightroom/1.0/", "hierarchicalSubject"),
)
"""Lists of keywords that their programs read in place of dc:subject, where a sidecar has them."""
_EMPTY: Final = f"""<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="{RDF}"/></x:xmpmeta>
<?xpacket end="w"?>
"""


def sidecar_of(photo: Path) -> Path:
    """Return the sidecar of a photo: one that is there (`a.jpg.xmp`, else `a.xmp`), or the name of a new one.

    New sidecars of JPEGs and other pictures are called `a.jpg.xmp`, as by digiKam and darktable: `a.xmp` may belong to
    a RAW photo beside it. Those of RAW photos are called `a.xmp`, as by Lightroom.
    """
    names = sidecars_of(photo)
    return next((each for each in names if each.exists()), names[2 if photo.suffix.lower() in RAW else 0])


def write_keywords(row: Identification) -> list[Path]:
    """Add the English and the scientific name of an answer to the sidecars of its photos, and return these.

    Names that a person corrected are removed, if the photo has one bird; all else in a sidecar stays. Nothing is
    written for an answer without a name, and for unreadable photos.

    Raises:
        BadInput: if a sidecar is no XMP, or cannot be written.
    """
    names = _names(row.answer) if row.status == "identified" else []
    before = row.correction.answer if row.correction and row.n_birds == 1 else None
    wrong = [name for name in _names(before) if name not in names]
    written = []
    for photo in photos_of(row):
        if photo.error is None:
            path = sidecar_of(Path(photo.image))
            try:
                xmp = path.read_bytes() if path.exists() else b""
                if not (names or (xmp and wrong)):
                    continue
                after = with_keywords(xmp, names, wrong)
                if after != xmp:
                    write_atomic(path, after, is_durable=False)
            except (ExpatError, ValueError) as error:
                raise BadInput(f"{path} is no XMP: {error}.", hint="Move it away, or leave out --xmp.") from error
            except OSError as error:
                raise BadInput(f"{path} cannot be written: {error.strerror}.", hint="Leave out --xmp.") from error
            written.append(path)
    return written


def _names(answer: Answer | None) -> list[str]:
    return [name for name in (answer.common_name, answer.name) if name] if answer and answer.rank != "none" else []


def with_keywords(xmp: bytes, names: Sequence[str], wrong: Sequence[str] = ()) -> bytes:
    """Return an XMP document with further keywords, and without some, in all its lists; a new one for no bytes.

    Raises:
        ExpatError: if it is not XML.
        ValueError: if it has no RDF.
    """
    if b"<!DOCTYPE" in xmp:
        raise ValueError("expected no document type, whose entities may grow without bound")
    document = parseString(xmp or _EMPTY.encode())
    if not document.getElementsByTagNameNS(RDF, "RDF"):
        raise ValueError("expected an element rdf:RDF")
    lists = [each for name in OTHER_LISTS for each in _lists(document, *name)]
    lists += _lists(document, DC, "subject") or [_new_list(document)]
    n_changed = sum(_add(document, each, name) for each in lists for name in names)
    for each in lists:
        for item in [item for item in each.getElementsByTagNameNS(RDF, "li") if _text(item) in wrong]:
            each.removeChild(item)
            n_changed += 1
    return document.toxml(encoding="utf-8") if n_changed else xmp


def _lists(document: Document, namespace: str, name: str) -> list[Element]:
    """Return the lists of keywords of a name: the element rdf:Bag or rdf:Seq in each property."""
    properties = document.getElementsByTagNameNS(namespace, name)
    return [child for each in properties for child in each.childNodes if isinstance(child, Element)]


def _new_list(document: Document) -> Element:
    """Return a new list of keywords in the first description, which is made if there is none."""
    [rdf] = document.getElementsByTagNameNS(RDF, "RDF")[:1]
    descriptions = rdf.getElementsByTagNameNS(RDF, "Description")
    if descriptions:
        description = descriptions[0]
    else:
        description = document.createElementNS(RDF, f"{rdf.prefix}:Description")
        description.setAttribute(f"{rdf.prefix}:about", "")
        rdf.appendChild(description)
    subject = document.createElementNS(DC, "dc:subject")
    subject.setAttribute("xmlns:dc", DC)
    bag = document.createElementNS(RDF, f"{rdf.prefix}:Bag")
    description.appendChild(subject).appendChild(bag)
    return bag


def _text(item: Element) -> str:
    return "".join(node.data for node in item.childNodes if hasattr(node, "data")).strip()


def _add(document: Document, keywords: Element, name: str) -> bool:
    """Add a keyword to a list, and return whether it was not there."""
    items = keywords.getElementsByTagNameNS(RDF, "li")
    if name in map(_text, items):
        return False
    item = document.createElementNS(RDF, f"{keywords.prefix}:li")
    item.appendChild(document.createTextNode(name))
    keywords.appendChild(item)
    return True
