"""`kb add`: the user's own texts and photos; `kb remove` undoes it."""

import json
from pathlib import Path
from typing import Any

import pytest

TEXT = "The upperwings are velvety black with a broad red band and white spots. The underside is mottled brown.\n"


ADMIRAL = (
    "--name", "Vanessa atalanta", "--common-name", "Red Admiral",
    "--lineage", "class=Insecta", "--lineage", "family=Nymphalidae",
)  # fmt: skip


def test_an_added_species_is_shown_and_removed(cli: Any, folder_kb: str, tmp_path: Path) -> None:
    (tmp_path / "admiral.txt").write_text(TEXT)
    outcome = cli.call("add", "--kb", folder_kb, *ADMIRAL, "--text", "admiral.txt", "--licence", "CC0", check=True)
    assert outcome.stdout.startswith(
        "new        Vanessa atalanta\nadded      1 text\nsentences  2 of 2 of admiral.txt\n"
    )
    shown = cli.call("show", "--kb", folder_kb, "Red", "Admiral", check=True).stdout
    assert "Insecta > Nymphalidae > Vanessa" in shown
    assert "admiral.txt, CC0" in shown
    removed = cli.call("remove", "--kb", folder_kb, "red admiral", check=True).stdout
    assert removed.startswith("removed        Vanessa atalanta\n")
    assert cli.call("show", "--kb", folder_kb, "Red Admiral").exit_code == 5
    assert "removed by the user 1" in cli.call("status", "--kb", folder_kb, check=True).stdout
    assert "removed before" in cli.call("remove", "--kb", folder_kb, "Vanessa atalanta", check=True).stdout
    allowed = cli.call("add", "--kb", folder_kb, "--name", "Vanessa atalanta", check=True).stdout
    assert allowed == "Vanessa atalanta: allowed again. Its texts and photos were deleted: add them again.\n"
    bare = cli.call("add", "--kb", folder_kb, "--name", "Vanessa atalanta", check=True).stdout
    assert bare == "Vanessa atalanta: nothing added. Give it a --text, a --page or a --photo.\n"


