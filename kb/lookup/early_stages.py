"""Stages of life before the adult, and the words for them: caterpillars, pupae, tadpoles."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from data.lexicon.appearance import appearance
from data.lexicon.tables import BIRDS
from data.lexicon.taxa import group_of_taxon
from data.lexicon.word_groups import words_of
from data.records import Taxon

EARLY_STAGES = ("larva", "pupa")


def early_stages(taxon: Taxon) -> Mapping[str, str]:
    """Return word -> stage, of the words for early stages of a taxon.

    Example:
        >>> apollo = Taxon(taxon_id="p-a", scientific_name="Parnassius apollo", rank="species",
        ...                lineage={"order": "Lepidoptera"})
        >>> early_stages(apollo)["chrysalis"]
        'pupa'
    """
    others = appearance(group_of_taxon(taxon.lineage, taxon.scientific_name)).others
    return {word: stage for word, stage in others.items() if stage in EARLY_STAGES}


def stages_in(text: str, stages: Mapping[str, str]) -> frozenset[str]:
    """Return the stages that a text names."""
    return frozenset(stages[word] for word in words_of(text) if word in stages)


def words_of_any(taxa: Iterable[Taxon]) -> Collection[str]:
    """Return the words that fit every species of other groups than birds ("butterfly", "larva"), so tell none apart.

    Empty if one of them is a bird: the words of birds were measured.

    Example:
        >>> apollo = Taxon(taxon_id="p-a", scientific_name="Parnassius apollo", rank="species",
        ...                lineage={"order": "Lepidoptera"})
        >>> [word in words_of_any([apollo]) for word in ("butterfly", "caterpillar", "osmeterium")]
        [True, True, False]
    """
    groups = {group_of_taxon(taxon.lineage, taxon.scientific_name) for taxon in taxa}
    found = set()
    for looks in map(appearance, groups if BIRDS not in groups else ()):
        named = {*looks.adults, *(word for word, stage in looks.others.items() if stage in EARLY_STAGES)}
        found |= {word for word in named if looks.part_at([word], 0) in (None, looks.whole)}
    return found
