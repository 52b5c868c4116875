"""First builds that fail, and the state in which they leave the next build."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import kb
from data.contracts import Encoders
from data.errors import MissingKnowledgeBase, SourceUnavailable
from data.records import LeftOut, PageRef, Status, Taxon
from kb.store.layout import Layout
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    return toy_encoders()


class WrongSource(PageSource):
    """A wiki other than the intended one, with an origin like that of a real address."""

    name = "wrong pages"  # type: ignore[assignment]
    origin = {"kind": "wrong"}  # noqa: RUF012  # never changed


class DeadSource(WrongSource):
    """A wiki with an unreachable address."""

    def locate(self, taxa: Sequence[Taxon]) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
        raise SourceUnavailable("cannot be reached")
        yield from ()  # makes this a generator, as `PageSource.locate` is


def failed_build(path: Path, source: PageSource, encoders: Encoders, n: int = 20) -> None:
    with pytest.raises(SourceUnavailable):
        kb.build(path, made_up_taxa(n), source, encoders)


def facts_of(path: Path, status: Status) -> tuple[object, ...]:
    """Return the source, origins, reports and digest of a knowledge base."""
    with kb.open(path) as store:
        origins = store.origins()
    return Layout(path).require().source, origins, status.left_out, status.failures, kb.verify(path).digest


def test_an_unreachable_source_leaves_no_knowledge_base(tmp_path: Path, encoders: Encoders) -> None:
    path = tmp_path / "a.kb"
    failed_build(path, DeadSource(), encoders)
    assert [item.name for item in path.iterdir()] == [".lock"]
    with pytest.raises(MissingKnowledgeBase, match="No knowledge base"):
        kb.open(path)
    assert kb.build(path, made_up_taxa(2), PageSource(), encoders).species == 2
    assert Layout(path).require().source == "pages"


def test_a_failed_build_from_a_wrong_source_leaves_no_trace(tmp_path: Path, encoders: Encoders) -> None:
    taxa = made_up_taxa(16)
    ids = [taxon.taxon_id for taxon in taxa]
    good = PageSource(missing=ids[3:])
    expected = facts_of(tmp_path / "clean.kb", kb.build(tmp_path / "clean.kb", taxa[:4], good, encoders))
    assert expected[0] == "pages"
    for name, source, left_out in (
        ("failing", WrongSource(failing=ids), None),
        ("partly failing", WrongSource(failing=ids), {}),
        ("disambiguations", WrongSource(left_out=ids), {"disambiguation": 16}),
        ("without a page", WrongSource(missing=ids), {"no page": 16}),
    ):
        path = tmp_path / f"{name}.kb"
        if left_out is None:
            failed_build(path, source, encoders)
        else:
            status = kb.build(path, taxa if left_out else taxa[5:9], source, encoders)
            assert (status.left_out, len(status.failures)) == (left_out, 0 if left_out else 4), name
        assert facts_of(path, kb.build(path, taxa[:4], good, encoders)) == expected, name


def test_a_fetched_page_survives_a_build_from_another_source(tmp_path: Path, encoders: Encoders) -> None:
    path, taxa = tmp_path / "a.kb", made_up_taxa(14)
    failed_build(path, PageSource(failing=[taxon.taxon_id for taxon in taxa[1:]]), encoders, n=14)
    kb.build(path, made_up_taxa(15)[14:], WrongSource(), encoders)
    assert Layout(path).require().source == "pages"
    again = PageSource()
    assert kb.build(path, taxa, again, encoders).species == 15
    assert again.n_bodies == 13


def test_resolved_pages_survive_resolving_from_another_source(tmp_path: Path, encoders: Encoders) -> None:
    path, taxa = tmp_path / "a.kb", made_up_taxa(4)
    for source, some in ((PageSource(), taxa[:2]), (WrongSource(), taxa[2:])):
        kb.build(path, some, source, encoders, only="resolve")
    kb.build(path, [], PageSource(), encoders, only="fetch")
    with kb.open(path) as store:
        assert sum(step.status == "done" for step in store.ledger.steps("fetch").values()) == 2


def test_a_failed_build_leaves_an_existing_knowledge_base_unchanged(tmp_path: Path, encoders: Encoders) -> None:
    path = tmp_path / "a.kb"
    kb.build(path, made_up_taxa(2), PageSource(), encoders)
    before = kb.verify(path).digest
    failed_build(path, DeadSource(), encoders)
    with kb.open(path) as store:
        assert (len(store.taxon_ids), dict(store.origins())) == (2, {})  # `PageSource` itself has no origin
    kb.build(path, made_up_taxa(2), PageSource(), encoders)
    assert kb.verify(path).digest == before


def test_the_only_species_stays_removed_after_a_build(tmp_path: Path, encoders: Encoders) -> None:
    path, taxa = tmp_path / "a.kb", made_up_taxa(1)
    kb.build(path, taxa, PageSource(), encoders)
    kb.remove(path, [taxa[0].scientific_name])
    assert kb.build(path, taxa, WrongSource(), encoders).left_out == {"removed by the user": 1}
