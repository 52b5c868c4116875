"""Verify finds deleted and damaged parts and mends some of them; the next build mends the rest."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import kb
import recognize
from data.arrays import FloatArray
from data.contracts import Encoders
from data.errors import MissingKnowledgeBase, StoreError
from kb import OwnPhoto, OwnText
from kb.sources.starter import StarterSource
from kb.store.ledger import Ledger
from tests.kb.damages import DAMAGES, FLIPPED, TERMS, UNREPORTED, Damage, build, outcome, sql
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    return toy_encoders()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> tuple[Path, str]:
    path = tmp_path_factory.mktemp("original") / "a.kb"
    return path, build(path, encoders)


@pytest.fixture
def copy(original: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
    shutil.copytree(original[0], tmp_path / "copy.kb")
    return tmp_path / "copy.kb", original[1]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_damage_is_found_and_mended(copy: tuple[Path, str], encoders: Encoders, damage: Damage) -> None:
    """Verify mends it, or the steps that verify recommends do; the digest ends unchanged."""
    path, digest = copy
    found = outcome(damage, path, encoders, digest)
    assert bool(found.messages) is (damage.name not in UNREPORTED)
    assert found.is_mended is (damage.mended_by == "verify")
    assert found.is_equal
    if not found.is_mended:
        assert "kb build" in " ".join((*found.messages, found.hint))


def test_a_missing_toml_is_reported_with_a_remedy(copy: tuple[Path, str], encoders: Encoders) -> None:
    (copy[0] / "kb.toml").unlink()
    for use in (kb.open, lambda path: build(path, encoders)):
        with pytest.raises(MissingKnowledgeBase, match=r"kb\.toml is missing") as caught:
            use(copy[0])
        assert "kb verify" in (caught.value.hint or "")


LEDGER = [damage for damage in DAMAGES if damage.mended_by == "removing it, then build"]


@pytest.mark.parametrize("damage", LEDGER, ids=lambda damage: damage.name)
def test_a_damaged_ledger_is_reported_with_remedies(copy: tuple[Path, str], damage: Damage) -> None:
    """Verify reads every part of the ledger, names the damage and recommends a remedy."""
    path, _ = copy
    damage.harm(path)
    with pytest.raises(StoreError, match="is damaged") as caught:
        kb.verify(path)
    assert "kb import" in (caught.value.hint or "")
    assert "kb build" in (caught.value.hint or "")
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("change", ["name = CAST(x'41ff' AS TEXT)", "document = replace(document, 'a', 'o')"])
def test_a_damaged_entry_fails_readers_and_builds(copy: tuple[Path, str], encoders: Encoders, change: str) -> None:
    sql(f"UPDATE entries SET {change}")(copy[0])
    for use in (kb.open, lambda path: build(path, encoders)):
        with pytest.raises(StoreError, match="is damaged"):
            use(copy[0])


def test_opening_detects_a_lost_entry(copy: tuple[Path, str]) -> None:
    """Rows are compared with stored totals, which damage to an entry does not change."""
    sql("DELETE FROM entries WHERE subject_id = 'avis-002'")(copy[0])
    with pytest.raises(StoreError, match="rows of entries are missing"):
        kb.open(copy[0])


def test_damaged_vectors_are_refused_by_readers_and_builds(copy: tuple[Path, str], encoders: Encoders) -> None:
    path, _ = copy
    sql(f"UPDATE vectors SET {FLIPPED}")(path)
    shutil.rmtree(path / "chroma")
    shutil.rmtree(path / "cache")
    with kb.open(path) as store, pytest.raises(StoreError, match="is damaged"):
        store.chunk_vectors(encoders.text_image[0].space)
    with pytest.raises(StoreError, match="is damaged"):
        build(path, encoders)


CHROMA = [damage for damage in DAMAGES if damage.name.startswith("Chroma")]


@pytest.mark.parametrize("damage", CHROMA, ids=lambda damage: damage.name)
def test_readers_answer_correctly_despite_damage_to_chroma(
    copy: tuple[Path, str], encoders: Encoders, damage: Damage
) -> None:
    """The cache is empty; answers come from Chroma if it is whole, else from the ledger."""
    path, _ = copy
    [vector] = encoders.sentence.encode_texts(["red crown"])

    def answers() -> tuple[object, ...]:
        with kb.open(path) as store:
            tables = [store.chunk_vectors(space) for space in store.info.text_image]
            tables += [store.anchor_vectors(space) for space in store.info.anchor_spaces]
            near = [taxon_id for taxon_id, _ in store.query_species(vector, 6)]
            return near, [(table.ids, table.owners.tolist(), table.vectors.tobytes()) for table in tables]

    before = answers()
    damage.harm(path)
    shutil.rmtree(path / "cache")
    if "in its database" not in damage.name:  # only verify finds these; readers trust SQLite's rows
        assert answers() == before
    kb.verify(path)
    assert answers() == before


def test_a_damaged_cache_changes_no_answer(copy: tuple[Path, str], encoders: Encoders) -> None:
    path, _ = copy
    space = encoders.visual.space
    with kb.open(path) as store:
        before = np.array(store.anchor_vectors(space).vectors)
    for file in (path / "cache").glob("*.npy"):
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(bytes(content))
    with kb.open(path) as store:
        assert np.array_equal(store.anchor_vectors(space).vectors, before)


def test_a_later_build_restores_rows_lost_from_chroma(copy: tuple[Path, str], encoders: Encoders) -> None:
    path, _ = copy
    shutil.rmtree(path / "chroma")
    kb.build(path, made_up_taxa(9), PageSource(), encoders, terms=TERMS)
    assert kb.verify(path).ok
    [vector] = encoders.sentence.encode_texts(["red crown"])
    with kb.open(path) as store:
        assert len(store.query_species(vector, 20)) == 9
        assert set(store.anchor_vectors(encoders.visual.space).owners.tolist()) == set(range(9))


def test_verify_restores_a_changed_toml(copy: tuple[Path, str]) -> None:
    path, _ = copy
    good = (path / "kb.toml").read_text()
    (path / "kb.toml").write_text(good.replace("plain-words", "plain-w0rds"))
    with pytest.raises(StoreError, match=r"kb\.toml is damaged") as caught:
        kb.open(path)
    assert "kb verify" in (caught.value.hint or "")
    for _ in range(2):
        kb.verify(path)
        assert (path / "kb.toml").read_text() == good


def test_a_garbled_ledger_file_is_named(copy: tuple[Path, str]) -> None:
    (copy[0] / "ledger.sqlite").write_bytes(b"SQLite format 3\x00" + b"\x13" * 9000)
    with pytest.raises(StoreError, match=r"ledger\.sqlite"):
        kb.verify(copy[0])
    with pytest.raises(StoreError, match=r"ledger\.sqlite"):
        kb.open(copy[0])


def test_a_missing_knowledge_base_is_reported_with_its_path(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(MissingKnowledgeBase, match=str(path)):
            kb.open(path)
        with pytest.raises(MissingKnowledgeBase, match=str(path)):
            kb.verify(path)


def test_verify_reports_an_unfinished_build(copy: tuple[Path, str]) -> None:
    with closing(Ledger(copy[0] / "ledger.sqlite")) as ledger:
        ledger.set_fact("building", "fetch")
    found = kb.verify(copy[0])
    assert not found.ok
    assert "did not finish" in found.problems[0]


def test_verify_handles_groups_without_terms(copy: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Species come first, so in a large knowledge base the first groups hold no term."""
    monkeypatch.setattr("kb.store.verify.GROUP", 1)
    found = kb.verify(copy[0])
    assert (found.ok, found.digest) == (True, copy[1])


