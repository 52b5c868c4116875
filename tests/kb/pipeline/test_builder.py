import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kb
from data.contracts import Encoders
from data.errors import MissingKnowledgeBase, SourceUnavailable, SpaceMismatch, UsageError
from data.files import sha256_hex
from data.records import LeftOut, PageRef, Progress, Status, Taxon, Term
from kb.pipeline.settings import BuildSettings
from kb.store.layout import Layout
from tests.pages import PageSource, body_of, made_up_taxa


class OtherSource(PageSource):
    """Another wiki, with an origin like that of a real address."""

    name = "other pages"  # type: ignore[assignment]
    origin = {"kind": "other"}  # noqa: RUF012  # never changed


class DeadSource(OtherSource):
    """A wiki with an unreachable address."""

    def locate(self, taxa: Sequence[Taxon]) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
        raise SourceUnavailable("cannot be reached")
        yield from ()  # makes this a generator, as `PageSource.locate` is


def digest_of(path: Path, encoders: Encoders, source: PageSource, n: int = 4) -> str:
    kb.build(path, made_up_taxa(n), source, encoders)
    found = kb.verify(path)
    assert found.ok, found.problems
    return found.digest


def test_a_build_has_what_its_pages_say_and_counts_the_rest(tmp_path: Path, encoders: Encoders) -> None:
    """A second build changes nothing, and one with other encoders is refused."""
    path, seen = tmp_path / "a.kb", list[Progress]()

    def build(source: PageSource, encoders: Encoders = encoders) -> Status:
        return kb.build(
            path, made_up_taxa(9), source, encoders, terms=[("Amplexus", None)], limit=6, progress=seen.append
        )

    def lacking() -> PageSource:
        return PageSource(missing=["avis-001"], bare=["avis-002"], left_out=["avis-003"])

    status = build(lacking())
    assert (status.species, status.articles, status.summaries, status.terms) == (5, 5, 5, 1)
    assert status.anchors == 8  # two per species, except the one without photos
    assert status.left_out == {"no page": 1, "disambiguation": 1}
    assert (status.marks, status.skipped_photos, status.failures) == ({"no-anchors": 1}, {"licence": 1}, ())
    last = {step.stage: step for step in seen}
    assert {stage: (step.done, step.total) for stage, step in last.items()} == {
        "resolve": (6, 0),  # pages found; their number is not known before
        "fetch": (7, 7),
        "distil": (6, 6),
        "anchor": (5, 5),
        "encode": (5 + 5 + 1, 5 + 5 + 1),  # chunks, species, the term; before them anchors in two spaces
        "index": (6, 6),
    }
    [run] = (path / "runs").iterdir()
    manifest = json.loads(run.read_text())
    assert (manifest["counts"]["species"], manifest["spaces"]) == (5, list(encoders.spaces))
    with kb.open(path) as store:
        text, entries = store.article_text("avis-000"), store.species(store.taxon_ids)
        table = store.anchor_vectors(encoders.visual.space)
        assert status.chunks == len(store.chunk_vectors(encoders.text_image[0].space).ids) >= 5
    assert text == body_of("Bird 000", 1)
    assert [entry.taxon.taxon_id for entry in entries] == [f"avis-00{i}" for i in (0, 2, 4, 5, 6)]
    assert entries[0].summary is not None and "whistle" not in entries[0].summary.text
    for statement in entries[0].summary.statements:
        assert statement.evidence
        assert all(text[span.start : span.end].strip() for span in statement.evidence)
    assert table.ids == tuple(anchor.anchor_id for entry in entries for anchor in entry.anchors)
    assert table.owners.tolist() == [i for i, entry in enumerate(entries) for _ in entry.anchors]
    assert np.allclose(np.linalg.norm(table.vectors, axis=1), 1, atol=1e-6)

    before, again = kb.verify(path), lacking()
    assert before.ok
    build(again)
    assert (again.n_bodies, again.n_photos) == (0, 0)
    assert kb.verify(path) == before
    with pytest.raises(SpaceMismatch, match="these encoders make vectors of") as caught:
        build(PageSource(), replace(encoders, text_image=()))
    assert "kb import a-bundle --re-encode" in str(caught.value.hint)


def test_the_digest_does_not_depend_on_path_stages_or_order(tmp_path: Path, encoders: Encoders) -> None:
    taxa = made_up_taxa(4)
    kb.build(tmp_path / "whole.kb", taxa, PageSource(), encoders)
    for stage in ("resolve", "fetch", "distil", "anchor", "encode", "index"):
        kb.build(tmp_path / "staged.kb", taxa, PageSource(), encoders, only=stage)
    kb.build(tmp_path / "parts.kb", taxa[:2], PageSource(), encoders)
    other = OtherSource(gone=["avis-000", "avis-001"])  # is not asked for the pages of the first source
    status = kb.build(tmp_path / "parts.kb", taxa[2:], other, encoders)
    assert (status.species, status.left_out, other.n_bodies) == (4, {}, 2)
    assert len({kb.verify(tmp_path / name).digest for name in ("whole.kb", "staged.kb", "parts.kb")}) == 1


