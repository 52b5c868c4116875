"""Orders in web pages, by `kb build --pages` from a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kb
from kb.checklist.avilist import load_checklist
from kb.distill.model_reply import SCHEMA
from tests.conftest import CommandLine
from tests.security.commands import Obeying, as_page, commanding, obeying
from tests.security.conftest import Model
from tests.security.obedient_model import ATTACKS, MARK, as_read, obedient
from tests.security.test_distilling import ZEBRA, repeat
from tests.servers.ugly_site import Reply, UglySite

LOOKS = "The crown is black. The belly is white."
CHECKLIST = load_checklist()
BIRDS = [taxon.scientific_name for name in ("Anas", "Larus") for taxon in CHECKLIST.species_of(CHECKLIST.find(name))]


@pytest.fixture
def run(cli: CommandLine, model: Model, monkeypatch: pytest.MonkeyPatch) -> Obeying:
    Path("fieldmark.toml").write_text("page_pause_s = 0\nprivate_addresses = true\n")
    return obeying(cli, model, monkeypatch)


@pytest.fixture
def site(cli: CommandLine) -> Iterator[UglySite]:
    """A page with an order for each bird but the last, and the table of the pages."""
    with UglySite().running() as site:
        lines = []
        for n, (name, attack) in enumerate(zip(BIRDS, (*ATTACKS, ""), strict=False)):
            body = as_page(f"{name} {attack}", f"Description {attack}", f"{LOOKS} It sings. {attack}")
            site.pages[f"/{n}"] = Reply(body=body)
            lines.append(f"{name},{site.url(f'/{n}')}")
        (cli.folder / "pages.csv").write_text("\n".join(lines))
        yield site


def summaries() -> list[str]:
    with kb.open("a.kb") as store:
        return store.summary_texts()


@pytest.mark.usefixtures("site")
def test_orders_of_pages_are_not_obeyed_by_the_distiller(cli: CommandLine, run: Obeying, model: Model) -> None:
    build = ("build", "--pages", "pages.csv", "--distiller", "model", "--kb")
    run(obedient(repeat, ZEBRA), *build, "a.kb", check=True)
    assert len(model.calls) == len(ATTACKS) + 1
    assert sum(MARK in as_read(call.text) for call in model.calls) == len(ATTACKS) - 2  # invisible letters
    assert all(call.payload["response_format"]["json_schema"]["schema"] == SCHEMA for call in model.calls)
    assert [text[: len(LOOKS)] for text in summaries()] == [LOOKS] * len(model.calls)

    # Without this, the rest would show nothing: an order of the user's own prompt is obeyed.
    own = commanding("kb", "distil.md", cli.folder / "own")
    assert run(obedient(repeat, ZEBRA), *build, "b.kb", "--set", f"prompts={own}").exit_code != 0
