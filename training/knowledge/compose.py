"""Composition of one to four sentences of our own from facts, in the order of a field guide.

Build and size come first, then upperparts, head, underparts, bill, legs and eyes, then differences between the sexes.
Parts that look the same share a phrase. A species' id alone selects among the forms of a sentence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from data.records import Taxon
from data.starter.knowledge import Fact
from training.knowledge.vocabulary import word_lists
from training.knowledge.wording import (
    PLURAL,
    listed,
    look_of,
    name_of,
    noun_of,
    noun_phrase,
    patterns_of,
    predicate_of,
    sentence,
    shapes_of,
    with_article,
)

_REGIONS = word_lists("regions")
UPPER, REAR, HEAD, UNDER, BARE = (_REGIONS[name] for name in ("upper", "rear", "head", "under", "bare"))
MARKS = frozenset(word_lists("kinds")["marks"])
"""Parts that share no words with an area."""
COVERED = word_lists("covered")
"""Part -> the parts that need no words of their own if they look the same."""


def compose(taxon: Taxon, facts: Sequence[Fact], *, variant: int = 0) -> tuple[str, ...]:
    """Return the facts as sentences that do not name the species.

    Args:
        taxon: its id selects among the forms of a sentence.
        facts: facts of the species.
        variant: another number may select other forms.

    Example:
        >>> family = {"family": "Troglodytidae"}
        >>> wren = Taxon(taxon_id="w-r", scientific_name="Wrena rubra", rank="species", lineage=family)
        >>> crown, bill = Fact(part="crown", colours=("rufous",)), Fact(part="bill", colours=("black",), shape="thin")
        >>> compose(wren, [crown, bill])
        ('This wren has a rufous crown and a thin black bill.',)
    """
    seed = f"{taxon.taxon_id} {variant}" if variant else taxon.taxon_id
    digest = hashlib.sha256(seed.encode()).digest()
    sentences = _composed(facts, noun_of(taxon), digest, is_plain=variant % 3 == 2)
    text = " ".join(sentences).lower()
    if any(name.lower() in text for name in taxon.common_names):  # "a brown pelican" names the Brown Pelican
        sentences = _composed(facts, "bird", digest, is_plain=variant % 3 == 2)
    return tuple(sentences)


def _composed(facts: Sequence[Fact], noun: str, digest: bytes, *, is_plain: bool) -> list[str]:
    """Return the sentences; each byte of the digest selects one form."""
    shared = {fact.part: fact for fact in facts if fact.sex == "both"}
    plumage = _needed(shared)
    sentences = _opening(shared, plumage, noun, is_plain=is_plain)
    plain, clauses = _plumage(plumage, noun, digest, is_first=not sentences)
    sentences += plain
    bare = [*_lone_shapes(shared), *_bare_parts(shared)]
    subject = "it" if sentences else f"this {noun}"
    sentences += _clause_sentences([*clauses, *bare], len(clauses), subject, digest[3] % 2)
    return sentences + _sexes([fact for fact in facts if fact.sex != "both"])


def _needed(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return the facts on plumage that no other fact covers."""
    seen = {part: fact for part, fact in facts.items() if part not in BARE and part != "bird" and look_of(fact)}
    dropped: set[str] = set()
    for whole, parts in COVERED.items():
        if whole not in seen or whole in dropped:
            continue
        same = {part for part in parts if part in seen and _is_covered(seen[part], seen[whole])}
        other = {part for part in parts if part in seen} - same
        if whole == "body" and other:
            dropped.add(whole)  # the parts are more precise
            continue
        dropped |= same
        for part in other:
            if seen[part].colours and set(seen[part].colours) <= set(seen[whole].colours):
                seen[part] = replace(seen[part], colours=(), shade="")  # the pattern alone is new
    return {part: fact for part, fact in seen.items() if part not in dropped}


def _is_covered(fact: Fact, whole: Fact) -> bool:
    if not set(patterns_of(fact)) <= set(patterns_of(whole)):
        return False
    if fact.colours:
        return set(fact.colours) <= set(whole.colours)
    return bool(patterns_of(fact)) or fact.shade == whole.shade or (not whole.shade and bool(whole.colours))


