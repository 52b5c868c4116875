"""Visual part of a sentence: its score, a small linear model over the word groups of the lexicon, and its trimming."""

from __future__ import annotations

import re
from collections import Counter

from data.lexicon.marks import find_marks
from data.lexicon.words import BIRDS, OTHER_GROUPS, group_of, groups, words_of
from data.words import capitalised
from kb.distill.sentences import pattern

# Points per word of a group, counted up to `_MOST` words. Fitted by logistic regression on 312 sentences labelled
# before any tuning (tests/kb/labels, half "development") and rounded by hand; the other weights and the bias were set
# by hand on these and on the tuning half of `training/distill/labels`.
WEIGHTS = {
    "part": 0.9, "colour": 1.0, "pattern": 0.6, "shape": 0.5, "size": 1.2, "who": 0.5, "compare": 0.9, "sound": -0.8,
    "place": -0.4, "taxonomy": -0.7, "naming": -0.8, "behaviour": -0.5, "breeding": -1.2, "weight": -0.4,
    "people": -0.4,
}  # fmt: skip
MARK_WEIGHT = 1.0  # a field mark: a body part with a colour, pattern or shape
NAME_WEIGHT = -0.15  # a capitalised word inside the sentence: a place or person
YEAR_WEIGHT = -0.8  # history of names, records and populations
LENGTH_WEIGHT = -0.06  # per word: descriptions are dense
MEASURE_WEIGHT = 0.8  # a length in numbers, except of nests and eggs
LOOK_ALIKE_WEIGHT = 0.8  # "may be confused with"
SECTION_WEIGHT = 0.5  # in a section on looks, which may also tell of anatomy; chosen on the development half
BIAS = -1.2  # sets the threshold to zero
_MOST = 3
_THINGS = ("place", "behaviour", "people", "breeding")  # may be of a colour themselves
_LENGTH = re.compile(  # metres may be of depth or altitude
    r"\d\s?-?(?:cm|mm|centimet|millimet|in\b|inches)|"
    r"\d ?-?(?:m|met(?:er|re)s?|feet|ft)\b[^.;]{0,30}\b(?:tall|high|long|wide|across|length|height|wingspan|diameter)\b"
)
_GROWS_TO = re.compile(
    r"\b(?:reach(?:es)?|grows?) (?:(?:up )?to |about )*\d[\d.]* ?(?:m|met(?:er|re)s?|feet|ft)(?=[.;,]|$)"
)
_LOOK_ALIKE = re.compile(r"\b(?:confused with|mistaken for|told from|distinguished from|separated from)\b")
_RATE = re.compile(  # "it grows 0.5 mm a year"
    r"\d ?(?:mm|cm|m|millimet\w+|centimet\w+|met(?:er|re)s?|in|inch(?:es)?|feet|ft) (?:a|an|per|each|every) \w"
)
_LIKE = re.compile(r"\b\w+-like\b")
_NAMED_AFTER_COLOUR = re.compile(r"(?<=[\w,;] )[A-Z][a-z]+(?= [A-Z][a-z]+)")
_YEAR = re.compile(r"\b(?:1[6-9]|20)\d\d\b")
_INNER_CAPITAL = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")


