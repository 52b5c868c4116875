"""`kb build` from the starter, a folder and wikis: reports, exit codes, options of wikis, and Ctrl-C."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import kb
from cli.common.settings import Settings
from cli.verbs.build import BuildArguments, kept_look_ups
from data.errors import FieldmarkError, KnowledgeBaseLocked, UsageError
from kb.http import Timeouts
from tests.cli.verbs.conftest import fields
from tests.drawn_birds import drawn_bird
from tests.servers.chroma_server import ChromaServer
from tests.servers.faulty_wiki import Fault, FaultyWiki, busy


@pytest.mark.usefixtures("toy_paper_profile")
def test_another_profile_is_refused_and_the_suggested_commands_work(cli: Any) -> None:
    command = ("build", "--source", "starter", "--taxon", "Tyto alba", "--profile")
    cli.call(*command, "paper", "--kb", "owls.kb", check=True)
    before = cli.call("verify", "--kb", "owls.kb", check=True).stdout
    refused = cli.call(*command, "starter", "--kb", "owls.kb")
    assert refused.exit_code == 2
    assert "owls.kb was built with the profile paper, expected starter" in refused.stderr
    assert "kb build --profile starter --kb owls-starter.kb" in refused.stderr
    exported, imported = re.findall(r"kb ((?:export|import) [^,\n]+)", refused.stderr)
    cli.call(*exported.split(), check=True)
    cli.call(*imported.split(), check=True)
    status = json.loads(cli.call("status", "--kb", "owls-starter.kb", "--format", "json", check=True).stdout)
    assert (status["profile"], status["species"]) == ("starter", 1)
    assert cli.call("verify", "--kb", "owls.kb", check=True).stdout == before


def test_a_dry_run_one_stage_and_a_limit(cli: Any, tmp_path: Path) -> None:
    build = ("build", "--source", "starter")
    planned = cli.call(*build, "--dry-run", check=True).stdout
    assert fields(planned)["taxa looked up"] == fields(planned)["pages found"]
    assert planned.endswith("Nothing was written.\n")
    assert list(tmp_path.iterdir()) == []
    outcome = cli.call(*build, "--taxon", "Tyto alba", "--kb", "a.kb", "--only", "resolve", check=True)
    assert "resolve" in outcome.stderr and "fetch" not in outcome.stderr
    assert (fields(outcome.stdout)["articles"], fields(outcome.stdout)["summaries"]) == ("0", "0")
    assert fields(cli.call(*build, "--limit", "3", "--kb", "b.kb", check=True).stdout)["species"] == "3"


def test_what_cannot_be_built_is_refused_before_any_request(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    for arguments, code, message in (
        (("--taxon", "Strigiformis"), 5, "Did you mean Strigiformes"),
        (("--taxon", "Strigiformes"), 3, "FIELDMARK_CONTACT"),
        (("--taxon", "Tyto alba", "--api-url", "http://127.0.0.1:9/api.php"), 6, "127.0.0.1:9"),
        (("--source", "starter", "--kb", "mine"), 2, "mine"),
    ):
        outcome = cli.call("build", *arguments)
        assert (outcome.exit_code, message in outcome.stderr) == (code, True), (arguments, outcome.stderr)
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "thesis.txt"]


def test_a_folder_of_articles_and_photos_is_a_source_of_species_and_terms(cli: Any, tmp_path: Path) -> None:
    def found_by(*verb: str) -> Any:
        return json.loads(cli.call(*verb, "--kb", "strigiformes.kb", "--format", "json", check=True).stdout)

    texts = {"Snowy Owl": "A large white owl with yellow eyes.", "Terms/Osmeterium": "An osmeterium is a forked organ."}
    for name, text in {**texts, "Mallard": "A green duck."}.items():
        (tmp_path / "birds" / name).mkdir(parents=True)
        (tmp_path / "birds" / name / "article.txt").write_text(f"## Description\n{text}\n")
    for name in ("Garden gnome", "Western Barn Owl", "Eurasian Scops-Owl"):
        (tmp_path / "birds" / name).mkdir()
    for seed in range(4):
        (tmp_path / "birds" / "Western Barn Owl" / f"{seed}.png").write_bytes(drawn_bird("tyto-alba", seed))
    (tmp_path / "terms.txt").write_text("osmeterium\n")
    source = ("build", "--source", f"folder:{tmp_path / 'birds'}", "--taxon", "Strigiformes", "--terms", "terms.txt")
    built = cli.call(*source, check=True)
    report = fields(built.stdout)
    assert (report["species"], report["summaries"], report["terms"]) == ("2", "1", "1")
    assert report["notes"] == "no reference photos 1, no summary 1"
    assert report["left out"] == (
        "no page 1 (Otus scops), not in the checklist 1 (Garden gnome); all of them: kb status --kb strigiformes.kb "
        "--left-out"
    )
    assert report["photos skipped"] == "beyond the limit 1"
    assert "AviList 2025 holds birds only; kb build and kb taxa take another with --checklist." in built.stderr
    assert [(row["name"], row["reason"]) for row in found_by("status", "--left-out")] == [
        ("Otus scops", "no page"), ("Garden gnome", "not in the checklist"), ("Tyto alba: 3.png", "beyond the limit"),
    ]  # fmt: skip
    assert "white" in found_by("show", "Snowy Owl")["summary"]["text"]
    shown = found_by("show", "Western Barn Owl")
    assert (shown["marks"], shown["source"], len(shown["anchors"])) == (["no-summary"], None, 3)
    assert "forked organ" in cli.call("show", "osmeterium", "--kb", "strigiformes.kb", check=True).stdout
    assert cli.call("verify", "--kb", "strigiformes.kb").exit_code == 0


@pytest.mark.integration
def test_owls_are_built_from_a_real_wiki_and_left_out_names_are_reported(cli: Any, wiki_api_url: str) -> None:
    outcome = cli.run("build", "--taxon", "Strigiformes", "--api-url", wiki_api_url, "--kb", "owls.kb", check=True)
    report = fields(outcome.stdout)
    assert int(report["species"]) >= 3
    assert report["species"] == report["articles"]
    assert "no page" in report["left out"] and "not a bird" in report["left out"]
    again = cli.run("build", "--taxon", "Strigiformes", "--api-url", wiki_api_url, "--kb", "owls.kb", check=True)
    assert int(fields(again.stdout)["requests"]) < int(report["requests"])
    assert "fetch" not in again.stderr, "stored bodies are not fetched again"

    for option in ("--list", "--category"):
        outcome = cli.call("build", option, "Unicorns", "--api-url", wiki_api_url, "--kb", "x.kb")
        assert (outcome.exit_code, "'Unicorns'" in outcome.stderr) == (5, True)
        assert f"hint: {option} expects the exact" in outcome.stderr and not Path("x.kb").exists()


@pytest.fixture
def owls(tmp_path: Path, drawings: Path) -> Path:
    """A folder of two owls with an article each, and two drawings of the first."""
    for name in ("Snowy Owl", "Western Barn Owl"):
        (tmp_path / "owls" / name).mkdir(parents=True)
        (tmp_path / "owls" / name / "article.txt").write_text("It has white plumage and yellow eyes.")
    for name in ("bubo-scandiacus", "phoenicopterus-ruber"):
        shutil.copy(drawings / f"{name}.png", tmp_path / "owls" / "Snowy Owl")
    return tmp_path / "owls"


def test_numbers_of_anchors_and_of_failures_are_settings(cli: Any, owls: Path, tmp_path: Path) -> None:
    def n_photos() -> int:
        found: int = json.loads(cli.call("status", "--kb", "o.kb", "--format", "json", check=True).stdout)["anchors"]
        return found

    source = ("build", "--source", f"folder:{owls}", "--kb", "o.kb")
    cli.call(*source, "--set", "anchors_per_species=1", check=True)
    assert n_photos() == 1
    (tmp_path / "fieldmark.toml").write_text(
        '[build]\nanchors_per_species = 2\n[llm.text]\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    (owls / "Snowy Owl" / "article.txt").write_text("It has white plumage, dark bars and yellow eyes.")
    cli.call("update", "--kb", "o.kb", check=True)
    assert n_photos() == 2
    stopped = cli.call(*source, "--distiller", "model", "--set", "max_failures_in_a_row=1")
    assert (stopped.exit_code, "Too many pages failed in a row (1)" in stopped.stderr) == (6, True)


OWL = (
    "<p>The <b>barn owl</b> (<i>Tyto alba</i>) is an owl.</p><h2>Description</h2>"
    "<p>It has a white face and a golden back.</p>"
)


@pytest.fixture
def wiki() -> Iterator[FaultyWiki]:
    with FaultyWiki().running() as served:
        served.pages["Western Barn Owl"] = served.wikitext["Western Barn Owl"] = OWL
        served.pages["Tyto alba"] = served.wikitext["Tyto alba"] = OWL
        yield served


def build(cli: Any, wiki: FaultyWiki, *more: str) -> Any:
    return cli.call("build", "--taxon", "Tyto alba", "--kb", "a.kb", "--api-url", wiki.api_url, *more, check=True)


def test_build_and_update_send_the_given_contact_and_record_the_language(cli: Any, wiki: FaultyWiki) -> None:
    build(cli, wiki, "--language", "de")
    with kb.open("a.kb") as store:
        assert [origin["language"] for origin in store.origins().values()] == ["de"]
    for command in (("update",), ("build", "--taxon", "Tyto alba", "--api-url", wiki.api_url)):
        wiki.headers.clear()
        cli.call(*command, "--kb", "a.kb", "--contact", "me@example.org", check=True)
        assert {"me@example.org" in headers["User-Agent"] for headers in wiki.headers} == {True}


def test_a_list_page_selects_species(cli: Any, wiki: FaultyWiki) -> None:
    wiki.pages["Snowy Owl"] = OWL.replace("barn owl", "snowy owl").replace("Tyto alba", "Bubo scandiacus")
    wiki.pages["List of owls"] = '<ul><li><a href="/wiki/Western_Barn_Owl">Western barn owl</a></li></ul>'
    cli.call("build", "--list", "List of owls", "--api-url", wiki.api_url, check=True)
    with kb.open("list-of-owls.kb") as store:
        assert store.taxon_ids == ("tyto-alba",)


def test_wiki_credentials_go_to_the_wiki_that_the_user_names_and_are_not_recorded(
    cli: Any, wiki: FaultyWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = wiki.api_url.replace("://", "://ann:secret@")
    cli.call("build", "--taxon", "Tyto alba", "--kb", "a.kb", "--api-url", private, check=True)
    for more, is_named in (((), False), (("--api-url", private), True)):
        wiki.headers.clear()
        cli.call("update", "--kb", "a.kb", *more, check=True)
        assert {"Authorization" in headers for headers in wiki.headers} == {is_named}

    def updated(address: str, *more: str) -> tuple[int, bool]:
        """Return the exit code of an update with a setting `api_url`, and whether the wiki got the password."""
        monkeypatch.setenv("FIELDMARK_API_URL", address)
        wiki.requests.clear()
        wiki.is_logged_in = False
        return cli.call("update", "--kb", "a.kb", *more).exit_code, any("lgpassword" in each for each in wiki.requests)

    password, other = "0123456789abcdefghijklmnopqrstuv", "http://127.0.0.1:9/api.php"
    wiki.bot = ("Me@Field", password)
    monkeypatch.setenv("FIELDMARK_WIKI_USER", "Me@Field")
    assert (updated(wiki.api_url), len(wiki.requests)) == ((3, False), 0)
    assert (updated(other), len(wiki.requests)) == ((3, False), 1)
    monkeypatch.setenv("FIELDMARK_WIKI_PASSWORD", password)
    assert (updated(other), updated(""), updated("", "--api-url", "")) == ((3, False),) * 3
    assert (updated(private), updated(other, "--api-url", wiki.api_url)) == ((0, True),) * 2
    wiki.always = Fault(body=b'{"error": {"code": "odd", "info": "%s"}}' % password.encode())
    assert "odd: ***" in cli.call("update", "--kb", "a.kb", "--api-url", wiki.api_url).stderr


@pytest.mark.integration
def test_the_chroma_setting_selects_the_server(cli: Any, wiki: FaultyWiki, tmp_path: Path) -> None:
    server = ChromaServer(tmp_path / "server")
    server.start()
    try:
        build(cli, wiki, "--set", f"chroma={server.address}")
        with kb.open("a.kb") as store:
            assert store.info.chroma == server.address
        assert json.loads(cli.call("status", "--kb", "a.kb", "--format", "json", check=True).stdout)["species"] == 1
    finally:
        server.stop()


@pytest.mark.integration
def test_ctrl_c_does_not_wait_for_a_slow_wiki(cli: Any, tmp_path: Path) -> None:
    names = ("Northern cardinal", "Blue jay", "House sparrow", "Common raven", "Barn swallow", "Snowy owl", "Mallard")
    (tmp_path / "names.csv").write_text("\n".join(("common", *names)))
    with FaultyWiki().running() as wiki:
        wiki.pages |= {name: f"<p>The {name} is a bird.</p><p>Its crown is red.</p>" for name in names}
        build = [*cli.command(), "build", "--names", "names.csv", "--api-url", wiki.api_url, "--kb", "a.kb"]
        process = subprocess.Popen(
            build, cwd=tmp_path, env=cli.environment(), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        wiki.delay_s, until = 0.2, time.monotonic() + 240
        while len(list(tmp_path.glob("a.kb/articles/**/*.*"))) < 2 and time.monotonic() < until:
            if sum(request.get("action") == "parse" for request in wiki.requests) > 4:  # two have come; now it is slow
                wiki.always = Fault(stall_s=60)
            time.sleep(0.01)
        interrupted = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=120)
        assert process.returncode == 130
        assert "run the same command again to resume" in complaint
        [n_kept] = re.findall(r"Kept so far: look-ups \d+, articles (\d)\.", complaint)
        status = json.loads(cli.run("status", "--kb", "a.kb", "--format", "json", check=True).stdout)
        assert (status["articles"], status["unfinished"]) == (int(n_kept), ["build"]) and int(n_kept) > 0
        assert time.monotonic() - interrupted < 0.9 * Timeouts().read_s  # otherwise it waited for a reply
        wiki.always, wiki.delay_s = None, 0.0
        done = cli.run(*build[1:], check=True)
        assert "species           7" in done.stdout and "fetch 7 of 7" in done.stderr  # the bar goes on


def test_look_ups_are_kept_for_a_day_until_a_build_succeeds(cli: Any, wiki: FaultyWiki, tmp_path: Path) -> None:
    def known(error: BaseException | None = None) -> str | None:
        """Return the answer that a build finds; the build ends with the error."""
        looked_up = kept_look_ups(BuildArguments(taxa=("Aves",)), Settings(home=tmp_path), tmp_path / "a.kb")
        with suppress(KeyboardInterrupt, FieldmarkError), looked_up as journal:
            assert journal is not None
            answer = journal.get("question")
            journal.put("question", "answer")
            if error is not None:
                raise error
        return answer

    stop = KeyboardInterrupt()
    assert [known(stop), known(KnowledgeBaseLocked("")), known(), known(stop)] == [None, "answer", "answer", None]
    for file in (tmp_path / "look-ups").iterdir():
        os.utime(file, (1, 1))
    assert known() is None
    assert list((tmp_path / "look-ups").iterdir()) == []

    wiki.categories["Category:Owls"] = ["Western Barn Owl"]
    command = ("build", "--category", "Owls", "--api-url", wiki.api_url)
    model = '[llm.text]\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\nprice_in = 1.0\nprice_out = 1.0\n'
    (tmp_path / "fieldmark.toml").write_text(model)
    wiki.faults = [Fault(), Fault(), busy("3600")]
    limited = ("--distiller", "model", "--max-cost", "0.000001")
    for more, code, kept in (((), 6, "1"), (limited, 7, "2, articles 1, searched for photos 1")):
        stopped = cli.call(*command, *more)
        assert (stopped.exit_code, f"Kept so far: look-ups {kept}.\n" in stopped.stderr) == (code, True), stopped.stderr
    cli.call(*command, "--distiller", "extractive", check=True)
    assert sum("cmtitle" in request for request in wiki.requests) == 1
    assert sum("titles" in request for request in wiki.requests) == 2
    with kb.open("owls.kb") as store:
        assert store.taxon_ids == ("tyto-alba",)


COMPLAINTS: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, "Specify --taxon, --list, --category or --names"),
    ({"category": "C", "names": Path("n.csv")}, "--category and --names cannot be combined"),
    ({"list_page": ""}, "--list is empty"),
    ({"source": "starter", "list_page": "L"}, "--list needs a wiki"),
    ({"source": "starter", "names": Path("n.csv")}, "--names needs a wiki or a folder"),
    ({"source": "starter", "has_api_url": True}, "--api-url needs a wiki"),
    ({"source": "folder:x", "category": "C"}, "--category needs a wiki"),
    ({"source": "folder:"}, "has no folder"),
    ({"source": "encarta", "taxa": ("Aves",)}, "Unknown source 'encarta'"),
    ({"taxa": ("Aves",), "is_dry_run": True, "only": "fetch"}, "--dry-run and --only cannot be combined"),
    ({"source": "folder:x", "checklist": "wiki"}, "--checklist wiki needs a wiki"),
    ({"pages": Path("p.csv"), "is_dry_run": True}, "--pages and --dry-run cannot be combined"),
)


def test_invalid_combinations_are_usage_errors() -> None:
    for arguments, complaint in COMPLAINTS:
        with pytest.raises(UsageError, match=complaint):
            BuildArguments(**arguments)


def test_the_default_path_is_named_after_the_selection() -> None:
    for arguments, name in (
        (BuildArguments(taxa=("Aves",)), "aves.kb"),
        (BuildArguments(list_page="List of birds of Iceland", taxa=("Anatidae", "Laridae")),
         "list-of-birds-of-iceland.kb"),
        (BuildArguments(category="Category:Owls"), "category-owls.kb"),
        (BuildArguments(names=Path("surveys/may 2026.csv")), "may-2026.kb"),
        (BuildArguments(source="starter"), "starter.kb"),
        (BuildArguments(source="folder:articles", taxa=("Aves",)), "aves.kb"),
    ):  # fmt: skip
        assert arguments.default_path == Path(name)
    for taxa in (("Anatidae", "Laridae"), ("/",)):
        with pytest.raises(UsageError, match="The knowledge base has no name"):
            _ = BuildArguments(taxa=taxa).default_path
