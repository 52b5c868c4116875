"""Web pages as sources: `kb build --pages`, `kb add --page`, and the verbs that update, export and remove them."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.servers.ugly_site import ARTICLE, HEN, LOOKS, Reply, UglySite, page, pdf

BY = '<title>Mallard</title><link rel="license" href="https://creativecommons.org/licenses/by/4.0/">'
FREE = "The speculum is blue with white edges."
SETTINGS = "page_pause_s = 0\nprivate_addresses = true\n"


@pytest.fixture
def site(cli: Any, tmp_path: Path) -> Iterator[UglySite]:
    """The ugly site, and settings that allow it."""
    (tmp_path / "fieldmark.toml").write_text(SETTINGS)
    with UglySite().running() as running:
        running.robots = "User-agent: *\nDisallow: /private\n"
        running.pages["/free"] = Reply(body=page(f"{ARTICLE}<p>{FREE}</p>", head=BY))
        running.pages["/amplexus"] = Reply(
            body=page("<h1>Amplexus</h1><p>Amplexus is an embrace in which the male frog clasps the female.</p>")
        )
        yield running


def payload(cli: Any, *arguments: str | Path) -> Any:
    return json.loads(cli.call(*arguments, "--format", "json", check=True).stdout)


def summary(cli: Any, kb: str, name: str = "Mallard") -> dict[str, list[str]]:
    """Return address -> sentences of the summary of a species."""
    found: dict[str, list[str]] = {}
    for statement in payload(cli, "show", name, "--kb", kb)["summary"]["statements"]:
        found.setdefault(statement["source"]["url"] or "", []).append(statement["text"])
    return found


def test_a_page_adds_to_a_species_or_defines_a_term_and_is_cited(cli: Any, site: UglySite, mallard: Path) -> None:
    before = summary(cli, "mallard.kb")[""]
    add = ("add", "--kb", "mallard.kb", "--name", "Mallard", "--page", site.url("/mallard"))
    assert cli.call(*add, check=True).stdout.startswith("added to  Anas platyrhynchos\nadded     1 page\n")
    assert summary(cli, "mallard.kb") == {site.url("/mallard"): [LOOKS, HEN], "": before}
    shown = cli.call("show", "Mallard", "--kb", "mallard.kb", check=True).stdout
    assert f"from: Mallard, {site.url('/mallard')}\n" in shown
    context = payload(cli, "context", "a mallard with a chestnut breast", "--kb", "mallard.kb")
    assert LOOKS in context["passage"]
    assert site.url("/mallard") in [source["url"] for source in context["sources"]]
    assert "nothing new" in cli.call(*add, check=True).stdout
    cli.call("add", "--kb", "mallard.kb", "--term", "amplexus", "--page", site.url("/amplexus"), check=True)
    shown = cli.call("show", "amplexus", "--kb", "mallard.kb", check=True).stdout
    assert "an embrace in which the male frog clasps the female" in shown and site.url("/amplexus") in shown
    assert "ok        yes" in cli.call("verify", "--kb", "mallard.kb", check=True).stdout


def test_contact_pause_and_private_addresses_are_settings(cli: Any, site: UglySite, tmp_path: Path) -> None:
    (tmp_path / "fieldmark.toml").write_text("page_pause_s = 0\n")
    add = ("add", "--kb", "a.kb", "--name", "Mallard", "--page", site.url("/mallard"), "--page", site.url("/free"))
    useless = cli.call(*add[:-1], site.url("/about-shop"), "--set", "private_addresses=true")
    assert (useless.exit_code, "no sentence describes Mallard" in useless.stderr) == (5, True)
    assert "Nothing was added" in useless.stderr and not (tmp_path / "a.kb").exists()
    site.requests.clear()
    site.times.clear()
    refused = cli.call(*add)
    assert (refused.exit_code, "private_addresses=true" in refused.stderr, site.requests) == (6, True, [])
    more = ("--set", "private_addresses=true", "--set", "page_pause_s=0.1", "--contact", "ann@example.org")
    cli.call(*add, *more, check=True)
    assert all("(ann@example.org)" in headers["User-Agent"] for _, headers in site.requests)
    assert site.times[-1] - site.times[0] > 0.19


def test_options_that_do_not_fit_pages_are_refused(cli: Any, site: UglySite, tmp_path: Path) -> None:
    add = ("add", "--kb", "a.kb", "--name", "Mallard", "--page", "http://a.example/")
    build = ("build", "--pages", write_table(tmp_path, site), "--kb", "a.kb")
    term = ("add", "--kb", "a.kb", "--term", "crest", "--page", "p", "--text", __file__)
    for arguments, message in (
        ((*add, "--as-is"), "--as-is"),
        ((*add, "--licence", "CC0"), "--licence"),
        (term, "A term takes one --text or its --page"),
        ((*build, "--taxon", "Anas"), "--pages and --taxon cannot be combined"),
        ((*build, "--source", "starter"), "--pages and --source cannot be combined"),
    ):
        outcome = cli.call(*arguments)
        assert (outcome.exit_code, message in outcome.stderr) == (2, True), outcome.stderr


def write_table(folder: Path, site: UglySite) -> str:
    (folder / "garganey.pdf").write_bytes(pdf("The male has a white stripe over the eye and a brown head."))
    rows = [
        ("Mallard", site.url("/mallard")), ("Mallard", site.url("/free")), ("Garganey", "garganey.pdf"),
        ("amplexus", site.url("/amplexus")), ("Gadwall", site.url("/private/x")), ("Gadwall", site.url("/about-shop")),
        ("Malard", site.url("/free")), ("Mallard", site.url("/forbidden")),
    ]  # fmt: skip
    (folder / "pages.csv").write_text("".join(f"{name},{address}\n" for name, address in rows))
    return "pages.csv"


def test_a_table_of_pages_is_built(cli: Any, site: UglySite, tmp_path: Path, mallard: Path) -> None:
    built = cli.call("build", "--pages", write_table(tmp_path, site), "--kb", "mallard.kb")
    assert built.exit_code == 7
    assert "species           2\n" in built.stdout
    assert f"failed  {site.url('/forbidden')}: fetch: " in built.stdout
    left_out = cli.call("status", "--kb", "mallard.kb", "--left-out", check=True).stdout
    for reason in ("disallowed by robots.txt", "no description on the page", "did you mean Mallard"):
        assert reason in left_out
    added = [text for address, texts in summary(cli, "mallard.kb").items() for text in texts if address]
    assert sorted(added) == sorted([LOOKS, HEN, FREE]), "a sentence of two pages is in the summary once"
    assert list(summary(cli, "mallard.kb", "Garganey")) == ["file:garganey.pdf"]
    asked = len(site.asked)
    assert cli.call("build", "--pages", "pages.csv", "--kb", "mallard.kb").exit_code == 7
    assert site.asked[asked:] == ["/forbidden"], "pages that are held are not requested again"


def test_pages_without_a_free_licence_are_credited_and_not_exported(
    cli: Any, site: UglySite, mallard: Path, tmp_path: Path
) -> None:
    write_table(tmp_path, site)
    cli.call("build", "--pages", "pages.csv", "--kb", "mallard.kb")
    credits = cli.call("credits", "--kb", "mallard.kb", check=True).stdout
    today = datetime.now(UTC).date()
    assert f'"Mallard", {site.url("/mallard")}, accessed {today}, licence unknown. NOT TO BE PUBLISHED.' in credits
    assert f'"Mallard", {site.url("/free")}, accessed {today}, CC BY 4.0 ' in credits
    assert '"garganey.pdf", file:garganey.pdf, licence unknown. NOT TO BE PUBLISHED.' in credits
    outcome = cli.call("export", "out", "--kb", "mallard.kb", check=True)
    exported = outcome.stdout
    assert "must not be published" not in outcome.stderr, "they are left out"
    with_all = cli.call("export", "unfree", "--kb", "mallard.kb", "--unfree-pages", check=True)
    assert "of the bundle must not be published (licence not free or unknown)" in with_all.stderr
    n_withheld = credits.count("NOT TO BE PUBLISHED.")
    assert f"left out  {n_withheld} web texts" in exported, "pages without text do not count"
    assert payload(cli, "import", "out", "--kb", "b.kb")["encoded"] is False
    assert set(summary(cli, "b.kb")) == {"", site.url("/free")}
    assert payload(cli, "update", "--kb", "b.kb")["checked"] == 1
    # The folder of its articles is gone.
    assert "pages checked      6\n" in cli.call("update", "--kb", "mallard.kb", "--source", "web").stdout
    whole = payload(cli, "export", "all", "--kb", "mallard.kb", "--unfree-pages")
    assert whole["withheld_pages"] == 1, "paths of local files are private"
    cli.call("import", "all", "--kb", "c.kb", check=True)
    assert site.url("/mallard") in cli.call("credits", "--kb", "c.kb", check=True).stdout
