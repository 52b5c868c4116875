"""The shipped knowledge as a source of articles, with vectors or drawings as anchors.

Its texts are Fieldmark's own, so they have no revision and no address.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from data.arrays import FloatArray
from data.files import sha256_hex
from data.records import (
    Anchor,
    AnchorImage,
    Article,
    Failure,
    FetchedPage,
    LeftOut,
    PageRef,
    Source,
    Taxon,
    Term,
)
from data.starter.knowledge import (
    FILE,
    LICENCE,
    SPECIES_FILE,
    TERMS_FILE,
    ShippedVectors,
    StarterSpecies,
    drawings_of,
    index_digest,
    read_bytes,
    read_drawings,
    read_species,
    read_terms,
    read_vectors,
)
from kb.checklist.names import fold
from kb.reasons import NO_PAGE
from kb.sources.article_source import AnchorBatch, ArticleSource

AUTHOR = "Fieldmark"


class StarterSource(ArticleSource):
    """The shipped species, terms and anchors."""

    parser = "starter/3"

    def __init__(self, *, with_vectors: bool = True, spaces: Sequence[str] = ()) -> None:
        """Set whether shipped vectors are anchors; drawings are where they lack any of the encoder spaces."""
        self._with_vectors, self._spaces = with_vectors, spaces

    @cached_property
    def name(self) -> str:
        """`starter` and a digest of facts, and of vectors or drawings."""
        anchors = read_bytes(FILE) if self._vectors.spaces else index_digest().encode()
        files = [read_bytes(SPECIES_FILE), read_bytes(TERMS_FILE), anchors]
        digest = sha256_hex("\n".join([self.parser, *(sha256_hex(content) for content in files if content)]))
        return f"starter/{digest[:12]}"

    @cached_property
    def _species(self) -> dict[str, StarterSpecies]:
        return {species.taxon.taxon_id: species for species in read_species()}

    @cached_property
    def _terms(self) -> dict[str, Term]:
        return {term.term_id: replace(term, source=_source(term.name)) for term in read_terms()}

    @cached_property
    def _term_of_name(self) -> dict[str, Term]:
        return {fold(name): term for term in self._terms.values() for name in (term.name, *term.aliases)}

    @cached_property
    def _vectors(self) -> ShippedVectors:
        if not self._with_vectors:
            return ShippedVectors()
        found = read_vectors()
        return found if set(self._spaces) <= set(found.spaces) else ShippedVectors()

    @property
    def origin(self) -> Mapping[str, str]:
        """Settings that open the source again."""
        return {"kind": "starter"}

    def taxa(self) -> list[Taxon]:
        """Return the species of the source, sorted by id."""
        return [species.taxon for species in self._species.values()]

    def drawn_taxa(self) -> list[Taxon]:
        """Return the species with drawings, sorted by id."""
        drawn = {drawing.taxon_id for drawing in read_drawings()}
        return [taxon for taxon in self.taxa() if taxon.taxon_id in drawn]

    def terms(self) -> list[Term]:
        """Return the terms of the source, sorted by name."""
        return list(self._terms.values())

    def locate(self, taxa: Sequence[Taxon]) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
        """Yield the entry of each taxon, or that it has none."""
        for taxon in taxa:
            if species := self._species.get(taxon.taxon_id):
                yield taxon, PageRef(subject_id=taxon.taxon_id, title=species.taxon.common_name)
            else:
                yield taxon, LeftOut(name=taxon.scientific_name, reason=NO_PAGE)

    def term_page(self, name: str, title: str | None) -> PageRef | None:
        """Return the entry of a term by title, name or alias."""
        term = self._term_of_name.get(fold(title or name))
        return None if term is None else PageRef(subject_id=term.term_id, title=term.name)

    def fetch(self, pages: Sequence[PageRef]) -> Iterator[tuple[PageRef, FetchedPage | Failure]]:
        """Yield each entry: a lead and a description, none without sentences, or a definition and what to look for."""
        for page in pages:
            entry: StarterSpecies | Term | None = self._species.get(page.subject_id) or self._terms.get(page.subject_id)
            if entry is None:
                yield page, Failure(taxon=page.title, stage="fetch", reason="not in the starter knowledge")
                continue
            body = _text_of_species(entry) if isinstance(entry, StarterSpecies) else _text_of_term(entry)
            yield page, FetchedPage(page=page, body=body, media_type="text/plain", source=_source(page.title))

    def fetch_anchors(
        self, articles: Sequence[tuple[str, Article]], *, limit: int
    ) -> Iterator[tuple[str, AnchorBatch | Failure]]:
        """Yield up to `limit` anchors of each species: shipped vectors, or drawings, alternating sexes.

        Never both: a picture that looks like a drawing would look most like the species that has one.
        """
        for subject_id, _ in articles:
            found = self._vectors.of(subject_id)[:limit] if self._vectors.spaces else self._drawings(subject_id, limit)
            yield subject_id, AnchorBatch(images=tuple(found))

    def text_vector(self, subject_id: str, space: str) -> FloatArray | None:
        """Return the shipped vector of a species' full description, or None."""
        return self._vectors.text_vector(subject_id, space)

    def _drawings(self, taxon_id: str, n: int) -> Iterator[AnchorImage]:
        for drawing in drawings_of(taxon_id, "anchor")[:n]:
            sex = "" if drawing.sex == "both" else f"{drawing.sex} "
            anchor = Anchor(
                anchor_id=drawing.sha256,
                subject_id=taxon_id,
                sha256=drawing.sha256,
                file=drawing.file,
                author=AUTHOR,
                licence=LICENCE,
                caption=f"Drawing of a {sex}{self._species[taxon_id].taxon.common_name}, made by code",
                media_type="image/png",
            )
            yield AnchorImage(anchor=anchor, content=drawing.png())


def _source(title: str) -> Source:
    return Source(title=title, licence=LICENCE)


def _text_of_species(species: StarterSpecies) -> str:
    taxon = species.taxon
    lead = (
        f"{taxon.common_name} ({taxon.scientific_name}) is a bird of the family {taxon.lineage['family']} "
        f"in the order {taxon.lineage['order']}."
    )
    return f"{lead}\n\n## Description\n\n{' '.join(species.text)}" if species.text else ""


def _text_of_term(term: Term) -> str:
    return f"{term.definition}\n\n## Look for\n\n{term.look_for}" if term.look_for else term.definition
