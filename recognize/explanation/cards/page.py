"""HTML page of one bird in a photo: the answer, the candidates with their reference photos, and their differences.

A page is self-contained, pictures included: it can be mailed, and it loads nothing from the network.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from html import escape
from itertools import count
from pathlib import Path
from typing import Final, Protocol

from data.contracts import KnowledgeStore
from data.files import sha256_hex, write_atomic
from data.records import Identification, SpeciesEntry
from data.words import plural
from recognize.answer_text import is_answer
from recognize.explanation.cards.answer import headline, notes, verdict
from recognize.explanation.cards.index import entry, is_card
from recognize.explanation.cards.pictures import ANCHOR_PX, PHOTO_PX, STYLE, picture
from recognize.explanation.cards.species import Shown, scores, species
from recognize.explanation.evidence import Explanation, explain, parts_of_score

_MOST_OTHERS: Final = 8  # photos of an encounter beside the first
_NAME_BYTES: Final = 200  # of the photo's name in the file name of its page; file systems allow 255
_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


class AnchorStore(KnowledgeStore, Protocol):
    """A knowledge base with files of reference photos."""

    def anchor_path(self, sha256: str) -> Path:
        """Return the file of a reference photo."""


def write_card(store: AnchorStore, row: Identification, folder: Path) -> Path:
    """Write the page of a bird and return its path: the photo's name and a hash, since file names repeat.

    With the last bird of a photo, cards of an earlier run that no longer apply are removed.
    """
    why = explain(store, row) if row.candidates else None
    entries = store.species([candidate.taxon_id for candidate in row.candidates])
    path = card_path(row.image, folder, row.bird)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(path, card(row, why, entries, store.anchor_path).encode(errors="replace"))
    if row.bird == row.n_birds:
        _remove_stale(row, folder)
    return path


def _remove_stale(row: Identification, folder: Path) -> None:
    """Remove the cards of further birds of the photo, and of other photos of the encounter; never another file."""
    others = [photo.image for photo in row.photos if photo.image != row.image]
    for image, first in ((row.image, row.n_birds + 1), *((other, 1) for other in others)):
        for bird in count(first):
            path = card_path(image, folder, bird)
            if not is_card(path):
                break
            path.unlink()


def card_path(image: str, folder: Path, bird: int = 1) -> Path:
    """Return the file of the page of a bird of a photo."""
    # A file name may be invalid UTF-8, and too long for a suffix.
    stem = os.fsencode(Path(image).stem)[:_NAME_BYTES].decode(errors="ignore")
    number = "" if bird == 1 else f"-{bird}"
    return folder / f"{stem}-{sha256_hex(os.fsencode(image))[:8]}{number}.html"


def card(
    row: Identification,
    why: Explanation | None,
    entries: Sequence[SpeciesEntry],
    anchor_file: Callable[[str], Path],
) -> str:
    """Return the page of one photo.

    `entries` are those of the candidates, in their order; `anchor_file` gives the file of an anchor by its SHA-256.
    """
    shown = [
        Shown(rank=rank, candidate=candidate, entry=entry, parts=parts_of_score(row.preset, candidate))
        for rank, (candidate, entry) in enumerate(zip(row.candidates, entries, strict=True), 1)
    ]
    because = why.score_text if why is not None else ""
    parts = [f"<header>{verdict(row)}</header>", _photo(row, notes(row, why)) if row.status != "error" else ""]
    if shown:
        focus, is_answer = _focus(row)
        sections = species(shown, focus, is_answer=is_answer, anchor_file=anchor_file)
        parts.append(f"<div class=list>{_about_photos(entries)}{sections}{scores(shown, row.preset, because)}</div>")
    title = escape(f"{headline(row)} - {row.group or Path(row.image).name}")
    return (
        f"<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>{title}</title>{entry(row)}"
        f'<meta http-equiv=Content-Security-Policy content="{_POLICY}">'
        '<meta name=viewport content="width=device-width, initial-scale=1"><meta name=referrer content=no-referrer>'
        f"<style>{STYLE}</style></head><body><main{' class=bare' if row.status == 'error' else ''}>{''.join(parts)}"
        f"{_foot(row)}</main></body></html>\n"
    )


def _photo(row: Identification, notes_html: str) -> str:
    words = [*([row.group] if row.group else []), Path(row.shown_image).name]
    number = str(row.bird) if row.n_birds > 1 else ""
    if number:
        words.append(f"bird {number} of {row.n_birds}")
    if row.place is not None:  # rounded: pages are shared, and a rare bird's place should not be
        words.append("near {:.1f}, {:.1f}".format(*row.place))
    if row.date is not None:
        words.append(row.date)
    caption = "<br>".join(escape(word) for word in words)
    shown = picture(row.shown_image, PHOTO_PX, "the photo", row.shown_box, number)
    return (
        f"<aside><div><figure class=photo>{shown}<figcaption>{caption}</figcaption></figure>"
        f"{_other_photos(row)}{notes_html}</div></aside>"
    )


def _other_photos(row: Identification) -> str:
    """Return the other photos of an encounter, and the names of unreadable ones."""
    others = [photo for photo in row.photos if photo.image != row.shown_image]
    readable = [photo for photo in others if photo.error is None]
    failed = [Path(photo.image).name for photo in others if photo.error is not None]
    shown = [
        f"<figure>{picture(photo.image, ANCHOR_PX, 'another photo', photo.box)}"
        f"<figcaption>{escape(Path(photo.image).name)}</figcaption></figure>"
        for photo in readable[:_MOST_OTHERS]
    ]
    texts = [
        f"One answer from {plural(1 + len(readable), 'photo')}." if readable else "",
        f"{len(readable) - _MOST_OTHERS:,} more not shown." if len(readable) > _MOST_OTHERS else "",
        f"{plural(len(failed), 'photo')} unreadable: {escape(', '.join(failed[:_MOST_OTHERS]))}." if failed else "",
    ]
    note = " ".join(text for text in texts if text)
    pictures = f"<div class=anchors>{''.join(shown)}</div>" if shown else ""
    return pictures + (f"<p class=small>{note}</p>" if note else "")


def _about_photos(entries: Sequence[SpeciesEntry]) -> str:
    """Return the source of reference photos, where there are none to show."""
    if any(anchor.sha256 for each in entries for anchor in each.anchors):
        return ""
    return (
        "<p class=note>No reference photos to show: the shipped knowledge has only vectors of them. To see photos, "
        "build a knowledge base of your species from Wikipedia:<br>"
        "<code>kb build --names my-birds.csv --kb my-birds.kb --contact you@example.org</code></p>"
    )


def _focus(row: Identification) -> tuple[int, bool]:
    """Return the position of the candidate to compare the others with, and whether it is the answer."""
    for position, each in enumerate(row.candidates):
        if row.answer is not None and is_answer(row.answer, each):
            return position, True
    return 0, False


def _foot(row: Identification) -> str:
    if row.status == "error":
        return ""
    origin = f"Preset {row.preset}, knowledge base {Path(row.kb).name}, calibration {row.calibration or 'none'}."
    rights = "Photos and texts belong to their authors, under the licences beside them."
    return f"<footer class=small>{escape(origin)} {rights}</footer>"
