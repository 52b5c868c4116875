from typing import Any

from PIL import Image, ImageDraw

BIRDS = {
    "Cardinalis cardinalis": ("crimson", "Northern Cardinal", "Plumage bright red. Crest red, face black."),
    "Cyanocitta cristata": ("royalblue", "Blue Jay", "Upperparts blue, underparts white. Crest blue."),
    "Spinus tristis": ("gold", "American Goldfinch", "Body bright yellow. Cap black, wings black."),
    "Corvus corax": ("black", "Common Raven", "All black, with a heavy black bill."),
}


def bird(colour: Any, *, x: int = 0, size: int = 96) -> Any:
    picture = Image.new("RGB", (size, size), "white")
    ImageDraw.Draw(picture).ellipse((size // 4 + x, size // 3, 3 * size // 4 + x, 3 * size // 4), fill=colour)
    return picture