def test_the_bars_of_a_build_go_on_from_the_species_of_the_build_before(tmp_path: Path, encoders: Encoders) -> None:
    first: dict[tuple[str, int], int] = {}
    kb.build(tmp_path / "a.kb", made_up_taxa(1), PageSource(), encoders)
    kb.build(
        tmp_path / "a.kb", made_up_taxa(3), PageSource(), encoders,
        progress=lambda now: first.setdefault((now.stage, now.total), now.done),
    )  # fmt: skip
    assert first == {
        ("resolve", 0): 0, ("fetch", 3): 1, ("distil", 3): 1, ("anchor", 3): 1, ("encode", 6): 2, ("index", 2): 0
    }  # fmt: skip


def test_settings_are_checked_and_limit_photos_and_failures(tmp_path: Path, encoders: Encoders) -> None:
    for values, message in (
        ({"anchors_per_species": -1}, "anchors_per_species of at least 0, got -1"),
        ({"max_failures_in_a_row": 0}, "max_failures_in_a_row of at least 1, got 0"),
        ({"chroma": "localhost:8000"}, "chroma as http://HOST:PORT or folder, got 'localhost:8000'"),
        ({"chroma": "http://"}, "chroma as http://HOST:PORT or folder"),
    ):
        with pytest.raises(ValueError, match=message):
            BuildSettings(**values)  # type: ignore[arg-type]  # wrong on purpose
    address = "http://localhost:8000"
    addresses = [BuildSettings(chroma=given).chroma_address for given in ("folder", None, address)]
    assert addresses == ["", None, address]
    assert (BuildSettings().anchors_per_species, BuildSettings().max_failures_in_a_row) == (3, 12)
    for n in (0, 1):
        settings, path = BuildSettings(anchors_per_species=n), tmp_path / f"{n}.kb"
        assert kb.build(path, made_up_taxa(2), PageSource(), encoders, settings=settings).anchors == 2 * n
    kb.update(path, [PageSource(revision=2)], encoders, settings=settings)
    with kb.open(path) as store:
        assert store.status().anchors == 2


def test_a_stopped_build_keeps_its_progress(tmp_path: Path, encoders: Encoders) -> None:
    """Neither look-ups nor fetched pages are repeated, and pages that fail alone are tried again."""
    taxa, path = made_up_taxa(8), tmp_path / "a.kb"
    down, two = PageSource(failing=[taxon.taxon_id for taxon in taxa[5:]]), BuildSettings(max_failures_in_a_row=2)
    with pytest.raises(SourceUnavailable, match=r"Too many pages failed in a row \(2\). Last error: the line was cut"):
        kb.build(path, taxa, down, encoders, settings=two)
    up = PageSource(failing=["avis-006"])
    status = kb.build(path, taxa, up, encoders)
    assert (up.n_located, up.n_bodies, status.species) == (0, 3, 7)
    assert [(failure.taxon, failure.stage) for failure in status.failures] == [("Avis 006", "fetch")]
    assert not kb.verify(path).ok
    mended = PageSource()
    assert digest_of(path, encoders, mended, 8) == digest_of(tmp_path / "b.kb", encoders, PageSource(), 8)
    assert mended.n_bodies == 1


def test_a_knowledge_base_follows_its_pages(tmp_path: Path, encoders: Encoders) -> None:
    path, taxa = tmp_path / "a.kb", made_up_taxa(4)
    first = digest_of(path, encoders, PageSource())
    for n_bodies in (1, 0):
        gone = PageSource(gone=["avis-002"])
        status = kb.build(path, taxa, gone, encoders)
        assert (status.species, status.left_out, status.failures) == (3, {"no page": 1}, ())
        assert gone.n_bodies == n_bodies
    assert kb.verify(path).ok
    assert digest_of(path, encoders, PageSource()) == first
    with kb.open(path) as store:
        assert store.status().left_out == {}

    status = kb.build(path, taxa, PageSource(revision=2, failing=["avis-002"], without_photos=True), encoders)
    assert (status.species, status.anchors, status.marks, len(status.failures)) == (4, 8, {}, 4)
    with kb.open(path) as store:
        revisions = [entry.source and entry.source.revision for entry in store.species(store.taxon_ids)]
    assert revisions == [2, 2, 1, 2], "the old entry and its photos stay where the new ones fail"
    digest_of(path, encoders, PageSource(revision=2, bare=["avis-001"]))
    assert digest_of(path, encoders, PageSource()) == first, "restored photos are encoded again"
    blind = PageSource(missing=["avis-002"])  # on a large wiki a look-up may miss a page that an earlier one found
    assert (kb.build(path, taxa, blind, encoders).species, blind.n_bodies) == (4, 1)


