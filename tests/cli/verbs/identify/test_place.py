"""`kb identify --place`: two species with the same photo, told apart by the range in their texts."""

import json
from pathlib import Path
from typing import Any

import pytest

from data.starter.knowledge import drawings_of
from tests.cli.verbs.conftest import build_folder, write_bird
from tests.made_once import made_once

TEXTS = {
    "Snowy Owl": "A white owl with yellow eyes. It breeds in Greenland and winters in southern Canada.",
    "Great Horned Owl": "A white owl with yellow eyes. It is resident in Brazil.",
}


@pytest.fixture(scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    picture = drawings_of("bubo-scandiacus", "anchor")[0].png()

    def make(folder: Path) -> None:
        for name, text in TEXTS.items():
            write_bird(folder / "birds", name, text)
            (folder / "birds" / name / "photo.png").write_bytes(picture)
        (folder / "photo.png").write_bytes(drawings_of("bubo-scandiacus", "query")[0].png())
        build_folder(folder / "birds", folder / "kb")

    return made_once(tmp_path_factory, "owls", make)


@pytest.fixture
def identify(cli: Any, birds: Path) -> Any:
    def run(*options: object, form: str = "jsonl", code: int = 0) -> Any:
        outcome = cli.call("identify", birds / "photo.png", "--kb", birds / "kb", "--format", form, *options)
        assert outcome.exit_code == code, outcome.stderr
        return json.loads(outcome.stdout) if form == "jsonl" and code == 0 else outcome

    return run


def test_the_species_whose_text_names_the_place_is_first(identify: Any) -> None:
    boosts = []
    for place, odds, first, text in (
        ("Greenland", "5", "Bubo scandiacus", "said to breed in Greenland"),
        ("-10.0,-52.0", "5", "Bubo virginianus", "said to live all year in Brazil"),
        ("Greenland", "50", "Bubo scandiacus", "said to breed in Greenland"),
    ):
        row = identify("--place", place, "--set", f"place_odds={odds}")
        candidate = row["candidates"][0]
        assert (candidate["scientific_name"], candidate["range_text"]) == (first, text)
        assert text.split()[-1] in candidate["range_sentence"]
        assert candidate["scores"]["place"] > 0 > row["candidates"][1]["scores"]["place"]
        boosts.append(candidate["scores"]["place"])
    assert boosts[2] > boosts[0]
    assert identify("--place", "Greenland", "--set", "place_odds=1")["place_name"] is None
    outcome = identify("--place", "Greenlnd", code=5)
    assert 'Unknown place "Greenlnd"' in outcome.stderr and "Did you mean Greenland" in outcome.stderr


def test_the_table_says_why_and_gives_the_answer_without_the_place(identify: Any) -> None:
    options = ("--min-confidence", "0", "--set", "unknown_prior=0.001", "--scores")  # answers stay at the species
    tables = [identify("--place", place, *options, form="table").stdout for place in ("Greenland", "Brazil")]
    assert "Snowy Owl favoured: said to breed in Greenland; the photo is from Greenland" in tables[0]
    assert "Great Horned Owl favoured: said to live all year in Brazil" in tables[1]
    first, second = TEXTS
    assert (f"Without the place:\n    {second} (" in tables[0]) != (f"Without the place:\n    {first} (" in tables[1])
    assert all(" place " in table for table in tables)
