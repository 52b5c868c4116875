"""HTML page of one bird in a photo: the answer, the candidates with their reference photos, and their differences.

A page is self-contained, pictures included: it can be mailed, and it loads nothing from the network.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from data.contracts import KnowledgeStore
from data.files import is_shipped, sha256_hex, write_atomic
from data.pages import element, render
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
from recognize.cards.pictures import ANCHOR_PX, PHOTO_PX, picture
from recognize.cards.species import Shown, fill_in, scores_of, similarities_of
from recognize.confidence.calibration import ESTIMATED
from recognize.explanation import Explanation, explain, parts_of_score, photos_command

if TYPE_CHECKING:
    from markupsafe import Markup

THUMB_PX: Final = 160
_MOST_OTHERS: Final = 8  # photos of an encounter beside the first
_NAME_BYTES: Final = 200  # of the photo's name in the file name of its page; file systems allow 255


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
    """Return the page of one photo; arguments as of `card_values`."""
    return render("recognize", "card.html", **card_values(row, why, entries, anchor_file), entry=_entry(row))


def card_values(
    row: Identification,
    why: Explanation | None,
    entries: Sequence[SpeciesEntry],
    anchor_file: Callable[[str], Path],
) -> dict[str, object]:
    """Return the values of `card_body.html` for one photo.

    `entries` are those of the candidates; `anchor_file` gives the file of an anchor by its SHA-256.
    """
    candidates = row.candidates
    shown = [
        Shown(rank=rank, candidate=candidate, entry=entry, parts=parts_of_score(row.preset, candidate))
        for rank, (candidate, entry) in enumerate(zip(candidates, entries, strict=True), 1)
    ]
    focus, is_answer = _focus(row, candidates)
    if shown:
        fill_in(shown, focus, is_answer=is_answer, anchor_file=anchor_file)
    readable = row.status != "error"
    others, about_others = _other_photos(row)
    return {
        **_verdict(row),
        "title": f"{message_of(row).name} - {row.group or Path(row.image).name}",
        "picture": picture(row.shown_image, PHOTO_PX, "the photo", row.shown_box, _number(row)) if readable else "",
        "caption": _caption(row),
        "others": others,
        "about_others": about_others,
        "warnings": _warnings(row, why),
        "reading": _read(row.reader, row.candidates) if row.reader is not None and row.reader.agreement else None,
        "no_photos": NO_PHOTOS,
        "photos_command": photos_command(entries),
        "candidates": shown,
        "focus": shown[focus] if shown else None,
        "because": why.score_text if why is not None else "",
        "scores": scores_of(shown, row.preset) if shown else None,
        "similarities": similarities_of(shown, row.preset) if shown else None,
        "foot": _foot(row),
    }


def html_of(row: Identification) -> str:
    """Return the photo and the head of its card, for notebooks."""
    readable = row.status != "error" and Path(row.shown_image).is_file()
    shown = picture(row.shown_image, ANCHOR_PX, "the photo", row.shown_box, _number(row)) if readable else ""
    return render("recognize", "notebook.html", **_verdict(row), picture=shown)


def _number(row: Identification) -> str:
    return str(row.bird) if row.n_birds > 1 else ""


def _entry(row: Identification) -> str:
    """Return the photo's entry of the index, JSON."""
    message, number = message_of(row), _number(row)
    content = {
        "photo": (row.group or Path(row.shown_image).name) + (f", bird {number}" if number else ""),
        "status": row.status,
        "answer": message.name,
        "scientific": message.scientific,
        "sure": message.sure,
        "picture": picture(row.shown_image, THUMB_PX, "", row.shown_box, number) if row.status != "error" else "",
    }
    return json.dumps(content)


def _caption(row: Identification) -> list[str]:
    words = [*([row.group] if row.group else []), Path(row.shown_image).name]
    if row.n_birds > 1:
        words.append(f"bird {row.bird} of {row.n_birds}")
    if row.place is not None:  # rounded: pages are shared, and a rare bird's place should not be
        words.append("near {:.1f}, {:.1f}".format(*row.place))
    if row.date is not None:
        words.append(row.date)
    return words


