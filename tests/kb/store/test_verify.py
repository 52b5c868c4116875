import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kb
from data.contracts import Encoders
from data.errors import MissingKnowledgeBase, StoreError, UsageError
from data.records import Verification
from kb import OwnText
from kb.store.ledger import Ledger
from tests.pages import PageSource, made_up_taxa

N = 6
TERMS = [("Amplexus", None)]
Harm = Callable[[Path], object]


def build(path: Path, encoders: Encoders, revision: int = 1, without: str = "") -> str:
    taxa = [taxon for taxon in made_up_taxa(N) if taxon.scientific_name != without]
    kb.build(path, taxa, PageSource(revision=revision), encoders, terms=TERMS)
    return kb.verify(path).digest


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> tuple[Path, str]:
    path = tmp_path_factory.mktemp("original") / "a.kb"
    return path, build(path, encoders)


@pytest.fixture
def copy(original: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
    return shutil.copytree(original[0], tmp_path / "copy.kb"), original[1]


def sql(statement: str, file: str = "ledger.sqlite") -> Harm:
    def harm(path: Path) -> None:
        [found] = path.glob(file)
        with closing(sqlite3.connect(found)) as db, db:
            assert db.execute(statement).rowcount > 0

    return harm


def change(pattern: str, how: Callable[[bytes], bytes]) -> Harm:
    def harm(path: Path) -> None:
        victim = max(sorted(path.glob(pattern)), key=lambda file: file.stat().st_size)
        content = victim.read_bytes()
        victim.write_bytes(how(content))
        assert victim.read_bytes() != content

    return harm


def without(pattern: str) -> Harm:
    def harm(path: Path) -> None:
        victim = min(path.glob(pattern))
        shutil.rmtree(victim) if victim.is_dir() else victim.unlink()

    return harm


def flipped(content: bytes) -> bytes:
    return content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]


def without_tables(content: bytes) -> bytes:
    return content.replace(b"CREATE TABLE", b"CREATE TABL\xf4")  # SQLite's own message is then not UTF-8


def with_a_garbled_page(content: bytes) -> bytes:
    third = 2 * 8192  # the first with rows
    return content[:third] + b"\x7f" * 8192 + content[third + 8192 :]


