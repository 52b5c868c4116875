"""Shortening of sentences: brackets and off-topic clauses are removed."""

from __future__ import annotations

import re

from data.lexicon.tables import BIRDS
from data.lexicon.word_groups import group_of, groups, words_of
from kb.distill.visual import has_looks, has_other_topics

_NOTE = re.compile(r"\s*\[[^\[\]]{0,40}\]")
_PARENTHESIS = re.compile(r"\s*\(([^()]*)\)")
_SPACES = re.compile(r"\s+")
_BEFORE_MARK = re.compile(r"\s+([,.;:])")
_DOUBLE_MARK = re.compile(r"([,;:])\s*(?=[,.;:])")
_CONNECTIVE = re.compile(
    r"^(?:However|In addition|Additionally|Furthermore|Moreover|Also|Thus|Therefore|Hence|Overall|Otherwise|In general|"
    r"Generally|In contrast|By contrast|Conversely|Likewise|Similarly|Meanwhile|As the name suggests|"
    r"As its name suggests|As its name implies|As the name implies|As suggested by its name),\s+"
)
# Boundaries before a clause or phrase that can be dropped.
_SEAM = re.compile(
    r"""
    ;\s+
    | \s+[–—]\s+
    | ,\s+(?=(?:which|who|where|while|whereas|although|though|but|and|found|native|endemic|making|occurring|living|
               breeding|resident|ranging|distributed|often|usually|known|noted|with|as\ well\ as|especially|including|
               hence|giving|so|from|initiates?|builds?|feeds?|nests?|lays?|sings?|calls?|forages?|lives?|inhabits?|
               eats?)\b)
    | \s+(?=and\s+(?:is|are|was|has\ been|breeds?|lives?|feeds?|occurs?|inhabits?|weighs?|can|may|it|they|its|their|
               nests?|ranges?|winters?)\b)
    | \s+(?=with\s+an?\s+(?:\w+\s+){0,3}(?:call|song|voice|flight)\b)
    | \s+(?=(?:found|native|endemic|resident|breeding|occurring|distributed|living)\s+
               (?:in|to|from|across|throughout|on)\b)
    | \s+(?=(?:that|which)\s+(?:breeds?|lives?|is\s+found|is\s+native|is\s+endemic|occurs?|inhabits?|forages?|feeds?|
               nests?|moves?|hunts?|frequents?)\b)
    """,
    re.VERBOSE,
)
_DEPENDENT = re.compile(r"^(?:including|especially|which|who|where|as well as|such as)\b")
_AND = re.compile(r"^and\s+")


def tidy(text: str) -> str:
    """Return the text with single spaces, none before a comma or full stop, and no doubled commas."""
    spaced = _BEFORE_MARK.sub(r"\1", _SPACES.sub(" ", text)).strip()
    return _DOUBLE_MARK.sub("", spaced)


def drop_brackets(sentence: str, group: str = BIRDS) -> str:
    """Return the sentence without notes and parentheses, except parentheses that name a colour, part or sex."""

    def keep(found: re.Match[str]) -> str:
        groups_inside = {group_of(word, group) for word in words_of(found[1])}
        describes = groups_inside & {"part", "colour", "pattern", "who"}
        is_aside = groups_inside & {"place", "taxonomy", "naming", "people"}
        return found[0] if describes and not is_aside and not any(sign.isdigit() for sign in found[1]) else ""

    return tidy(_PARENTHESIS.sub(keep, _NOTE.sub("", _SPACES.sub(" ", sentence))))


def trim_clauses(sentence: str, group: str = BIRDS) -> str:
    """Return the sentence without an opening connective and without off-topic clauses.

    The first clause stays, unless a semicolon follows it.
    """
    if not sentence:
        return ""
    text = _CONNECTIVE.sub("", sentence)
    if text != sentence:
        text = capitalised(text)
    body, mark = (text[:-1], text[-1]) if text.endswith((".", "!", "?")) else (text, "")
    pieces = _split(body)
    clauses = [pieces[0]]
    was_cut = False
    for seam, piece in pieces[1:]:
        # A dependent clause goes with the one before it ("but other species, including ...").
        was_cut = _is_off_topic(piece, group) or (was_cut and _DEPENDENT.match(piece) is not None)
        if was_cut:
            clauses[-1] = _closed_list(clauses[-1], seam, piece)
            continue
        clauses.append((seam, piece))
    if len(clauses) > 1 and clauses[1][0].startswith(";") and _is_off_topic(clauses[0][1], group):
        clauses = clauses[1:]
        clauses[0] = ("", capitalised(clauses[0][1]))
    shorter = tidy("".join(seam + piece for seam, piece in clauses).rstrip(" ,;:–—"))
    is_incomplete = set(words_of(shorter)[-1:]) & groups()["dangling"]  # "The race with a yellow bill is"
    return tidy(text) if is_incomplete else shorter + (mark or ".")


def off_topic_clauses(sentence: str, group: str = BIRDS) -> list[str]:
    """Return the off-topic clauses of a sentence."""
    return [_AND.sub("", piece).strip(" .,;") for _, piece in _split(sentence) if _is_off_topic(piece, group)]


def _split(body: str) -> list[tuple[str, str]]:
    """Return `(separator before it, clause)` for each clause."""
    pieces: list[tuple[str, str]] = []
    begin, seam = 0, ""
    for found in _SEAM.finditer(body):
        if body.count("(", begin, found.start()) != body.count(")", begin, found.start()):
            continue  # inside a parenthesis
        pieces.append((seam, body[begin : found.start()]))
        begin, seam = found.end(), found[0]
    pieces.append((seam, body[begin:]))
    return pieces


def _is_off_topic(clause: str, group: str) -> bool:
    topics = {group_of(word, group) for word in words_of(clause)}
    # "A call like a rusty hinge" has a colour word and no looks.
    return (has_other_topics(clause, group) and not has_looks(clause, group)) or (
        "sound" in topics and "part" not in topics
    )


def _closed_list(before: tuple[str, str], seam: str, dropped: str) -> tuple[str, str]:
    """Return the clause with "and" before the last item of a list whose last item was dropped."""
    seam_before, text = before
    has_verb = any(word in groups()["verb"] for word in words_of(dropped))
    last = text.rpartition(", ")
    is_list = seam.startswith(",") and _AND.match(dropped) and not has_verb and last[1]
    if is_list and len(last[2].split()) <= 6 and " and " not in last[2]:
        return seam_before, f"{last[0]} and {last[2]}"
    return before


def capitalised(text: str) -> str:
    """Return the text with its first letter as a capital."""
    return text[:1].upper() + text[1:]
