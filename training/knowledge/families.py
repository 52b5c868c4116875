"""Relative shapes ("a long tail"), which are facts only if more than two sources or the bird's family support them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from data.records import Taxon
from training.knowledge.agreement import AgreedFact
from training.knowledge.vocabulary import WORDS

RELATIVE = frozenset(WORDS["relative"]["shapes"].split())
MIN_SHARE = 1 / 3
"""Least share of a family's species with a relative shape that supports it."""


class Families:
    """Numbers of species with each fact, by family."""

    def __init__(self, facts: Mapping[str, Sequence[AgreedFact]], taxa: Mapping[str, Taxon]) -> None:
        self._family = {key: taxa[key].lineage.get("family", "") for key in facts}
        self._n_species = Counter(self._family.values())
        self._n_with: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        for key, of_species in facts.items():
            self._n_with[self._family[key]].update({(fact.part, fact.value) for fact in of_species})

    def is_doubtful(self, taxon_id: str, fact: AgreedFact) -> bool:
        """Return whether a fact is a relative shape of two sources alone, and not usual in the family.

        "Long" is said of the tails of most birds; it is a fact of a mockingbird, whose family has long tails.
        """
        if fact.aspect != "shape" or fact.value not in RELATIVE or fact.is_trusted or fact.n_sources >= 3:
            return False
        family = self._family[taxon_id]
        n_with = self._n_with[family][fact.part, fact.value]
        return n_with < max(3, MIN_SHARE * self._n_species[family])


def without_doubtful(
    facts: Mapping[str, Sequence[AgreedFact]], taxa: Mapping[str, Taxon]
) -> dict[str, list[AgreedFact]]:
    """Return taxon_id -> its facts without doubtful ones."""
    families = Families(facts, taxa)
    return {key: [fact for fact in given if not families.is_doubtful(key, fact)] for key, given in facts.items()}
