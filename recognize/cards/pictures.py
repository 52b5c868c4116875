"""Style and pictures of a card; pictures are embedded in the page with their credits."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from data.errors import BadImage
from data.images.views import scaled
from data.records import Anchor, AnchorMatch, Box, Source

if TYPE_CHECKING:
    from PIL.Image import Image


PHOTO_PX: Final = 800
ANCHOR_PX: Final = 320
QUALITY: Final = 85
STYLE: Final = """
:root { color-scheme: light dark;
  --paper: #f7f5f0; --sheet: #fffefb; --ink: #1d2622; --quiet: #5d6762; --line: #ddd8cc; --leaf: #2c6e49;
  --leaf-soft: #dcebe0; --mark: #ffe49a; --mark-ink: #3d2f00; --warn: #fdf0d5; --warn-line: #d9a441; --less: #b3552e; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14181a; --sheet: #1c2225; --ink: #e8e6e0; --quiet: #a3aaa5; --line: #353d40; --leaf: #86c9a0;
  --leaf-soft: #22382c; --mark: #5a4a14; --mark-ink: #ffedb8; --warn: #3a2f17; --warn-line: #b58a3a;
  --less: #e0946f; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", sans-serif;
  overflow-wrap: anywhere; }
main { max-width: 76rem; margin: 0 auto; padding: 1.5rem 1.25rem 3rem; display: grid; gap: 1.25rem 2rem;
  grid-template: "photo head" auto "photo list" 1fr / minmax(18rem, 25rem) minmax(0, 1fr); }
main.bare { grid-template: "head" auto "list" 1fr / minmax(0, 1fr); max-width: 46rem; }
header { grid-area: head; } aside { grid-area: photo; } .list { grid-area: list; min-width: 0; }
aside > div { position: sticky; top: 1rem; }
h1 { font-size: clamp(1.6rem, 4.5vw, 2.4rem); line-height: 1.15; margin: 0; text-wrap: balance; }
h2 { font-size: 1.2rem; line-height: 1.25; margin: 0; } h3 { font-size: .95rem; margin: 1rem 0 .3rem; }
p { margin: .5rem 0; } a { color: inherit; text-decoration-color: var(--line); text-underline-offset: .15em; }
a:hover { text-decoration-color: currentColor; }
.over { letter-spacing: .03em; font-size: .85rem; font-weight: 600; color: var(--leaf);
  margin: 0 0 .25rem; }
.sci { font-style: italic; color: var(--quiet); } h1 + .sci { font-size: 1.15rem; margin: .15rem 0 .75rem; }
h2 .sci { font-weight: 400; font-size: 1rem; }
.sure { max-width: 34rem; } .sure strong { font-size: 1.25rem; }
.meter { height: .5rem; border-radius: 1rem; background: var(--line); overflow: hidden; margin: .35rem 0; }
.meter i { display: block; height: 100%; background: var(--leaf); border-radius: 1rem; }
.closest { padding-left: 1.2rem; }
.note { background: var(--warn); border-left: 4px solid var(--warn-line); padding: .5rem .8rem; border-radius: 4px; }
blockquote { margin: .75rem 0; padding: .6rem .9rem; background: var(--leaf-soft); border-radius: 8px; }
blockquote p { margin: .2rem 0; }
figure { margin: 0; }
figure img { display: block; width: 100%; height: auto; border-radius: 8px; background: var(--line); }
figcaption, .small { font-size: .8rem; line-height: 1.4; color: var(--quiet); } figcaption { margin-top: .3rem; }
.photo img { max-height: 80vh; object-fit: contain; }
.candidate, .scores { background: var(--sheet); border: 1px solid var(--line); border-radius: 12px;
  padding: 1rem 1.1rem; margin: 0 0 1rem; }
.candidate.chosen { border: 2px solid var(--leaf); }
.tag.is { background: var(--leaf-soft); border-color: transparent; color: var(--ink); }
.title { display: flex; gap: .7rem; align-items: baseline; flex-wrap: wrap; margin-bottom: .7rem; }
.title h2 { flex: 1 1 12rem; } .place { font-weight: 700; color: var(--leaf); }
.tag { font-size: .75rem; border: 1px solid var(--line); border-radius: 1rem; padding: 0 .6rem; color: var(--quiet);
  white-space: nowrap; }
.anchors { display: grid; gap: .8rem; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); }
.anchors img { aspect-ratio: 4 / 3; object-fit: contain; }
.anchors b { color: var(--ink); }
.chips { display: flex; flex-wrap: wrap; gap: .35rem; padding: 0; margin: .3rem 0; list-style: none; }
.chips li, mark { background: var(--mark); color: var(--mark-ink); border-radius: 4px; }
.chips li { padding: .05rem .5rem; font-size: .9rem; } .chips small { opacity: .75; } mark { padding: 0 .1em; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0; border-top: 1px solid var(--line); }
thead th { border-top: 0; font-weight: 600; color: var(--quiet); font-size: .8rem; }
tbody th { font-weight: 400; } .contrast td { width: 40%; } .contrast tbody th { color: var(--quiet); }
.scores { overflow-x: auto; } .scores thead th { overflow-wrap: normal; }
.scores td { font-variant-numeric: tabular-nums; min-width: 4.2rem; }
.bar { display: block; height: .3rem; border-radius: 1rem; background: var(--leaf); margin-top: .15rem;
  min-width: 1px; }
