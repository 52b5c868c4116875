"""Pictures of a card, embedded in the page."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Final

from data.errors import BadImage
from data.images.views import scaled
from data.pages import element, embedded
from data.records import Box

if TYPE_CHECKING:
    from markupsafe import Markup
    from PIL.Image import Image


PHOTO_PX: Final = 800
ANCHOR_PX: Final = 320
QUALITY: Final = 85


def picture(file: str | Path, side: int, alt: str, box: Box | None = None, number: str = "") -> Markup:
    """Return an `img` element with embedded bytes, or a note where the picture is unreadable.

    The picture is encoded again, so place, time and camera of the file are not in the page. A `box` in pixels of the
    upright file gets a frame and a number.
    """
    from data.images.decode import read_photo

    try:
        photo = read_photo(Path(file), min_side=side)
    except BadImage:
        return element("<p class=small>({} cannot be read)</p>", alt)
    opened, width = photo.image, photo.image.width
    opened.thumbnail((side, side))
    if box is not None:
        draw_frame(opened, scaled(box, opened.width / width / photo.scale), number)
    out = io.BytesIO()
    opened.save(out, "JPEG", quality=QUALITY)
    return embedded(out.getvalue(), alt=alt, width=opened.width, height=opened.height)


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