def _other_photos(row: Identification) -> tuple[list[tuple[str, Markup]], str]:
    """Return name and picture of the other photos of an encounter, and a text on them and the unreadable ones."""
    others = [photo for photo in row.photos if photo.image != row.shown_image]
    readable = [photo for photo in others if photo.error is None]
    failed = [Path(photo.image).name for photo in others if photo.error is not None]
    shown = [
        (Path(photo.image).name, picture(photo.image, ANCHOR_PX, "another photo", photo.box))
        for photo in readable[:_MOST_OTHERS]
    ]
    texts = [
        f"One answer from {plural(1 + len(readable), 'photo')}." if readable else "",
        f"{len(readable) - _MOST_OTHERS:,} more not shown." if len(readable) > _MOST_OTHERS else "",
        f"{plural(len(failed), 'photo')} unreadable: {', '.join(failed[:_MOST_OTHERS])}." if failed else "",
    ]
    return shown, " ".join(text for text in texts if text)


def _focus(row: Identification, candidates: Sequence[Candidate]) -> tuple[int, bool]:
    """Return the position of the candidate to compare the others with, and whether it is the answer."""
    for position, each in enumerate(candidates):
        if row.answer is not None and is_answer(row.answer, each):
            return position, True
    return 0, False


def _foot(row: Identification) -> str:
    path = Path(row.kb)
    place = "the shipped knowledge" if is_shipped(path) else f"knowledge base {path.name}"
    return f"Preset {row.preset}, {place}, calibration {row.calibration or 'none'}."


def _verdict(row: Identification) -> dict[str, object]:
    """Return the values of `verdict.html`: the message of the table, in the same order."""
    answer, name = row.answer, Path(row.image).name
    meter: float | None = None if answer is None or is_reader_choice(row) else answer.confidence
    return {
        "row": row,
        "message": message_of(row),
        "photo_name": name,
        "error": (row.error or "").replace(row.image, name),
        "meter": meter,
        "share": "" if meter is None else percent(meter),
        "place": place_line(row),
        "origin": _origin_of_confidence(row),
    }


def _origin_of_confidence(row: Identification) -> str:
    """Return how the confidence was found, or why there is none."""
    answer = row.answer
    if row.status == "no_bird" or is_strange(row):
        return ""
    if is_reader_choice(row):
        return "Confidence not available: the accuracy of this reader was not measured."
    if answer is None or (answer.confidence is None and answer.p_unknown is None):
        return element(
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


def _warnings(row: Identification, why: Explanation | None) -> list[str]:
    """Return warnings, the answer without the species list or place, and a reader without an answer."""
    texts = [why.anchor_text] if why is not None and why.anchor_text else []
    for what, before in (("species list", row.answer_without_list), ("place", row.answer_without_place)):
        is_other = row.answer is None or before is None or before.name != row.answer.name
        if before is not None and (is_other or what == "species list"):
            lines = message_of(replace(row, answer=before, candidates=(), reader=None)).lines
            texts.append(f"Without the {what}: {lines[0]}.")
    if row.reader is not None and not row.reader.agreement:
        texts.append(f"The reader did not answer: {' '.join(row.reader.reason.split())}")
    return texts


def _read(reading: Reading, candidates: tuple[Candidate, ...]) -> dict[str, str]:
    """Return the reader's choice, how sure it is, and its reason."""
    chosen = next((each for each in candidates if each.taxon_id == reading.choice), None)
    share = "All" if reading.agreement in (1, None) else percent(reading.agreement)
    sure = f"{share} of its samples agree"
    if silent := unanswered_text(reading):
        sure += f"; {silent}"
    if reading.margin is not None:
        sure += f"; margin to the next label {reading.margin:.1f} nats"
    return {
        "name": short_name(chosen) if chosen else reading.choice or "none of the candidates",
        "reason": " ".join(reading.reason.split()),
        "sure": sure,
    }