def test_terms_need_a_page_or_a_definition(tmp_path: Path, encoders: Encoders) -> None:
    term = Term(term_id="term:cere", name="cere", definition="Bare skin above the bill.", look_for="A swelling.")
    source = PageSource(left_out=["term:amplexus"])
    status = kb.build(tmp_path / "a.kb", [], source, encoders, terms=[term, ("Amplexus", None)])
    assert (status.terms, status.left_out, source.n_bodies) == (1, {"term: disambiguation": 1}, 1)
    with kb.open(tmp_path / "a.kb") as store:
        assert store.terms() == [term]
        near = store.query_terms(encoders.sentence.encode_texts(["bare skin above the bill"])[0], 3)
    assert [term_id for term_id, _ in near] == ["term:cere"]


def test_a_first_build_that_fails_leaves_no_trace(tmp_path: Path, encoders: Encoders) -> None:
    path, taxa = tmp_path / "a.kb", made_up_taxa(3)
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="holds other files"):
        kb.build(tmp_path, taxa, PageSource(), encoders)
    with pytest.raises(SourceUnavailable):
        kb.build(path, taxa, DeadSource(), encoders)
    assert [item.name for item in path.iterdir()] == [".lock"]
    with pytest.raises(MissingKnowledgeBase, match="No knowledge base"):
        kb.open(path)
    assert kb.build(path, taxa, OtherSource(failing=[taxon.taxon_id for taxon in taxa]), encoders).species == 0
    before = digest_of(path, encoders, PageSource(), 3)
    assert before == digest_of(tmp_path / "b.kb", encoders, PageSource(), 3)
    with pytest.raises(SourceUnavailable):
        kb.build(path, taxa, DeadSource(), encoders)
    with kb.open(path) as store:
        assert (len(store.taxon_ids), store.origins(), store.status().failures) == (3, {}, ())
    assert digest_of(path, encoders, PageSource(), 3) == before
    kb.remove(path, [taxa[0].scientific_name])
    assert kb.build(path, taxa[:1], OtherSource(), encoders).left_out == {"removed by the user": 1}


def test_readers_see_the_evidence_of_what_is_published_while_a_build_runs(tmp_path: Path, encoders: Encoders) -> None:
    """The text that a build has fetched belongs to entries that it publishes at its end."""
    path, taxa = tmp_path / "a.kb", made_up_taxa(2)
    kb.build(path, taxa, PageSource(revision=1), encoders)

    def text() -> str | None:
        with kb.open(path) as store:
            return store.article_text("avis-001")

    def stop(progress: Progress) -> None:
        if progress.stage == "encode":
            raise KeyboardInterrupt

    before = text()
    with pytest.raises(KeyboardInterrupt):
        kb.build(path, taxa, PageSource(revision=2), encoders, progress=stop)
    assert text() == before
    kb.build(path, taxa, PageSource(revision=2), encoders)
    after = text() or ""
    assert after not in (before, "")
    Layout(path).articles.path_of(sha256_hex(after)).unlink()
    assert not kb.verify(path).ok
    assert text() is None, "a lost text: the summary is shown without evidence until the next build"
    kb.build(path, taxa, PageSource(revision=2), encoders)
    assert text() == after


def test_a_first_source_without_any_page_leaves_nothing_behind_in_a_build_from_another(
    tmp_path: Path, encoders: Encoders
) -> None:
    taxa = made_up_taxa(8)
    ids = [taxon.taxon_id for taxon in taxa]

    def facts(path: Path, status: Status) -> tuple[object, ...]:
        with kb.open(path) as store:
            return store.info.source, store.origins(), status.left_out, status.failures, kb.verify(path).digest

    expected = facts(tmp_path / "clean.kb", kb.build(tmp_path / "clean.kb", taxa[:4], PageSource(), encoders))
    for name, wrong in (("failing", OtherSource(failing=ids)), ("without pages", OtherSource(missing=ids))):
        path = tmp_path / f"{name}.kb"
        kb.build(path, taxa[4:], wrong, encoders, language="de")
        with kb.open(path) as store:
            assert kb.search(store, "red", encoders.sentence) == []  # leaves a file in `cache/`
        assert facts(path, kb.build(path, taxa[:4], PageSource(), encoders)) == expected, name
        assert Layout(path).require().languages == ("de",)
    kb.build(path, taxa[4:], OtherSource(), encoders)
    with kb.open(path) as store:
        assert (store.info.source, list(store.origins())) == ("pages", [OtherSource.name])
