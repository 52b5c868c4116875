"""Coverage of `kb context` on a file of queries: shares that name a species or a term, and web searches needed.

    python -m benchmarks.context --queries ../shared/benchmarks/inquire_queries_*.csv [--kb DIR] [--api-url URL]

Prints a table by supercategory, and with `--list` also the entries found for each query and the words that are left
unexplained, for which `context.web = "if-needed"` searches the web. Nothing is stored in the knowledge base.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import kb
import recognize
from cli.common.settings import resolve
from kb.lookup.context_settings import ContextSources
from kb.lookup.findings import Findings, look_up
from kb.lookup.wiki_terms import WikiTerms
from kb.shipped import unpack_shipped
from kb.sources.mediawiki.wiki_client import WikiClient
from kb.sources.mediawiki.wiki_source import WikipediaSource
from training.tables import markdown

COLUMNS = (
    "queries",
    "species",
    "group",
    "terms",
    "any of these",
    "nothing",
    "from KB",
    "from wiki",
    "web if needed",
    "web always",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Entries found for one query; `n_learnt` terms are the wiki's."""

    query: str
    supercategory: str
    found: Findings
    n_learnt: int
    unexplained: tuple[str, ...]

    @property
    def counts(self) -> Counter[str]:
        """1 for each column that applies to the query."""
        of_kb = len(self.found.terms)
        marks = {
            "queries": True,
            "species": bool(self.found.species),
            "group": bool(self.found.groups),
            "terms": bool(of_kb or self.n_learnt),
            "any of these": bool(self.found or self.n_learnt),
            "nothing": not (self.found or self.n_learnt),
            "from KB": bool(of_kb or self.found.species or self.found.groups),
            "from wiki": bool(self.n_learnt),
            "web if needed": bool(self.unexplained),
            "web always": True,
        }
        return Counter({name: 1 for name, holds in marks.items() if holds})


def read(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """Return `(query, supercategory)` of the files of INQUIRE."""
    rows = (row for path in paths for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    return [(row["query_text"].strip(), row["supercategory"]) for row in rows]


def table(rows: Sequence[Row]) -> str:
    """Return the counts by supercategory as a Markdown table."""
    names = [*dict.fromkeys(sorted(row.supercategory for row in rows)), "all"]
    lines: list[list[object]] = []
    for name in names:
        counts: Counter[str] = Counter()
        for row in rows:
            if name in ("all", row.supercategory):
                counts += row.counts
        lines.append([name, *(counts[column] for column in COLUMNS)])
    return "\n".join(markdown(["", *COLUMNS], lines))


def line(row: Row) -> str:
    """Return the entries found for a query as one line."""
    left = f"\t{', '.join(row.unexplained)}" if row.unexplained else ""
    if not row.found:
        return f"{row.query}\t-{left}"
    species = [entry.taxon.scientific_name for entry in row.found.species]
    groups = [f"{group.text} ({len(group.ids)})" for group in row.found.groups]
    terms = [term.name for term in row.found.terms]
    how = " (by description)" if row.found.is_by_description else ""
    return f"{row.query}\t{'; '.join([*species, *groups, *terms])}{how}{left}"


def main() -> None:
    """Look up the queries and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=Path, nargs="+", required=True, help="files of queries of INQUIRE")
    parser.add_argument("--kb", type=Path, help="knowledge base; default: the shipped one")
    parser.add_argument("--api-url", help="API of a wiki for terms that the knowledge base lacks")
    parser.add_argument("--list", action="store_true", help="also print the entries found for each query")
    options = parser.parse_args()
    encoders = recognize.load_encoders("starter")
    with ExitStack() as stack:
        path = options.kb or unpack_shipped(resolve().home, encoders)
        store = stack.enter_context(kb.open(path))
        wiki: WikiTerms | None = None
        source: WikipediaSource | None = None
        if options.api_url:
            source = WikipediaSource(WikiClient(options.api_url, contact=resolve().contact))
            stack.callback(source.close)
            wiki = WikiTerms(source)
        rows, sources = [], ContextSources(wiki=wiki, learn=False)
        for query, supercategory in read(options.queries):
            found = look_up(store, query, encoders.sentence)
            answer = kb.context(store, query, encoders.sentence, sources)
            n_learnt = len(answer.terms) - len(found.terms)
            rows.append(
                Row(
                    query=query,
                    supercategory=supercategory,
                    found=found,
                    n_learnt=n_learnt,
                    unexplained=answer.unexplained,
                )
            )
        if options.list:
            sys.stdout.writelines(f"{line(row)}\n" for row in rows)
        requests = "" if source is None else f", {source.n_requests} requests to the wiki"
        sys.stdout.write(f"{len(rows)} queries, {len(store.taxon_ids)} species, {len(store.terms())} terms{requests}\n")
        sys.stdout.write(table(rows) + "\n")


if __name__ == "__main__":
    main()
