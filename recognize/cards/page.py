"""HTML page of one bird in a photo: the answer, the candidates with their reference photos, and their differences.

A page is self-contained, pictures included: it can be mailed, and it loads nothing from the network.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from html import escape
from itertools import count
from pathlib import Path
from typing import Final, Protocol

from data.contracts import KnowledgeStore
from data.files import sha256_hex, write_atomic
from data.records import Answer, Candidate, Identification, Reading, SpeciesEntry
from data.words import plural
from recognize.answers import (
    both_names,
    group_name,
    is_answer,
    is_reader_choice,
    is_strange,
    percent,
    place_line,
    seen_text,
    short_name,
    status_of,
    unanswered_text,
    unknown_text,
)
from recognize.cards.index import is_card
from recognize.cards.pictures import ANCHOR_PX, PHOTO_PX, STYLE, picture
from recognize.cards.species import Shown, scores, species
from recognize.confidence.calibration import ESTIMATED
from recognize.explanation import Explanation, explain, parts_of_score

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


def entry(row: Identification) -> str:
    """Return the element of a card that holds the photo's entry of the index."""
    answer = row.answer
    sure = ""
    if answer is not None and answer.confidence is not None:
        sure = percent(answer.confidence) + (" sure" if answer.rank != "none" else "")
    elif row.status == "identified":
        sure = "chosen by the reader" if is_reader_choice(row) else "best match"
    number = str(row.bird) if row.n_birds > 1 else ""
    content = {
        "photo": (row.group or Path(row.shown_image).name) + (f", bird {number}" if number else ""),
        "status": row.status,
        "answer": "Photo unreadable" if row.status == "error" else headline(row),
        "scientific": answer.name if answer is not None and answer.common_name not in (None, answer.name) else "",
        "sure": sure,
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


def verdict(row: Identification) -> str:
    """Return the head of the page: the answer and its confidence."""
    if row.status == "error":
        error = escape((row.error or "").replace(row.image, Path(row.image).name))
        over = f"No answer for {escape(Path(row.image).name)}"
        return f"<p class=over>{over}</p><h1>Photo unreadable</h1><p class=note>{error}</p>"
    over, name, under = _named(row)
    scientific = f"<p class=sci>{escape(under)}</p>" if under else ""
    return f"<p class=over>{over}</p><h1>{escape(name)}</h1>{scientific}<div class=sure>{_how_sure(row)}</div>"


def headline(row: Identification) -> str:
    """Return the answer in a few words for the page title."""
    return "No answer" if row.status == "error" else _named(row)[1]


def notes(row: Identification, why: Explanation | None) -> str:
    """Return warnings, the answer without the species list, and the reader's choice with its reason."""
    parts = []
    if why is not None and why.is_anchor_of is not None:
        owner = next((c for c in row.candidates if c.taxon_id == why.is_anchor_of), None)
        of = f" of {escape(short_name(owner))}" if owner else ""
        parts.append(
            f"<p class=note>This photo is a reference photo{of}, or looks the same as one. Its score says nothing "
            "about other photos.</p>"
        )
    before = row.answer_without_list
    if before is not None:
        sure = "" if before.confidence is None else f", {percent(before.confidence)}"
        parts.append(f"<p class=note>Without the species list: {escape(_short(before))}{sure}.</p>")
    if row.reader is not None:
        parts.append(_read(row.reader, row.candidates))
    return "".join(parts)


def _named(row: Identification) -> tuple[str, str, str]:
    """Return the line above the answer, the answer, and its scientific name where it differs."""
    if row.status == "no_bird":
        return "No species identified", "No bird found", ""
    answer = row.answer
    by_reader = row.reader is not None and bool(row.reader.agreement)
    if answer is None or answer.rank == "none":
        if by_reader:
            return "Chosen by the reader", "None of the candidates", ""
        if is_strange(row):
            return "No species identified", "Probably not in the knowledge base", ""
        if answer is None or answer.p_unknown is None:
            return "No answer", "No matching species", ""
        if status_of(answer) == "unknown":
            return "No species identified", "Probably not in the knowledge base", ""
        return "No species identified", "Not sure", ""
    if answer.rank == "species":
        over, name = "Species", answer.name
    else:
        over, name = f"Identified to {answer.rank}", group_name(answer.rank, answer.name)
    common = name if answer.common_name in (None, answer.name) else answer.common_name
    return f"{over}, chosen by the reader" if by_reader else over, common or name, name if common != name else ""


def _how_sure(row: Identification) -> str:
    if row.status == "no_bird":
        return f"<p>Neither the detector nor the comparison with known birds finds one.{escape(seen_text(row))}</p>"
    answer = row.answer
    if is_strange(row):
        return (
            f"<p>The photo is unlike all reference photos.{escape(seen_text(row))} The closest matches are listed.</p>"
        )
    if is_reader_choice(row):
        return "<p>Confidence not available: the accuracy of this reader was not measured.</p>"
    if answer is None or (answer.confidence is None and answer.p_unknown is None):
        return (
            "<p><strong>Confidence not available for this knowledge base.</strong> The answer is the best match among "
            "its species, even if the photo shows another one.</p>"
        )
    parts = []
    if answer.confidence is not None:
        share = percent(answer.confidence)
        meter = f'<div class=meter role=img aria-label="{share}"><i style="width:{answer.confidence:.0%}"></i></div>'
        if answer.rank == "none":
            meaning = "chance that this species is not in the knowledge base. The closest matches are listed."
        else:
            meaning = f"sure. In tests with this knowledge base, {share} of such answers were right."
            if row.calibration is None or row.calibration.startswith(ESTIMATED):
                meaning = "sure. Estimated for any knowledge base, not measured on this one."
            if row.species_list is not None:
                meaning = "sure, if the species list fits: computed with the list, not measured."
            elif row.place_name is not None:
                meaning = "sure: computed with the place of the photo, not measured."
        parts.append(f"<p><strong>{share}</strong> {meaning}</p>{meter}")
    else:
        parts.append("<p>No species, genus, family or order is certain enough. The closest matches are listed.</p>")
    if answer.rank != "none" and status_of(answer) == "unknown":
        parts.append(f"<p>Probably not in the knowledge base ({percent(answer.p_unknown or 0)}).</p>")
    if row.shows:
        parts.append(f"<p>{escape(seen_text(row).strip())}</p>")
    if answer.looks_like:
        alike = escape(both_names(answer.looks_like_common_name, answer.looks_like))
        parts.append(f"<p>Looks like {alike}, which the knowledge base does not hold.</p>")
    if place := place_line(row):
        parts.append(f"<p class=small>{escape(place)}.</p>")
    if unknown := unknown_text(row):
        parts.append(f"<p class=small>{unknown}.</p>")
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


def _short(answer: Answer) -> str:
    if answer.rank == "none":
        return "not sure" if answer.p_unknown is not None and answer.confidence is None else "not in the knowledge base"
    return answer.common_name or group_name(answer.rank, answer.name)
