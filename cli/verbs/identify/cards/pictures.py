"""The pictures of a card, held by the page itself, each with whom it is owed to."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Final

from data.errors import BadImage
from data.records import Anchor, AnchorMatch, Source

PHOTO_PX: Final = 800
ANCHOR_PX: Final = 320
QUALITY: Final = 85


def picture(file: str | Path, side: int, alt: str) -> str:
    """Return a picture as an element that holds its own bytes, or words where it cannot be read.

    It is encoded anew, so what the file says of place, time and camera is not in the page.
    """
    from data.images.decode import read_image

    try:
        opened = read_image(Path(file), min_side=side)
    except BadImage:
        return f"<p class=small>({escape(alt)} cannot be read)</p>"
    opened.thumbnail((side, side))
    out = io.BytesIO()
    opened.save(out, "JPEG", quality=QUALITY)
    data = base64.b64encode(out.getvalue()).decode()
    width, height = opened.size
    return f'<img alt="{escape(alt)}" width={width} height={height} src="data:image/jpeg;base64,{data}">'


def figures(
    matches: tuple[AnchorMatch, ...], anchors: dict[str, Anchor], name: str, anchor_file: Callable[[str], Path]
) -> str:
    """Return a species' anchors side by side; those that are numbers alone are one line."""
    shown, bare = [], []
    for match in matches:
        anchor = anchors.get(match.id)
        if anchor is None or anchor.sha256 is None:
            bare.append(match.similarity)
            continue
        element = picture(anchor_file(anchor.sha256), ANCHOR_PX, f"an anchor of {name}")
        caption = f"<b>{match.similarity:.2f} alike</b><br>{credit(anchor)}"
        shown.append(f"<figure>{element}<figcaption>{caption}</figcaption></figure>")
    parts = [f"<div class=anchors>{''.join(shown)}</div>"] if shown else []
    if bare:
        kept = "1 picture that is" if len(bare) == 1 else f"{len(bare)} pictures that are"
        alike = ", ".join(f"{similarity:.2f}" for similarity in bare)
        parts.append(f"<p class=small>Compared with {kept} kept as numbers alone, none to show: {alike} alike.</p>")
    return "".join(parts) or "<p class=small>The knowledge base has no picture of it to compare.</p>"


def credit(anchor: Anchor) -> str:
    """Return whom a picture is owed to, with links to its page and licence."""
    author = linked(escape(anchor.author or "unknown author"), anchor.page_url)
    return f"{author}, {linked(escape(anchor.licence or 'unknown licence'), anchor.licence_url)}"


def source_text(source: Source) -> str:
    """Return where a description is from."""
    words = [f"revision {source.revision}" if source.revision else "", source.licence or ""]
    rest = "".join(f", {escape(word)}" for word in words if word)
    return linked(escape(source.title), source.url) + rest


def linked(text: str, url: str | None) -> str:
    """Return escaped text as a link, where there is an address of the web: no other kind of address is followed."""
    if not url or not url.startswith(("https://", "http://")):
        return text
    return f'<a href="{escape(url)}" rel="noreferrer">{text}</a>'
