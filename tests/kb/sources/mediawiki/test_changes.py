"""Updates from a real MediaWiki after edits, moves, deletions and new photos."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import kb
import recognize
from data.contracts import Encoders
from kb.checklist.avilist import load_checklist
from kb.sources.mediawiki.wiki_source import WikipediaSource
from tests.conftest import MEDIAWIKI, skip_or_fail
from tests.servers.own_wiki import BIRDS, OwnWiki, running

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    return recognize.load_encoders("starter")


@pytest.fixture(scope="module")
def wiki(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnWiki]:
    """A wiki of eight birds that these tests may edit."""
    if not MEDIAWIKI.is_dir() or shutil.which("php") is None:
        skip_or_fail("needs MediaWiki")
    with running(shared / "mediawiki", tmp_path_factory.mktemp("own")) as own:
        yield own


@pytest.fixture
def source(wiki: OwnWiki) -> Iterator[WikipediaSource]:
    source = WikipediaSource(wiki.api_url, contact=None)
    yield source
    source.close()


def built(path: Path, wiki: OwnWiki, encoders: Encoders) -> str:
    """Build all birds of the wiki, and return the digest."""
    checklist = load_checklist()
    taxa = [taxon for _, binomial, _, _ in BIRDS if (taxon := checklist.find(binomial)) is not None]
    assert len(taxa) == len(BIRDS)
    source = WikipediaSource(wiki.api_url, contact=None)
    kb.build(path, taxa, source, encoders, terms=[("Raven lore", "Common raven")])
    source.close()
    return kb.verify(path).digest


def test_moved_and_deleted_pages_match_a_fresh_build(
    wiki: OwnWiki, source: WikipediaSource, encoders: Encoders, tmp_path: Path
) -> None:
    built(tmp_path / "a.kb", wiki, encoders)
    wiki.move("Common raven", "Raven of the north")
    wiki.delete("Snowy owl")
    wiki.edit("Northern cardinal", "'''Northern cardinal''' may refer to:\n* A bird\n* A team\n__DISAMBIG__")
    wiki.edit("House sparrow", "#REDIRECT [[Great tit]]")
    found = kb.update(tmp_path / "a.kb", [source], encoders)
    changes = {(change.name, change.kind, change.detail.split(" ->")[0]) for change in found.changes}
    # A redirect to another bird may give either of two reasons.
    changes -= {("Passer domesticus", "taken out", reason) for reason in ("duplicate page", "about another subject")}
    assert changes == {
        ("Bubo scandiacus", "taken out", "no page"),
        ("Corvus corax", "moved", "Common raven"),
        ("Cardinalis cardinalis", "taken out", "disambiguation"),
        ("Raven lore", "moved", "Common raven"),
    }
    assert len(found.changes) == 5
    assert kb.verify(tmp_path / "a.kb").digest == built(tmp_path / "b.kb", wiki, encoders)
    assert kb.update(tmp_path / "a.kb", [source], encoders).changes == ()
