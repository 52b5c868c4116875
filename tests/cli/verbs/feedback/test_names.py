"""`kb feedback` for queries that name species of the knowledge base."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import CommandLine

OWL = ("feedback", "Snowy Owl", "--session", "s.json")


def first_turn(cli: CommandLine, photos: Path, *more: str) -> tuple[str, list[str], str]:
    Path("s.json").unlink(missing_ok=True)
    done = cli.call(*OWL, "--images", str(photos), *more, stdin="q\n", check=True)
    turn = json.loads(Path("s.json").read_text())["turns"][0]
    return turn["species"], [image["image_id"] for image in turn["shown"]], done.stderr


def test_a_named_species_is_searched_by_reference_photos_and_descriptions(cli: CommandLine, drawings: Path) -> None:
    species, ids, said = first_turn(cli, drawings)
    assert species == "Snowy Owl" and ids[0] == "bubo-scandiacus.png"
    assert "Searched by reference photos and descriptions: Snowy Owl" in said
    assert "can see little of these words" not in said


def test_names_are_plain_text_in_the_preset_of_the_paper_and_by_the_setting(cli: CommandLine, drawings: Path) -> None:
    for more in (("--preset", "paper"), ("--set", "names=text")):
        species, _, said = first_turn(cli, drawings, *more)
        assert species == "" and "Searched by reference photos" not in said