.bar.less { background: var(--less); }
details { margin-top: .6rem; } summary { cursor: pointer; font-size: .85rem; color: var(--quiet); }
footer { grid-column: 1 / -1; }
@media (max-width: 52rem) {
  main, main.bare { grid-template: "head" auto "photo" auto "list" auto / minmax(0, 1fr); padding: 1rem .9rem 2rem; }
  aside > div { position: static; } .title h2 { flex-basis: calc(100% - 2.5rem); }
  .anchors { grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr)); }
}
@media (max-width: 36rem) {
  .scores tr { display: grid; grid-template-columns: repeat(var(--columns), 1fr); }
  .scores tbody th { grid-column: 1 / -1; font-weight: 600; } .scores thead th:first-child { display: none; }
  .scores th, .scores td { padding-right: .3rem; } .scores td { border: 0; min-width: 0; padding-top: 0; }
  .contrast tbody th { max-width: 4.5rem; }
}
@media print { body { background: none; } aside > div { position: static; } .candidate { break-inside: avoid; } }
"""


def picture(file: str | Path, side: int, alt: str, box: Box | None = None, number: str = "") -> str:
    """Return an `img` element with embedded bytes, or a note where the picture is unreadable.

    The picture is encoded again, so place, time and camera of the file are not in the page. A `box` in pixels of the
    upright file gets a frame and a number.
    """
    from data.images.decode import read_photo

    try:
        photo = read_photo(Path(file), min_side=side)
    except BadImage:
        return f"<p class=small>({escape(alt)} cannot be read)</p>"
    opened, width = photo.image, photo.image.width
    opened.thumbnail((side, side))
    if box is not None:
        draw_frame(opened, scaled(box, opened.width / width / photo.scale), number)
    out = io.BytesIO()
    opened.save(out, "JPEG", quality=QUALITY)
    data = base64.b64encode(out.getvalue()).decode()
    width, height = opened.size
    return f'<img alt="{escape(alt)}" width={width} height={height} src="data:image/jpeg;base64,{data}">'


def draw_frame(picture: Image, box: Box, number: str) -> None:
    """Draw a frame around a bird, light within dark, and its number."""
    from PIL import ImageDraw

    draw, line = ImageDraw.Draw(picture), max(1, round(max(picture.size) / 400))
    left, top = box.left, box.top
    for inset, colour in ((0, "black"), (line, "white"), (2 * line, "black")):
        inner = (left + inset, top + inset, max(left, box.right - 1) - inset, max(top, box.bottom - 1) - inset)
        if inner[0] <= inner[2] and inner[1] <= inner[3]:
            draw.rectangle(inner, outline=colour, width=line)
    if number:
        place, size = (left + 4 * line, top + 3 * line), max(10.0, 16.0 * line)
        draw.text(place, number, fill="white", stroke_fill="black", stroke_width=line, font_size=size)


def figures(
    matches: tuple[AnchorMatch, ...], anchors: dict[str, Anchor], name: str, anchor_file: Callable[[str], Path]
) -> str:
    """Return the reference photos of a species side by side, without those stored as vectors only."""
    shown = []
    for match in matches:
        anchor = anchors.get(match.id)
        if anchor is None or anchor.sha256 is None:
            continue
        element = picture(anchor_file(anchor.sha256), ANCHOR_PX, f"a reference photo of {name}")
        caption = f"<b>similarity {match.similarity:.2f}</b><br>{credit(anchor)}"
        shown.append(f"<figure>{element}<figcaption>{caption}</figcaption></figure>")
    if not matches:
        return "<p class=small>The knowledge base has no reference photo of this species.</p>"
    return f"<div class=anchors>{''.join(shown)}</div>" if shown else ""


def credit(anchor: Anchor) -> str:
    """Return the credit of a photo, with links to its page and licence."""
    if anchor.is_own:
        return "your own"
    author = linked(escape(anchor.author or "unknown author"), anchor.page_url)
    return f"{author}, {linked(escape(anchor.licence or 'licence unknown'), anchor.licence_url)}"


def source_text(source: Source) -> str:
    """Return the source of a description."""
    words = [f"revision {source.revision}" if source.revision else "", source.licence or ""]
    rest = "".join(f", {escape(word)}" for word in words if word)
    return linked(escape(source.title), source.url) + rest


def linked(text: str, url: str | None) -> str:
    """Return escaped text as a link if `url` is http(s), else the text alone."""
    if not url or not url.startswith(("https://", "http://")):
        return text
    return f'<a href="{escape(url)}" rel="noreferrer">{text}</a>'
