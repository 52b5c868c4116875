"""In-memory knowledge base of four birds, each of one colour."""

from typing import Any

from PIL import Image, ImageDraw

from tests.toy.store import MemoryStore, Sketch

BIRDS = {
    "Cardinalis cardinalis": ("crimson", "Plumage bright red. Crest red, face black."),
    "Cyanocitta cristata": ("royalblue", "Upperparts blue, underparts white. Crest blue."),
    "Spinus tristis": ("gold", "Body bright yellow. Cap black, wings black."),
    "Corvus corax": ("black", "All black, with a heavy black bill."),
}


def bird(colour: Any, *, x: int = 0, size: int = 96) -> Any:
    picture = Image.new("RGB", (size, size), "white")
    ImageDraw.Draw(picture).ellipse((size // 4 + x, size // 3, 3 * size // 4 + x, 3 * size // 4), fill=colour)
    return picture


def memory_store(encoders: Any) -> MemoryStore:
    return MemoryStore(
        {
            name: Sketch(texts=[text], pictures=[bird(colour), bird(colour, x=5)])
            for name, (colour, text) in BIRDS.items()
        },
        encoders,
    )
