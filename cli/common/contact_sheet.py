"""Contact sheets: photos with captions on one page, which needs no other file and loads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from data.errors import BadImage
from data.images.views import jpeg_of
from data.pages import element, embedded, render

if TYPE_CHECKING:
    from markupsafe import Markup

SIDE_PX: Final = 320


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetPhoto:
    """A photo of a contact sheet."""

    path: Path
    number: int
    """Its rank, or the number to type."""
    name: str
    score: float

    @property
    def picture(self) -> Markup:
        """The photo encoded again, so that place, time and camera of the file are not in the page; or the error."""
        try:
            return embedded(jpeg_of(self.path, max_side=SIDE_PX), alt="", loading="lazy")
        except BadImage as error:
            return element("<div>{}</div>", error)


def contact_sheet(title: str, lines: Sequence[str], photos: Iterable[SheetPhoto]) -> str:
    """Return a page with a title, lines below it, and the photos with number, score and name."""
    return render("cli", "contact_sheet.html", title=title, lines=lines, photos=photos)
