"""Sentences of our own out of facts: one to four of them, in the order of a field guide.

Build and size come first, then the upperparts, the head, the underparts, then bill, legs and eyes, then the sexes where
they differ. Parts of one look share a phrase. Which of several forms a species gets hangs on its id alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from data.records import Taxon
from data.starter.knowledge import Fact
from kb.starter.families import noun_of
from kb.starter.wording import (
    PLURAL,
    listed,
    look_of,
    name_of,
    noun_phrase,
    said_look_of,
    sentence,
    shapes_of,
    with_article,
)

UPPER = ("upperparts", "back", "shoulder", "wings", "wingpatch", "wingbars", "speculum", "flightfeathers", "wingtips")
REAR = ("rump", "uppertail", "tail", "outertail", "tailband", "tailtip")
HEAD = (
    *("head", "hood", "cap", "crown", "crownstripe", "forehead", "crest", "face", "facialdisc", "mask", "eyebrow"),
    *("eyestripe", "lores", "cheek", "eyering", "moustache", "eartufts", "nape"),
)
UNDER = ("chin", "throat", "bib", "collar", "neck", "breast", "breastband", "belly", "flanks", "underparts", "undertail")
BARE = ("bill", "uppermandible", "lowermandible", "billtip", "billbase", "cere", "casque", "shield", "wattle", "legs", "eyes")
MARKS = frozenset(
    ("wingbars", "wingpatch", "speculum", "wingtips", "tailband", "tailtip", "crownstripe", "crest", "mask", "eyebrow")
    + ("eyestripe", "eyering", "moustache", "eartufts", "collar", "breastband", "facialdisc", "cap", "bib", "shoulder")
)
"""What is a mark of its own and does not share its words with an area."""
# What a part makes needless to say, if it looks the same.
COVERED: Mapping[str, tuple[str, ...]] = {
    "body": (*UPPER[:4], "rump", "tail", "head", "crown", "nape", "throat", "breast", "belly", "flanks", "underparts"),
    "upperparts": ("back", "nape", "rump", "wings"),
    "underparts": ("breast", "belly", "flanks"),
    "head": ("crown", "cap", "nape", "forehead", "face", "cheek", "hood"),
    "hood": ("head", "crown", "nape"),
    "cap": ("crown", "forehead"),
    "throat": ("chin", "bib"),
}


@dataclass(frozen=True, slots=True)
class _Choice:
    """Picks forms by the species' id, a new byte for each question."""

    seed: bytes

    def of(self, n: int, question: int) -> int:
        return self.seed[question] % n


def compose(taxon: Taxon, facts: Sequence[Fact], *, length_cm: tuple[float, float] | None = None) -> tuple[str, ...]:
    """Return the sentences that say these facts."""
    choice = _Choice(hashlib.sha256(taxon.taxon_id.encode()).digest())
    shared = {fact.part: fact for fact in facts if fact.sex == "both"}
    plumage = _needed(shared)
    noun = noun_of(taxon)
    sentences = _opening(shared, plumage, noun, choice)
    plain, clauses = _plumage(plumage, noun, choice, is_first=not sentences)
    sentences += plain
    bare = _bare_parts(shared, told_shapes=bool(sentences) and " with " in sentences[0])
    subject = "it" if sentences else f"this {noun}"
    sentences += _told([*clauses, *bare], len(clauses), subject, choice)
    sentences += _sexes([fact for fact in facts if fact.sex != "both"], choice)
    if length_cm is not None:
        low, high = length_cm
        sentences.append(f"Length {low:g} to {high:g} cm." if low < high else f"Length about {low:g} cm.")
    return tuple(sentences)