def _opening(shared: dict[str, Fact], plumage: dict[str, Fact], noun: str, *, is_plain: bool) -> list[str]:
    """Return the sentence on size and build, if any; its facts are removed from `shared` and `plumage`."""
    adjectives = [word for part in ("bird", "body") if part in shared for word in shapes_of(shared[part])]
    shaped = [p for p in ("head", "neck", "bill", "wings", "tail", "legs") if p in shared and shapes_of(shared[p])]
    plain = [sentence(f"this {noun} is {listed(adjectives)}")]
    if not adjectives and (len(shaped) < 2 or is_plain):
        return []
    if is_plain:
        return plain
    look = look_of(plumage.pop("body")) if "body" in plumage and adjectives else ""
    if not shaped and not look and len(adjectives) < 2:
        return plain
    head = with_article(" ".join(word for word in (", ".join(adjectives), look, noun) if word))
    traits = [trait for part in shaped for trait in _traits(part, shared.pop(part), plumage)]
    return [sentence(f"{head} with {listed(traits)}" if traits else head)]


def _traits(part: str, fact: Fact, plumage: dict[str, Fact]) -> list[str]:
    """Return the phrases on a part for the first sentence: its shape, and its colour unless the plumage says it."""
    words = shapes_of(fact)
    traits = []
    if part == "legs" and "webbed" in words:
        traits.append("webbed feet")
        words = [word for word in words if word != "webbed"]
    look = "" if part in plumage and part in ("head", "neck", "wings") else look_of(fact)
    if look:
        plumage.pop(part, None)
    phrase = " ".join(word for word in (", ".join(words), look, name_of(part)) if word)
    if words or look:
        traits.insert(0, phrase if part in PLURAL else with_article(phrase))
    return traits


@dataclass(frozen=True, slots=True)
class _Clause:
    """Parts that share a look: `predicate` follows "is"; `attribute` precedes the noun, empty if it cannot."""

    parts: tuple[str, ...]
    predicate: str
    attribute: str
    name: str = ""
    """Replaces the names of the parts."""

    @property
    def with_is(self) -> str:
        verb = "are" if len(self.parts) > 1 or self.parts[0] in PLURAL else "is"
        return f"the {self.name or listed([name_of(part) for part in self.parts])} {verb} {self.predicate}"

    @property
    def with_has(self) -> str:
        return noun_phrase(self.attribute, self.parts)


def _groups(plumage: Mapping[str, Fact], order: Sequence[str]) -> list[list[str]]:
    """Return groups of parts that look the same, in order; marks stay alone."""
    groups: dict[str, list[str]] = {}
    for part in order:
        if part in plumage:
            look = part if part in MARKS else predicate_of(plumage[part])
            groups.setdefault(look, []).append(part)
    return list(groups.values())


def _plumage(plumage: dict[str, Fact], noun: str, digest: bytes, *, is_first: bool) -> tuple[list[str], list[_Clause]]:
    """Return sentences on the whole bird and clauses on its parts."""
    sentences: list[str] = []
    subject = f"this {noun}" if is_first else "it"
    if "body" in plumage:
        look = predicate_of(plumage.pop("body"))
        forms = (f"{subject} is mostly {look}", f"the plumage is mainly {look}", f"most of the plumage is {look}")
        sentences.append(sentence(forms[digest[0] % 3]))
        subject = "it"
    if {"upperparts", "underparts"} <= set(plumage) and digest[1] % 3:
        above, below = (predicate_of(plumage.pop(part)) for part in ("upperparts", "underparts"))
        ways = (f"{subject} is {above} above and {below} below", f"above it is {above}, below {below}")
        form = 0 if is_first and not sentences else digest[2] % 2
        sentences.append(sentence(ways[form] if above != below else f"{subject} is {above} above and below"))
    groups = [group for region in ((*UPPER, *REAR), HEAD, UNDER) for group in _groups(plumage, region)]
    merged: list[list[str]] = []
    for group in groups:
        look = predicate_of(plumage[group[0]])
        home = next((other for other in merged if predicate_of(plumage[other[0]]) == look), None)
        if home is not None and not {*home, *group} & MARKS and len(home) + len(group) <= 4:
            home.extend(group)
        else:
            merged.append(list(group))
    return sentences, [
        _Clause(tuple(group), predicate_of(plumage[group[0]]), look_of(plumage[group[0]])) for group in merged
    ]


