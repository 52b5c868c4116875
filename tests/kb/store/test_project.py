import shutil
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kb
from data import vectors
from data.contracts import Encoders
from data.errors import KnowledgeBaseLocked, MissingRequirement
from data.files import writer_lock
from kb.store import matrices
from kb.store import project as project_module
from kb.store.chroma import Collections, folder
from kb.store.layout import Layout
from kb.store.ledger import Ledger
from kb.store.project import is_sealed, project
from kb.store.rows import subject_of, texts_of
from tests.conftest import IN_CI
from tests.pages import PageSource, made_up_taxa

TERMS = [("Amplexus", None)]
N = 4
STOPS = 20 if IN_CI else 3


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> Path:
    """A knowledge base of first revisions; tests must not write to it."""
    path = tmp_path_factory.mktemp("first") / "a.kb"
    kb.build(path, made_up_taxa(N), PageSource(), encoders, terms=TERMS)
    return path


@pytest.fixture
def path(first: Path, tmp_path: Path) -> Path:
    return shutil.copytree(first, tmp_path / "a.kb")


STEPS: tuple[tuple[Any, str], ...] = (
    (Collections, "upsert"), (Collections, "delete"), (Collections, "settle"), (Ledger, "drop_fact"),
    (Ledger, "drop_pending"), (Ledger, "set_fact"), (Ledger, "publish"), (project_module, "index_checksums"),
    (matrices, "write_tables"), (shutil, "rmtree"), (vectors, "write_atomic"),
)  # fmt: skip


@pytest.mark.thorough
def test_a_build_stopped_before_any_step_resumes_to_the_same_digest(
    path: Path, encoders: Encoders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The build updates all texts and adds a species; after each stop a reader sees the old or the new state."""

    def build(copy: Path, last: int | None = None) -> int:
        n = 0

        def before(work: Callable[..., Any]) -> Callable[..., Any]:
            def counted(*arguments: Any, **named: Any) -> Any:
                nonlocal n
                n += 1
                if n == last:
                    raise KeyboardInterrupt
                return work(*arguments, **named)

            return counted

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt) if last else nullcontext():
            for home, name in STEPS:
                patched.setattr(home, name, before(getattr(home, name)))
            kb.build(copy, made_up_taxa(N + 1), PageSource(revision=2), encoders, terms=TERMS)
        return n

    n_steps = build(whole := shutil.copytree(path, path.with_name("whole.kb")))
    digest = kb.verify(whole).digest
    for last in np.linspace(1, n_steps, min(STOPS, n_steps)).astype(int).tolist():
        build(copy := shutil.copytree(path, path.with_name(f"{last}.kb")), last)
        with kb.open(copy) as store:
            assert len(store.taxon_ids) in (N, N + 1)
            owners = store.anchor_vectors(encoders.visual.space).owners
            assert set(owners.tolist()) == set(range(len(store.taxon_ids)))
        build(copy)
        found = kb.verify(copy)
        assert (found.problems, found.digest) == ((), digest)


def test_a_builder_is_refused_while_the_lock_is_held(path: Path, encoders: Encoders) -> None:
    with writer_lock(Layout(path).lock), pytest.raises(KnowledgeBaseLocked, match="Another process") as caught:
        kb.build(path, made_up_taxa(N), PageSource(), encoders)
    assert "Wait for it to end" in (caught.value.hint or "")


def test_an_unwritable_cache_and_a_full_disk_are_reported_and_the_build_is_completed_later(
    path: Path, encoders: Encoders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test simulates a nearly full disk, on which Chroma itself would hang."""
    shutil.rmtree(path / "cache")
    (path / "cache").touch()
    for message, hint in (
        ("MiB are free on this disk, expected at least", "run the same command again"),
        ("cache cannot be written", "run the command again"),
    ):
        with monkeypatch.context() as patched, pytest.raises(MissingRequirement, match=message) as caught:
            patched.setattr(folder, "SPARE_BYTES", 1 << 62 if "MiB" in message else 0)
            kb.build(path, made_up_taxa(N + 1), PageSource(), encoders, terms=TERMS)
        assert hint in (caught.value.hint or "")
    (path / "cache").unlink()
    kb.build(path, made_up_taxa(N + 1), PageSource(), encoders, terms=TERMS)
    assert kb.verify(path).ok


def test_chroma_is_sealed_blank_where_it_sets_nothing_and_has_documents_of_species_and_terms_alone(
    path: Path, encoders: Encoders
) -> None:
    """Chroma indexes every document, and the chunks of a species would repeat its summary."""
    kb.build(path, made_up_taxa(N + 1), PageSource(), encoders, terms=TERMS)
    layout = Layout(path)
    with closing(Ledger(layout.ledger)) as ledger:
        assert is_sealed(layout, ledger)
        assert project(layout, layout.require(), ledger) == []
        with Collections(layout, layout.require()) as collections:
            subjects = [subject_of(entry) for entry in ledger.entries()]
            for name, (kind, _) in collections.names.items():
                ids = [row for subject in subjects for row in texts_of(subject, kind)]
                documents = [document for document, _ in collections.texts(name, ids).values()]
                assert documents
                assert all(bool(document) is (kind in ("species", "terms")) for document in documents)
        for header in (path / "chroma").glob("*/header.bin"):
            slots = header.with_name("data_level0.bin").read_bytes()
            assert not slots[len(slots) // 4 :].strip(b"\0"), "a small collection fills less than a quarter"
            assert slots[: len(slots) // 100].strip(b"\0"), "its first vector stays"
            assert not header.with_name("length.bin").read_bytes().strip(b"\0")
        ledger.drop_fact("chroma")
        assert project(layout, layout.require(), ledger) == [
            "Chroma was missing, damaged or incomplete; filled again from the ledger"
        ]
        assert is_sealed(layout, ledger)


def test_a_build_deletes_what_killed_writers_left(path: Path, encoders: Encoders) -> None:
    (path / "calibration").mkdir(exist_ok=True)
    left = [path / name / ".part-0123456789abcdef" for name in ("", "runs", "calibration", "articles/00")]
    for file in left:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"half")
    kb.build(path, made_up_taxa(N), PageSource(), encoders, terms=TERMS)
    assert [file for file in left if file.exists()] == []
