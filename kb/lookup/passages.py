"""Passages composed of the texts found by a look-up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from data.lexicon.tables import column
from data.lexicon.word_groups import words_of
from data.records import Context, Source, SpeciesEntry, Statement, Term, TermNote
from kb.lookup.findings import Findings
from kb.lookup.index import is_question
from kb.lookup.mentions import Mention
from kb.store.knowledge_base import KnowledgeBase

MAX_GROUP_MEMBERS = 8
MAX_DESCRIBED_MEMBERS = 2  # of a group; with more, each gets too few words
MAX_SENTENCES = 4
MAX_SENTENCE_WORDS = 70
MAX_MEMBER_WORDS = 40
_SEX_AGE = {word: subject for word, subject in column("sexes", "subject").items() if subject != "adult"}


def compose(store: KnowledgeBase, query: str, found: Findings) -> Context:
    """Return the context of a query: terms with visible features, species with summaries, groups with members.

    Sentences on the sex or age in the query come first.
    """
    if not found:
        return Context(query=query)
    parts = [term.definition if is_question(term) else term_passage(term) for term in found.terms]
    sources = [term.source for term in found.terms]
    for entry in found.species:
        parts.append(species_passage(entry, query))
        sources += store.sources_of_text(entry, parts[-1])
    parts += group_passages(store, found)
    for entry in described_members(store, found):
        parts.append(species_passage(entry, query, max_words=MAX_MEMBER_WORDS))
        sources += store.sources_of_text(entry, parts[-1])
    words = [term for term in found.terms if not is_question(term)]
    return Context(
        query=query,
        passage=" ".join(parts),
        terms=tuple(TermNote(name=t.name, definition=t.definition, look_for=t.look_for) for t in words),
        sources=tuple(unique(sources)),
        found=True,
    )


def group_passages(store: KnowledgeBase, found: Findings) -> list[str]:
    """Return one sentence per group, with its species in the knowledge base."""
    return [_group_passage(group, store.species(group.ids[:MAX_GROUP_MEMBERS])) for group in found.groups]


def described_members(store: KnowledgeBase, found: Findings) -> list[SpeciesEntry]:
    """Return the described species of small groups, except those found by their own names."""
    described = {entry.taxon.taxon_id for entry in found.species}
    small = [group.ids for group in found.groups if len(group.ids) <= MAX_DESCRIBED_MEMBERS]
    ids = dict.fromkeys(i for members in small for i in members if i not in described)
    return [entry for entry in store.species(list(ids)) if entry.summary is not None]


def term_passage(term: Term) -> str:
    """Return a term with its definition and visible features."""
    name = term.name[:1].upper() + term.name[1:]
    look_for = f" What to look for: {_ended(term.look_for)}" if term.look_for else ""
    return f"{name}: {_ended(term.definition)}{look_for}"


def species_passage(entry: SpeciesEntry, query: str = "", *, max_words: int = MAX_SENTENCE_WORDS) -> str:
    """Return the names of a species and a few sentences of its summary, in their order."""
    taxon = entry.taxon
    name = f"{taxon.common_name} ({taxon.scientific_name})" if taxon.common_names else taxon.scientific_name
    if entry.summary is None:
        return f"{name}: in this knowledge base, but without a description."
    statements = entry.summary.statements
    chosen: list[int] = []
    words = 0
    for row in sorted(range(len(statements)), key=lambda row: (-_fit(statements[row], query), row))[:MAX_SENTENCES]:
        words += len(statements[row].text.split())
        if chosen and words > max_words:
            break
        chosen.append(row)
    return f"{name}: {' '.join(statements[row].text for row in sorted(chosen))}"


def unique(sources: Iterable[Source | None]) -> list[Source]:
    """Return the sources without None and duplicates, in their order."""
    return list(dict.fromkeys(source for source in sources if source is not None))


def _fit(statement: Statement, query: str) -> int:
    """Return 1 for a sentence on the sex or age in the query, -1 for one only on others, else 0."""
    queried, stated = (
        {_SEX_AGE[word] for word in words_of(text) if word in _SEX_AGE} for text in (query, statement.text)
    )
    if not queried or not stated:
        return 0
    return 1 if queried & stated else -1


def _group_passage(group: Mention, members: Sequence[SpeciesEntry]) -> str:
    more = len(group.ids) - len(members)
    tail = f" and {more} more" if more else ""
    name = group.text[:1].upper() + group.text[1:]
    return f"{name}: this knowledge base has {', '.join(entry.taxon.common_name for entry in members)}{tail}."


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", '."', ".”")) else text + "."
