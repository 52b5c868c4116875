"""Questions about a query by a plain rule, without a text model: taxon, each term, the remainder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from data.records import QueryPart, Question

# Encoders do not understand "no" and "without", so "no crest" is a poor negation. A neutral text removes what all
# photos have in common. Chosen on two fifths of the species of benchmarks/rerank_birds.py, with summaries as queries:
# mean AP .46, against .39 for "a photo of something else" and .40 for an empty text.
NEGATION: Final = "a photo of a bird"
# Separators between the statements of a description.
_JOINT: Final = re.compile(
    r"\s*[,;.:]\s+(?:and\s+|with\s+)?|\s+(?:with|whose|having|showing|has|have)\s+", re.IGNORECASE
)
_AND: Final = re.compile(r"\s+and\s+", re.IGNORECASE)
_EMPTY_WORDS: Final = frozenset((
    "a", "an", "and", "are", "as", "at", "bird", "birds", "by", "for", "from", "has", "have", "image", "in", "is", "it",
    "its", "of", "on", "one", "or", "photo", "picture", "that", "the", "this", "to", "with", "position", "pose",
))  # fmt: skip
_WORD: Final = re.compile(r"[^\W\d_]+")


def direct_question(query: str) -> Question:
    """Return the query itself as a question: the baseline, `Does this image show {query}?`.

    Source:
        Divide and Conquer, Figure 3 (a).
    """
    query = query.strip()
    subject = re.sub(r"^(An?|The)\b", lambda found: found[0].lower(), query.rstrip(" .!?"))
    return Question(question=f"Does this image show {subject}?", statement=query, negation=NEGATION, is_query=True)


def plain_questions(query: str, parts: Sequence[QueryPart], *, uses_looks: bool) -> tuple[Question, ...]:
    """Return a question for each named taxon, each clause with a term, and the remainder of the query.

    Args:
        query: the query.
        parts: taxa and terms that a knowledge base found in it.
        uses_looks: whether statements include the knowledge base's description of taxon and term.

    Returns:
        At least one question, in the order taxa, terms, remainder; the direct question if the rule cannot divide it.

    Example:
        >>> frogs = QueryPart(kind="group", text="Water frogs", name="water frog")
        >>> grip = QueryPart(kind="term", text="amplexus", name="amplexus", looks="One frog on the back of another.")
        >>> for question in plain_questions("Water frogs in amplexus by night", (frogs, grip), uses_looks=True):
        ...     question.question, question.statement
        ('Does this image show water frogs?', 'a photo of water frogs')
        ('Does this image show amplexus by night?', 'amplexus by night. One frog on the back of another.')
    """
    questions: list[Question] = []
    rest = query.strip()
    for part in parts:
        if part.kind == "term":
            continue
        called = part.text if part.kind == "group" else part.name
        looks = f". {part.looks}" if uses_looks and part.looks else ""
        named = called[:1].lower() + called[1:] if part.kind == "group" else _with_article(called)
        questions.append(
            Question(
                question=f"Does this image show {named}?", statement=f"a photo of {named}{looks}", negation=NEGATION
            )
        )
        rest = re.sub(rf"\b{re.escape(part.text)}\b", " ", rest, count=1)
    remainder: list[str] = []
    for clause in _clauses(rest):
        used = [part for part in parts if part.kind == "term" and _contains(clause, part.text)]
        if not used:
            remainder.append(clause)
            continue
        looks = " ".join(part.looks for part in used if part.looks) if uses_looks else ""
        questions.append(
            Question(
                question=f"Does this image show {clause}?",
                statement=f"{clause}. {looks}" if looks else clause,
                negation=NEGATION,
            )
        )
    if remainder:
        text = ", ".join(remainder)
        questions.append(Question(question=f"Does this image show {text}?", statement=text, negation=NEGATION))
    return tuple(questions) if len(questions) > 1 else (direct_question(query),)


def _clauses(text: str) -> list[str]:
    """Return the clauses of a description, one statement each, without function words at their ends."""
    found: list[str] = []
    for piece in _JOINT.split(text):
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


def _trimmed(clause: str) -> str:
    words = clause.split()
    while words and words[0].lower() in {"and", "in", "of", "with"}:
        del words[0]
    while words and words[-1].lower() in {"a", "an", "and", "the", "in", "of", "with", "its", "on"}:
        del words[-1]
    return " ".join(words).strip(" .,;:")


def _content_words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _EMPTY_WORDS]


def _contains(clause: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(text)}\b", clause, re.IGNORECASE) is not None


def _with_article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
