"""Pictures of a card, embedded in the page with their credits."""

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
    """Return the reference photos of a species side by side, and one line for those stored as vectors only."""
    shown, bare = [], []
    for match in matches:
        anchor = anchors.get(match.id)
        if anchor is None or anchor.sha256 is None:
            bare.append(match.similarity)
            continue
        element = picture(anchor_file(anchor.sha256), ANCHOR_PX, f"a reference photo of {name}")
        caption = f"<b>similarity {match.similarity:.2f}</b><br>{credit(anchor)}"
        shown.append(f"<figure>{element}<figcaption>{caption}</figcaption></figure>")
    parts = [f"<div class=anchors>{''.join(shown)}</div>"] if shown else []
    if bare:
        photos = "1 reference photo that is" if len(bare) == 1 else f"{len(bare)} reference photos that are"
        similarities = ", ".join(f"{similarity:.2f}" for similarity in bare)
        parts.append(f"<p class=small>Compared with {photos} stored as vectors only: similarity {similarities}.</p>")
    return "".join(parts) or "<p class=small>The knowledge base has no reference photo of this species.</p>"


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
