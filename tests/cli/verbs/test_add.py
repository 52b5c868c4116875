"""`kb add`: what is added by hand has the lineage, the source and the sentences that were given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from PIL import Image

TEXT = "The wings are red with a black band. I saw it by the lake in May.\n"


def shown(cli: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cli.call("show", name, "--kb", "my.kb", "--format", "json", check=True).stdout)
    return found


def add(cli: Any, folder: Path, *more: str) -> None:
    (folder / "a.txt").write_text(TEXT)
    Image.new("RGB", (80, 64), (200, 30, 30)).save(folder / "a.png")
    cli.call("add", "--kb", "my.kb", "--name", "Vanessa fictiva", "--text", "a.txt", *more, check=True)


def test_the_lineage_of_a_species_that_no_checklist_has_is_the_given_one(cli: Any, tmp_path: Path) -> None:
    given = ("--class", "Insecta", "--order", "Lepidoptera", "--family", "Nymphalidae", "--genus", "Pyrameis")
    add(cli, tmp_path, *given)
    lineage = shown(cli, "Vanessa fictiva")["taxon"]["lineage"]
    assert [lineage[rank] for rank in ("class", "order", "family", "genus")] == list(given[1::2])


def test_text_and_photos_name_the_address_that_they_come_from(cli: Any, tmp_path: Path) -> None:
    add(cli, tmp_path, "--photo", "a.png", "--author", "A. Painter", "--licence", "CC0", "--url", "https://a.example/b")
    rows = json.loads(cli.call("credits", "--kb", "my.kb", "--format", "json", check=True).stdout)
    assert "https://a.example/b" in json.dumps(rows)


def test_a_text_is_taken_in_its_visual_part_or_as_it_stands(cli: Any, tmp_path: Path) -> None:
    add(cli, tmp_path)
    assert "lake" not in shown(cli, "Vanessa fictiva")["summary"]["text"]
    cli.call("remove", "--kb", "my.kb", "Vanessa fictiva", check=True)
    add(cli, tmp_path, "--as-is")
    assert shown(cli, "Vanessa fictiva")["summary"]["text"].endswith("I saw it by the lake in May.")
