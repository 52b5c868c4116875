"""Index files of Chroma hold no memory of the process."""

from pathlib import Path

import kb
from data.records import Term
from kb.sources.starter import StarterSource
from kb.store.index_files import blank_unset_memory
from kb.store.verify import verify
from tests.toy.encoders import toy_encoders


def test_memory_that_chroma_never_sets_is_blank_after_each_write(tmp_path: Path) -> None:
    source, path = StarterSource(with_vectors=False), tmp_path / "a.kb"
    for taxa in (source.drawn_taxa()[:2], source.drawn_taxa()[2:4]):
        kb.build(path, taxa, source, toy_encoders(), terms=[Term(term_id="term:cere", name="cere", definition="Skin.")])
        files = list((path / "chroma").glob("*/length.bin"))
        assert files
        assert [file for file in files if file.read_bytes().strip(b"\0")] == []
        assert verify(path).ok
    files[0].write_bytes(b"sk-secret" * 11)
    blank_unset_memory(path / "chroma")
    assert files[0].read_bytes() == bytes(99)
