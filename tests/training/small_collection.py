"""Photo collection of fifteen photos, written to files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

SPECIES = ["Corvus corax", "Pica pica", "Turdus merula"]


def write_small_collection(folder: Path) -> None:
    """Write five photos of each of three species; the fourth of the first species is its lead image, scaled down."""
    rng = np.random.default_rng(0)
    rows = ["path,scientific_name,common_name,ebird_code,source"]
    pictures = {}
    for s, name in enumerate(SPECIES):
        for i in range(5):
            coarse = Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))
            picture = coarse.resize((128, 128), Image.Resampling.BICUBIC)
            if (s, i) == (0, 3):
                picture = pictures["0-4.png"].resize((90, 90))
            source = "wikipedia_lead_na" if i == 4 and s < 2 else "birds525_valid"
            pictures[f"{s}-{i}.png"] = picture
            if (s, i) == (0, 2):  # the lead image must exist before its copy is made
                pictures["0-4.png"] = Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).resize(
                    (128, 128)
                )
            rows.append(f"{s}-{i}.png,{name},x,y,{source}")
    for path, picture in pictures.items():
        picture.save(folder / path)
    pictures_of_lead = pictures["0-4.png"]
    pictures_of_lead.resize((90, 90), Image.Resampling.BICUBIC).save(folder / "0-3.png")
    (folder / "photos.csv").write_text("\n".join(rows), encoding="utf-8")
    texts = [{"scientific_name": name, "source": "x", "sentences": ["Black."]} for name in SPECIES[:2]]
    (folder / "descriptions.jsonl").write_text("\n".join(map(json.dumps, texts)), encoding="utf-8")
