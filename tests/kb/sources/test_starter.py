"""The shipped knowledge as a source of articles."""

from pathlib import Path

import numpy as np
import pytest

from data.files import sha256_hex
from data.records import AnchorImage, Article, Failure, FetchedPage, LeftOut, PageRef, Source
from data.starter.knowledge import FILE, read_bytes, read_vectors
from kb.distill.extractive import ExtractiveDistiller
from kb.distill.terms import term_from_article, term_id
from kb.reasons import NO_PAGE
from kb.sources import starter
from kb.sources.article_source import AnchorBatch
from kb.sources.starter import StarterSource


@pytest.fixture(scope="module")
def source() -> StarterSource:
    return StarterSource(with_vectors=False)


def images(source: StarterSource, key: str, *, limit: int) -> tuple[AnchorImage, ...]:
    [(_, batch)] = source.fetch_anchors([(key, Article(source=Source(title=""), text=""))], limit=limit)
    assert isinstance(batch, AnchorBatch)
    return batch.images


def test_a_body_is_parsed_into_a_lead_and_a_description(source: StarterSource) -> None:
    owl = next(taxon for taxon in source.taxa() if taxon.common_name == "Snowy Owl")
    [(_, page)] = source.locate([owl])
    assert isinstance(page, PageRef)
    [(_, body)] = source.fetch([page])
    assert isinstance(body, FetchedPage)
    assert (body.source.title, body.source.url, body.source.licence) == ("Snowy Owl", None, "Apache-2.0")
    article = source.parse(body)
    lead, description = article.sections
    assert (lead.title, lead.level, description.title, description.level) == ("", 1, "Description", 2)
    family = "Snowy Owl (Bubo scandiacus) is a bird of the family Strigidae in the order Strigiformes."
    assert article.section_text(lead) == family
    assert article.section_text(description).startswith("A very large, thickset white owl")
    summary = ExtractiveDistiller().distil(article, owl)
    assert summary is not None and summary.scope == "facts"  # not based on an article


def test_terms_are_located_by_name_alias_and_title_with_the_shipped_words(source: StarterSource) -> None:
    asked = [("Speculum", None), ("eyebrow", None), ("the owl's face", "facial disc"), ("flux capacitor", None)]
    found = list(source.locate_terms(asked))
    assert [name for name, _ in found] == [name for name, _ in asked]
    pages = [page for _, page in found if isinstance(page, PageRef)]
    assert [page.subject_id for page in pages] == ["term:speculum", "term:supercilium", "term:facial-disc"]
    assert found[-1][1] == LeftOut(name="flux capacitor", reason=NO_PAGE)
    [(_, body)] = source.fetch(pages[:1])
    assert isinstance(body, FetchedPage)
    term = term_from_article("speculum", source.parse(body))
    whole = {term.name: term for term in source.terms()}
    assert term is not None
    assert (term.term_id, term.definition) == ("term:speculum", whole["speculum"].definition)
    for each in whole.values():
        assert each.term_id == term_id(each.name)
        assert each.source is not None and each.source.licence == "Apache-2.0"
    [(_, result)] = source.fetch([PageRef(subject_id="raphus-cucullatus", title="Dodo")])
    assert isinstance(result, Failure) and result.stage == "fetch"


@pytest.fixture
def vectors_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of vectors in place of the one that ships."""
    file = tmp_path / "vectors.npz"
    monkeypatch.setattr(starter, "read_vectors", lambda: read_vectors(file))
    monkeypatch.setattr(starter, "read_bytes", lambda name: file.read_bytes() if name == FILE else read_bytes(name))
    vectors, taxa, anchors = np.eye(2, 4, dtype=np.float16), np.array(["pica-pica"] * 2), np.array(["m1", "m2"])
    np.savez(file, spaces=np.array(["some-space/1"]), taxon_ids=taxa, anchor_ids=anchors, vectors_0=vectors)
    return file


@pytest.mark.usefixtures("vectors_file")
def test_shipped_vectors_replace_drawings_but_for_other_encoders() -> None:
    drawings, source = StarterSource(with_vectors=False), StarterSource(spaces=["some-space/1"])
    assert drawings.name == StarterSource(spaces=["some-space/1", "another/1"]).name != source.name
    other = StarterSource(spaces=["some-space/1", "another/1"])
    drawn = images(other, "pica-pica", limit=2)
    assert [image.anchor.credit for image in drawn] == ["Fieldmark, Apache-2.0"] * 2
    captions = [image.anchor.caption for image in images(other, "anas-platyrhynchos", limit=2)]
    assert captions == [f"Drawing of a {sex} Mallard, made by code" for sex in ("male", "female")]
    assert sha256_hex(drawn[0].content or b"") == drawn[0].anchor.sha256 == drawn[0].anchor.anchor_id
    first, second = images(source, "pica-pica", limit=3)
    assert (first.anchor.anchor_id, first.content, first.anchor.credit) == ("m1", None, None)
    assert (first.vectors, second.anchor.anchor_id) == ({"some-space/1": (1.0, 0.0, 0.0, 0.0)}, "m2")
    assert len(images(source, "pica-pica", limit=1)) == 1
    assert images(source, "upupa-epops", limit=3) == (), "vectors of photos and drawings are never mixed"
