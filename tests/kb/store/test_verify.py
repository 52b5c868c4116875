"""Verify finds what was deleted or damaged, mends what it can, and the next build mends the rest."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

import kb
import recognize
from data.arrays import FloatArray
from data.contracts import Encoders
from data.errors import MissingKnowledgeBase, StoreError
from data.records import Term
from kb import OwnPhoto, OwnText
from kb.sources.starter import StarterSource
from tests.kb.damages import DAMAGES, FLIPPED, UNSAID, Damage, build, outcome, sql
from tests.memory_store import BagOfWords
from tests.pages import PageSource, made_up_taxa


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    return recognize.load_encoders("plain")


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
    """By verify alone, or by what verify then says; the digest in the end is that of before."""
    path, digest = copy
    found = outcome(damage, path, encoders, digest)
    assert bool(found.said) is (damage.name not in UNSAID)
    assert found.is_mended is (damage.mended_by == "verify")
    assert found.is_equal
    if not found.is_mended:
        assert "kb build" in " ".join((*found.said, found.hint))


def test_a_knowledge_base_without_its_toml_says_what_brings_it_back(copy: tuple[Path, str], encoders: Encoders) -> None:
    (copy[0] / "kb.toml").unlink()
    for use in (kb.open, lambda path: build(path, encoders)):
        with pytest.raises(MissingKnowledgeBase, match=r"kb\.toml is missing") as caught:
            use(copy[0])
        assert "kb verify" in (caught.value.hint or "")


def test_damaged_vectors_never_reach_chroma(copy: tuple[Path, str]) -> None:
    """The ledger is the measure only as far as it agrees with the hash that was kept when the vectors were made."""
    path, digest = copy
    sql(f"UPDATE vectors SET {FLIPPED}")(path)
    found = kb.verify(path)
    assert found.digest == digest
    assert found.problems == found.mended
    assert not any("differed from the ledger" in problem for problem in found.problems)


def test_a_damaged_ledger_is_said_to_be_damaged(copy: tuple[Path, str]) -> None:
    (copy[0] / "ledger.sqlite").write_bytes(b"SQLite format 3\x00" + b"\x13" * 9000)
    with pytest.raises(StoreError, match=r"ledger\.sqlite"):
        kb.verify(copy[0])
    with pytest.raises(StoreError, match=r"ledger\.sqlite"):
        kb.open(copy[0])


def test_no_knowledge_base_is_said_so(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(MissingKnowledgeBase, match=str(path)):
            kb.open(path)
        with pytest.raises(MissingKnowledgeBase, match=str(path)):
            kb.verify(path)


def test_an_unfinished_build_is_a_finding(copy: tuple[Path, str]) -> None:
    with sqlite3.connect(copy[0] / "ledger.sqlite") as ledger:
        ledger.execute("INSERT INTO facts VALUES ('building', 'fetch')")
    ledger.close()
    found = kb.verify(copy[0])
    assert not found.ok
    assert "did not end" in found.problems[0]


def test_a_search_index_that_would_end_the_process_is_made_anew(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, encoders: Encoders
) -> None:
    """Chroma maps its files unchecked; it writes them from a thousand rows on."""
    encoders = replace(encoders, sentence=BagOfWords(dim=16))  # an index of long vectors takes a slow machine minutes
    whole = tmp_path_factory.mktemp("large") / "a.kb"
    terms = [Term(term_id=f"t{i:04d}", name=f"word {i}", definition=f"A thing {i}.") for i in range(1_100)]
    kb.build(whole, made_up_taxa(2), PageSource(), encoders, terms=terms)
    before = kb.verify(whole)
    assert before.ok
    [large] = [file.parent.name for file in whole.glob("chroma/*/index_metadata.pickle")]
    harms: dict[str, Callable[[bytes], bytes]] = {
        "data_level0.bin": lambda content: content[:5_000],
        "header.bin": lambda content: b"\x55" * len(content),
        "length.bin": lambda content: b"",
    }
    for name, harm in harms.items():
        path = tmp_path / name
        shutil.copytree(whole, path)
        file = path / "chroma" / large / name
        file.write_bytes(harm(file.read_bytes()))
        found = kb.verify(path)
        assert found.digest == before.digest
        assert len(found.mended) > 0
        assert kb.verify(path) == before


class StoppingEncoder:
    """An encoder of texts that stops the program that asks it."""

    name, max_tokens = "stopping", None

    def __init__(self, space: str, dim: int) -> None:
        self.space, self.dim = space, dim

    def count_tokens(self, text: str) -> int:
        """Return the number of words."""
        return len(text.split())

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Stop."""
        raise KeyboardInterrupt


def test_what_was_encoded_before_a_stop_is_not_taken_for_damage(tmp_path: Path) -> None:
    """Anchors without a picture above all: nobody could make their vectors again."""
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
