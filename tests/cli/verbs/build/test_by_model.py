"""`kb build --distiller model...` against a scripted server: output, model calls and cost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.verbs.conftest import fields
from tests.servers.openai_server import OpenAIServer
from tests.servers.scripted_distiller import slowly

N_BIRDS = 6
ARTICLE = """## Description
It is a large owl, 60 cm long, with {colour} upperparts and yellow eyes. The bill is black. It is number {n} of all.
## Behaviour
It hunts at night.
"""


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda call: slowly(0.01, call), key="sk-test") as running:
        yield running


@pytest.fixture
def owls(cli: Any, tmp_path: Path, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A folder of six owls, settings for the server, and the command that builds them."""
    from kb.checklist.avilist import load_checklist

    checklist = load_checklist()
    owls = checklist.find("Strigidae")
    assert owls is not None
    for n, taxon in enumerate(checklist.species_of(owls)[:N_BIRDS]):
        page = tmp_path / "owls" / taxon.common_name / "article.txt"
        page.parent.mkdir(parents=True)
        page.write_text(ARTICLE.format(colour=("brown", "grey", "white")[n % 3], n=n))
    (tmp_path / "fieldmark.toml").write_text(
        f'[llm.text]\nmodel = "scripted"\nbase_url = "{server.base_url}"\napi_key_env = "TEST_KEY"\n'
        "price_in = 1.0\nprice_out = 2.0\nmax_concurrent = 2\n"
    )
    monkeypatch.setenv("TEST_KEY", "sk-test")
    return ["build", "--source", "folder:owls", "--taxon", "Strigidae", "--kb", "owls.kb"]


def test_a_dry_run_estimates_and_a_build_reports_calls_and_cost_and_a_rebuild_is_free(
    cli: Any, owls: list[str], server: OpenAIServer
) -> None:
    cli.call(*owls, check=True)
    plan = fields(cli.call(*owls, "--distiller", "model", "--dry-run", check=True).stdout)
    assert plan["to distil"] == "6 pages"
    assert "from 6 articles" in plan["tokens"]
    report = fields(cli.call(*owls, "--distiller", "model", check=True).stdout)
    assert (report["model calls"], report["summaries"], server.n_calls) == ("6", "6", 6)
    assert server.most_at_once <= 2
    tokens_in, tokens_out = (int(part.split()[0].replace(",", "")) for part in report["tokens"].split(", "))
    assert int(plan["tokens"].split()[1].replace(",", "")) == pytest.approx(tokens_in, rel=0.1)
    assert float(report["cost"].removeprefix("$")) == pytest.approx(tokens_in * 1e-6 + tokens_out * 2e-6, abs=1e-4)
    assert fields(cli.call(*owls, "--dry-run", check=True).stdout)["to distil"] == "0 pages, 6 done before"
    again = fields(cli.call(*owls, check=True).stdout)
    assert (again["model calls"], again["cost"]) == ("0", "$0.0000")
    cli.call(*owls, "--distiller", "extractive", check=True)
    back = fields(cli.call(*owls, "--distiller", "model", check=True).stdout)
    assert (back["model calls"], server.n_calls) == ("0, 6 from the cache", 6)


def test_update_honours_offline_and_max_cost(cli: Any, owls: list[str], server: OpenAIServer, tmp_path: Path) -> None:
    cli.call(*owls, "--distiller", "model", check=True)
    page = sorted((tmp_path / "owls").glob("*/article.txt"))[0]
    page.write_text(page.read_text().replace("yellow eyes", "orange eyes"))
    update = ("update", "--kb", "owls.kb")
    offline = cli.call(*update, "--offline")
    assert "No cached reply of scripted@" in offline.stdout + offline.stderr
    assert server.n_calls == N_BIRDS
    limited = cli.call(*update, "--max-cost", "0.000001")
    assert (limited.exit_code, server.n_calls) == (7, N_BIRDS)
    assert fields(cli.call(*update, "--max-cost", "1", check=True).stdout)["model calls"] == "1"


def test_impossible_requests_fail_before_a_model_call(
    cli: Any, owls: list[str], server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = (tmp_path / "fieldmark.toml").read_text()
    without_price = whole.replace("price_out = 2.0\n", "")
    model = ("--distiller", "model")
    for text, arguments, exit_code, words in (
        (whole, ("--max-cost", "1"), 2, "--max-cost needs a model, and the distiller extractive uses none"),
        (whole, ("--offline",), 2, "--offline needs a model"),
        (whole, (*model, "--set", "prompts=owls"), 2, "contains no prompt"),
        (whole, (*model, "--offline"), 7, "No cached reply of scripted@"),
        (without_price, (*model, "--dry-run"), 0, "unknown: set price_in"),
        (without_price, (*model, "--max-cost", "1", "--offline"), 2, "The price of scripted@"),
        ("", model, 3, "has no [llm.text]"),
        (whole.replace("TEST_KEY", "NO_KEY"), model, 3, "NO_KEY, which is not set"),
    ):
        (tmp_path / "fieldmark.toml").write_text(text)
        outcome = cli.call(*owls, *arguments)
        said = outcome.stdout + outcome.stderr
        assert (outcome.exit_code, words in said) == (exit_code, True), (arguments, said)
    assert server.n_calls == 0


def test_names_are_kept_on_request(cli: Any, owls: list[str], server: OpenAIServer) -> None:
    article = next(Path("owls").glob("*/article.txt"))
    name = article.parent.name
    article.write_text(f"## Description\nThe {name} has brown upperparts and yellow eyes.\n")
    for given, text in (((), "It has brown upperparts"), (("--set", "keep_names=true"), f"The {name} has brown")):
        cli.call(*owls, "--distiller", "model", *given, check=True)
        shown = cli.call("show", name, "--kb", "owls.kb", check=True).stdout.partition("Summary")[2]
        assert text in " ".join(shown.partition("evidence:")[0].split())
    assert "own-name" not in cli.call("lint", "--kb", "owls.kb").stdout
    refused = cli.call(*owls, "--distiller", "extractive", "--set", "keep_names=true")
    assert (refused.exit_code, "keep_names is for distillers with a model" in refused.stderr) == (2, True)
