"""`kb build --profile` on a knowledge base that is there adds a profile; `kb identify --profile` asks it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import kb as library
from data.starter.plates.catalogue import plates_of


@pytest.fixture
def own_kb(built_kb: Path, tmp_path: Path) -> Path:
    shutil.copytree(built_kb, tmp_path / "own.kb")
    return tmp_path / "own.kb"


def spaces(cli: Any, path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(cli.call("status", "--kb", path, "--format", "json", check=True).stdout)[
        "profiles"
    ]
    return found


def test_a_profile_is_added_without_asking_any_source_and_answers(cli: Any, own_kb: Path, drawings: Path) -> None:
    missing = cli.call("identify", drawings, "--kb", own_kb, "--profile", "plain")
    assert missing.exit_code == 3
    assert "no vectors of the profile plain; it has those of starter" in missing.stderr
    assert "kb build --only encode --profile plain" in missing.stderr
    cli.call("build", "--only", "encode", "--profile", "plain", "--kb", own_kb, check=True)
    assert list(spaces(cli, own_kb)) == ["starter", "plain"]
    rows = {}
    for profile in ("starter", "plain"):
        answer = cli.call("identify", drawings, "--kb", own_kb, "--profile", profile, "--format", "jsonl", check=True)
        rows[profile] = [json.loads(line) for line in answer.stdout.splitlines()]
        assert len(rows[profile]) == 4
    unasked = cli.call("identify", drawings, "--kb", own_kb, "--format", "jsonl", check=True)
    first = [json.loads(line)["candidates"] for line in unasked.stdout.splitlines()]
    assert first == [row["candidates"] for row in rows["starter"]]
    assert first != [row["candidates"] for row in rows["plain"]]
    assert cli.call("verify", "--kb", own_kb).exit_code == 0


def test_a_build_adds_the_profile_behind_its_own_stages_and_a_later_one_keeps_it(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "owls.kb"
    order = ("build", "--source", "starter", "--kb", path, "--taxon")
    cli.call(*order, "Tyto alba", "--profile", "plain", check=True)
    added = cli.call(*order, "Tyto alba", "--profile", "starter", check=True)
    assert "profile plain" in added.stdout
    assert "profile starter" in added.stdout
    # Two species more, by a build that names no profile: the first one builds, and the other is brought up to date.
    cli.call(*order, "Bubo", check=True)
    status = json.loads(cli.call("status", "--kb", path, "--format", "json", check=True).stdout)
    assert list(status["profiles"]) == ["plain", "starter"]
    assert status["behind"] == {"starter": 0}
    assert cli.call("verify", "--kb", path).exit_code == 0


def test_what_is_added_by_hand_is_known_to_every_profile(cli: Any, own_kb: Path, tmp_path: Path) -> None:
    cli.call("build", "--only", "encode", "--profile", "plain", "--kb", own_kb, check=True)
    text = tmp_path / "admiral.txt"
    text.write_text("The wings are black with a red band and white spots.")
    cli.call("add", "--kb", own_kb, "--name", "Vanessa atalanta", "--text", text, check=True)
    with library.open(own_kb, profile="plain") as store:
        assert store.n_behind() == 0
        assert "vanessa-atalanta" in store.taxon_ids


def test_a_profile_that_cannot_be_loaded_here_is_warned_of(cli: Any, own_kb: Path, tmp_path: Path) -> None:
    lines = ["", "[[added]]", 'profile = "elsewhere"', 'cut = "elsewhere"', 'text_image = ["a/1"]']
    lines += ['visual = "b/1"', 'sentence = "c/1"', ""]
    toml = own_kb / "kb.toml"
    toml.write_text(toml.read_text() + "\n".join(lines))
    text = tmp_path / "admiral.txt"
    text.write_text("The wings are black with a red band and white spots.")
    added = cli.call("add", "--kb", own_kb, "--name", "Vanessa atalanta", "--text", text, check=True)
    assert "have no vectors of the profile elsewhere: there is no profile 'elsewhere'" in added.stderr
    asked = cli.call("verify", "--kb", own_kb)
    assert asked.exit_code == 1
    assert "elsewhere: " in asked.stdout


def test_an_evaluation_measures_the_profile_that_is_asked_for(cli: Any, own_kb: Path, drawings: Path) -> None:
    photos = drawings.parent / "birds" / "Cardinalis cardinalis"
    photos.mkdir(parents=True)
    photos.joinpath("1.png").write_bytes(plates_of("cardinalis-cardinalis")[0].png("query", 1))
    order = ("eval", "species", photos.parent, "--kb", own_kb, "--preset", "text-only", "--resamples", "100")
    order = (*order, "--profile", "plain", "--format", "json")
    missing = cli.call(*order)
    assert (missing.exit_code, "no vectors of the profile plain" in missing.stderr) == (3, True)
    cli.call("build", "--only", "encode", "--profile", "plain", "--kb", own_kb, check=True)
    figures = json.loads(cli.call(*order, check=True).stdout)["figures"]
    assert {tuple(row["encoder_names"]) for row in figures} == {("plain-colours",)}
