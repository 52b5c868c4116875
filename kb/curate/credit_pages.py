"""Credits as plain text, as a self-contained HTML page, and as table rows; external text is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from kb.curate.credits import Credits, TextCredit
from kb.sources.licences import Freedom

UNKNOWN_LICENCE = "licence unknown"
UNKNOWN_AUTHOR = "unknown author"
ADAPTATION = "Its summaries are adaptations, shortened and changed, under the same licence."
OWN_TEXTS = "Written for Fieldmark, part of the program and under its licence."
_STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # control characters and direction marks


class CreditRow(NamedTuple):
    """A text or photo; the title of a photo is its file name, and its address that of its file page."""

    kind: str
    title: str
    url: str | None
    revision: int | None
    author: str | None
    licence: str | None
    licence_url: str | None
    freedom: Freedom
    publishable: bool
    adapted: bool
    species: tuple[str, ...]
    sha256: str | None


COLUMNS = CreditRow._fields


def credit_rows(credits: Credits) -> list[CreditRow]:
    """Return the texts, then the photos, which all forms of the credits list."""
    texts = [
        CreditRow(
            *(text.kind, text.title, text.url, text.revision, None, text.licence, text.licence_url, text.freedom),
            *(text.is_publishable, text.is_adapted, text.species, None),
        )
        for text in credits.texts
    ]
    photos = [
        CreditRow(
            *("photo", photo.file, photo.page_url, None, photo.author, photo.licence, photo.licence_url),
            *(photo.freedom, photo.is_publishable, False, photo.species, photo.sha256),
        )
        for photo in credits.photos
    ]
    return texts + photos


def as_rows(credits: Credits) -> list[tuple[object, ...]]:
    """Return the values of `COLUMNS` for each text and photo: `yes` or `no`, species joined with semicolons."""
    return [tuple(_cell(value) for value in row) for row in credit_rows(credits)]


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "; ".join(value) if isinstance(value, tuple) else value


def as_text(credits: Credits) -> str:
    """Return the credits as plain text, one line per text and photo."""
    return "\n\n".join("\n".join(map(_in_one_line, part)) for part in _parts(credits) if part)


def _in_one_line(line: str) -> str:
    # Otherwise an author's name from a wiki could add lines, or control a terminal.
    return _STEERING.sub("", " ".join(line.split()))


def _parts(credits: Credits) -> list[list[str]]:
    rows = credit_rows(credits)
    starter = [text for text in credits.texts if text.kind == "starter"]

    def listed(title: str, kind: str) -> list[str]:
        lines = [_line(row) for row in rows if row.kind == kind]
        return [title, *lines] if lines else []

    return [
        [f"Credits of {credits.kb}"],
        listed("Articles", "article"),
        listed("Your own texts", "own"),
        [f"Fieldmark's own texts: {_counted(starter)}.", OWN_TEXTS] if starter else [],
        listed("Pictures", "photo"),
        _remarks(credits),
    ]


def _counted(texts: Sequence[TextCredit]) -> str:
    names = {name for text in texts for name in text.species}
    licences = ", ".join(sorted({text.licence for text in texts if text.licence}))
    return f"{len(names):,} species and terms, {licences}"


def _line(row: CreditRow) -> str:
    licence = row.licence or UNKNOWN_LICENCE
    licence += f" ({row.licence_url})" if row.licence_url else ""
    if row.kind == "photo":
        line = ", ".join(filter(None, [f"{row.title}: {row.author or UNKNOWN_AUTHOR}", licence, row.url]))
    else:
        revision = f"revision {row.revision}" if row.revision is not None else ""
        line = ", ".join(filter(None, [f'"{row.title}"', revision, row.url, licence]))
    line += "." if row.publishable else ". NOT TO BE PUBLISHED."
    return line + (f" {ADAPTATION}" if row.adapted else "")


def _remarks(credits: Credits) -> list[str]:
    """Return notes on content that must not be published, vectors without photos, and skipped photos."""
    lines = []
    if n := len(credits.unpublishable):
        lines.append(f"Must not be published (licence not free or unknown): {n:,}.")
    if n := credits.n_anchors_without_picture:
        lines.append(f"Reference photos stored as vectors only, without the photos: {n:,}.")
    if credits.skipped_photos:
        reasons = ", ".join(f"{reason} {n:,}" for reason, n in credits.skipped_photos.items())
        lines.append(f"Photos skipped: {reasons}.")
    return lines


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.45 system-ui, sans-serif; color: #222; background: #fff; max-width: 75rem; margin: 2rem auto;
  padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; margin-bottom: 2rem; }}
th, td {{ text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #ddd;
  overflow-wrap: anywhere; }}
th {{ white-space: nowrap; }}
.unfree {{ background: #fdecea; }}
.unfree td:last-child::after {{ content: " Not to be published."; font-weight: bold; }}
</style>
<h1>{title}</h1>
{body}
</html>
"""


def as_html(credits: Credits) -> str:
    """Return the credits as a self-contained HTML page without scripts."""
    rows = credit_rows(credits)
    texts = [row for row in rows if row.kind in ("article", "own")]
    photos = [row for row in rows if row.kind == "photo"]
    starter = [text for text in credits.texts if text.kind == "starter"]
    body = [f"<p>{escape(line)}</p>" for line in _remarks(credits)]
    if texts:
        body.append(_table("Texts", ("Article", "Revision", "Species", "Licence"), texts))
    if any(row.adapted for row in texts):
        body.append(f"<p>Texts marked <em>adapted</em>: {escape(ADAPTATION)}</p>")
    if starter:
        body.append(f"<h2>Fieldmark's own texts</h2>\n<p>{escape(_counted(starter))}. {escape(OWN_TEXTS)}</p>")
    if photos:
        body.append(_table("Pictures", ("File", "Author", "Species", "Licence"), photos))
    return _PAGE.format(title=escape(f"Credits of {credits.kb}"), body="\n".join(body))


def _table(title: str, headings: Sequence[str], rows: Sequence[CreditRow]) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    return f"<h2>{title}</h2>\n<table>\n<tr>{head}</tr>\n" + "\n".join(map(_html_row, rows)) + "\n</table>"


def _html_row(row: CreditRow) -> str:
    revision = "" if row.revision is None else str(row.revision)
    cells = (
        _link(row.title, row.url),
        escape(row.author or UNKNOWN_AUTHOR) if row.kind == "photo" else revision,
        escape(", ".join(row.species)),
        _link(row.licence or UNKNOWN_LICENCE, row.licence_url) + (", <em>adapted</em>" if row.adapted else ""),
    )
    mark = "" if row.publishable else ' class="unfree"'
    return f"<tr{mark}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _link(text: str, url: str | None) -> str:
    # A wiki's metadata may hold any address; only these are safe to link.
    if url and url.startswith(("https://", "http://")):
        return f'<a href="{escape(url)}">{escape(text)}</a>'
    return escape(text)
