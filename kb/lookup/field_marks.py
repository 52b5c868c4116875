"""Field marks of all species, and the share of a query's marks that each species has."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import numpy as np

from data.arrays import FloatArray, IntArray
from data.lexicon.appearance import appearance, kind_of
from data.lexicon.marks import every_mark
from data.lexicon.words import column, groups, near
from kb.lookup.variants import EARLY_STAGES

# Chosen on the tuning half of benchmarks/descriptions.py.
SOME_PART = 0.25  # likeness of a look on a part to the same look on another part, or where no part is named
MARKING = 0.6  # likeness of a marking of a colour (white tips) to the colour of the whole part
CONFLICT = -0.3  # points of a mark that a species contradicts: a white breast where the query has a red one
BETWEEN_SIDES = 0.8  # likeness of a look on one side of the wings to one whose side is not told
UNNAMED_STAGE = 0.8  # likeness of a look on a part of a larva or pupa to the same where no stage is named
_BREAK = re.compile(r"\s*[,;.]\s*|\s+with\s+")
_LIST_OF_PARTS = re.compile(r"\b(?:the )?((?:[a-z-]+(?:, | and |, and )(?:the )?)+[a-z-]+) (is|are) ([^,.;]+)")
_PARTS_WITH_ONE_LOOK = re.compile(
    r"((?:[a-z-]+ ){1,4}?(?:(?:on|over|across) (?:the )?)?)([a-z]+(?:, [a-z]+)*),? and ([a-z]+)(?![a-z-])"
)
_PART_WITH = re.compile(r"\b([a-z]+)(?: (?:is|are) .+?)?(?= with (.+))")
_CLAUSE = re.compile(r"[^,.;]+")
_NEW_CLAUSE = re.compile(r", (?:and )?(?=(?:the|an?) )")


class MarkIndex:
    """The marks of each species: group, part and look, and for each row with it the likeness to a plain look."""

    def __init__(self, db: sqlite3.Connection) -> None:
        """Read the database of `fill`."""
        self._db = db
        found = db.execute("SELECT organisms, rows FROM species").fetchall()
        self._rows: dict[str, IntArray] = {group: np.frombuffer(rows, dtype=np.intp) for group, rows in found}
        self.size = sum(map(len, self._rows.values()))

    @staticmethod
    def fill(db: sqlite3.Connection, texts: Iterable[str], groups_of_rows: Sequence[str]) -> None:
        """Write the marks of names and summaries into an empty database."""
        held: dict[tuple[str, str, str], dict[int, float]] = {}
        of_group: dict[str, list[int]] = {}
        for row, (text, group) in enumerate(zip(texts, groups_of_rows, strict=True)):
            of_group.setdefault(group, []).append(row)
            for part, look, likeness in _marks(_without_lists(text, group), group):
                best = held.setdefault((group, part, look), {})
                best[row] = max(likeness, best.get(row, 0.0))
        db.execute("CREATE TABLE species (organisms TEXT PRIMARY KEY, rows BLOB) STRICT")
        db.execute("CREATE TABLE marks (organisms TEXT, part TEXT, look TEXT, rows BLOB, likeness BLOB) STRICT")
        for group, rows in of_group.items():
            db.execute("INSERT INTO species VALUES (?, ?)", (group, np.array(rows, dtype=np.intp).tobytes()))
        for key, best in held.items():
            blobs = np.array([*best], dtype=np.intp).tobytes(), np.array([*best.values()], dtype=np.float32).tobytes()
            db.execute("INSERT INTO marks VALUES (?, ?, ?, ?, ?)", (*key, *blobs))
        db.execute("CREATE INDEX by_part ON marks (organisms, part)")
        db.execute("CREATE INDEX by_look ON marks (organisms, look)")

    def scores(self, description: str) -> tuple[FloatArray, FloatArray]:
        """Return the fit of each species to the marks of a description, and the share of them that its text lacks.

        Both are float32 `(n,)`, rare marks count more. A fit of 1 has all marks, one below 0 contradicts them. Without
        marks in the description all fits are 0 and all shares 1.
        """
        fit = np.zeros(self.size, dtype=np.float32)
        missing = np.ones(self.size, dtype=np.float32)
        for group, rows in self._rows.items():
            found, lacked, most = np.zeros_like(fit), np.zeros_like(fit), 0.0
            for part, look, is_marking in _query_marks(description, group):
                likeness = self._likeness(part, look, group, is_marking=is_marking)
                n_alike = float(np.maximum(likeness, 0).sum())
                rarity = math.log(1 + (len(rows) - n_alike + 0.5) / (n_alike + 0.5))
                found += np.float32(rarity) * likeness
                lacked += np.float32(rarity) * ((likeness >= 0) & (likeness <= SOME_PART))
                most += rarity
            if most:
                fit[rows], missing[rows] = found[rows] / np.float32(most), lacked[rows] / np.float32(most)
        return fit, missing

    def _likeness(self, part: str, look: str, group: str, *, is_marking: bool = False) -> FloatArray:
        """Return the likeness of each species' most similar mark; `CONFLICT` where only other looks of the part are."""
        likeness = np.zeros(self.size, dtype=np.float32)
        differs = np.zeros(self.size, dtype=bool)
        looks = {look: 1.0, **(near("near_colours").get(look, {}) if kind_of(look) == "colour" else {})}
        places = ", ".join("?" * len(looks))
        sql = f"SELECT part, look, rows, likeness FROM marks WHERE organisms = ? AND (part = ? OR look IN ({places}))"
        for other_part, other_look, *blobs in self._db.execute(sql, (group, part, *looks)):
            rows, shares = np.frombuffer(blobs[0], dtype=np.intp), np.frombuffer(blobs[1], dtype=np.float32)
            same_kind = kind_of(other_look) == kind_of(look)
            if other_part == part and part and same_kind and kind_of(look) != "pattern" and not is_marking:
                differs[rows] |= shares == 1
            if other_look in looks:
                some_part = SOME_PART if kind_of(look) == "colour" else 0.0
                alike = looks[other_look] * _alike(part, other_part, some_part, group)
                if is_marking:
                    shares = np.where(shares == 1, np.float32(MARKING), np.float32(1))
                likeness[rows] = np.maximum(likeness[rows], alike * shares)
        return np.where(differs & (likeness < -CONFLICT), np.float32(CONFLICT), likeness)