def _needed(shared: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return the facts on plumage that must be said: not those that another one covers."""
    seen = {
        part: fact for part, fact in shared.items() if part not in BARE and part != "bird" and look_of(fact)
    }
    dropped: set[str] = set()
    for whole, parts in COVERED.items():
        if whole not in seen or whole in dropped:
            continue
        same = {part for part in parts if part in seen and _is_covered(seen[part], seen[whole])}
        other = {part for part in parts if part in seen} - same
        if whole == "body" and other:
            dropped.add(whole)  # the parts say it better
        else:
            dropped |= same
    return {part: fact for part, fact in seen.items() if part not in dropped}


def _is_covered(fact: Fact, whole: Fact) -> bool:
    if fact.colours:
        return set(fact.colours) <= set(whole.colours) and said_look_of(fact) in (said_look_of(whole), " ".join(fact.colours))
    return not fact.shape and bool(whole.shade == fact.shade or not whole.shade)


# --- the first sentence ------------------------------------------------------------------------------------------


def _opening(shared: Mapping[str, Fact], plumage: dict[str, Fact], noun: str, choice: _Choice) -> list[str]:
    """Return the sentence on size and build, and take the plumage's one colour into it."""
    adjectives = [word for part in ("bird", "body") if part in shared for word in shapes_of(shared[part])]
    looks = ""
    if "body" in plumage and adjectives:
        looks = look_of(plumage.pop("body"))
    traits = _traits(shared)
    if not adjectives and not (len(traits) >= 2):
        return []
    first = ", ".join(adjectives)
    head = with_article(" ".join(word for word in (first, looks, noun) if word))
    if not traits:
        return [sentence(head)] if looks or len(adjectives) > 1 else []
    return [sentence(f"{head} with {listed(traits)}")]


def _traits(shared: Mapping[str, Fact]) -> list[str]:
    traits = []
    for part in ("head", "neck", "bill", "wings", "tail", "legs"):
        fact = shared.get(part)
        if fact is None or not shapes_of(fact):
            continue
        words = shapes_of(fact)
        if part == "legs" and "webbed" in words:
            traits.append("webbed feet")
            words = [word for word in words if word != "webbed"]
            if not words:
                continue
        phrase = f"{', '.join(words)} {name_of(part)}"
        traits.append(phrase if part in PLURAL else with_article(phrase))
    return traits


# --- plumage -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Clause:
    """Parts that share a look: `said` follows "is", `before` stands before the noun (none where only "is" will do)."""

    parts: tuple[str, ...]
    said: str
    before: str
    name: str = ""
    """What stands for the parts, where it is not their own names."""

    @property
    def as_is(self) -> str:
        verb = "are" if len(self.parts) > 1 or self.parts[0] in PLURAL else "is"
        return f"the {self.name or listed([name_of(part) for part in self.parts])} {verb} {self.said}"

    @property
    def as_has(self) -> str:
        return noun_phrase(self.before, self.parts)


def _groups(plumage: Mapping[str, Fact], order: Sequence[str]) -> list[list[str]]:
    """Return the parts of one look together, in the order of the parts; marks stay alone."""
    groups: dict[str, list[str]] = {}
    for part in order:
        if part in plumage:
            look = part if part in MARKS else said_look_of(plumage[part])
            groups.setdefault(look, []).append(part)
    return list(groups.values())


def _plumage(
    plumage: dict[str, Fact], noun: str, choice: _Choice, *, is_first: bool
) -> tuple[list[str], list[_Clause]]:
    """Return sentences on the whole bird, and clauses for its parts."""
    sentences: list[str] = []
    subject = f"this {noun}" if is_first else "it"
    if "body" in plumage:
        look = said_look_of(plumage.pop("body"))
        forms = (f"{subject} is mostly {look}", f"the plumage is mainly {look}", f"most of the plumage is {look}")
        sentences.append(sentence(forms[choice.of(3, 0)]))
        subject = "it"
    if {"upperparts", "underparts"} <= set(plumage) and choice.of(3, 1):
        above, below = (said_look_of(plumage.pop(part)) for part in ("upperparts", "underparts"))
        forms = (f"{subject} is {above} above and {below} below", f"above {subject} is {above}, below {below}")
        sentences.append(sentence(forms[choice.of(2, 2)] if above != below else f"{subject} is {above} above and below"))
    groups = [group for region in ((*UPPER, *REAR), HEAD, UNDER) for group in _groups(plumage, region)]
    merged: list[list[str]] = []
    for group in groups:
        look = said_look_of(plumage[group[0]])
        home = next((other for other in merged if said_look_of(plumage[other[0]]) == look), None)
        if home is not None and not {*home, *group} & MARKS and len(home) + len(group) <= 4:
            home.extend(group)
        else:
            merged.append(list(group))
    return sentences, [
        _Clause(tuple(group), said_look_of(plumage[group[0]]), look_of(plumage[group[0]])) for group in merged
    ]


def _told(clauses: Sequence[_Clause], n_plumage: int, subject: str, choice: _Choice) -> list[str]:
    """Return the clauses in one to three sentences, "the back is ..." and "it has a ..." in turn."""
    if not clauses:
        return []
    if len(clauses) <= 4:
        rows = [list(clauses)]
    else:
        rows = [list(clauses[:n_plumage]), list(clauses[n_plumage:])]
        if n_plumage > 4:
            middle = (n_plumage + 1) // 2
            rows = [list(clauses[:middle]), list(clauses[middle:n_plumage]), rows[1]]
    sentences = []
    form = choice.of(2, 3)
    for row in filter(None, rows):
        is_bare = row[0] in clauses[n_plumage:]
        told = _in_one(row, subject, form if not is_bare or len(row) == 1 else 0)
        sentences.append(told)
        subject, form = "it", 1 - form
    return sentences


def _in_one(clauses: Sequence[_Clause], subject: str, form: int) -> str:
    if form == 0 or not all(clause.before for clause in clauses):
        said = [clause.as_is for clause in clauses]
        many = len(said) > 2 or any(" and " in clause for clause in said)
        return sentence(f"{', '.join(said[:-1])}, and {said[-1]}" if many and len(said) > 1 else listed(said))
    phrases = [clause.as_has for clause in clauses]
    if any(" and " in phrase for phrase in phrases) and len(phrases) > 1:
        return sentence(f"{subject} has {', '.join(phrases[:-1])}, and {phrases[-1]}")
    return sentence(f"{subject} has {listed(phrases)}")


# --- bare parts and sexes ----------------------------------------------------------------------------------------


def _bare_parts(shared: Mapping[str, Fact], *, told_shapes: bool) -> list[_Clause]:
    clauses: list[_Clause] = []
    for part in BARE:
        fact = shared.get(part)
        if fact is None:
            continue
        colours, shapes = said_look_of(fact), [] if told_shapes else shapes_of(fact)
        if part == "legs" and "webbed" in shapes:
            shapes.remove("webbed")
            clauses.append(_Clause(("legs",), "webbed", "", "feet"))
        if not colours and not shapes:
            continue
        same = next((c for c in clauses if c.said == colours and not shapes and not c.name), None)
        if same is not None:
            clauses[clauses.index(same)] = _Clause((*same.parts, part), same.said, same.before)
            continue
        before = " ".join(word for word in (", ".join(shapes), look_of(fact)) if word)
        if colours and shapes:
            clauses.append(_Clause((part,), colours, before, f"{', '.join(shapes)} {name_of(part)}"))
        else:
            clauses.append(_Clause((part,), colours or listed(shapes), before))
    return clauses


def _sexes(facts: Sequence[Fact], choice: _Choice) -> list[str]:
    phrases: dict[str, list[str]] = {"male": [], "female": []}
    for sex in ("male", "female"):
        own = [fact for fact in facts if fact.sex == sex]
        looks: dict[str, list[str]] = {}
        for part in (*UPPER, *REAR, *HEAD, *UNDER, *BARE, "body"):
            for fact in own:
                if fact.part == part and look_of(fact):
                    looks.setdefault(look_of(fact), []).append(part)
        phrases[sex] = [noun_phrase(look, parts).replace("a plumage", "plumage") for look, parts in looks.items()]
    male, female = listed(phrases["male"]), listed(phrases["female"])
    if male and female:
        return [sentence(f"the male has {male}; the female has {female}")]
    if male or female:
        who, what = ("male", male) if male else ("female", female)
        return [sentence(f"the {who} has {what}" if choice.of(2, 5) else f"in the {who} it has {what}")]
    return []
