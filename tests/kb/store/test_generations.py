import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kb
import recognize
from data.arrays import FloatArray
from data.contracts import Encoders
from data.errors import KnowledgeBaseLocked
from data.files import writer_lock
from kb.sources.starter import StarterSource
from kb.store import generations
from kb.store.chroma import Chroma, n_slots
from kb.store.layout import Layout
from kb.store.ledger import Ledger
from kb.store.ledger_file import connect_writer
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
    (Chroma, "upsert"), (Chroma, "delete"), (Ledger, "drop_fact"), (Ledger, "entries_of"),
    (Ledger, "set_fact"), (Ledger, "publish"), (generations, "file_checksum"), (generations, "write_atomic"),
    (Path, "rename"), (shutil, "rmtree"), (Ledger, "shrink"),
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


def contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_published_folder_never_changes_and_goes_when_its_readers_have_gone(path: Path, encoders: Encoders) -> None:
    [question] = encoders.sentence.encode_texts(["red crown"])
    [first] = (path / "vectors").iterdir()
    before = contents(first)
    with kb.open(path) as reader:
        kb.build(path, made_up_taxa(N + 1), PageSource(revision=2), encoders, terms=TERMS)
        near = reader.query_species(question, 9)  # its Chroma is opened now
        assert len(near) == N and contents(first) == before
        kb.build(path, made_up_taxa(N + 2), PageSource(revision=2), encoders, terms=TERMS)
        assert first.exists() and len([*(path / "vectors").iterdir()]) == 2
    left = path / "vectors" / ".part-0123"
    (left / "chroma").mkdir(parents=True)
    kb.remove(path, ["Avis 001"])
    assert not first.exists() and not left.exists() and len([*(path / "vectors").iterdir()]) == 1
    assert kb.verify(path).ok


def test_deleted_rows_do_not_pile_up_in_the_index(path: Path) -> None:
    [first] = path.glob("vectors/*/chroma")
    n = n_slots(first)
    for name in ("Avis 000", "Avis 001", "Avis 002"):
        kb.remove(path, [name])
    [last] = path.glob("vectors/*/chroma")
    assert n_slots(last) < 0.6 * n
    assert kb.verify(path).ok


