"""Credits as plain text, as a self-contained HTML page, and as table rows; external text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from kb.curate.credits import Credits, PhotoCredit, TextCredit

COLUMNS = (
    *("kind", "title", "url", "revision", "author", "licence", "licence_url", "freedom", "publishable", "adapted"),
    *("species", "sha256"),
)
UNKNOWN_LICENCE = "licence unknown"
ADAPTATION = "Its summaries are adaptations, shortened and changed, under the same licence."
OWN_TEXTS = "Written for Fieldmark, part of the program and under its licence."
_STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # terminals, and the order of letters


def as_rows(credits: Credits) -> list[tuple[object, ...]]:
    """Return a row of `COLUMNS` for each text and each photo."""
    return [*map(_text_row, credits.texts), *map(_photo_row, credits.photos)]


def _text_row(text: TextCredit) -> tuple[object, ...]:
    owed = (text.kind, text.title, text.url, text.revision, None, text.licence, text.licence_url, text.freedom)
    return (*owed, _yes(text.is_publishable), _yes(text.is_adapted), "; ".join(text.species), None)


def _photo_row(photo: PhotoCredit) -> tuple[object, ...]:
    owed = ("photo", photo.file, photo.page_url, None, photo.author, photo.licence, photo.licence_url, photo.freedom)
    return (*owed, _yes(photo.is_publishable), _yes(False), "; ".join(photo.species), photo.sha256)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def as_text(credits: Credits) -> str:
    """Return the credits as plain text, one line per text and photo."""
    return "\n\n".join("\n".join(map(_in_one_line, part)) for part in _parts(credits) if part)


def _in_one_line(line: str) -> str:
    # Otherwise an author's name from a wiki could add lines, or control a terminal.
    return _STEERING.sub("", " ".join(line.split()))


def _parts(credits: Credits) -> list[list[str]]:
    articles = [text for text in credits.texts if text.kind == "article"]
    own = [text for text in credits.texts if text.kind == "own"]
    starter = [text for text in credits.texts if text.kind == "starter"]
    return [
        [f"Credits of {credits.kb}"],
        ["Articles", *map(text_line, articles)] if articles else [],
        ["Your own texts", *map(text_line, own)] if own else [],
        [f"Fieldmark's own texts: {_counted(starter)}.", OWN_TEXTS] if starter else [],
        ["Pictures", *map(photo_line, credits.photos)] if credits.photos else [],
        remarks(credits),
    ]


def _counted(texts: Sequence[TextCredit]) -> str:
    names = {name for text in texts for name in text.species}
    licences = ", ".join(sorted({text.licence for text in texts if text.licence}))
    return f"{len(names):,} species and terms, {licences}"


def text_line(text: TextCredit) -> str:
    """Return title, revision, address and licence of a text as a line."""
    where = [f"revision {text.revision}" if text.revision is not None else "", text.url or ""]
    line = ", ".join([f'"{text.title}"', *filter(None, where), text.licence or UNKNOWN_LICENCE])
    line += f" ({text.licence_url})" if text.licence_url else ""
    line += "." if text.is_publishable else ". NOT TO BE PUBLISHED."
    return line + (f" {ADAPTATION}" if text.is_adapted else "")


def photo_line(photo: PhotoCredit) -> str:
    """Return file, author, licence and file page of a photo as a line."""
    line = f"{photo.file}: {photo.author or 'unknown author'}, {photo.licence or UNKNOWN_LICENCE}"
    line += f" ({photo.licence_url})" if photo.licence_url else ""
    line += f", {photo.page_url}" if photo.page_url else ""
    return line + ("." if photo.is_publishable else ". NOT TO BE PUBLISHED.")


def remarks(credits: Credits) -> list[str]:
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
    articles = [text for text in credits.texts if text.kind != "starter"]
    starter = [text for text in credits.texts if text.kind == "starter"]
    body = [f"<p>{escape(line)}</p>" for line in remarks(credits)]
    if articles:
        rows = [_row(_text_cells(text), is_publishable=text.is_publishable) for text in articles]
        body.append(_table("Texts", ("Article", "Revision", "Species", "Licence"), rows))
    if any(text.is_adapted for text in articles):
        body.append(f"<p>Texts marked <em>adapted</em>: {escape(ADAPTATION)}</p>")
    if starter:
        body.append(f"<h2>Fieldmark's own texts</h2>\n<p>{escape(_counted(starter))}. {escape(OWN_TEXTS)}</p>")
    if credits.photos:
        rows = [_row(_photo_cells(photo), is_publishable=photo.is_publishable) for photo in credits.photos]
        body.append(_table("Pictures", ("File", "Author", "Species", "Licence"), rows))
    return _PAGE.format(title=escape(f"Credits of {credits.kb}"), body="\n".join(body))


def _text_cells(text: TextCredit) -> list[str]:
    licence = _link(text.licence or UNKNOWN_LICENCE, text.licence_url) + (
        ", <em>adapted</em>" if text.is_adapted else ""
    )
    revision = "" if text.revision is None else str(text.revision)
    return [_link(text.title, text.url), revision, escape(", ".join(text.species)), licence]


def _photo_cells(photo: PhotoCredit) -> list[str]:
    licence = _link(photo.licence or UNKNOWN_LICENCE, photo.licence_url)
    author = escape(photo.author or "unknown author")
    return [_link(photo.file, photo.page_url), author, escape(", ".join(photo.species)), licence]


def _row(cells: Iterable[str], *, is_publishable: bool) -> str:
    mark = "" if is_publishable else ' class="unfree"'
    return f"<tr{mark}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _table(title: str, columns: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f"<th>{column}</th>" for column in columns)
    return f"<h2>{title}</h2>\n<table>\n<tr>{head}</tr>\n" + "\n".join(rows) + "\n</table>"


def _link(text: str, url: str | None) -> str:
    # A wiki's metadata may hold any address; only these are safe to link.
    if url and url.startswith(("https://", "http://")):
        return f'<a href="{escape(url)}">{escape(text)}</a>'
    return escape(text)
