"""Questions about a query by a plain rule, without a text model: taxon, each term, the remainder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

from data.lexicon.words import group_of, group_of_noun
from data.records import QueryPart, Question

NAME: Final = "\N{SYMBOL FOR UNIT SEPARATOR}"
"""Stands for a name in a clause; further names follow it with their numbers."""
_NAMES: Final = re.compile(rf"{NAME}(\d+)")
_DETERMINERS: Final = frozenset((
    "a", "an", "the", "its", "their", "his", "her", "some", "many", "several", "few", "both", "each", "every", "any",
    "no", "this", "that", "these", "those", "another", "one", "two", "three", "four", "five", "six", "seven", "eight",
    "nine", "ten", "pair", "couple", "group", "flock",
))  # fmt: skip
_PREPOSITIONS: Final = frozenset((
    "about", "above", "across", "after", "against", "along", "amid", "among", "around", "at", "before", "behind",
    "below", "beneath", "beside", "between", "beyond", "by", "down", "during", "for", "from", "in", "inside", "into",
    "near", "next", "of", "off", "on", "onto", "out", "outside", "over", "past", "through", "to", "toward", "towards",
    "under", "underneath", "up", "upon", "while", "with", "within", "without",
))  # fmt: skip
_UNCOUNTED: Final = frozenset(
    ("plumage", "fur", "hair", "skin", "down", "feathering", "coloration", "colouration", "colouring")
)
_WORD: Final = re.compile(r"[^\s,.;:]+")


def shows(clauses: Sequence[str], names: Sequence[str], *, subject: str) -> str:
    """Return the question whether an image shows what the clauses say, in which `NAME` and a position stand for names.

    `subject` is the thing that the query is about, for clauses without a noun: "sitting in snow".
    """
    things = [_with_article(clause, names) for clause in clauses if not _needs_subject(clause)]
    doings = [clause for clause in clauses if _needs_subject(clause)]
    if doings:
        whole = [thing for thing in things if NAME in thing]
        things = [thing for thing in things if NAME not in thing]
        subject = f"{', '.join(whole)}," if whole else subject
        subject = f"{subject.rstrip(',')} with {_listed(things)}," if things else subject
        text = f"{subject} {_listed(doings)}"
    else:
        text = _listed(things)
    return f"Does this image show {_NAMES.sub(lambda found: names[int(found[1])], text)}?"


def in_lower_case(text: str) -> str:
    """Return a text with its first word in lower case where that is no name: "A frog", "Two frogs"."""
    first, gap, others = text.partition(" ")
    return f"{first.lower()}{gap}{others}" if first.lower() in _DETERMINERS else text


def head_noun(text: str) -> str:
    """Return the short noun phrase at the beginning of a query; empty if it begins otherwise."""
    words: list[str] = []
    for word in _WORD.findall(text):
        if word.lower() in _PREPOSITIONS or (words and (_is_participle(word) or word.lower() in _LINKS)):
            break
        words.append(word)
    if not 1 < len(words) <= 4 or words[0].lower() not in _DETERMINERS:
        return ""
    return " ".join([words[0].lower(), *words[1:]])


_LINKS: Final = frozenset(
    ("whose", "having", "showing", "has", "have", "that", "which", "who", "is", "are", "and", "or")
)


def with_indefinite_article(name: str) -> str:
    """Return a name with "a" or "an"."""
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def is_marked_by(word: str) -> bool:
    """Return whether "with" belongs to the word before it: "tagged with green", not "a red bird with"."""
    return word.lower().endswith("ed") and group_of(word.lower()) != "colour" and group_of_noun(word) is None


def _needs_subject(clause: str) -> bool:
    """Return whether a clause has no noun that an image could show: "sitting in snow", "at night"."""
    words = _WORD.findall(clause)
    if not words or words[0].startswith(NAME):
        return False
    is_placed = len(words) > 1 and words[1].lower() in _PREPOSITIONS
    return words[0].lower() in _PREPOSITIONS or _is_participle(words[0]) or (is_placed and is_marked_by(words[0]))


def _is_participle(word: str) -> bool:
    lower = word.lower()
    return lower.endswith("ing") and len(lower) > 4 and group_of(lower) != "part" and group_of_noun(lower) is None


def _with_article(clause: str, names: Sequence[str]) -> str:
    """Return a clause with the article that it lacks, its first word in lower case where that is no name."""
    if clause.partition(" ")[0].lower() in _DETERMINERS:
        return in_lower_case(clause)
    if found := _NAMES.match(clause):
        name = names[int(found[1])]
        return clause if name.endswith("s") else with_indefinite_article(name).removesuffix(name) + clause
    head = ""
    for word in _WORD.findall(clause):
        if word.lower() in _PREPOSITIONS:
            break
        head = word.lower()
    is_one = group_of(head) == "part" and not head.endswith("s") and head not in _UNCOUNTED
    return with_indefinite_article(clause) if is_one else clause


def _listed(phrases: Sequence[str]) -> str:
    return f"{', '.join(phrases[:-1])} and {phrases[-1]}" if len(phrases) > 1 else "".join(phrases)


# Encoders do not understand "no" and "without", so "no crest" is a poor negation. A neutral text removes what all
# photos have in common. Chosen on two fifths of the species of benchmarks/rerank_birds.py, with summaries as queries:
# mean AP .46, against .39 for "a photo of something else" and .40 for an empty text.
NEGATION: Final = "a photo of a bird"
# Separators between the statements of a description.
_JOINT: Final = re.compile(
    r"\s*[,;.:]\s+(?:and\s+|with\s+)?|\s+(?:with|whose|having|showing|has|have)\s+", re.IGNORECASE
)
_AND: Final = re.compile(r"\s+and\s+", re.IGNORECASE)
# Before a name: "not a Mallard", "without any gulls".
_NOT: Final = (
    r"\b(?:(?:any|some|every)thing\s+)?(?:not|no|nor|neither|never|without|excluding|except(?:\s+for)?|other\s+than)"
    r"\s+(?:(?:an?|any|the)\s+)?"
)
_OR: Final = re.compile(r"\s*,?\s*\bor\s+(?:(?:an?|the)\s+)?", re.IGNORECASE)
_EMPTY_WORDS: Final = frozenset((
    "a", "an", "and", "are", "as", "at", "bird", "birds", "by", "for", "from", "has", "have", "image", "in", "is", "it",
    "its", "of", "on", "one", "or", "photo", "picture", "that", "the", "this", "to", "with", "position", "pose",
))  # fmt: skip
_LETTERS: Final = re.compile(r"[^\W\d_]+")


def direct_question(query: str, parts: Sequence[QueryPart] = ()) -> Question:
    """Return the query itself as a question: the baseline, `Does this image show {query}?`.

    Source:
        Divide and Conquer, Figure 3 (a).
    """
    query = query.strip()
    alone = _named_alone(query, alternatives(query, parts))
    is_absent = alone is not None and is_excluded(query, alone)
    return Question(
        question=f"Does this image show {in_lower_case(query.rstrip(' .!?'))}?",
        statement=query,
        negation=NEGATION,
        is_query=True,
        taxon_ids=() if alone is None else alone.taxon_ids,
        relation="absent" if is_absent else "shown",
    )


# Long: one pass over the parts of a query, which takes their words out of the rest as it goes.
def plain_questions(query: str, parts: Sequence[QueryPart], *, uses_looks: bool) -> tuple[Question, ...]:
    """Return a question for each named taxon and its sex or age, each clause with a term, and the remainder.

    Args:
        query: the query.
        parts: taxa and terms that a knowledge base found in it.
        uses_looks: whether statements include the knowledge base's description of taxon and term.

    Returns:
        At least one question, in the order taxa, terms, remainder; the direct question if the rule cannot divide it.
    """
    questions: list[Question] = []
    relation: Literal["shown", "absent", "looks"]
    rest, names = query.strip(), list[str]()
    parts = alternatives(query, parts)
    for part in parts:
        if part.kind == "term":
            continue
        called = part.text[:1].lower() + part.text[1:] if part.kind == "group" else part.name
        is_plural = part.kind == "group" and called.endswith("s")
        named = asked = called if is_plural else with_indefinite_article(called)
        statement, negation, relation = f"a photo of {named}", NEGATION, "shown"
        if part.kind == "sex_age":
            relation = "looks"
            if uses_looks:
                statement, negation = part.looks, part.unlike
            rest = _replaced(rest, part.text, " ")
        else:
            statement += f". {part.looks}" if uses_looks and part.looks else ""
            if is_excluded(rest, part):
                asked, relation = f"something other than {named}", "absent"
                statement, negation = negation, statement
                rest = re.sub(rf"{_NOT}{re.escape(part.text)}(?!\w)", " ", rest, count=1, flags=re.IGNORECASE)
            else:
                rest = _replaced(rest, part.text, f"{NAME}{len(names)}")
                names.append(called if part.kind == "group" else part.text)
        questions.append(
            Question(
                question=f"Does this image show {asked}?",
                statement=statement,
                negation=negation,
                taxon_ids=part.taxon_ids,
                relation=relation,
            )
        )
    subject = head_noun(rest) or (with_indefinite_article(names[0]) if names else "something")
    remainder: list[tuple[str, str]] = []
    for clause in _clauses(rest):
        statement = _without_names(clause)
        used = [part for part in parts if part.kind == "term" and _contains(clause, part.text)]
        if not used:
            remainder.append((clause, statement))
            continue
        looks = " ".join(part.looks for part in used if part.looks) if uses_looks else ""
        questions.append(
            Question(
                question=shows([clause], names, subject=subject),
                statement=f"{statement}. {looks}" if looks else statement,
                negation=NEGATION,
            )
        )
    if remainder:
        clauses, statements = zip(*remainder, strict=True)
        question = shows(clauses, names, subject=subject)
        questions.append(Question(question=question, statement=", ".join(statements), negation=NEGATION))
    if len(questions) > 1:
        return tuple(questions)
    if questions and questions[0].relation == "absent":
        return tuple(questions)
    direct = direct_question(query, parts)
    return (replace(direct, question=questions[0].question) if direct.taxon_ids else direct,)


def alternatives(query: str, parts: Sequence[QueryPart]) -> list[QueryPart]:
    """Return the parts with taxa that "or" joins made one: a photo of any of them fits."""
    found: list[QueryPart] = []
    for part in parts:
        before = found[-1] if found else None
        if before is not None and (between := _or_between(query, before, part)):
            text = f"{before.text}{between}{part.text}"
            found[-1] = QueryPart(
                kind="species" if before.kind == part.kind == "species" else "group",
                text=text,
                name=text,
                looks=f"{before.looks} {part.looks}".strip(),
                taxon_ids=tuple(dict.fromkeys((*before.taxon_ids, *part.taxon_ids))),
            )
        else:
            found.append(part)
    return found


def _or_between(query: str, first: QueryPart, second: QueryPart) -> str:
    """Return the words between two taxa if they are "or"; else nothing."""
    if not {first.kind, second.kind} <= {"species", "group"}:
        return ""
    after = query.partition(first.text)[2]
    between = after[: after.find(second.text)] if second.text in after else ""
    return between if _OR.fullmatch(between) else ""


def is_excluded(text: str, part: QueryPart) -> bool:
    """Return whether a query excludes a name: "not a Mallard", "without any gulls"."""
    return re.search(rf"{_NOT}{re.escape(part.text)}(?!\w)", text, re.IGNORECASE) is not None


def _named_alone(query: str, parts: Sequence[QueryPart]) -> QueryPart | None:
    """Return the taxon of a query that is nothing but its name, or the name with a negation."""
    taxa = [part for part in parts if part.taxon_ids and part.kind != "sex_age"]
    if len(taxa) != 1 or len(taxa) < len([part for part in parts if part.taxon_ids]):
        return None
    rest = re.sub(rf"(?:{_NOT})?{re.escape(taxa[0].text)}(?!\w)", " ", query, count=1, flags=re.IGNORECASE)
    return None if _content_words(rest) else taxa[0]


def _replaced(text: str, name: str, by: str) -> str:
    return re.sub(rf"\b{re.escape(name)}(?!\w)", by, text, count=1)


def _without_names(clause: str) -> str:
    """Return a clause without the names in it and their articles."""
    return _trimmed(re.sub(rf"(?:\b(?:an?|the)\s+)?{NAME}\d+", " ", clause, flags=re.IGNORECASE))


def _clauses(text: str) -> list[str]:
    """Return the clauses of a description, one statement each, without function words at their ends."""
    found: list[str] = []
    for piece in _pieces(text):
        things: list[str] = []
        for part in _AND.split(piece):
            # "red and black crown" is one thing, "red crown and black mask" are two.
            if things and len(_content_words(things[-1])) < 2:
                things[-1] += f" and {part}"
            else:
                things.append(part)
        if len(things) > 1 and len(_content_words(things[-1])) < 2:
            last = things.pop()  # "red crown and mask": the last word stands alone
            things[-1] += f" and {last}"
        found += things
    return [trimmed for clause in found if (trimmed := _trimmed(clause)) and _content_words(trimmed)]


def _pieces(text: str) -> list[str]:
    """Return the text between separators; "tagged with green" stays together."""
    pieces, start = [], 0
    for found in _JOINT.finditer(text):
        before = text[start : found.start()].split()
        if found[0].strip().lower() == "with" and before and is_marked_by(before[-1]):
            continue
        pieces.append(text[start : found.start()])
        start = found.end()
    return [*pieces, text[start:]]


def _trimmed(clause: str) -> str:
    words = clause.split()
    while words and words[0].lower() in {"and", "in", "of", "with"}:
        del words[0]
    while words and words[-1].lower() in {"a", "an", "and", "the", "in", "of", "with", "its", "on"}:
        del words[-1]
    return " ".join(words).strip(" .,;:")


def _content_words(text: str) -> list[str]:
    return [word for word in _LETTERS.findall(text.lower()) if word not in _EMPTY_WORDS]


def _contains(clause: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(text)}\b", clause, re.IGNORECASE) is not None