CHROMA = "Chroma was missing, damaged or incomplete; filled again from the matrices"
MATRIX = "was damaged; filled again from Chroma"
FETCH = "is missing or damaged; kb build fetches it again"
TOML = "kb.toml was missing or damaged; restored from the ledger"
DAMAGES: dict[str, tuple[Harm, str, str]] = {
    "Chroma: bytes of an index changed": (change("vectors/*/chroma/*/data_level0.bin", flipped), CHROMA, "verify"),
    "Chroma: the folder is gone": (without("vectors/*/chroma"), CHROMA, "verify"),
    "matrices: one is gone": (without("vectors/*/anchors-*.npy"), MATRIX, "verify"),
    "matrices: a number changed": (change("vectors/*/chunks-*.npy", flipped), MATRIX, "verify"),
    "kb.toml is gone": (without("kb.toml"), TOML, "verify"),
    "kb.toml is garbled": (change("kb.toml", lambda _: b"\xff\x00 no toml"), TOML, "verify"),
    "kb.toml: a letter changed": (change("kb.toml", lambda text: text.replace(b"words", b"w0rds")), TOML, "verify"),
    "a photo is cut short": (change("anchors/??/*", lambda found: found[:-7]), f"reference photo {FETCH}", "build"),
    "an article is gone": (without("articles/??/*"), FETCH, "build"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_found_and_mended(
    copy: tuple[Path, str], encoders: Encoders, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Verify mends it, or the build that verify recommends; no reader answers wrongly meanwhile."""
    path, digest = copy
    harm, message, by = DAMAGES[name]
    right = answers(path, encoders)
    harm(path)
    if name.startswith(("Chroma", "matrices")):
        assert answers(path, encoders) == right
        assert "is missing or damaged; kb verify repairs it. The answers are the same, but slower." in caplog.text
    found = kb.verify(path)
    assert found.problems and all(message in problem for problem in found.problems), found.problems
    assert (found.problems == found.mended) is (by == "verify")
    assert answers(path, encoders) == right
    if by == "build":
        assert kb.verify(path).problems == found.problems
        with pytest.raises(StoreError, match=r"is incomplete: .* is missing or damaged"):
            kb.export_bundle(path, path.parent / "bundle")
        build(path, encoders)
    else:
        assert found.digest == digest
    assert kb.verify(path) == replace(found, ok=True, digest=digest, problems=(), mended=())


def answers(path: Path, encoders: Encoders) -> object:
    if not (path / "kb.toml").is_file() or "plain-words" not in (path / "kb.toml").read_text(errors="replace"):
        with pytest.raises((StoreError, MissingKnowledgeBase), match=r"kb\.toml") as caught:
            kb.open(path)
        assert "kb verify" in (caught.value.hint or "")
        return None
    [vector] = encoders.sentence.encode_texts(["red crown"])
    with kb.open(path) as store:
        tables = [store.chunk_vectors(space) for space in store.info.text_image]
        tables += [store.anchor_vectors(space) for space in store.info.anchor_spaces]
        near = [taxon_id for taxon_id, _ in store.query_species(vector, N)]
        return near, [(table.ids, table.owners.tolist(), table.vectors.tobytes()) for table in tables]


ONE = "WHERE subject_id = 'avis-002'"
LEDGER: dict[str, Harm] = {
    "a letter of an entry": sql(f"UPDATE entries SET record = replace(record, 'bird', 'brid') {ONE}"),
    "a text that is not UTF-8": sql(f"UPDATE entries SET name = CAST(x'41ff' AS TEXT) {ONE}"),
    "the whole file": change("ledger.sqlite", lambda _: b"SQLite format 3\x00" + b"\x13" * 9000),
    "the schema": change("ledger.sqlite", without_tables),
    "a page": change("ledger.sqlite", with_a_garbled_page),
}


def test_damage_to_the_ledger_is_an_error_with_remedies(copy: tuple[Path, str], encoders: Encoders) -> None:
    """Verify reads every part of the ledger; after the remedy the digest is the same."""
    path, digest = copy
    whole = (path / "ledger.sqlite").read_bytes()
    for name, harm in LEDGER.items():
        for left in path.glob("ledger.sqlite*"):
            left.unlink()  # a new file: cursors in an earlier error may still hold the old one open
        (path / "ledger.sqlite").write_bytes(whole)
        harm(path)
        for use in (kb.open, lambda path: build(path, encoders)) if "entry" in name else ():
            with pytest.raises(StoreError, match="is damaged"):
                use(path)
        with pytest.raises(StoreError, match=r"ledger\.sqlite is damaged") as caught:
            kb.verify(path)
        hint = caught.value.hint or ""
        assert "kb import" in hint and f"remove {path / 'ledger.sqlite'}* and repeat the kb build" in hint, name
        assert caught.value.exit_code == 1, name
    for file in path.glob("ledger.sqlite*"):
        file.unlink()
    assert build(path, encoders) == digest
    assert kb.verify(path).ok


def test_verify_reports_an_unfinished_build(copy: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.store.verify.GROUP", 1)  # so that the first groups hold no term
    with closing(Ledger(copy[0] / "ledger.sqlite")) as ledger:
        ledger.set_fact("building", "fetch")
    found = kb.verify(copy[0])
    assert (found.ok, found.digest) == (False, copy[1])
    assert found.problems == ("the last build did not finish; run it again",)


def test_only_a_build_accepts_a_missing_or_empty_ledger(copy: tuple[Path, str], encoders: Encoders) -> None:
    for file in copy[0].glob("ledger.sqlite*"):
        file.write_bytes(b"")
    with pytest.raises(StoreError, match=r"ledger\.sqlite is empty") as empty:
        kb.verify(copy[0])
    assert "kb build" in (empty.value.hint or "")
    for file in copy[0].glob("ledger.sqlite*"):
        file.unlink()
    added = [OwnText(text="The wings are black with a red band.", title="notes")]
    uses: tuple[Harm, ...] = (kb.verify, lambda path: kb.add(path, made_up_taxa(1)[0], encoders, texts=added))
    for use in uses:
        with pytest.raises(StoreError, match=r"ledger\.sqlite is missing") as caught:
            use(copy[0])
        assert "kb build" in (caught.value.hint or "")
        assert not (copy[0] / "ledger.sqlite").exists()
    assert build(copy[0], encoders) == copy[1]


def test_vectors_that_are_gone_with_chroma_and_matrices_are_encoded_again(
    copy: tuple[Path, str], encoders: Encoders, caplog: pytest.LogCaptureFixture
) -> None:
    path, digest = copy
    right = answers(path, encoders)
    without("vectors/*")(path)
    with pytest.raises(StoreError, match=r"The vectors of .* are missing or damaged"):
        answers(path, encoders)
    [problem] = kb.verify(path).problems
    assert problem.endswith(f"are lost; kb build --only encode --kb {path} encodes its texts and photos again.")
    kb.build(path, [], PageSource(), encoders, only="encode")
    assert "are lost. Texts and photos are encoded again" in caplog.text
    assert answers(path, encoders) == right
    assert kb.verify(path) == Verification(ok=True, digest=digest, problems=(), mended=())


@pytest.mark.parametrize("pattern", ["vectors/*", "vectors/*/chunks-*.npy", "vectors/*/anchors-*.npy"])
def test_neither_a_lost_photo_nor_new_texts_nor_a_removal_stand_against_the_restoring_of_vectors(
    copy: tuple[Path, str], encoders: Encoders, pattern: str
) -> None:
    """A part of the vectors is lost with Chroma; the texts of the second build are distilled, and not yet published."""
    path, _ = copy
    for stage in ("fetch", "distil"):
        kb.build(path, made_up_taxa(N), PageSource(revision=2), encoders, terms=TERMS, only=stage)
    with kb.open(path) as store:
        first, *others = store.species(store.taxon_ids)
        texts = [chunk.text for entry in others for chunk in entry.chunks if entry.taxon.taxon_id != "avis-003"]
    for lost in ("vectors/*/chroma", pattern, f"anchors/??/{first.anchors[0].sha256}"):
        for victim in path.glob(lost):
            shutil.rmtree(victim) if victim.is_dir() else victim.unlink()
    kb.remove(path, ["Avis 003"])
    assert "are lost" in kb.verify(path).problems[-1]
    kb.build(path, [], PageSource(revision=2), encoders, only="encode")
    with kb.open(path) as store:
        kept = [entry for entry in others if entry.taxon.taxon_id != "avis-003"]
        assert store.species(store.taxon_ids)[1:] == kept
        chunks, anchors = (
            store.chunk_vectors(encoders.text_image[0].space), store.anchor_vectors(encoders.visual.space),
        )  # fmt: skip
        assert store.chunk_texts(chunks.ids)[-len(texts) :] == texts
        assert np.allclose(chunks.vectors, encoders.text_image[0].encode_texts(store.chunk_texts(chunks.ids)))
        is_lost = "chunks" not in pattern
        assert (first.anchors[0].anchor_id in anchors.ids) is not is_lost
        assert any("is missing" in each.reason for each in store.status().failures) is is_lost
    digest = build(path.with_name("new.kb"), encoders, revision=2, without="Avis 003")
    kb.build(path, made_up_taxa(N), PageSource(revision=2), encoders, terms=TERMS)
    assert (kb.verify(path).digest, kb.verify(path).problems) == (digest, ())


def test_a_knowledge_base_used_after_close_says_closed(copy: tuple[Path, str], encoders: Encoders) -> None:
    with kb.open(copy[0]) as store:
        pass
    uses: tuple[Callable[[], object], ...] = (
        lambda: store.species(["avis-001"]),
        store.status,
        lambda: store.chunk_vectors(encoders.text_image[0].space),
        lambda: store.query_species(np.zeros(8, dtype=np.float32), 1),
    )
    for use in uses:
        with pytest.raises(UsageError, match="is closed") as caught:
            use()
        assert "remove" not in f"{caught.value} {caught.value.hint}"