def visual_score(sentence: str, *, in_section_on_looks: bool = False, group: str = BIRDS) -> float:
    """Return the visual score of a sentence in the words of a group of organisms: visual above zero, unbounded."""
    words, found = _read(sentence, group)
    counts = Counter(name for name in found if name is not None)
    marks = {(mark.part, mark.look) for mark in find_marks(sentence, group) if mark.part}
    counts["shape"] += len(_LIKE.findall(sentence))  # "antler-like jaws"
    if not any(counts[name] for name in ("colour", "pattern", "shape", "size", "compare")):
        counts["part"] = min(counts["part"], 2)  # "removes parasites from its skin, mouth and gills"
    score = BIAS + LENGTH_WEIGHT * min(len(words), 40)
    score += sum(weight * min(counts[name], _MOST) for name, weight in WEIGHTS.items())
    score += MARK_WEIGHT * min(len(marks), _MOST)
    score += MEASURE_WEIGHT * (counts["breeding"] == 0 and _LENGTH.search(sentence) is not None)
    score += LOOK_ALIKE_WEIGHT * (_LOOK_ALIKE.search(sentence) is not None)
    score += WEIGHTS["size"] * states_size(sentence)
    score += YEAR_WEIGHT * (_YEAR.search(sentence) is not None)
    score += NAME_WEIGHT * min(len(_INNER_CAPITAL.findall(sentence)), 4)
    return score + SECTION_WEIGHT * in_section_on_looks


def states_size(sentence: str) -> bool:
    """Return whether a sentence says how large an organism gets, without a word of size: "it reaches 2 m"."""
    return _GROWS_TO.search(sentence) is not None


def _read(sentence: str, group: str) -> tuple[list[str], list[str | None]]:
    """Return the words of a sentence and the word group of each.

    A colour of a thing on another topic counts as that topic ("red clover", "white sand", "the Black Sea").
    """
    words = words_of(
        _NAMED_AFTER_COLOUR.sub(lambda name: "" if group_of(name[0].lower()) == "colour" else name[0], sentence)
    )
    found = [group_of(word, group) for word in words]
    for i in range(len(words) - 2, -1, -1):
        if found[i] == "colour" and found[i + 1] in _THINGS:
            found[i] = found[i + 1]
        if words[i] in ("range", "ranges") and words[i + 1] in ("from", "between", "in"):
            found[i] = None  # of sizes or colours
    return words, found


def has_looks(clause: str, group: str = BIRDS) -> bool:
    """Return whether a clause names a body part, colour, pattern or size."""
    return any(group_of(word, group) in ("part", "colour", "pattern", "size") for word in words_of(clause))


def opens_off_topic(sentence: str) -> bool:
    """Return whether a sentence begins with eggs, a nest, a song, tracks, spores or food."""
    return _RATE.search(sentence) is not None or any(pattern(name).match(sentence) for name in ("off-topic", "deeds"))


def has_other_topics(clause: str, group: str = BIRDS) -> bool:
    """Return whether a clause mentions sound, place, taxonomy, names, behaviour, breeding, weight or people."""
    return any(group_of(word, group) in OTHER_GROUPS for word in words_of(clause))


def describes_looks(statement: str, group: str = BIRDS) -> bool:
    """Return whether a statement of a summary describes looks."""
    is_visual = visual_score(statement, in_section_on_looks=True, group=group) > 0
    is_of_shape = any(group_of(word, group) == "shape" for word in words_of(statement))  # "This bird is stocky."
    is_of_looks = (is_of_shape or has_looks(statement, group)) and not has_other_topics(statement, group)
    return (is_visual or is_of_looks) and not opens_off_topic(statement)


_NOTE = re.compile(r"\s*\[[^\[\]]{0,40}\]")
_PARENTHESIS = re.compile(r"\s*\(([^()]*)\)")
_SPACES = re.compile(r"\s+")
_BEFORE_MARK = re.compile(r"\s+([,.;:])")
_DOUBLE_MARK = re.compile(r"([,;:])\s*(?=[,.;:])")
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
    opening = pattern("connectives").match(sentence)
    text = sentence if opening is None else capitalised(sentence[opening.end() :])
    body, mark = (text[:-1], text[-1]) if text.endswith((".", "!", "?")) else (text, "")
    pieces = _split(body)
    clauses = [pieces[0]]
    was_cut = False
    for seam, piece in pieces[1:]:
        # A dependent clause goes with the one before it ("but other species, including ...").
        was_cut = _is_off_topic(piece, group) or (was_cut and pattern("dependent").match(piece) is not None)
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
    for found in pattern("seams").finditer(body):
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
