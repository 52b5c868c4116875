"""`kb identify` with the detector: several birds, no bird, and `--fast`."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image

from data.starter.knowledge import drawings_of

PLACES = ((300, 200), (700, 450))
SIDE = 130


def test_each_bird_of_a_photo_has_a_row_with_its_box_and_a_card(cli: Any, built_kb: Path) -> None:
    picture = Image.new("RGB", (1000, 700), (120, 160, 120))
    magpie = Image.open(io.BytesIO(drawings_of("pica-pica", "query")[0].png())).convert("RGB")
    for place in PLACES:
        picture.paste(magpie.resize((SIDE, SIDE)), place)
    picture.save("pair.png")
    Image.new("RGB", (420, 280), (90, 140, 220)).save("sky.png")

    def found(*more: str) -> list[dict[str, Any]]:
        done = cli.call("identify", "pair.png", "sky.png", "--kb", built_kb, "--format", "jsonl", *more, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    *rows, none = found("--cards", "cards")
    assert [(row["image"], row["bird"], row["n_birds"]) for row in rows] == [("pair.png", 1, 2), ("pair.png", 2, 2)]
    for row, (left, top) in zip(sorted(rows, key=lambda row: float(row["box"][0])), PLACES, strict=True):
        assert left - 10 <= row["box"][0] < row["box"][2] <= left + SIDE + 10
        assert top - 10 <= row["box"][1] < row["box"][3] <= top + SIDE + 10
    assert (none["status"], none["candidates"], none["answer"]["name"], none["shows"]) == ("no_bird", [], "", None)
    assert "No bird found" in cli.call("identify", "sky.png", "--kb", built_kb, check=True).stdout
    first, second = sorted(Path("cards").glob("pair-*.html"), key=lambda page: len(page.name))
    assert "bird 1 of 2" in first.read_text() and "bird 2 of 2" in second.read_text()
    assert "1 without a bird" in Path("cards/index.html").read_text()
    fast = [(row["box"], row["n_birds"], row["status"] == "no_bird") for row in found("--fast")]
    assert fast == [(None, 1, False), (None, 1, True)]


def test_reference_photos_encoded_without_the_detector_are_named_with_the_remedy(cli: Any, drawings: Path) -> None:
    import kb
    import recognize
    from kb.sources.starter import StarterSource

    source, encoders = StarterSource(with_vectors=False), recognize.load_encoders("starter")
    kb.build(Path("old.kb"), source.drawn_taxa()[:2], source, replace(encoders, detector=None))
    command = ("identify", drawings / "bubo-scandiacus.png", "--kb", "old.kb")
    assert (
        "warning: The reference photos of 2 of 2 species were encoded without the detector of birds, or by another "
        "version of it. kb build --only encode --kb old.kb encodes them again\n"
    ) in cli.call(*command, check=True).stderr
    cli.call("build", "--only", "encode", "--kb", "old.kb", check=True)
    assert "reference photos" not in cli.call(*command, check=True).stderr
