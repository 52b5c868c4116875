"""Shipped species, made from descriptions and articles: names, agreed facts and sentences of our own."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from data.contracts import TaxonSource
from data.records import Source, Taxon
from data.starter.knowledge import Fact, StarterSpecies
from kb.distill.sections import SectionKind, section_kinds
from kb.distill.sentences import split_sentences
from kb.sources.mediawiki.html.parse import parse_article
from training.knowledge.agreement import ARTICLE, AgreedFact, agree, as_records, source_of
from training.knowledge.claims import read_claims
from training.knowledge.compose import compose

MIN_FACTS = 1
"""Least number of facts for a text. Three make a summary; a single line still explains a vector."""
RUN = 8
"""Length in words of a run that no text shares with a source."""
N_VARIANTS = 24
WRONG = frozenset(("contradicted", "false"))
LABELS = Path(__file__).with_name("labels.jsonl")


def make_species(folder: Path, checklist: TaxonSource, by_hand: Sequence[StarterSpecies] = ()) -> list[StarterSpecies]:
    """Return all species with descriptions that are in the checklist, sorted by id.

    Args:
        folder: folder with `descriptions.jsonl` and `articles.jsonl`.
        checklist: source of names and taxonomy; synonyms lead to the accepted species.
        by_hand: species to keep unchanged.
    """
    texts = texts_of_species(folder, checklist)
    taken = word_runs(_all_texts(folder))
    verdicts = read_labels()
    done = {species.taxon.taxon_id: species for species in by_hand}
    for taxon, sources in texts:
        if taxon.taxon_id in done:
            continue
        facts = [fact for fact in agreed_facts(sources) if verdicts.get(label_id(taxon, fact)) not in WRONG]
        records = as_records(facts)
        done[taxon.taxon_id] = StarterSpecies(
            taxon=taxon,
            facts=tuple(records),
            text=_text_of_our_own(taxon, records, taken) if len(facts) >= MIN_FACTS else (),
        )
    return sorted(done.values(), key=lambda species: species.taxon.taxon_id)


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


def texts_of_species(folder: Path, checklist: TaxonSource) -> list[tuple[Taxon, dict[str, list[str]]]]:
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
            for section, kind in zip(article.sections, section_kinds(article), strict=True):
                if kind in (SectionKind.LOOKS, SectionKind.LEAD):
                    spans = split_sentences(article.text, section.start, section.end)
                    sentences += [article.text[span.start : span.end] for span in spans]
    return found


def agreed_facts(sources: Mapping[str, Sequence[str]]) -> list[AgreedFact]:
    """Return the facts on which at least two of the sources agree."""
    return agree({source: read_claims(sentences) for source, sentences in sources.items()})


def label_id(taxon: Taxon, fact: AgreedFact) -> str:
    """Return the id of a fact in `labels.jsonl`; it holds no words of a source."""
    return "/".join((taxon.taxon_id, fact.part, fact.sex, fact.aspect, fact.value))


def read_labels(sample: str | None = None) -> dict[str, str]:
    """Return fact id -> a reader's verdict, of one sample or all.

    `supported` and `contradicted` are by the article; `true` and `false` by other knowledge.
    """
    rows = map(json.loads, LABELS.read_text(encoding="utf-8").splitlines())
    return {row["fact"]: row["verdict"] for row in rows if sample in (None, row["sample"])}
