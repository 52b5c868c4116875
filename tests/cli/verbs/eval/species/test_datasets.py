"""`kb eval species` on the forms of further datasets, and on species of no checklist."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import kb
from data.records import Taxon
from kb.sources.folder import FolderSource
from recognize import load_encoders
from tests.cli.verbs.eval.species.test_command import CARDINAL, FAST, JAY, draw


def measured(cli: Any, *arguments: str | Path) -> dict[str, Any]:
    command = ("eval", "species", *arguments, "--preset", "default", "--set", "keep_leaks=true", "--format", "json")
    found: dict[str, Any] = json.loads(cli.call(*command, *FAST, check=True).stdout)
    return found


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def nabirds(tmp_path: Path) -> Path:
    root = tmp_path / "nabirds"
    draw(CARDINAL, root / "images" / "0772" / "a.png")
    draw(JAY, root / "images" / "0860" / "b.png")
    write(root / "classes.txt", "0 Birds\n772 Northern Cardinal (Adult Male)\n860 Blue Jay\n")
    write(root / "hierarchy.txt", "772 0\n860 0\n")
    write(root / "images.txt", "a-1 0772/a.png\nb-2 0860/b.png\n")
    write(root / "image_class_labels.txt", "a-1 772\nb-2 860\n")
    write(root / "train_test_split.txt", "a-1 0\nb-2 0\n")
    return root


@pytest.fixture
def birdsnap(tmp_path: Path) -> Path:
    root = tmp_path / "birdsnap"
    draw(CARDINAL, root / "download" / "images" / "Northern_Cardinal" / "1.png")
    draw(JAY, root / "download" / "images" / "Blue_Jay" / "2.png")
    write(root / "species.txt", "id\tcommon\tscientific\tdir\n1\tNorthern Cardinal\tx\tx\n2\tBlue Jay\tx\tx\n")
    write(root / "images.txt", "path\tspecies_id\nNorthern_Cardinal/1.png\t1\nBlue_Jay/2.png\t2\n")
    write(root / "test_images.txt", "path\nNorthern_Cardinal/1.png\nBlue_Jay/2.png\n")
    return root


@pytest.fixture
def indian(tmp_path: Path) -> Path:
    root = tmp_path / "archive"
    draw(CARDINAL, root / "Birds_25" / "valid" / "Northern-Cardinal" / "1.png")
    draw(JAY, root / "Birds_25" / "valid" / "Blue-Jay" / "2.png")
    draw(JAY, root / "Birds_25" / "train" / "Blue-Jay" / "3.png", 2)
    return root


@pytest.fixture
def lasbird(tmp_path: Path) -> Path:
    root = tmp_path / "LaSBiRD"
    draw(CARDINAL, root / "Northern Cardinal" / "1.png")
    draw(JAY, root / "Blue Jay" / "2.png")
    write(root / "species_counts.json", '{"Northern Cardinal": 1, "Blue Jay": 1}')
    return root


@pytest.mark.parametrize(
    ("name", "kind"),
    [("nabirds", "NABirds"), ("birdsnap", "Birdsnap"), ("indian", "Indian Birds"), ("lasbird", "LaSBiRD")],
)
def test_test_photos_of_each_form_are_measured(
    cli: Any, built_kb: Path, request: pytest.FixtureRequest, name: str, kind: str
) -> None:
    found = measured(cli, request.getfixturevalue(name), "--kb", built_kb)
    assert (found["dataset"], found["n"], found["n_species"], found["unmatched"]) == (f"{kind}, test", 2, 2, [])


def test_a_list_of_vr_rag_is_measured_with_photos_elsewhere(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    draw(JAY, tmp_path / "test" / "Blue_Jay" / "1.png")
    (tmp_path / "birdsnap_test.pkl").write_bytes(pickle.dumps(["Blue_Jay/1.png"]))
    found = measured(cli, tmp_path / "birdsnap_test.pkl", "--photos", tmp_path / "test", "--kb", built_kb)
    assert (found["dataset"], found["n"]) == ("VR-RAG list, test", 1)


def test_species_of_no_checklist_match_a_knowledge_base_of_them(cli: Any, tmp_path: Path) -> None:
    """The further domains of the authors: fish by binomial, creatures of games by name."""
    names = {"Pterois radiata": "Clearfin Lionfish", "Ludus pikachu": "Pikachu"}
    taxa = [
        Taxon(taxon_id=name.lower().replace(" ", "-"), scientific_name=name, rank="species", common_names=(common,))
        for name, common in names.items()
    ]
    for name, drawn in zip(names, (CARDINAL, JAY), strict=True):
        draw(drawn, tmp_path / "own" / name / "1.png", 3)
        write(tmp_path / "own" / name / "a.txt", "The body is red with a black tail.")
    kb.build(tmp_path / "own.kb", taxa, FolderSource(tmp_path / "own"), load_encoders("starter"))
    draw(CARDINAL, tmp_path / "test" / "Pterois radiata" / "Ptrad_u2.png")
    draw(JAY, tmp_path / "test" / "Pikachu" / "2.png")
    lists = {"fish_test.pkl": "Pterois radiata/Ptrad_u2.png", "pokemon_test.pkl": "Pikachu/2.png"}
    for file, entry in lists.items():
        (tmp_path / file).write_bytes(pickle.dumps([entry, "Unknown thing/1.png"]))
        found = measured(cli, tmp_path / file, "--photos", tmp_path / "test", "--kb", tmp_path / "own.kb")
        assert (found["n"], [name["name"] for name in found["unmatched"]]) == (1, ["Unknown thing"])