def test_look_ups_ask_chroma_and_score_its_candidates_by_the_opened_state(
    path: Path, encoders: Encoders, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = encoders.sentence.encode_texts(["red crown", "amplexus"])
    asked = []

    def nearest(_: Chroma, name: str, queries: FloatArray, n: int) -> list[list[str]]:
        asked.append((name.split("-")[0], queries.shape, n))
        return [candidates] * len(queries)

    with kb.open(path) as store:
        exact = dict(store.query_species(vectors[0], 9))
        assert len(exact) == N
        monkeypatch.setattr(Chroma, "nearest", nearest)
        monkeypatch.setattr("kb.store.knowledge_base.TIES", 1)
        candidates = ["avis-003", "unknown", "avis-001", "avis-002"]
        scores = {key: exact[key] for key in candidates if key in exact}
        assert dict(store.query_species(vectors[0], 2)).items() <= scores.items()
        assert store.query_species(vectors[0], N) == list(exact.items()), "one candidate is missing: all rows count"
        assert [len(found) for found in store.nearest("species", vectors, 1)] == [1, 1]
        assert len(store.query_terms(vectors[1], 5)) == 1
    assert asked == [
        ("species", (1, vectors.shape[1]), 3),
        ("species", (1, vectors.shape[1]), N),
        ("species", vectors.shape, 2),
        ("terms", (1, vectors.shape[1]), 1),
    ]


def test_a_change_is_on_the_disk_before_the_last_generation_is_deleted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = []

    def connected(file: Path) -> sqlite3.Connection:
        db = connect_writer(file)
        db.set_trace_callback(events.append)
        return db

    def noted(home: Any, name: str, tell: Callable[[Any], str]) -> None:
        work = getattr(home, name)
        monkeypatch.setattr(home, name, lambda first, **named: (events.append(tell(first)), work(first, **named)))

    monkeypatch.setattr("kb.store.ledger_file.connect_writer", connected)
    noted(generations.shutil, "rmtree", lambda folder: f"delete {folder.name}")
    noted(generations.os, "fsync", lambda file: f"sync {Path(f'/proc/self/fd/{file}').readlink()}")
    [old] = (path / "vectors").iterdir()
    kb.remove(path, ["Avis 001"])
    wanted = (f"sync {path / 'vectors'}", "COMMIT", "PRAGMA synchronous=FULL", f"delete {old.name}")
    assert [event for event in events if event in wanted][:4] == [wanted[2], wanted[0], wanted[1], wanted[3]]
    [new] = (path / "vectors").iterdir()
    synced = {event.rpartition("/")[2] for event in events if event.startswith("sync")}
    assert {file.name for file in new.rglob("*") if file.suffix != ".json"} <= synced


def test_chroma_is_blank_where_it_sets_nothing_and_has_its_rows_and_their_texts(path: Path) -> None:
    [folder] = path.glob("vectors/*/chroma")
    for header in folder.glob("*/header.bin"):
        slots = header.with_name("data_level0.bin").read_bytes()
        assert not slots[len(slots) // 4 :].strip(b"\0"), "a small collection fills less than a quarter"
        assert slots[: len(slots) // 100].strip(b"\0"), "its first vector stays"
        assert not header.with_name("length.bin").read_bytes().strip(b"\0")
    with closing(Ledger(path / "ledger.sqlite")) as ledger, Chroma(Layout(path).require(), folder, path) as held:
        subjects = [subject_of(entry) for entry in ledger.entries()]
        for name, (kind, _) in held.names.items():
            expected = {row: text for subject in subjects for row, text in texts_of(subject, kind).items()}
            assert held.texts(name, list(expected)) == expected and held.count(name) == len(expected)
            assert all(bool(document) is (kind in ("species", "terms")) for document, _ in expected.values())


def no_links(*_: object) -> None:
    raise OSError


def test_vectors_of_anchors_without_a_photo_outlive_all_generations(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They cannot be encoded again; no vector stays in the ledger."""
    starter, owls = recognize.load_encoders("starter"), path.with_name("owls.kb")
    source = StarterSource(spaces=starter.anchor_spaces)
    taxa = [taxon for taxon in source.taxa() if taxon.common_name in ("Mallard", "Snowy Owl", "Blue Jay")]
    kb.build(owls, taxa[:2], source, starter)
    kb.build(owls, taxa, source, starter)
    digest = kb.verify(owls).digest
    for folder in (path, owls):
        with closing(Ledger(folder / "ledger.sqlite")) as ledger:
            assert ledger.encoded.subjects() == set()
    assert not (path / "kept").exists()
    kept = {file.stat().st_ino for file in (owls / "kept").iterdir()}
    assert kept and kept <= {file.stat().st_ino for file in (owls / "vectors").glob("*/*")}, "they take no space"
    whole = sorted(contents(owls / "kept").values())
    copied = shutil.copytree(owls, path.with_name("copied.kb"))  # without links
    for matrix in copied.glob("vectors/*/anchors-*.npy"):
        matrix.write_bytes(matrix.read_bytes()[:-1] + b"?")
    assert kb.verify(copied).digest == digest
    assert sorted(contents(copied / "kept").values()) == whole, "a damaged file takes no place of a whole one"
    shutil.rmtree(copied / "vectors")
    shutil.copytree(owls / "vectors", copied / "vectors")
    shutil.rmtree(copied / "kept")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "hardlink_to", no_links)
        assert kb.verify(copied).ok
    assert sorted(contents(copied / "kept").values()) == whole, "copies where the system has no links"
    shutil.rmtree(owls / "vectors")
    [problem] = [each for each in kb.verify(owls).problems if "are lost" in each]
    assert "chunks-" in problem and "anchors-" not in problem
    kb.build(owls, [], source, starter, only="encode")
    assert (kb.verify(owls).ok, kb.verify(owls).digest) == (True, digest)


def test_a_change_copies_the_indices_that_it_changes_and_writes_to_no_link(path: Path) -> None:
    [first] = (path / "vectors").iterdir()
    before = contents(first)
    with kb.open(path):
        kb.remove(path, ["Amplexus"])  # the only term
        [new] = set((path / "vectors").iterdir()) - {first}
        indices = [file.relative_to(new) for file in new.glob("chroma/*/*.bin")]
        assert len({file.parent for file in indices}) == 4
        assert all((new / file).samefile(first / file) for file in indices)
        assert contents(first) == before
    kb.remove(path, ["Avis 001"])
    [last] = (path / "vectors").iterdir()
    assert not {file.stat().st_nlink for file in last.rglob("*") if file.is_file()} - {1}
    assert kb.verify(path).ok


def test_a_build_deletes_what_killed_writers_left(path: Path, encoders: Encoders) -> None:
    left = [path / name / ".part-0123456789abcdef" for name in ("", "runs", "kept", "articles/00", "vectors/x")]
    left[-1] = left[-1].parents[1] / left[-1].name / "half"
    for file in left:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"half")
    kb.build(path, made_up_taxa(N), PageSource(), encoders, terms=TERMS)
    assert [file for file in left if file.exists()] == []


def test_a_publication_that_fails_leaves_the_vectors_as_they_were(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(path / "vectors")
    for work in ("chroma.Chroma.delete", "generations.write_atomic", "ledger.Vectors.drop"):
        with monkeypatch.context() as patched, pytest.raises(ZeroDivisionError):
            patched.setattr(f"kb.store.{work}", lambda *_: 1 // 0)
            kb.remove(path, ["Avis 001"])
        assert contents(path / "vectors") == before