def test_a_second_call_adds_names_and_lineage_and_reads_earlier_texts_again(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The wings are black with a red band. The caterpillar is black with yellow lines.")
    name = ("add", "--kb", "a.kb", "--name", "Vanessa atalanta")
    cli.call(*name, "--common-name", "Red Admiral", "--text", "a.txt", check=True)
    given = ("--lineage", "class=Insecta", "--lineage", "order=Lepidoptera", "--common-name", "Admiral")
    second = json.loads(cli.call(*name, *given, "--format", "json", check=True).stdout)
    assert second["lineage"] == {"class": "Insecta", "order": "Lepidoptera"}
    assert second["new_names"] == ["Admiral"]
    assert second["read_again"] == 1
    assert second["text"].endswith("The caterpillar is black with yellow lines.")
    assert "Insecta > Lepidoptera > Vanessa" in cli.call("show", "--kb", "a.kb", "Admiral", check=True).stdout
    assert "nothing new" in cli.call(*name, *given, check=True).stdout


def test_invalid_additions_are_refused_with_a_reason(cli: Any, folder_kb: str, tmp_path: Path) -> None:
    (tmp_path / "song.txt").write_text("It sings at dawn.")
    for arguments, code, why in (
        ((), 2, "either --name for a species or --term"),
        (("--term", "jay", "--lineage", "family=Corvidae"), 2, "takes no photos, common names or lineage"),
        (("--name", "Blue Jay", "--lineage", "tribe=Jays"), 2, "Expected --lineage RANK=NAME"),
        (("--name", "Strigiformes"), 5, "expected a species"),
        (("--name", "Pikachu"), 5, "A name of one word, such as Pikachu, needs --common-name or --lineage"),
        (("--name", "Blue Jay", "--text", "song.txt"), 5, "no sentence describes the appearance of Blue Jay"),
        (("--name", "Blue Jay", "--photo", "song.txt"), 5, "error: song.txt is "),
    ):
        outcome = cli.call("add", "--kb", folder_kb, *arguments)
        assert (outcome.exit_code, why in outcome.stderr) == (code, True), (arguments, outcome.stderr)


def test_terms_photos_and_whole_texts_are_added(cli: Any, folder_kb: str, drawings: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("An osmeterium is a forked orange organ behind the head of a caterpillar.")
    cli.call("add", "--kb", folder_kb, "--term", "osmeterium", "--text", "t.txt", check=True)
    assert "forked orange organ" in cli.call("context", "an osmeterium", "--kb", folder_kb, check=True).stdout
    photo = drawings / "bubo-scandiacus.png"
    outcome = cli.call("add", "--kb", folder_kb, "--name", "snowy owl", "--photo", photo, "--author", "Ann", check=True)
    assert "added to          Bubo scandiacus" in outcome.stdout
    row = json.loads(cli.call("identify", photo, "--kb", folder_kb, "--format", "jsonl", check=True).stdout)
    owl = row["candidates"][0]
    assert (owl["scientific_name"], owl["scores"]["visual"]) == ("Bubo scandiacus", 1)
    assert owl["anchors"][0]["credit"] == "Ann, licence unknown"
    (tmp_path / "notes.txt").write_text("It is common in gardens. Its wings are black with a red band.\n")
    given = ("add", "--kb", folder_kb, *ADMIRAL, "--text", "notes.txt", "--url", "https://example.org/admiral")
    ranks = ("--lineage", "order=Lepidoptera", "--lineage", "genus=Pyrameis")
    mixed = cli.call(*given, *ranks, "--as-is", check=True)
    assert "1 species of this knowledge base is no bird" in mixed.stderr
    assert "models trained on birds" in cli.call("status", "--kb", folder_kb, check=True).stderr
    found = json.loads(cli.call("show", "--kb", folder_kb, "Red Admiral", "--format", "json", check=True).stdout)
    assert "It is common in gardens." in found["summary"]["text"]
    assert found["source"]["url"] == "https://example.org/admiral"
    assert (found["taxon"]["lineage"]["order"], found["taxon"]["lineage"]["genus"]) == ("Lepidoptera", "Pyrameis")


@pytest.mark.usefixtures("toy_paper_profile")
def test_a_new_knowledge_base_has_the_given_profile_or_that_of_its_group(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    owl = ("--name", "Snowy Owl", "--as-is")
    for more, profile in (((*ADMIRAL, "--profile", "paper"), "paper"), (ADMIRAL, "general"), (owl, "starter")):
        done = cli.call("add", "--kb", f"{profile}.kb", *more, "--text", "a.txt", check=True)
        assert "trained on birds" not in done.stderr
        status = cli.call("status", "--kb", f"{profile}.kb", "--format", "json", check=True).stdout
        assert json.loads(status)["profile"] == profile


def test_a_new_knowledge_base_and_a_misspelt_bird_are_told(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    first = cli.call("add", "--kb", "nosuch.kb", "--name", "Accipiter gentils", "--text", "a.txt", check=True)
    assert f"Made a new knowledge base, {tmp_path / 'nosuch.kb'}: it holds 1 species and 0 terms." in first.stderr
    said = "Accipiter gentils is new. Did you mean Accipiter gentilis? If so: kb remove 'Accipiter gentils'"
    assert said in first.stderr
    second = cli.call("add", "--kb", "nosuch.kb", "--name", "Acciptr nisus", "--text", "a.txt", check=True)
    assert "Did you mean Accipiter nisus?" in second.stderr
    assert not any(word in second.stderr for word in ("no bird", "Made a new")), "a misspelt bird is a bird"
    own = cli.call("add", "--kb", "nosuch.kb", "--name", "Dunnock", "--text", "a.txt", "--licence", "CC BY-NC 4.0")
    assert own.stderr == ""
    exported = cli.call("export", "--kb", "nosuch.kb", "out", check=True)
    assert "1 text or photo of the bundle must not be published" in exported.stderr
