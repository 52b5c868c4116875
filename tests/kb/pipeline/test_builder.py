"""Builds from pages, complete the first time and incremental after that."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kb
from data.contracts import Encoders
from data.errors import SourceUnavailable, SpaceMismatch, UsageError
from data.records import Progress, Term
from tests.pages import PageSource, body_of, made_up_taxa
from tests.toy.encoders import toy_encoders


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    return toy_encoders()


def test_a_build_includes_species_with_pages_and_counts_the_rest(tmp_path: Path, encoders: Encoders) -> None:
    source = PageSource(missing=["avis-001"], bare=["avis-002"], left_out=["avis-003"])
    status = kb.build(tmp_path / "a.kb", made_up_taxa(8), source, encoders, terms=[("Amplexus", None)])
    assert (status.species, status.articles, status.summaries, status.terms) == (6, 6, 6, 1)
    assert status.anchors == 10  # two per species, except the one without photos
    assert status.left_out == {"no page": 1, "disambiguation": 1}
    assert status.marks == {"no-anchors": 1}
    assert status.skipped_photos == {"licence": 1}
    assert status.failures == ()
    with_chunks = kb.open(tmp_path / "a.kb")
    table = with_chunks.chunk_vectors(encoders.text_image[0].space)
    assert status.chunks == len(table.ids) >= 6
    with_chunks.close()


def test_a_built_knowledge_base_has_what_its_pages_say(tmp_path: Path, encoders: Encoders) -> None:
    """A second build changes nothing, and one with other encoders is refused."""
    path = tmp_path / "a.kb"
    kb.build(path, made_up_taxa(6), PageSource(), encoders)
    [run] = (path / "runs").iterdir()
    manifest = json.loads(run.read_text())
    assert (manifest["counts"]["species"], manifest["spaces"]) == (6, list(encoders.spaces))
    with kb.open(path) as store:
        text, entries = store.article_text("avis-000"), store.species(store.taxon_ids)
        table = store.anchor_vectors(encoders.visual.space)
    assert text == body_of("Bird 000", 1)
    assert entries[0].summary is not None and "whistle" not in entries[0].summary.text
    for statement in entries[0].summary.statements:
        assert statement.evidence
        assert all(text[span.start : span.end].strip() for span in statement.evidence)
    assert table.ids == tuple(anchor.anchor_id for entry in entries for anchor in entry.anchors)
    assert table.owners.tolist() == [i for i, entry in enumerate(entries) for _ in entry.anchors]
    assert np.allclose(np.linalg.norm(table.vectors, axis=1), 1, atol=1e-6)

    before, again = kb.verify(path), PageSource()
    assert before.ok
    kb.build(path, made_up_taxa(6), again, encoders)
    assert (again.n_bodies, again.n_photos) == (0, 0)
    assert kb.verify(path) == before
    with pytest.raises(SpaceMismatch, match="these encoders make vectors of") as caught:
        kb.build(path, made_up_taxa(7), PageSource(), replace(encoders, text_image=()))
    assert "kb import a-bundle --re-encode" in str(caught.value.hint)


def test_the_digest_does_not_depend_on_path_stages_or_order(tmp_path: Path, encoders: Encoders) -> None:
    taxa = made_up_taxa(4)
    kb.build(tmp_path / "whole.kb", taxa, PageSource(), encoders)
    for stage in ("resolve", "fetch", "distil", "anchor", "encode", "index"):
        kb.build(tmp_path / "staged.kb", taxa, PageSource(), encoders, only=stage)
    kb.build(tmp_path / "parts.kb", taxa[:2], PageSource(), encoders)
    assert kb.build(tmp_path / "parts.kb", taxa[2:], PageSource(), encoders).species == 4
    assert len({kb.verify(tmp_path / name).digest for name in ("whole.kb", "staged.kb", "parts.kb")}) == 1


def test_limit_takes_the_first_species_with_a_page(tmp_path: Path, encoders: Encoders) -> None:
    """Progress reaches the total of every stage."""
    seen: list[Progress] = []
    source = PageSource(missing=["avis-000"])
    kb.build(tmp_path / "a.kb", made_up_taxa(9), source, encoders, limit=3, progress=seen.append)
    with kb.open(tmp_path / "a.kb") as store:
        assert store.taxon_ids == ("avis-001", "avis-002", "avis-003")
    last = {step.stage: step for step in seen}
    assert {stage: (step.done, step.total) for stage, step in last.items()} == {
        "resolve": (3, 0),  # pages found; their number is not known before
        "fetch": (3, 3),
        "distil": (3, 3),
        "anchor": (3, 3),
        "encode": (4 * 3, 4 * 3),  # chunks, anchors in two spaces, species
        "index": (3, 3),
    }


def test_only_failed_pages_are_fetched_again(tmp_path: Path, encoders: Encoders) -> None:
    path = tmp_path / "a.kb"
    status = kb.build(path, made_up_taxa(6), PageSource(failing=["avis-004"]), encoders)
    assert [(failure.taxon, failure.stage) for failure in status.failures] == [("Avis 004", "fetch")]
    assert status.species == 5
    assert not kb.verify(path).ok
    mended = PageSource()
    assert kb.build(path, made_up_taxa(6), mended, encoders).species == 6
    assert mended.n_bodies == 1
    kb.build(tmp_path / "b.kb", made_up_taxa(6), PageSource(), encoders)
    assert kb.verify(path).digest == kb.verify(tmp_path / "b.kb").digest


def test_an_unavailable_wiki_stops_the_build_and_keeps_progress(tmp_path: Path, encoders: Encoders) -> None:
    taxa = made_up_taxa(18)
    down = PageSource(failing=[taxon.taxon_id for taxon in taxa[5:]])
    with pytest.raises(SourceUnavailable, match=r"Too many pages failed in a row \(12\)"):
        kb.build(tmp_path / "a.kb", taxa, down, encoders)
    up = PageSource()
    assert kb.build(tmp_path / "a.kb", taxa, up, encoders).species == 18
    assert up.n_bodies == 13


def test_a_complete_term_needs_no_page(tmp_path: Path, encoders: Encoders) -> None:
    term = Term(term_id="term:cere", name="cere", definition="Bare skin above the bill.", look_for="A swelling.")
    source = PageSource()
    kb.build(tmp_path / "a.kb", [], source, encoders, terms=[term])
    store = kb.open(tmp_path / "a.kb")
    assert store.terms() == [term]
    assert source.n_bodies == 0
    near = store.query_terms(encoders.sentence.encode_texts(["bare skin above the bill"])[0], 3)
    assert near[0][0] == "term:cere"
    store.close()


def test_a_folder_with_other_files_is_refused(tmp_path: Path, encoders: Encoders) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="holds other files"):
        kb.build(tmp_path, made_up_taxa(1), PageSource(), encoders)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_failed_new_revision_keeps_the_old_entry(tmp_path: Path, encoders: Encoders) -> None:
    path = tmp_path / "a.kb"
    kb.build(path, made_up_taxa(4), PageSource(), encoders)
    source = PageSource(revision=2, failing=["avis-002"])
    assert kb.build(path, made_up_taxa(4), source, encoders).species == 4
    store = kb.open(path)
    revisions = {
        entry.taxon.taxon_id: entry.source.revision for entry in store.species(store.taxon_ids) if entry.source
    }
    assert revisions == {"avis-000": 2, "avis-001": 2, "avis-002": 1, "avis-003": 2}
    store.close()


def test_a_resumed_build_does_not_repeat_look_ups(tmp_path: Path, encoders: Encoders) -> None:
    taxa = made_up_taxa(14)
    with pytest.raises(SourceUnavailable):
        kb.build(tmp_path / "a.kb", taxa, PageSource(failing=[taxon.taxon_id for taxon in taxa]), encoders)
    source = PageSource()
    kb.build(tmp_path / "a.kb", taxa, source, encoders)
    assert (source.n_located, source.n_bodies) == (0, 14)


def _build(path: Path, encoders: Encoders, source: PageSource, n: int = 4) -> str:
    kb.build(path, made_up_taxa(n), source, encoders)
    found = kb.verify(path)
    assert found.ok, found.problems
    return found.digest


def test_a_species_leaves_and_returns_with_its_page(tmp_path: Path, encoders: Encoders) -> None:
    whole = _build(tmp_path / "a.kb", encoders, PageSource())
    status = kb.build(tmp_path / "a.kb", made_up_taxa(4), PageSource(gone=["avis-002"]), encoders)
    assert (status.species, status.left_out, status.failures) == (3, {"no page": 1}, ())
    assert kb.verify(tmp_path / "a.kb").ok
    still = PageSource(gone=["avis-002"])
    assert kb.build(tmp_path / "a.kb", made_up_taxa(4), still, encoders).left_out == {"no page": 1}
    assert still.n_bodies == 0
    assert _build(tmp_path / "a.kb", encoders, PageSource()) == whole
    store = kb.open(tmp_path / "a.kb")
    assert store.status().left_out == {}
    store.close()


def test_a_page_missed_by_a_look_up_is_fetched_and_stays(tmp_path: Path, encoders: Encoders) -> None:
    """On a large wiki only some names are searched for, so a build can miss a page that an earlier one found."""
    _build(tmp_path / "a.kb", encoders, PageSource())
    blind = PageSource(missing=["avis-002"])
    assert kb.build(tmp_path / "a.kb", made_up_taxa(4), blind, encoders).species == 4
    assert blind.n_bodies == 1
    assert kb.verify(tmp_path / "a.kb").ok


def test_restored_photos_are_encoded_again(tmp_path: Path, encoders: Encoders) -> None:
    """An edit that removes the photo and its revert end with the original digest."""
    before = _build(tmp_path / "a.kb", encoders, PageSource(revision=1))
    _build(tmp_path / "a.kb", encoders, PageSource(revision=2, bare=["avis-001"]))
    assert _build(tmp_path / "a.kb", encoders, PageSource(revision=1)) == before


def test_photos_that_cannot_be_fetched_again_are_retained(tmp_path: Path, encoders: Encoders) -> None:
    path = tmp_path / "a.kb"
    _build(path, encoders, PageSource(revision=1))
    status = kb.build(path, made_up_taxa(4), PageSource(revision=2, without_photos=True), encoders)
    assert (status.anchors, status.marks, len(status.failures)) == (8, {}, 4)
    assert _build(path, encoders, PageSource(revision=2)) == _build(tmp_path / "b.kb", encoders, PageSource(revision=2))


class OtherSource(PageSource):
    name = "other pages"  # type: ignore[assignment]


def test_a_second_source_is_not_queried_for_pages_of_the_first(tmp_path: Path, encoders: Encoders) -> None:
    path = tmp_path / "a.kb"
    _build(path, encoders, PageSource())
    other = OtherSource(gone=[taxon.taxon_id for taxon in made_up_taxa(4)])
    status = kb.build(path, made_up_taxa(5)[4:], other, encoders)
    assert (status.species, status.left_out, other.n_bodies) == (5, {}, 1)


def test_a_term_left_out_late_is_counted_as_a_term(tmp_path: Path, encoders: Encoders) -> None:
    source = PageSource(left_out=["term:amplexus"])
    status = kb.build(tmp_path / "a.kb", made_up_taxa(1), source, encoders, terms=[("Amplexus", None)])
    assert status.left_out == {"term: disambiguation": 1}