class StoppingEncoder:
    """A text encoder that interrupts its caller."""

    name, max_tokens = "stopping", None

    def __init__(self, space: str, dim: int) -> None:
        self.space, self.dim = space, dim

    def count_tokens(self, text: str) -> int:
        """Return the number of words."""
        return len(text.split())

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Raise KeyboardInterrupt."""
        raise KeyboardInterrupt


def test_an_interrupted_encode_is_not_reported_as_damage(tmp_path: Path) -> None:
    """This matters most for anchors stored as vectors only, which cannot be encoded again."""
    encoders = recognize.load_encoders("starter")
    source = StarterSource(spaces=encoders.spaces[:2])
    [taxon] = [taxon for taxon in source.taxa() if taxon.common_name == "Mallard"]
    kb.build(tmp_path / "a.kb", [taxon], source, encoders)
    with kb.open(tmp_path / "a.kb") as store:
        [entry] = store.species([taxon.taxon_id])
        assert any(anchor.sha256 is None for anchor in entry.anchors)
    shutil.copytree(tmp_path / "a.kb", tmp_path / "b.kb")
    Image.new("RGB", (300, 300), "seagreen").save(tmp_path / "photo.png")
    photos, texts = [OwnPhoto(path=tmp_path / "photo.png")], [OwnText(text="The head is green.", title="notes")]
    kb.add(tmp_path / "a.kb", taxon, encoders, photos=photos, texts=texts)

    sentence = StoppingEncoder(encoders.sentence.space, encoders.sentence.dim)
    with pytest.raises(KeyboardInterrupt):
        kb.add(tmp_path / "b.kb", taxon, replace(encoders, sentence=sentence), photos=photos, texts=texts)
    assert kb.verify(tmp_path / "b.kb").problems == ()
    kb.add(tmp_path / "b.kb", taxon, encoders, photos=photos, texts=texts)
    assert kb.verify(tmp_path / "b.kb") == kb.verify(tmp_path / "a.kb")
    with kb.open(tmp_path / "b.kb") as store:
        [after] = store.species([taxon.taxon_id])
    assert len(after.anchors) == len(entry.anchors) + 1


@pytest.mark.parametrize("write", [kb.verify, lambda path: kb.remove(path, ["Avis 001"])])
def test_only_a_build_accepts_a_missing_ledger(
    copy: tuple[Path, str], encoders: Encoders, write: Callable[[Path], object]
) -> None:
    for file in copy[0].glob("ledger.sqlite*"):
        file.unlink()
    added = [OwnText(text="The wings are black with a red band.", title="notes")]
    for use in (
        write,
        lambda path: kb.update(path, [PageSource()], encoders),
        lambda path: kb.add(path, made_up_taxa(1)[0], encoders, texts=added),
        lambda path: kb.export_bundle(path, path.parent / "bundle"),
    ):
        with pytest.raises(StoreError, match=r"ledger\.sqlite is missing") as caught:
            use(copy[0])
        assert "kb build" in (caught.value.hint or "")
        assert not (copy[0] / "ledger.sqlite").exists()


def test_lost_articles_are_reported_and_block_export_until_a_build(copy: tuple[Path, str], encoders: Encoders) -> None:
    path, digest = copy
    for file in (path / "articles").rglob("*.gz"):
        file.unlink()
    first, second = kb.verify(path), kb.verify(path)
    assert any("article is missing or damaged; kb build fetches it again" in problem for problem in first.problems)
    assert set(second.problems) == set(first.problems)
    with pytest.raises(StoreError, match=r"is incomplete: .* is missing or damaged"):
        kb.export_bundle(path, path.parent / "bundle")
    assert build(path, encoders) == digest
    assert kb.verify(path).ok