def _clause_sentences(clauses: Sequence[_Clause], n_plumage: int, subject: str, form: int) -> list[str]:
    """Return the clauses in one to three sentences, in turn of form 0 ("the back is ...") and 1 ("it has a ...")."""
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
    for row in filter(None, rows):
        is_bare = row[0] in clauses[n_plumage:]
        text = _one_sentence(row, subject, form if not is_bare or len(row) == 1 else 0)
        sentences.append(text)
        subject, form = "it", 1 - form
    return sentences


def _one_sentence(clauses: Sequence[_Clause], subject: str, form: int) -> str:
    if form == 0 or not all(clause.attribute for clause in clauses):
        texts = [clause.with_is for clause in clauses]
        many = len(texts) > 2 or any(" and " in text for text in texts)
        return sentence(f"{', '.join(texts[:-1])}, and {texts[-1]}" if many and len(texts) > 1 else listed(texts))
    return sentence(f"{subject} has {_joined([clause.with_has for clause in clauses])}")


def _lone_shapes(shared: Mapping[str, Fact]) -> list[_Clause]:
    """Return clauses on the shapes of parts that the first sentence did not mention."""
    parts = [part for part in ("head", "neck", "wings", "tail", "crest") if part in shared and shapes_of(shared[part])]
    return [_Clause((part,), listed(shapes_of(shared[part])), ", ".join(shapes_of(shared[part]))) for part in parts]


def _bare_parts(shared: Mapping[str, Fact]) -> list[_Clause]:
    clauses: list[_Clause] = []
    for part in BARE:
        fact = shared.get(part)
        if fact is None:
            continue
        colours, shapes = predicate_of(fact), shapes_of(fact)
        if part == "legs" and "webbed" in shapes:
            shapes.remove("webbed")
            clauses.append(_Clause(("legs",), "webbed", "", "feet"))
        if not colours and not shapes:
            continue
        same = next((c for c in clauses if c.predicate == colours and not shapes and not c.name), None)
        if same is not None:
            clauses[clauses.index(same)] = _Clause((*same.parts, part), same.predicate, same.attribute)
            continue
        before = " ".join(word for word in (", ".join(shapes), look_of(fact)) if word)
        if colours and shapes:
            clauses.append(_Clause((part,), colours, before, f"{', '.join(shapes)} {name_of(part)}"))
        else:
            clauses.append(_Clause((part,), colours or listed(shapes), before))
    return clauses


def _sexes(facts: Sequence[Fact]) -> list[str]:
    looks = {}
    for sex in ("male", "female"):
        own = {fact.part: fact for fact in facts if fact.sex == sex and look_of(fact)}
        needed = {**_needed(own), **{part: fact for part, fact in own.items() if part in BARE}}
        phrases = []
        for look, parts in _by_look(needed):
            areas = [part for part in parts if part != "body"]
            phrases += [f"{look} plumage"] if "body" in parts else []
            phrases += [noun_phrase(look, areas)] if areas else []
        looks[sex] = _joined(phrases)
    if looks["male"] and looks["female"]:
        return [sentence(f"the male has {looks['male']}; the female has {looks['female']}")]
    return [sentence(f"the {sex} has {phrase}") for sex, phrase in looks.items() if phrase]


def _by_look(facts: Mapping[str, Fact]) -> list[tuple[str, list[str]]]:
    looks: dict[str, list[str]] = {}
    for part in ("body", *UPPER, *REAR, *HEAD, *UNDER, *BARE):
        if part in facts:
            looks.setdefault(look_of(facts[part]), []).append(part)
    return list(looks.items())


def _joined(phrases: Sequence[str]) -> str:
    """Return the phrases as a list, with a comma before "and" if a phrase has an "and" of its own."""
    if len(phrases) > 1 and any(" and " in phrase for phrase in phrases):
        return f"{', '.join(phrases[:-1])}, and {phrases[-1]}"
    return listed(phrases)
