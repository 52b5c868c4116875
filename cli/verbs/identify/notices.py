"""Notes and warnings of `kb identify` on stderr."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import output
from cli.common.readers import reader_failures

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase
    from recognize import Recognizer


def resumed_text(all_of_them: str, n_done: int, n_failed: int, missing: Mapping[str, int]) -> str:
    """Return the number of photos done by an earlier run, and of the failed ones, which `retry_failed` retries.

    `all_of_them` is the number with its noun: `5 photos`.
    """
    counts = {
        "unreadable": n_failed,
        "with an unreadable photo": missing.get("photos", 0),
        "without the reader's answer": missing.get("reader", 0),
        "without some of the reader's samples": missing.get("samples", 0),
    }
    parts = [f"{n:,} {how}" for how, n in counts.items() if n]
    retry = f"; {', '.join(parts)} (use --set retry_failed=true to retry)" if parts else ""
    return f"Resuming: {n_done:,} of {all_of_them} done before{retry}"


def n_without_card(folder: Path, images: Iterable[str]) -> int:
    """Return the number of photos without a page in a folder of cards."""
    from recognize.explanation.cards.page import card_path

    return sum(not card_path(image, folder).exists() for image in images)


def cards_text(folder: Path, n_cards: str, pages: Container[Path]) -> str:
    """Return the note on the cards of a run, with their number and noun, and on those of earlier runs beside them."""
    from recognize.explanation.cards.index import is_card

    n_earlier = sum(is_card(page) for page in folder.glob("*.html") if page not in pages)
    kept = f"; it also shows {n_earlier:,} of earlier runs" if n_earlier else ""
    return f"{n_cards} in {folder}: open {folder / 'index.html'} in a browser{kept}"


def warn_of_calibration(given: Sequence[str], recognizer: Recognizer, store: KnowledgeBase, *, reader: bool) -> None:
    """Warn of options that change only calibrated answers, where there are none."""
    if not given:
        return
    names = " and ".join(given)
    if recognizer.calibration_id is not None:
        if reader:
            output.warn(f"Only rows where the reader fails use {names}: its choices have no confidence")
        return
    why = f"the calibration of this knowledge base {recognizer.misfit}" if recognizer.misfit else no_calibration(store)
    output.warn(f"{names} {'has' if len(given) == 1 else 'have'} no effect: {why}")


def no_calibration(store: KnowledgeBase) -> str:
    """Return the reason that answers have no confidence."""
    return f"none ships for the profile {store.info.profile}; kb calibrate fits it to this knowledge base"


def warn_of_missing(
    n_failed: int, missing: Mapping[str, int], photos: str, unreadable: Sequence[str], *, can_retry: bool
) -> None:
    """Warn of unreadable photos and of missing answers of the reader.

    Args:
        n_failed: number of unreadable photos or encounters.
        missing: part of a row -> number of rows without it.
        photos: the number of all with its noun: `5 photos`.
        unreadable: photos of encounters that the other photos answered in this run.
        can_retry: whether there is a file to resume.
    """
    retry = "; use --set retry_failed=true to retry" if can_retry else ""
    if n_failed:
        output.warn(f"{n_failed:,} of {photos} skipped: unreadable")
    if n := missing.get("photos", 0):
        names = f": {output.first_few(unreadable)}" if unreadable else ""
        output.warn(f"{n:,} of {photos} answered without unreadable photos{names}")
    for line in reader_failures(missing, photos, instead="their answers come from the ranking"):
        output.warn(f"{line}{retry}")