def _alike(part: str, other: str, some_part: float, group: str) -> float:
    """Return the likeness of two parts; of a larva, only a part of the same name may be meant without naming it."""
    (name, side, stage), (other_name, other_side, other_stage) = _split(part), _split(other)
    if other_side and not other_name and not other_stage:  # the wings of butterflies
        other_name = next(iter(column("sides", "part", group=group).values()), "")
    if stage != other_stage:
        return UNNAMED_STAGE if not stage and name == other_name and name not in ("", appearance(group).whole) else 0.0
    if side and other_side and side != other_side:
        return some_part
    if stage and {name, other_name} <= {"", "body"}:  # "a larva with dots", "the larva has a dotted body"
        return 1.0
    nearby = near("near_parts", group).get(name, {})
    likeness = 1.0 if name == other_name and name else nearby.get(other_name, some_part)
    return likeness * (1.0 if side == other_side else BETWEEN_SIDES)


def _split(part: str) -> tuple[str, str, str]:
    name, _, stage = part.partition(" of the ")
    name, _, side = name.partition(" on the ")
    return name, side, stage


def _query_marks(description: str, group: str) -> list[tuple[str, str, bool]]:
    """Return part, look and whether it is a marking of each mark in a description, in order."""
    others = appearance(group).others
    is_of_stage = any(others.get(word) in EARLY_STAGES for word in re.findall(r"[a-z-]+", description.lower()))
    pieces = [description] if is_of_stage else list(_phrases(description, group))
    marks = [mark for piece in pieces for mark in _marks(piece, group)]
    # The words find a glossy or slender bird.
    told = (mark for mark in marks if mark[0] or kind_of(mark[1]) == "colour")
    return list(dict.fromkeys((part, look, likeness != 1) for part, look, likeness in told))


def _marks(text: str, group: str) -> Iterator[tuple[str, str, float]]:
    """Yield part, look and likeness to a plain look of each mark."""
    for mark in every_mark(text, group):
        part = mark.part + (f" on the {mark.side}" if mark.side else "")
        part += f" of the {mark.sex_age}" if mark.sex_age in EARLY_STAGES else ""
        for look in mark.look.split(" and "):
            yield part, look or part, MARKING if mark.marking else 1.0


def _phrases(description: str, group: str) -> Iterator[str]:
    """Yield the phrases between commas, each with a part or a bird; a phrase without one belongs to the next."""
    named = groups(group)
    known = _part_words(group) | named.get("bird-noun", frozenset()) | named.get("whole-noun", frozenset())
    held: list[str] = []
    looks = appearance(group)
    for phrase in _BREAK.split(description):
        if looks.kept_apart and looks.whole and phrase and all(map(looks.has_look, phrase.lower().split())):
            phrase += " body"  # "white with orange wing tips": all of it is white, not the tips
        held.append(phrase)
        if any(word in known for word in re.findall(r"[a-z-]+", phrase)):
            yield " ".join(held)
            held = []
    if held:
        yield " ".join(held)


def _without_lists(text: str, group: str) -> str:
    """Return a text in lower case with each look beside its part, as sentences or phrases of their own.

    "The back and wings are black", "a black back, rump and tail", "white underparts with many bold black spots".
    """
    parts, looks = _part_words(group), appearance(group)

    def expand(found: re.Match[str]) -> str:
        words = re.findall(r"[a-z-]+", found[1])
        named: Sequence[str] = [word for word in words if word not in ("and", "the")]
        if len(named) < 2 or not all(part in parts for part in named):
            return found[0]
        return ". ".join(f"The {part} {found[2]} {found[3]}" for part in named)

    def repeat(found: re.Match[str]) -> str:
        named = [*found[2].split(", "), found[3]]
        if not all(part in parts for part in named) or not any(map(looks.has_look, re.findall("[a-z]+", found[1]))):
            return found[0]
        return "; ".join(f"{found[1]}{part}" for part in named)

    def with_patterns(clause: str) -> str:
        for found in _PART_WITH.finditer(clause):
            words = found[2].split()
            if found[1] in parts and not any(looks.part_at(words, i) for i in range(len(words))):
                named = (word for word in words if kind_of(looks.look_of([word], 0) or "") == "pattern")
                return "; ".join((clause, *(f"the {found[1]} is {word}" for word in named)))
        return clause

    text = _LIST_OF_PARTS.sub(expand, _NEW_CLAUSE.sub("; ", text.lower()))
    text = _PARTS_WITH_ONE_LOOK.sub(repeat, text)
    return _CLAUSE.sub(lambda found: with_patterns(found[0]), text)


@cache
def _part_words(group: str) -> frozenset[str]:
    return frozenset((*column("parts", "field_mark", group=group), "wingbars", "bars"))
