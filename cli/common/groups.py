"""Words on the small models that ship, for groups that they were not trained on."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.common import output
from data.words import plural
from kb.reasons import NO_ANCHORS
from recognize.settings import BIRD_PROFILE, GENERAL_PROFILE

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase

BETTER: Final = "--profile best (pip install '.[models]') is the better choice"
GENERAL: Final = (
    "The small models that ship were trained on birds. Other groups are compared by general features: with two "
    "reference photos of each of 350 species, the first name was right for .68 of the photos (of birds, as if no model "
    f"knew them; .94 with it). {BETTER}"
)
"""Expectation of the profile `general`."""
_ASKED: Final = 64  # species, evenly spaced, that tell the group of a knowledge base


def note_group_once(store: KnowledgeBase, home: Path) -> None:
    """Say how photos are compared as `note_group` does, once per knowledge base, and what is seldom named each time."""
    told = home / "notices" / store.info.id
    if not told.exists():
        note_group(store)
        with suppress(OSError):  # then it is said again
            told.parent.mkdir(parents=True, exist_ok=True)
            told.touch()
    n_without = store.status().marks.get(NO_ANCHORS, 0) if store.info.profile == GENERAL_PROFILE else 0
    if 0 < n_without < len(store.taxon_ids):
        have = "has no reference photo and is" if n_without == 1 else "have no reference photos and are"
        output.note(f"{plural(n_without, 'species', 'species')} {have} seldom named: kb add --photo gives one")


def note_group(store: KnowledgeBase) -> None:
    """Say how the photos of a knowledge base are compared, if not by a model trained on its species."""
    if store.info.profile == GENERAL_PROFILE:
        output.note(GENERAL)
    elif store.info.profile == BIRD_PROFILE and (n := n_others(store)):
        output.warn(bird_model_text(n))


def n_others(store: KnowledgeBase) -> int:
    """Return the number of species that are not birds, among up to 64 of them."""
    from kb.checklist.avilist import is_bird

    ids = store.taxon_ids
    asked = [ids[at * len(ids) // _ASKED] for at in range(_ASKED)] if len(ids) > _ASKED else ids
    return sum(not is_bird(entry.taxon) for entry in store.species(asked))


def bird_model_text(n: int) -> str:
    """Return the warning about species that are not birds in a knowledge base of the bird models."""
    return (
        f"{plural(n, 'species', 'species')} of this knowledge base {'is' if n == 1 else 'are'} no bird, but photos are "
        "compared, and confidence is estimated, by models trained on birds. Build another knowledge base for other "
        f"groups: it gets the profile {GENERAL_PROFILE}; {BETTER}"
    )
