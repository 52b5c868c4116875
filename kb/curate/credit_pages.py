"""Credits as plain text, as a self-contained HTML page, and as table rows; external text is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from kb.curate.credits import Credits, PhotoCredit, TextCredit

UNKNOWN_LICENCE = "licence unknown"
OWN = "your own"
UNKNOWN_AUTHOR = "unknown author"
ADAPTATION = "Its summaries are adaptations, shortened and changed, under the same licence."
OWN_TEXTS = "Written for Fieldmark, part of the program and under its licence."
_STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # control characters and direction marks


COLUMNS = (
    "kind", "title", "url", "revision", "author", "licence", "licence_url", "freedom", "publishable", "adapted",
    "species", "sha256", "accessed",
)  # fmt: skip
_FIELDS = [{"publishable": "is_publishable", "adapted": "is_adapted"}.get(column, column) for column in COLUMNS]
Credit = TextCredit | PhotoCredit


def as_rows(credits: Credits) -> list[tuple[object, ...]]:
    """Return the values of `COLUMNS` for each text and photo: `yes` or `no`, species joined with semicolons.

    The title of a photo is its file name, and its address that of its file page.
    """
    given: list[tuple[Credit, dict[str, object]]] = [(text, {}) for text in credits.texts]
    for photo in credits.photos:
        given.append((photo, {"kind": "photo", "title": photo.file, "url": photo.page_url, "is_adapted": False}))
    return [tuple(_cell(own.get(name, getattr(credit, name, None))) for name in _FIELDS) for credit, own in given]


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "; ".join(value) if isinstance(value, tuple) else value


def as_text(credits: Credits) -> str:
    """Return the credits as plain text, one line per text and photo."""
    parts = [[" ".join(line.split()) for line in part] for part in _parts(credits) if part]
    # Otherwise an author's name from a wiki could add lines, or control a terminal.
    return "\n\n".join("\n".join(_STEERING.sub("", line) for line in part) for part in parts)


def _parts(credits: Credits) -> list[list[str]]:
    starter = [text for text in credits.texts if text.kind == "starter"]

    def listed(title: str, found: Sequence[Credit]) -> list[str]:
        return [title, *map(_line, found)] if found else []

    return [
        [f"Credits of {credits.kb}"],
        listed("Articles", [text for text in credits.texts if text.kind == "article"]),
        listed("Your own texts", [text for text in credits.texts if text.kind == "own"]),
        [f"Fieldmark's own texts: {_counted(starter)}.", OWN_TEXTS] if starter else [],
        listed("Pictures", credits.photos),
        _remarks(credits),
    ]


def _counted(texts: Sequence[TextCredit]) -> str:
    names = {name for text in texts for name in text.species}
    licences = ", ".join(sorted({text.licence for text in texts if text.licence}))
    return f"{len(names):,} species and terms, {licences}"


def _line(credit: Credit) -> str:
    licence = _licence(credit) + (f" ({credit.licence_url})" if credit.licence_url else "")
    if isinstance(credit, PhotoCredit):
        author = () if credit.freedom == "own" else (credit.author or UNKNOWN_AUTHOR,)
        parts = [f"{credit.file}: {', '.join([*author, licence])}", credit.page_url]
    else:
        revision = f"revision {credit.revision}" if credit.revision is not None else ""
        accessed = f"accessed {credit.accessed}" if credit.accessed else ""
        parts = [f'"{credit.title}"', revision, credit.url, accessed, licence]
    line = ", ".join(filter(None, parts)) + ("." if credit.is_publishable else ". NOT TO BE PUBLISHED.")
    return line + (f" {ADAPTATION}" if isinstance(credit, TextCredit) and credit.is_adapted else "")


def _licence(credit: Credit) -> str:
    return credit.licence or (OWN if credit.freedom == "own" else UNKNOWN_LICENCE)


def _remarks(credits: Credits) -> list[str]:
    """Return notes on content that must not be published, vectors without photos, and skipped photos."""
    lines = []
    if credits.checklist:
        lines.append(f"Names from the checklist {credits.checklist}, {credits.checklist_licence or UNKNOWN_LICENCE}.")
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
    texts = [text for text in credits.texts if text.kind in ("article", "own")]
    starter = [text for text in credits.texts if text.kind == "starter"]
    body = [f"<p>{escape(line)}</p>" for line in _remarks(credits)]
    if texts:
        body.append(_table("Texts", ("Article", "Revision", "Species", "Licence"), texts))
    if any(text.is_adapted for text in texts):
        body.append(f"<p>Texts marked <em>adapted</em>: {escape(ADAPTATION)}</p>")
    if starter:
        body.append(f"<h2>Fieldmark's own texts</h2>\n<p>{escape(_counted(starter))}. {escape(OWN_TEXTS)}</p>")
    if credits.photos:
        body.append(_table("Pictures", ("File", "Author", "Species", "Licence"), credits.photos))
    return _PAGE.format(title=escape(f"Credits of {credits.kb}"), body="\n".join(body))


def _table(title: str, headings: Sequence[str], credits: Sequence[Credit]) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    return f"<h2>{title}</h2>\n<table>\n<tr>{head}</tr>\n" + "\n".join(map(_html_row, credits)) + "\n</table>"


def _html_row(credit: Credit) -> str:
    adapted = ""
    if isinstance(credit, PhotoCredit):
        author = credit.author or (OWN if credit.freedom == "own" else UNKNOWN_AUTHOR)
        title, origin = _link(credit.file, credit.page_url), escape(author)
    else:
        title, origin = _link(credit.title, credit.url), f"accessed {credit.accessed}" if credit.accessed else ""
        origin = origin if credit.revision is None else str(credit.revision)
        adapted = ", <em>adapted</em>" if credit.is_adapted else ""
    licence = _link(_licence(credit), credit.licence_url) + adapted
    mark = "" if credit.is_publishable else ' class="unfree"'
    cells = (title, origin, escape(", ".join(credit.species)), licence)
    return f"<tr{mark}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _link(text: str, url: str | None) -> str:
    # A wiki's metadata may hold any address; only these are safe to link.
    if url and url.startswith(("https://", "http://")):
        return f'<a href="{escape(url)}">{escape(text)}</a>'
    return escape(text)
