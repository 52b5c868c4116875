"""Species of a build: few are in memory, and one with a damaged photo waits for the next build."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import kb
from data.arrays import FloatArray
from data.contracts import TextEncoder
from data.files import sha256_hex
from data.records import Progress, SpeciesEntry
from kb.pipeline.stages import assemble, encode
from kb.store.layout import Layout
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders

N = 20


def n_in_memory() -> int:
    return sum(isinstance(each, SpeciesEntry) for each in gc.get_objects())


class Counting:
    """An encoder of texts that counts the species in memory."""

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder, self.most = encoder, 0
        gc.collect()
        self.before = n_in_memory()  # of earlier tests
        self.space, self.dim, self.max_tokens = encoder.space, encoder.dim, encoder.max_tokens

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        self.most = max(self.most, n_in_memory() - self.before)
        return self.encoder.encode_texts(texts)

    def count_tokens(self, text: str) -> int:
        return self.encoder.count_tokens(text)


def test_a_build_has_few_species_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((assemble, "IN_MEMORY"), (encode, "IN_MEMORY"), (encode, "GROUP")):
        monkeypatch.setattr(module, name, 4)
    encoders = toy_encoders()
    sentence = Counting(encoders.sentence)
    source = PageSource(bare=[taxon.taxon_id for taxon in made_up_taxa(N)])
    status = kb.build(tmp_path / "a.kb", made_up_taxa(N), source, replace(encoders, sentence=sentence))
    assert status.species == N
    assert 0 < sentence.most <= N / 2


def test_a_species_with_a_damaged_photo_waits_until_its_photo_is_whole(tmp_path: Path) -> None:
    encoders, taxa, path = toy_encoders(), made_up_taxa(3), tmp_path / "a.kb"
    kb.build(tmp_path / "whole.kb", taxa, PageSource(), encoders)

    def damage(progress: Progress) -> None:
        if progress.stage == "encode" and not progress.done:
            photo = next(file for file in sorted(Layout(path).anchors.root.glob("*/*")) if file.is_file())
            photo.write_bytes(b"damaged")

    status = kb.build(path, taxa, PageSource(), encoders, progress=damage)
    assert (status.species, [failure.stage for failure in status.failures]) == (2, ["encode"] * 2)  # in two spaces
    assert kb.build(path, taxa, PageSource(), encoders).failures == ()
    assert kb.verify(path).digest == kb.verify(tmp_path / "whole.kb").digest


def test_readers_see_the_evidence_of_what_is_published_while_a_build_runs(tmp_path: Path) -> None:
    """The text that a build has fetched belongs to entries that it publishes at its end."""
    encoders, taxa, path = toy_encoders(), made_up_taxa(2), tmp_path / "a.kb"
    kb.build(path, taxa, PageSource(revision=1), encoders)
    with kb.open(path) as store:
        before = store.article_text("avis-001")

    def stop(progress: Progress) -> None:
        if progress.stage == "encode":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kb.build(path, taxa, PageSource(revision=2), encoders, progress=stop)
    with kb.open(path) as store:
        assert store.article_text("avis-001") == before
    kb.build(path, taxa, PageSource(revision=2), encoders)
    with kb.open(path) as store:
        assert store.article_text("avis-001") not in (before, None)


def test_a_species_with_a_lost_text_is_shown_without_evidence_until_the_next_build(tmp_path: Path) -> None:
    encoders, taxa, path = toy_encoders(), made_up_taxa(1), tmp_path / "a.kb"
    kb.build(path, taxa, PageSource(), encoders)
    with kb.open(path) as store:
        text = store.article_text("avis-000")
    assert text is not None
    Layout(path).articles.path_of(sha256_hex(text)).unlink()
    assert not kb.verify(path).ok
    with kb.open(path) as store:
        assert store.article_text("avis-000") is None
    kb.build(path, taxa, PageSource(), encoders)
    with kb.open(path) as store:
        assert store.article_text("avis-000") == text
