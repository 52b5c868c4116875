"""`kb build --profile` on a knowledge base that is there adds a profile; `kb identify --profile` asks it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kb as library
import recognize
from cli.common import wiring
from cli.common.config import Settings
from data.arrays import FloatArray
from data.contracts import TextEncoder
from data.errors import MissingRequirement
from data.records import Source, Term
from kb.lookup.word_index import add_terms
from tests.servers.faulty_wiki import FaultyWiki
from training.plates.catalogue import plates_of

ZORB = "<p>A <b>zorblin</b> is a gland of frogs that swells in spring.</p><h2>Description</h2><p>It is a red knob.</p>"


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
    assert "no vectors of the profile elsewhere: there is no profile 'elsewhere'" in added.stderr
    assert f"kb build --only encode --profile elsewhere --kb {own_kb} makes them" in added.stderr
    asked = cli.call("verify", "--kb", own_kb)
    assert asked.exit_code == 1
    assert "elsewhere: " in asked.stdout


def test_an_evaluation_measures_the_profile_that_is_asked_for(cli: Any, own_kb: Path, drawings: Path) -> None:
    photos = drawings.parent / "birds" / "Cardinalis cardinalis"
    photos.mkdir(parents=True)
    photos.joinpath("1.png").write_bytes(plates_of("cardinalis-cardinalis")[0].png("query", 1))
    order = ("eval", "species", photos.parent, "--kb", own_kb, "--preset", "text-only", "--resamples", "100")
    asked = (*order, "--profile", "plain", "--format", "json")
    missing = cli.call(*asked)
    assert (missing.exit_code, "no vectors of the profile plain" in missing.stderr) == (3, True)
    cli.call("build", "--only", "encode", "--profile", "plain", "--kb", own_kb, check=True)
    figures = json.loads(cli.call(*asked, check=True).stdout)["figures"]
    assert {tuple(row["encoder_names"]) for row in figures} == {("plain-colours",)}


DESCRIPTION = "long, narrow feathers on the neck, or the hair"
"""Clearly a hackle to the words of `plain`, and not to those of `starter`."""


def test_a_look_up_of_context_compares_with_the_vectors_of_the_profile_that_is_asked_for(
    cli: Any, own_kb: Path
) -> None:
    asked = ("context", DESCRIPTION, "--kb", own_kb)
    missing = cli.call(*asked, "--profile", "plain")
    assert missing.exit_code == 3
    assert "no vectors of the profile plain; it has those of starter" in missing.stderr
    cli.call("build", "--only", "encode", "--profile", "plain", "--kb", own_kb, check=True)
    first = cli.call(*asked, check=True).stdout
    assert first == "nothing found\n"
    assert cli.call(*asked, "--profile", "starter", check=True).stdout == first
    assert cli.call(*asked, "--profile", "plain", check=True).stdout.startswith("Hackles: ")


@pytest.mark.parametrize("profile", ["starter", "plain"])
def test_what_a_look_up_learns_is_known_to_every_profile(cli: Any, own_kb: Path, profile: str) -> None:
    cli.call("build", "--only", "encode", "--profile", "plain", "--kb", own_kb, check=True)
    asked = ("context", "frog with a zorblin", "--kb", own_kb)
    with FaultyWiki().running() as wiki:
        wiki.pages["Zorblin"] = wiki.wikitext["Zorblin"] = ZORB
        learnt = cli.call(*asked, "--profile", profile, "--api-url", wiki.api_url, check=True)
    assert "Zorblin: A zorblin is a gland of frogs" in learnt.stdout
    assert learnt.stderr == ""
    for name in ("starter", "plain"):
        assert cli.call(*asked, "--profile", name, check=True).stdout == learnt.stdout
        vector = recognize.load_encoders(name).sentence.encode_texts(["a gland of frogs that swells in spring"])[0]
        with library.open(own_kb, profile=name) as store:
            assert store.n_behind() == 0
            assert store.query_terms(vector, 1)[0][0] == "term:zorblin"
    assert cli.call("verify", "--kb", own_kb).exit_code == 0


def test_a_look_up_does_not_encode_a_whole_profile_that_was_stopped(cli: Any, own_kb: Path) -> None:
    plain = recognize.load_encoders("plain")
    with pytest.raises(Stopped):
        library.add_profile(own_kb, replace(plain, sentence=StopsAtOnce(plain.sentence)))
    with library.open(own_kb, profile="plain") as store:
        lacking = store.n_behind()
    with FaultyWiki().running() as wiki:
        wiki.pages["Zorblin"] = wiki.wikitext["Zorblin"] = ZORB
        learnt = cli.call("context", "frog with a zorblin", "--kb", own_kb, "--api-url", wiki.api_url, check=True)
    assert "Zorblin: A zorblin is a gland of frogs" in learnt.stdout
    with library.open(own_kb, profile="plain") as store:
        assert store.n_behind() == lacking + 1 > 2
    assert f"kb build --only encode --profile plain --kb {own_kb} makes them" in learnt.stderr


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (ValueError("the true error"), "warning: what was learnt is not in the other profiles yet: disk full\n"),
        (KeyboardInterrupt(), ""),
    ],
)
def test_what_is_shared_in_the_end_never_hides_why_a_look_up_ended(
    own_kb: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ended: BaseException, said: str
) -> None:
    library.add_profile(own_kb, recognize.load_encoders("plain"))

    def full(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(wiring, "bring_up_to_date", full)
    term = Term(term_id="term:zorblin", name="Zorblin", definition="A gland of frogs.", source=Source(title="x"))

    def look_up(error: BaseException | None) -> None:
        with wiring.opened(Settings(kb=own_kb)) as store:
            add_terms(store, [term])
            if error is not None:
                raise error

    with pytest.raises(type(ended)) as caught:
        look_up(ended)
    assert caught.value is ended
    assert capsys.readouterr().err == said
    with pytest.raises(OSError, match="disk full"):
        look_up(None)


def test_what_is_not_to_be_kept_reaches_no_profile(cli: Any, own_kb: Path) -> None:
    cli.call("build", "--only", "encode", "--profile", "plain", "--kb", own_kb, check=True)
    asked = ("context", "frog with a zorblin", "--kb", own_kb, "--profile", "plain")
    with FaultyWiki().running() as wiki:
        wiki.pages["Zorblin"] = wiki.wikitext["Zorblin"] = ZORB
        assert "Zorblin: " in cli.call(*asked, "--api-url", wiki.api_url, "--no-store", check=True).stdout
    assert cli.call(*asked, check=True).stdout == "nothing found\n"


def test_the_encoders_of_the_profile_that_is_asked_for_rerank(cli: Any, own_kb: Path, drawings: Path) -> None:
    asked = ("rerank", drawings, "--query", "a red bird with a crest", "--kb", own_kb, "--direct")
    missing = cli.call(*asked, "--profile", "plain")
    assert missing.exit_code == 3
    assert "no vectors of the profile plain; it has those of starter" in missing.stderr
    cli.call("build", "--only", "encode", "--profile", "plain", "--kb", own_kb, check=True)
    first, starter, plain = (
        cli.call(*asked, *more, check=True).stdout for more in ((), ("--profile", "starter"), ("--profile", "plain"))
    )
    assert first == starter
    assert [line.split()[2:] for line in plain.splitlines()] != [line.split()[2:] for line in first.splitlines()]


def test_similarity_takes_the_encoders_of_a_profile_and_reads_no_knowledge_base(cli: Any, drawings: Path) -> None:
    asked = ("rerank", drawings, "--query", "a red bird with a crest", "--method", "similarity")
    scores = [
        [line.split()[4] for line in cli.call(*asked, *more, check=True).stdout.splitlines()]
        for more in ((), ("--profile", "starter"), ("--profile", "plain"))
    ]
    assert scores[0] == scores[1]
    assert scores[0] != scores[2]
    unknown = cli.call(*asked, "--profile", "elsewhere")
    assert (unknown.exit_code, "there is no profile 'elsewhere'" in unknown.stderr) == (2, True)


def test_cotrr_compares_no_vectors_so_it_takes_no_profile(cli: Any, drawings: Path) -> None:
    refused = cli.call("rerank", drawings, "--query", "a red bird", "--method", "cotrr", "--profile", "plain")
    assert refused.exit_code == 2
    assert "cotrr compares none" in refused.stderr


class Stopped(Exception):
    pass


class StopsAtOnce:
    """An encoder of the space of another one, and the end of whoever asks it."""

    def __init__(self, other: TextEncoder) -> None:
        self.name, self.space, self.dim, self.max_tokens = other.name, other.space, other.dim, other.max_tokens
        self.count_tokens = other.count_tokens

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        raise Stopped


def test_a_profile_of_which_nothing_is_there_yet_is_named_with_the_command_that_goes_on(
    cli: Any, own_kb: Path, drawings: Path
) -> None:
    """As a kill amid `kb build --only encode` leaves it."""
    plain = recognize.load_encoders("plain")
    with pytest.raises(Stopped):
        library.add_profile(own_kb, replace(plain, sentence=StopsAtOnce(plain.sentence)))
    for verb in (("identify", drawings), ("search", "red"), ("context", "red"), ("rerank", drawings, "--query", "red")):
        asked = cli.call(*verb, "--profile", "plain", "--kb", own_kb)
        assert asked.exit_code == 3
        assert asked.stderr == (
            "error: the knowledge base has no vectors of the profile plain yet\n"
            f"hint: kb build --only encode --profile plain --kb {own_kb} makes them\n"
        )
    with library.open(own_kb, profile="plain") as store:  # Python may ask it all the same
        assert [row.common_name for row in library.search(store, "northern cardinal", plain.sentence, n=1)] == [
            "Northern Cardinal"
        ]
    cli.call("build", "--only", "encode", "--profile", "plain", "--kb", own_kb, check=True)
    assert cli.call("identify", drawings, "--profile", "plain", "--kb", own_kb).exit_code == 0


def test_a_profile_that_shares_its_sentence_encoder_has_nothing_before_it_has_vectors_of_its_own(own_kb: Path) -> None:
    """Terms are there from the start then, as with `paper` and `best`."""
    starter, plain = recognize.load_encoders("starter"), recognize.load_encoders("plain")
    mine = replace(plain, profile="mine", sentence=starter.sentence)

    def stop(_: object) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        library.add_profile(own_kb, mine, progress=stop)
    with (
        pytest.raises(MissingRequirement, match="no vectors of the profile mine yet") as caught,
        wiring.opened(Settings(kb=own_kb), profile="mine"),
    ):
        pass
    assert caught.value.hint == f"kb build --only encode --profile mine --kb {own_kb} makes them"
    library.add_profile(own_kb, mine)
    with wiring.opened(Settings(kb=own_kb), profile="mine") as store:
        assert store.n_behind() == 0


def test_a_command_to_be_pasted_has_its_path_in_quotes() -> None:
    said = wiring.behind_text(1, "plain", Path("my birds.kb"))
    assert said.endswith("; kb build --only encode --profile plain --kb 'my birds.kb' makes them")


def test_an_update_that_fails_still_gives_all_profiles_what_is_there(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "owl.kb"
    with FaultyWiki().running() as wiki:
        wiki.pages["Tyto alba"] = wiki.wikitext["Tyto alba"] = (
            "<p>The <b>barn owl</b> (<i>Tyto alba</i>) is an owl.</p><h2>Description</h2><p>Its face is white.</p>"
        )
        cli.call("build", "--taxon", "Tyto alba", "--api-url", wiki.api_url, "--kb", path, check=True)
    library.add_profile(path, recognize.load_encoders("plain"))
    starter = recognize.load_encoders("starter")
    with library.open(path) as store:
        [owl] = store.taxa()
    library.add(path, owl, starter, texts=[library.OwnText(text="Its back is golden.", title="notes")])
    with library.open(path, profile="plain") as store:
        assert store.n_behind() == 1
    assert cli.call("update", "--kb", path).exit_code == 6  # nobody listens there any more
    with library.open(path, profile="plain") as store:
        assert store.n_behind() == 0
