"""HTML page of one bird in a photo: the answer, the candidates with their reference photos, and their differences.

A page is self-contained, pictures included: it can be mailed, and it loads nothing from the network.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from itertools import count
from pathlib import Path
from typing import Final, Protocol

from data.contracts import KnowledgeStore
from data.files import is_shipped, sha256_hex, write_atomic
from data.records import Candidate, Identification, Reading, SpeciesEntry
from data.words import plural
from recognize.answers import (
    NO_PHOTOS,
    is_answer,
    is_reader_choice,
    is_strange,
    message_of,
    percent,
    place_line,
    short_name,
    unanswered_text,
)
from recognize.cards.index import is_card
from recognize.cards.pictures import ANCHOR_PX, PHOTO_PX, STYLE, picture
from recognize.cards.species import Shown, scores, species
from recognize.confidence.calibration import ESTIMATED
from recognize.explanation import Explanation, explain, parts_of_score, photos_command

THUMB_PX: Final = 160
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

    `entries` are those of the candidates; `anchor_file` gives the file of an anchor by
    its SHA-256.
    """
    candidates = row.candidates
    shown = [
        Shown(rank=rank, candidate=candidate, entry=entry, parts=parts_of_score(row.preset, candidate))
        for rank, (candidate, entry) in enumerate(zip(candidates, entries, strict=True), 1)
    ]
    because = why.score_text if why is not None else ""
    parts = [f"<header>{verdict(row)}</header>", _photo(row, notes(row, why)) if row.status != "error" else ""]
    if shown:
        focus, is_answer = _focus(row, candidates)
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


def entry(row: Identification) -> str:
    """Return the element of a card that holds the photo's entry of the index."""
    message = message_of(row)
    number = str(row.bird) if row.n_birds > 1 else ""
    content = {
        "photo": (row.group or Path(row.shown_image).name) + (f", bird {number}" if number else ""),
        "status": row.status,
        "answer": message.name,
        "scientific": message.scientific,
        "sure": message.sure,
        "picture": picture(row.shown_image, THUMB_PX, "", row.shown_box, number) if row.status != "error" else "",
    }
    return f'<meta name=fieldmark-card content="{escape(json.dumps(content))}">'


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
    command = photos_command(entries)
    return f"<p class=note>{NO_PHOTOS}<br><code>{escape(command)}</code></p>" if command else ""


def _focus(row: Identification, candidates: Sequence[Candidate]) -> tuple[int, bool]:
    """Return the position of the candidate to compare the others with, and whether it is the answer."""
    for position, each in enumerate(candidates):
        if row.answer is not None and is_answer(row.answer, each):
            return position, True
    return 0, False


def _foot(row: Identification) -> str:
    if row.status == "error":
        return ""
    path = Path(row.kb)
    place = "the shipped knowledge" if is_shipped(path) else f"knowledge base {path.name}"
    origin = f"Preset {row.preset}, {place}, calibration {row.calibration or 'none'}."
    rights = "Photos and texts belong to their authors, under the licences beside them."
    return f"<footer class=small>{escape(origin)} {rights}</footer>"


def verdict(row: Identification) -> str:
    """Return the head of the page: the message of the table, in the same order."""
    message = message_of(row)
    if row.status == "error":
        error = escape((row.error or "").replace(row.image, Path(row.image).name))
        over = f"No answer for {escape(Path(row.image).name)}"
        return f"<p class=over>{over}</p><h1>{message.name}</h1><p class=note>{error}</p>"
    scientific = f"<p class=sci>{escape(message.scientific)}</p>" if message.scientific else ""
    sure = f"<p><strong>{message.sure[:1].upper()}{message.sure[1:]}</strong></p>" if message.sure else ""
    others = "<br>".join(escape(text) for text in message.closest)
    others = f"<p class=closest>{others}</p>" if others else ""
    place = place_line(row)
    notes = "".join(f"<p>{escape(text)}</p>" for text in (*message.notes, *([f"{place}."] if place else [])))
    return (
        f"<h1>{escape(message.name)}</h1>{scientific}<div class=sure>{sure}{_meter(row)}{others}{notes}"
        f"<p class=small>{_origin_of_confidence(row)}</p></div>"
    )


def headline(row: Identification) -> str:
    """Return the answer in a few words for the page title."""
    return message_of(row).name


def _meter(row: Identification) -> str:
    """Return the confidence as a bar."""
    answer = row.answer
    if answer is None or answer.confidence is None or is_reader_choice(row):
        return ""
    share = percent(answer.confidence)
    return f'<div class=meter role=img aria-label="{share}"><i style="width:{answer.confidence:.0%}"></i></div>'


def _origin_of_confidence(row: Identification) -> str:
    """Return how the confidence was found, or why there is none."""
    answer = row.answer
    if row.status == "no_bird" or is_strange(row):
        return ""
    if is_reader_choice(row):
        return "Confidence not available: the accuracy of this reader was not measured."
    if answer is None or (answer.confidence is None and answer.p_unknown is None):
        return (
            "<strong>Confidence not available for this knowledge base.</strong> The answer is the best match among its "
            "species, even if the photo shows another one."
        )
    if row.species_list is not None:
        return "The confidence holds if the species list fits: it is computed with the list, not measured."
    if row.place_name is not None:
        return "The confidence is computed with the place of the photo, not measured."
    if row.calibration is None or row.calibration.startswith(ESTIMATED):
        return "The confidence is estimated for any knowledge base, not measured on this one."
    return "The confidence was measured with this knowledge base: the share of such answers that are right."


def notes(row: Identification, why: Explanation | None) -> str:
    """Return warnings, the answer without the species list, and the reader's choice with its reason."""
    parts = []
    if why is not None and why.anchor_text:
        parts.append(f"<p class=note>{escape(why.anchor_text)}</p>")
    for what, before in (("species list", row.answer_without_list), ("place", row.answer_without_place)):
        is_other = row.answer is None or before is None or before.name != row.answer.name
        if before is not None and (is_other or what == "species list"):
            lines = message_of(replace(row, answer=before, candidates=(), reader=None)).lines
            parts.append(f"<p class=note>Without the {what}: {escape(lines[0])}.</p>")
    if row.reader is not None:
        parts.append(_read(row.reader, row.candidates))
    return "".join(parts)


def _read(reading: Reading, candidates: tuple[Candidate, ...]) -> str:
    reason = " ".join(reading.reason.split())
    if not reading.agreement:
        return f"<p class=note>The reader did not answer: {escape(reason)}</p>"
    chosen = next((each for each in candidates if each.taxon_id == reading.choice), None)
    name = (
        "none of the candidates" if reading.choice is None else escape(short_name(chosen) if chosen else reading.choice)
    )
    share = "All" if reading.agreement == 1 else percent(reading.agreement)
    sure = f"{share} of its samples agree"
    if silent := unanswered_text(reading):
        sure += f"; {escape(silent)}"
    if reading.margin is not None:
        sure += f"; margin to the next label {reading.margin:.1f} nats"
    reason_html = f"<p>{escape(reason)}</p>" if reason else "<p class=small>No reason given.</p>"
    return f"<blockquote><p><b>The reader chose {name}</b></p>{reason_html}<p class=small>{sure}</p></blockquote>"
