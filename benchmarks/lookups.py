"""Accuracy of look-ups of species and terms: words (BM25), vectors, and both, with two sentence encoders.

    python -m benchmarks.lookups --data ../shared/birds [--encoders starter,minilm] [--only terms]

Species: one sentence of a summary at a time is held out. The question is its source sentence in the article, without
the species' names, and the species must be found by the rest of its summary. Terms: questions in other words than the
definitions (`term_questions.tsv`, written for this benchmark), among all shipped terms. Intervals are bootstrapped over
species or terms; differences are paired.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

import recognize
from data.arrays import FloatArray
from data.contracts import TextEncoder
from data.lexicon.words import tokens
from data.metrics.ranked import Measured, hit, measure, reciprocal_rank
from data.records import Source, Taxon
from data.starter.knowledge import read_terms
from kb.checklist.avilist import load_checklist
from kb.distill.extractive import ExtractiveDistiller
from kb.lookup.lookup_index import WordIndex
from kb.lookup.search import VECTOR_SHARE, WORDS_SHARE
from kb.sources.mediawiki.article_parser import parse_article
from training.tables import markdown

QUESTIONS = Path(__file__).with_name("term_questions.tsv")
PER_SPECIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, the row of the right document, and the text of that document if it differs for this question."""

    text: str
    truth: int
    document: str | None = None


def species_questions(folder: Path) -> tuple[list[str], list[Question]]:
    """Return the summary of each species, and questions with the summaries without their sentence."""
    checklist, distiller = load_checklist(), ExtractiveDistiller()
    documents: list[str] = []
    questions: list[Question] = []
    for line in (folder / "articles.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        taxon = checklist.find(row["scientific_name"])
        if taxon is None:
            continue
        article = parse_article(row["html"], source=Source(title=row["title"]))
        summary = distiller.distil(article, taxon)
        if summary is None or len(summary.statements) < 2:
            continue
        of_this = []
        for i, statement in enumerate(summary.statements):
            rest = " ".join(other.text for j, other in enumerate(summary.statements) if j != i)
            source = " ".join(article.text[span.start : span.end] for span in statement.evidence)
            text = without_names(source, taxon, row["title"])
            if len(tokens(text)) >= 5:
                of_this.append(Question(text=text, truth=len(documents), document=without_names(rest, taxon, "")))
        of_this.sort(key=lambda question: sha256(question.text.encode()).hexdigest())  # a fixed random sample
        questions += of_this[:PER_SPECIES]
        documents.append(without_names(summary.text, taxon, row["title"]))
    return documents, questions


def without_names(text: str, taxon: Taxon, title: str) -> str:
    """Return a text without the names of a species and the words in them."""
    names = (*taxon.common_names, taxon.scientific_name, *taxon.synonyms, title)
    words = {word for name in names for word in re.findall(r"[^\W\d_]{3,}", name.lower())}
    pattern = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    return re.sub(rf"\b(?:{pattern})s?\b", "it", text, flags=re.IGNORECASE)


def term_questions() -> tuple[list[str], list[Question]]:
    """Return the text of each term, and the questions."""
    terms = read_terms()
    row_of = {term.name: row for row, term in enumerate(terms)}
    lines = [line.split("\t") for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    documents = [f"{term.name}: {term.definition} {term.look_for}" for term in terms]
    return documents, [Question(text=text, truth=row_of[name]) for name, text in lines]


def ranks(
    documents: Sequence[str], questions: Sequence[Question], encoders: Mapping[str, TextEncoder]
) -> dict[str, list[int]]:
    """Return method -> rank of the right document for each question, 1 is best."""
    by_words = []
    for question in questions:
        held = list(documents)
        held[question.truth] = question.document or held[question.truth]
        by_words.append(WordIndex.of(held).match(tokens(question.text))[0])
    words_alone: FloatArray = np.stack(by_words)
    scores = {"words (BM25)": words_alone}
    for name, encoder in encoders.items():
        similar = _similarities(documents, questions, encoder)
        scores[f"{name} vectors"] = similar
        scores[f"{name} vectors + words"] = WORDS_SHARE * words_alone + VECTOR_SHARE * similar
    truths = [question.truth for question in questions]
    return {
        name: [_rank(row, truth) for row, truth in zip(table, truths, strict=True)] for name, table in scores.items()
    }


def _similarities(documents: Sequence[str], questions: Sequence[Question], encoder: TextEncoder) -> FloatArray:
    table: FloatArray = encoder.encode_texts([question.text for question in questions])
    similar: FloatArray = table @ encoder.encode_texts(documents).T
    own = [(row, question) for row, question in enumerate(questions) if question.document is not None]
    if own:
        vectors = encoder.encode_texts([question.document or "" for _, question in own])
        for (row, question), vector in zip(own, vectors, strict=True):
            similar[row, question.truth] = table[row] @ vector
    return similar


def _rank(scores: FloatArray, truth: int) -> int:
    """Return the rank of the right document, the last among ties."""
    return int((scores >= scores[truth]).sum())


def table(found: Mapping[str, Sequence[int]], groups: Sequence[int], *, against: str) -> str:
    """Return a Markdown table of all methods, with paired differences of hit@1 from one of them."""
    rows: list[list[str]] = []
    reference = [hit(rank, 1) for rank in found[against]]
    for name, given in found.items():
        cells = [
            _cell(measure(name, [hit(rank, 1) for rank in given], groups)),
            _cell(measure(name, [hit(rank, 5) for rank in given], groups)),
            _cell(measure(name, [reciprocal_rank(rank, 10) for rank in given], groups)),
        ]
        paired = [hit(rank, 1) - other for rank, other in zip(given, reference, strict=True)]
        cells.append("" if name == against else _cell(measure(name, paired, groups), sign="+"))
        rows.append([name, *cells])
    return "\n".join(markdown(["", "hit@1", "hit@5", "MRR@10", f"hit@1 minus {against}"], rows))


def _cell(measured: Measured, *, sign: str = "") -> str:
    low, high = measured.micro_interval
    return f"{measured.micro:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})"


def load(names: Sequence[str]) -> dict[str, TextEncoder]:
    """Return the sentence encoders of these names."""
    found: dict[str, TextEncoder] = {}
    for name in names:
        if name == "minilm":
            from recognize.encoders.sentence_models import SentenceEncoder

            found["all-MiniLM-L6-v2"] = SentenceEncoder()
        else:
            found[name] = recognize.load_encoders(name).sentence
    return found


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of articles.jsonl")
    parser.add_argument("--encoders", default="starter,minilm", help="sentence encoders; the first is the baseline")
    parser.add_argument("--only", choices=("species", "terms"), help="print only one of the tables")
    options = parser.parse_args()
    encoders = load(options.encoders.split(","))
    for kind, title in (("terms", "terms by meaning"), ("species", "species by a held-out sentence")):
        if options.only not in (None, kind):
            continue
        documents, questions = term_questions() if kind == "terms" else species_questions(options.data)
        groups = [question.truth for question in questions]
        sys.stdout.write(f"{title}: {len(questions)} questions, {len(set(groups))} targets, {len(documents)} texts\n")
        found = ranks(documents, questions, encoders)
        sys.stdout.write(table(found, groups, against=f"{next(iter(encoders))} vectors + words") + "\n\n")


if __name__ == "__main__":
    main()
