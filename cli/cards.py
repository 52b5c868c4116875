"""One page of HTML for each photo: the answer, the candidates beside their anchors, and what told them apart.

A page is a file of its own, pictures included: it can be mailed, and opens without a network.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from data.errors import BadImage
from data.records import Anchor, Candidate, Identification, SpeciesEntry

if TYPE_CHECKING:
    from recognize.explanation import Explanation

PHOTO_PX: Final = 640
ANCHOR_PX: Final = 240
QUALITY: Final = 85

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --quiet: #777; --bar: #3a7d44; }
body { font: 16px/1.45 system-ui, sans-serif; max-width: 70rem; margin: 1.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 0; } i.name { color: var(--quiet); }
.top { display: grid; grid-template-columns: minmax(16rem, 26rem) 1fr; gap: 1.5rem; align-items: start; }
.top img { width: 100%; border-radius: 6px; }
.candidate { border-top: 1px solid var(--line); padding: 1rem 0; }
.anchors { display: flex; flex-wrap: wrap; gap: .8rem; margin: .6rem 0; }
figure { margin: 0; width: 12rem; } figure img { width: 100%; height: 9rem; object-fit: cover; border-radius: 4px; }
figcaption, .small { font-size: .8rem; color: var(--quiet); overflow-wrap: anywhere; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; } td, th { padding: .1rem .8rem .1rem 0; }
th { text-align: left; font-weight: 600; } td { text-align: right; }
@media (max-width: 40rem) { .top { grid-template-columns: 1fr; } }
"""


def card(
    row: Identification,
    answer: str,
    why: Explanation | None,
    entries: Sequence[SpeciesEntry],
    anchor_file: Callable[[str], Path],
) -> str:
    """Return the page of one photo.

    Args:
        row: its identification; one with an error says so.
        answer: the answer in words.
        why: what told the first candidate from the second; None where there are no candidates.
        entries: of the candidates, in their order.
        anchor_file: sha256 of an anchor -> its file.
    """
    title = escape(f"{answer} - {Path(row.image).name}")
    photo = _picture(row.image, PHOTO_PX, "the photo") if row.status == "ok" else ""
    parts = [
        f"<div class=top><div>{photo}<p class=small>{escape(row.image)}</p></div><div>",
        f"<h1>{escape(answer)}</h1>",
        f"<p>error: {escape(row.error or '')}</p>" if row.status == "error" else "",
        f"<p>{escape(why.told_apart)}</p>" if why else "",
        _reading(row),
        "</div></div>",
        *(
            _candidate(rank, candidate, entry, anchor_file)
            for rank, (candidate, entry) in enumerate(zip(row.candidates, entries, strict=True), 1)
        ),
        f"<p class=small>Preset {escape(row.preset)}, knowledge base {escape(row.kb)}, calibration "
        f"{escape(row.calibration or 'none')}. Scores compare the candidates of this photo, not photos. Credits stand "
        "under each picture; texts from Wikipedia are CC BY-SA, and what is distilled from them is so too.</p>",
    ]
    return (
        f"<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>{title}</title>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _candidate(rank: int, candidate: Candidate, entry: SpeciesEntry, anchor_file: Callable[[str], Path]) -> str:
    scores = {"score": candidate.score, **candidate.scores}
    given = {name: value for name, value in scores.items() if value is not None}
    heads = "".join(f"<th>{escape(name)}</th>" for name in given)
    cells = "".join(f"<td>{value:.3f}</td>" for value in given.values())
    anchors = {anchor.anchor_id: anchor for anchor in entry.anchors}
    figures = []
    for match in candidate.anchors:
        anchor = anchors.get(match.id)
        picture = "<p class=small>(no picture is kept of this anchor)</p>"
        if anchor is not None and anchor.sha256 is not None:
            picture = _picture(anchor_file(anchor.sha256), ANCHOR_PX, f"an anchor of {candidate.common_name}")
        figures.append(
            f"<figure>{picture}<figcaption>{match.similarity:.3f} alike. {_credit(anchor)}</figcaption></figure>"
        )
    source = f"<p class=small>From {_source(entry)}</p>" if entry.source else ""
    return (
        f"<section class=candidate><h2>{rank}. {escape(candidate.common_name)} "
        f"<i class=name>{escape(candidate.scientific_name)}</i></h2>"
        f"<div class=anchors>{''.join(figures) or '<p class=small>no anchors</p>'}</div>"
        f"<p>{escape(candidate.summary or 'No description.')}</p>{source}"
        f"<table class=small><tr>{heads}</tr><tr>{cells}</tr></table></section>"
    )


def _reading(row: Identification) -> str:
    reading = row.reader
    if reading is None:
        return ""
    agreement = "" if reading.agreement is None else f", agreement {reading.agreement:.2f}"
    chosen = escape(reading.choice or "none of these")
    return f"<p><b>The reader chose {chosen}</b>{agreement}: {escape(reading.reason)}</p>"


def _source(entry: SpeciesEntry) -> str:
    source = entry.source
    assert source is not None  # the caller asked
    words = [source.title, f"revision {source.revision}" if source.revision else "", source.licence or ""]
    text = escape(", ".join(word for word in words if word))
    return _linked(text, source.url)


def _credit(anchor: Anchor | None) -> str:
    if anchor is None or anchor.sha256 is None:
        return "numbers alone, no picture to credit"
    words = (anchor.author or "unknown author", anchor.licence or "unknown licence")
    return _linked(escape(", ".join(words)), anchor.page_url)


def _linked(text: str, url: str | None) -> str:
    """Return escaped text as a link, where there is an address of the web: no other kind of address is followed."""
    return f'<a href="{escape(url)}">{text}</a>' if url and url.startswith(("https://", "http://")) else text


def _picture(file: str | Path, side: int, alt: str) -> str:
    """Return a picture as an element that holds its own bytes, or words where it cannot be read."""
    from data.images import read_image

    try:
        picture = read_image(Path(file), min_side=side)
    except BadImage:
        return f"<p class=small>({escape(alt)} cannot be read)</p>"
    picture.thumbnail((side, side))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=QUALITY)
    return f'<img alt="{escape(alt)}" src="data:image/jpeg;base64,{base64.b64encode(out.getvalue()).decode()}">'
