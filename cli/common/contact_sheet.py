"""Contact sheets: photos with captions on one page, which needs no other file and loads nothing."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

from data.errors import BadImage
from data.images.views import jpeg_of

SIDE_PX: Final = 320
_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE: Final = """
:root { color-scheme: light dark; --paper: #f7f5f0; --sheet: #fffefb; --ink: #1d2622; --quiet: #5d6762;
  --line: #ddd8cc; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14181a; --sheet: #1c2225; --ink: #e8e6e0; --quiet: #a3aaa5; --line: #353d40; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 90rem; padding: 1.25rem; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, "Segoe UI", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.2; margin: 0 0 .25rem; } p { margin: .25rem 0; color: var(--quiet); }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(12rem, 1fr)); gap: .75rem; margin-top: 1rem; }
figure { margin: 0; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; overflow: hidden; }
figure img, figure div { display: block; width: 100%; height: 11rem; object-fit: contain; background: var(--line); }
figure div { padding: .75rem; } figcaption { padding: .5rem .65rem; font-size: .85rem; }
figcaption b { font-size: 1.1rem; margin-right: .35rem; } small { color: var(--quiet); float: right; }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetPhoto:
    """A photo of a contact sheet."""

    path: Path
    number: int
    """Its rank, or the number to type."""
    name: str
    score: float


def contact_sheet(title: str, lines: Sequence[str], photos: Iterable[SheetPhoto]) -> str:
    """Return a page with a title, lines below it, and the photos with number, score and name; all texts are escaped.

    The photos are encoded again, so place, time and camera of the files are not in the page.
    """
    head = escape(title)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{head}</title>'
        f'<meta name="viewport" content="width=device-width"><meta http-equiv="Content-Security-Policy" '
        f'content="{_POLICY}"><style>{_STYLE}</style></head><body><h1>{head}</h1>'
        f"{''.join(f'<p>{escape(line)}</p>' for line in lines)}<main>{''.join(map(_figure, photos))}</main>"
        "</body></html>\n"
    )


def _figure(photo: SheetPhoto) -> str:
    try:
        data = base64.b64encode(jpeg_of(photo.path, max_side=SIDE_PX)).decode()
        picture = f'<img src="data:image/jpeg;base64,{data}" alt="" loading="lazy">'
    except BadImage as error:
        picture = f"<div>{escape(str(error))}</div>"
    caption = f"<small>{photo.score:.3f}</small><b>{photo.number}</b>{escape(photo.name)}"
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"
