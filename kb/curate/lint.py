"""Checks of summaries against the passages they cite, sentence by sentence.

The rules compare words, whoever wrote the summary. Findings deserve a look; a summary without findings may be wrong.
The rules on words read English; other sentences are checked for their evidence and length alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from data.errors import StoreError
from data.lexicon.words import group_of, words_of
from data.records import SpeciesEntry, Statement, Summary
from kb.curate.add import is_foreign
from kb.distill import AS_IS
from kb.distill.claims import mixed_up, sexes_ages, unsupported
from kb.distill.model import NAMES_KEPT
from kb.distill.subjects import NameHider, stated_subject, without_label
from kb.distill.visual import describes_looks, off_topic_clauses

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
Rule = Literal[
    "no-evidence", "unsupported", "sex-mixed-up", "own-name", "not-visual", "partly-not-visual", "too-short",
    "too-long", "same-text",
]  # fmt: skip

# Averages of the paper: 76 words in refined summaries, 127 in first ones.
MIN_WORDS = 12
MAX_WORDS = 150
MAX_FACT_WORDS = 400
"""Facts are dense; the extractive distiller's limit."""

_MATTERS = {"sound": "song", "place": "range"} | {
    name: name for name in ("taxonomy", "naming", "behaviour", "breeding", "weight", "people")
}
# Words of other groups that a visual sentence may mention.
_IN_PASSING = frozenset(
    ("species", "subspecies", "race", "nominate", "group", "described", "considered", "population", "populations", "he")
) | frozenset(("his", "she", "her", "they", "found", "known", "north", "south", "east", "west", "flight", "flying"))
_SONGBIRD = re.compile(r"\bsong[- ](?:thrush|sparrow)", re.IGNORECASE)
_CONTINUES = re.compile(r"^(?:It|They|Its|Their|He|She|His|Her|The|This|These|In)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One problem of a summary; `statement` counts from 1, null for the whole summary."""

    severity: Severity
    """error, warning or note."""
    rule: Rule
    """Rule that was broken."""
    taxon_id: str
    """Id of the species."""
    name: str
    """Name of the species."""
    statement: int | None
    """Number of the sentence, from 1; null for the whole summary."""
    text: str
    """The sentence."""
    detail: str
    """What is wrong."""


_Problem = tuple[Severity, Rule, int | None, str]
"""Severity, rule, number of the statement and detail of a finding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """All findings, by species in store order, then by statement, with the numbers checked."""

    n_species: int
    n_statements: int
    findings: tuple[Finding, ...]

    @property
    def counts(self) -> dict[Severity, int]:
        """Severity -> number of findings, worst first."""
        found = Counter(finding.severity for finding in self.findings)
        return {severity: found[severity] for severity in SEVERITIES}

    def has(self, severity: Severity) -> bool:
        """Return whether any finding has this severity or a worse one."""
        worst = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return any(finding.severity in worst for finding in self.findings)


def lint(store: KnowledgeBase) -> LintReport:
    """Return the findings in the summaries of a knowledge base.

    An article text that is missing or damaged is a finding, not an error.
    """
    entries = store.species(store.taxon_ids)
    found = [finding for entry in entries for finding in lint_entry(entry, _article_text(store, entry))]
    found += same_texts(entries)
    place = {taxon_id: i for i, taxon_id in enumerate(store.taxon_ids)}
    summaries = [entry.summary for entry in entries if entry.summary is not None]
    return LintReport(
        n_species=len(summaries),
        n_statements=sum(len(summary.statements) for summary in summaries),
        findings=tuple(sorted(found, key=lambda finding: (place[finding.taxon_id], finding.statement or 0))),
    )


def _article_text(store: KnowledgeBase, entry: SpeciesEntry) -> str | None:
    if entry.summary is None or not any(statement.evidence for statement in entry.summary.statements):
        return None
    try:
        return store.article_text(entry.taxon.taxon_id)
    except StoreError:
        return None


def lint_entry(entry: SpeciesEntry, article_text: str | None) -> list[Finding]:
    """Return the findings in one summary, given the plain text of its article."""
    summary = entry.summary
    if summary is None:
        return []
    return [_finding(entry, *problem) for problem in _problems(entry, summary, article_text)]


def _problems(entry: SpeciesEntry, summary: Summary, article_text: str | None) -> Iterator[_Problem]:
    hider = NameHider(entry.taxon, entry.source.title if entry.source else "")
    is_fact = summary.scope == "facts"
    is_english = not is_foreign(summary.text)
    for number, statement in enumerate(summary.statements, start=1):
        passages = _passages(statement, article_text)
        if statement.evidence and article_text is None:
            yield "error", "no-evidence", number, "the text of the article is missing or damaged"
        else:
            yield from _check_evidence(number, statement, passages, hider.group, is_fact=is_fact)
        if is_foreign(f"{statement.text} {'' if is_english else summary.text}"):
            continue
        is_quoted = AS_IS in summary.distiller and statement.text in (" ".join(each.split()) for each in passages)
        is_hidden = summary.stage == "refined" and not summary.distiller.endswith(NAMES_KEPT) and not is_quoted
        # "Old World Swallowtail" may be another species than "Swallowtail": the distiller leaves it.
        if is_hidden and (names := hider.names_in(statement.text)) and hider.hide(statement.text) != statement.text:
            yield "error", "own-name", number, f"says {names[0]!r}"
        if passages:
            earlier = summary.statements[number - 2].text if number > 1 else ""
            yield from _check_sexes(number, statement.text, passages, earlier, hider.group)
        yield from _check_looks(number, statement.text, hider.group)
    most = MAX_FACT_WORDS if is_fact else MAX_WORDS
    if summary.words < MIN_WORDS:
        # Few agreed facts are normal; so few words from an article mean a stub or bad distilling.
        severity: Severity = "note" if is_fact else "warning"
        yield severity, "too-short", None, f"{summary.words} words, expected {MIN_WORDS} or more"
    if summary.words > most:
        yield "warning", "too-long", None, f"{summary.words} words, expected {most} or fewer"


def same_texts(entries: Sequence[SpeciesEntry]) -> list[Finding]:
    """Return a finding for each species with the same summary as another."""
    by_text: dict[str, list[SpeciesEntry]] = {}
    for entry in entries:
        if entry.summary is not None:
            by_text.setdefault(" ".join(words_of(entry.summary.text)), []).append(entry)
    found = []
    for entries_alike in by_text.values():
        for entry in entries_alike if len(entries_alike) > 1 else ():
            others = [other.taxon.common_name for other in entries_alike if other is not entry]
            detail = f"as {', '.join(others[:3])}{' and more' * (len(others) > 3)}"
            found.append(_finding(entry, "warning", "same-text", None, detail))
    return found


def _finding(entry: SpeciesEntry, severity: Severity, rule: Rule, number: int | None, detail: str) -> Finding:
    summary = entry.summary
    return Finding(
        severity=severity,
        rule=rule,
        taxon_id=entry.taxon.taxon_id,
        name=entry.taxon.common_name,
        statement=number,
        text=summary.statements[number - 1].text if summary is not None and number is not None else "",
        detail=detail,
    )


def _passages(statement: Statement, article_text: str | None) -> list[str]:
    text = article_text or ""
    spans = [span for span in statement.evidence if 0 <= span.start < span.end <= len(text)]
    return [text[span.start : span.end] for span in spans]


def _check_evidence(
    number: int, statement: Statement, passages: list[str], group: str, *, is_fact: bool
) -> Iterator[_Problem]:
    if len(passages) < len(statement.evidence):
        yield "error", "no-evidence", number, "cites a passage that the article does not have"
    elif not passages and not is_fact:
        yield "error", "no-evidence", number, "cites no passage"
    if not passages:
        return
    missing = unsupported(without_label(statement.text), passages, group)
    hard = [word for word, kind in missing.items() if kind in ("colour", "number")]
    soft = [word for word, kind in missing.items() if kind in ("part", "shade")]
    if hard:
        yield "error", "unsupported", number, f"not in its evidence: {', '.join(hard)}"
    if soft:
        yield "warning", "unsupported", number, f"not in its evidence: {', '.join(soft)}"


def _check_sexes(number: int, text: str, passages: list[str], earlier: str, group: str) -> Iterator[_Problem]:
    said = without_label(text)  # the heading of a passage says whose it is
    claimed_sexes, cited_sexes = sexes_ages(said, group), sexes_ages(" ".join(passages), group)
    if group != "plants" and (uncited := sorted(claimed_sexes - cited_sexes - {"", "both"})):
        yield "error", "sex-mixed-up", number, f"says {', '.join(uncited)}, its evidence does not"
    else:
        uncited = []
    subject = stated_subject(passages[-1], group)
    # "It has ..." continues the statement on the male before it.
    continues = _CONTINUES.match(text) is not None and stated_subject(earlier, group) == subject
    for colour, owner, real in mixed_up(text, passages, group):
        if owner not in uncited and not (owner == "" and continues):
            yield "error", "sex-mixed-up", number, f"says {colour} of {owner or 'all'}, the evidence of {real}"
    is_of_one = subject in ("male", "female", "juvenile", "larva", "pupa")
    if is_of_one and said == text and not claimed_sexes and not continues:
        yield "warning", "sex-mixed-up", number, f"its evidence is about the {subject}, the statement about all"


def _check_looks(number: int, text: str, group: str) -> Iterator[_Problem]:
    if not describes_looks(text, group):
        detail = _matters([text], group) or "names no part, colour, pattern, shape or size"
        yield "warning", "not-visual", number, detail
        return
    clauses = [clause for clause in off_topic_clauses(text, group) if set(_strong_words(clause, group)) - _IN_PASSING]
    if clauses:
        yield "note", "partly-not-visual", number, f"{_matters(clauses, group)}: {'; '.join(clauses)}"


def _matters(texts: Sequence[str], group: str) -> str:
    words = [word for text in texts for word in _strong_words(text, group)]
    telling = [word for word in words if word not in _IN_PASSING] or words
    return ", ".join(dict.fromkeys(_MATTERS[group_of(word, group) or ""] for word in telling))


def _strong_words(text: str, group: str) -> list[str]:
    return [word for word in words_of(_SONGBIRD.sub("", text)) if group_of(word, group) in _MATTERS]
