"""Shipped species: names, facts on which descriptions and articles agree, and sentences of our own.

Species on which too few sources agree have sentences written from general knowledge, in `descriptions.jsonl`, and the
facts that these state.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from data.contracts import Checklist
from data.records import Source, Taxon, taxon_id
from data.starter.knowledge import Fact, StarterSpecies
from kb.distill.sentences import SectionKind, sections_of, split_sentences
from kb.sources.mediawiki.article_parser import parse_article
from training.collection import read_collection
from training.knowledge.agreement import ARTICLE, NAMES, AgreedFact, agree, as_records, source_of
from training.knowledge.claims import NO_SHADE, Claim, read_claims, read_names
from training.knowledge.compose import compose
from training.knowledge.families import without_doubtful
from training.knowledge.lint import Statement, misleading

RUN = 8
"""Length in words of a run that no text shares with a source."""
N_VARIANTS = 24
WRONG = frozenset(("contradicted", "false"))
LABELS = Path(__file__).with_name("labels.jsonl")
DESCRIPTIONS = Path(__file__).with_name("descriptions.jsonl")


def make_species(folder: Path, checklist: Checklist, by_hand: Sequence[StarterSpecies] = ()) -> list[StarterSpecies]:
    """Return all species with descriptions or photos that are in the checklist, sorted by id.

    Species without descriptions, in the data or written, have names alone.

    Args:
        folder: folder with `descriptions.jsonl`, `articles.jsonl` and `photos.csv`.
        checklist: source of names and taxonomy; synonyms lead to the accepted species.
        by_hand: species to keep unchanged.
    """
    texts = texts_of_species(folder, checklist)
    taken = word_runs(_all_texts(folder))
    named = (checklist.find(name) for name in names_of(folder))
    taxa = {taxon.taxon_id: taxon for taxon in named if taxon is not None and taxon.rank == "species"}
    done = {key: StarterSpecies(taxon=taxon) for key, taxon in taxa.items()}
    done |= {species.taxon.taxon_id: species for species in by_hand}
    is_by_hand = {species.taxon.taxon_id for species in by_hand}
    written = read_written()
    facts = shipped_facts(texts) | {key: facts_of_text(taxa[key], written[key]) for key in written.keys() & taxa.keys()}
    for key in facts.keys() - is_by_hand:
        text = written.get(key) or _text_of_our_own(taxa[key], facts[key], taken)
        done[key] = StarterSpecies(taxon=taxa[key], facts=tuple(facts[key]), text=text)
    return sorted(done.values(), key=lambda species: species.taxon.taxon_id)


def shipped_facts(texts: Sequence[tuple[Taxon, Mapping[str, Sequence[str]]]]) -> dict[str, list[Fact]]:
    """Return taxon_id -> the facts on which the sources agree, without misleading facts and known errors."""
    verdicts = read_labels()
    taxa = {taxon.taxon_id: taxon for taxon, _ in texts}
    claims = {taxon.taxon_id: claims_of(taxon, sources) for taxon, sources in texts}
    agreed = without_doubtful({key: agree(given) for key, given in claims.items()}, taxa)
    right = {
        key: [fact for fact in facts if verdicts.get(label_id(taxa[key], fact)) not in WRONG]
        for key, facts in agreed.items()
    }
    return {key: _sound_records(taxa[key], facts) for key, facts in right.items()}


def _sound_records(taxon: Taxon, facts: Sequence[AgreedFact]) -> list[Fact]:
    wrong = misleading(taxon, as_records(facts))
    return as_records([fact for fact in facts if Statement(fact.part, fact.sex, fact.value) not in wrong])


def read_written() -> dict[str, tuple[str, ...]]:
    """Return taxon_id -> the sentences written for it."""
    rows = map(json.loads, DESCRIPTIONS.read_text(encoding="utf-8").splitlines())
    return {taxon_id(row["species"]): tuple(row["text"]) for row in rows}


def facts_of_text(taxon: Taxon, sentences: Sequence[str]) -> list[Fact]:
    """Return what sentences of our own state, in order, without misleading statements."""
    clauses = [re.sub(r", (?:and )?(?=(?:the|an?) )", "; ", sentence) for sentence in sentences]
    stated = [
        AgreedFact(part=of.part, sex=of.sex, aspect=of.aspect, value=of.values[0], shade=of.shade)
        for of in read_claims(clauses)
        if of.values[0] != NO_SHADE
    ]
    unique = {(fact.part, fact.sex, fact.aspect, fact.value): fact for fact in reversed(stated)}
    return _sound_records(taxon, [*reversed(unique.values())])


def names_of(folder: Path) -> list[str]:
    """Return the names of species with descriptions or photos, as the data give them, sorted."""
    collection = read_collection(folder)
    return sorted({*(photo.species for photo in collection.photos), *collection.vocabulary})


def _text_of_our_own(taxon: Taxon, records: Sequence[Fact], taken: frozenset[str]) -> tuple[str, ...]:
    """Return the facts in the first variant that shares no run of words with a source."""
    for variant in range(N_VARIANTS):
        text = compose(taxon, records, variant=variant)
        if not word_runs([" ".join(text)]) & taken:
            return text
    return ()


def _all_texts(folder: Path) -> Iterator[str]:
    """Yield all source texts: the descriptions, and the articles in full."""
    with (folder / "descriptions.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield from json.loads(line)["sentences"]
    with (folder / "articles.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield re.sub(r"<[^>]+>", " ", json.loads(line)["html"])


def word_runs(texts: Iterable[str]) -> frozenset[str]:
    """Return every run of `RUN` words in each of the texts."""
    runs: set[str] = set()
    for text in texts:
        words = re.findall(r"[a-z]+", text.lower())
        runs.update(" ".join(words[i : i + RUN]) for i in range(len(words) - RUN + 1))
    return frozenset(runs)


def texts_of_species(folder: Path, checklist: Checklist) -> list[tuple[Taxon, dict[str, list[str]]]]:
    """Return each species with the sentences of each source on it, sorted by id."""
    taxa: dict[str, Taxon] = {}
    texts: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    with (folder / "descriptions.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            taxon = checklist.find(row["scientific_name"])
            if taxon is not None and taxon.rank == "species":
                taxa[taxon.taxon_id] = taxon
                texts[taxon.taxon_id][source_of(row["source"])] += row["sentences"]
    for name, sentences in read_articles(folder / "articles.jsonl").items():
        taxon = checklist.find(name)
        if taxon is not None and taxon.taxon_id in taxa:
            texts[taxon.taxon_id][ARTICLE] += sentences
    return [(taxa[key], dict(texts[key])) for key in sorted(taxa)]


def read_articles(path: Path) -> dict[str, list[str]]:
    """Return scientific name -> sentences of the lead and the sections on looks of its article."""
    found: dict[str, list[str]] = {}
    with path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            article = parse_article(row["html"], source=Source(title=row["title"]))
            found[row["scientific_name"]] = sentences = []
            for section, kind in sections_of(article):
                if kind in (SectionKind.LOOKS, SectionKind.LEAD):
                    spans = split_sentences(article.text, section.start, section.end)
                    sentences += [article.text[span.start : span.end] for span in spans]
    return found


def claims_of(taxon: Taxon, sources: Mapping[str, Sequence[str]]) -> dict[str, list[Claim]]:
    """Return source -> its claims; the English names of the species are a source, too."""
    claims = {source: read_claims(sentences) for source, sentences in sources.items()}
    return {**claims, NAMES: read_names(taxon.common_names)}


def label_id(taxon: Taxon, fact: AgreedFact) -> str:
    """Return the id of a fact in `labels.jsonl`; it holds no words of a source."""
    return "/".join((taxon.taxon_id, fact.part, fact.sex, fact.aspect, fact.value))


def read_labels(sample: str | None = None) -> dict[str, str]:
    """Return fact id -> a reader's verdict, of one sample or all.

    `supported` and `contradicted` are by the article; `true` and `false` by other knowledge.
    """
    rows = map(json.loads, LABELS.read_text(encoding="utf-8").splitlines())
    return {row["fact"]: row["verdict"] for row in rows if sample in (None, row["sample"])}
