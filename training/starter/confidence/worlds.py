"""Random knowledge bases, and photos identified with them.

A confidence must hold in knowledge bases that nobody has seen yet. So it is fitted on many random ones: of one to all
species, chosen singly or by family; with none to three anchors a species, with and without texts; with photos of
species that they hold and of species that they do not, known to the model or new to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import IntArray
from data.contracts import VectorTable
from kb.checklist.avilist import load_checklist
from recognize.answers import RANKS, Lineage
from recognize.confidence.evidence import N_JUDGED, Mode, find_evidence, mode_of
from recognize.scoring.exact import Scores
from recognize.scoring.knowledge import Knowledge, Queries
from recognize.scoring.presets import Settings, score
from recognize.scoring.stages import Ranking
from training.collection import ANCHOR_SOURCES
from training.starter.study import Model

FEWEST: Final = 1
MOST_PHOTOS: Final = 30  # of each kind and knowledge base
MOST_ANCHORS: Final = 3
ALL_TRAINED: Final = 0.35
"""Share of the knowledge bases that hold all species of the model, as the shipped one does: without a background."""
BY_FAMILY: Final = 0.4
WITHOUT_TEXTS: Final = 0.35
TEXTS_LOST: Final = 0.33
"""Share of the species without text where there are texts. Only described species are drawn there, but for knowledge
bases of all species: a missing text must say little on whether a species is the right one."""


@dataclass(frozen=True)
class World:
    """A model, all species of its collection, and photos that it was not trained on."""

    model: Model
    photos: IntArray
    """Photos to identify."""
    anchors: IntArray
    """Photos that may be anchors."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All species with photos or descriptions, sorted."""
        collection = self.model.collection
        return tuple(sorted({*collection.vocabulary, *(photo.species for photo in collection.photos)}))

    @cached_property
    def labels(self) -> IntArray:
        """Species of each photo."""
        row_of = {name: row for row, name in enumerate(self.names)}
        return np.array([row_of[photo.species] for photo in self.model.collection.photos], dtype=np.intp)

    @cached_property
    def lineages(self) -> list[Lineage]:
        """Lineage of each species by the checklist; of names that it lacks the genus alone."""
        checklist = load_checklist()
        taxa = [(name, checklist.find(name)) for name in self.names]
        return [taxon.lineage if taxon is not None else {"genus": name.split()[0]} for name, taxon in taxa]

    @cached_property
    def families(self) -> list[str]:
        """Family of each species."""
        return [lineage.get("family", "") for lineage in self.lineages]

    @cached_property
    def prototype_rows(self) -> IntArray:
        """Row of each species among the model's prototypes, -1 for a new one."""
        row_of = {name: row for row, name in enumerate(self.model.heads.species)}
        return np.array([row_of.get(name, -1) for name in self.names], dtype=np.intp)

    @cached_property
    def _text_rows(self) -> IntArray:
        row_of = {name: row for row, name in enumerate(self.model.collection.vocabulary)}
        return np.array([row_of.get(name, -1) for name in self.names], dtype=np.intp)

    @cached_property
    def _anchors_of(self) -> dict[int, list[int]]:
        """Anchors of each species, those of the protocol first."""
        photos = self.model.collection.photos
        rank = {source: i for i, source in enumerate(ANCHOR_SOURCES)}
        order = sorted(self.anchors.tolist(), key=lambda i: (rank.get(photos[i].source, len(rank)), photos[i].path))
        found: dict[int, list[int]] = {}
        for photo in order:
            found.setdefault(int(self.labels[photo]), []).append(photo)
        return found

    def anchors_of(self, species: IntArray, n: int) -> tuple[IntArray, IntArray]:
        """Return up to `n` anchors of each of some species, and the position of each one's species."""
        chosen = [(i, photo) for i, each in enumerate(species) for photo in self._anchors_of.get(int(each), [])[:n]]
        pairs = np.array(chosen, dtype=np.intp).reshape(-1, 2)
        return pairs[:, 1], pairs[:, 0]

    @cached_property
    def described(self) -> IntArray:
        """The species with descriptions."""
        return np.flatnonzero(self._text_rows >= 0)

    def knowledge(self, species: IntArray, *, n_anchors: int, texts_of: IntArray) -> Knowledge:
        """Return the knowledge of some species, ascending.

        Args:
            species: the species.
            n_anchors: maximum number of anchors of each.
            texts_of: species with a text, if they are described.
        """
        model, heads = self.model, self.model.heads
        photos, owners = self.anchors_of(species, n_anchors)
        ids = tuple(str(photo) for photo in photos)
        described = np.flatnonzero((self._text_rows[species] >= 0) & np.isin(species, texts_of))
        texts = model.texts[self._text_rows[species[described]]]
        rows = self.prototype_rows[species]
        trained = np.flatnonzero(rows >= 0)
        background = np.setdiff1d(np.arange(len(heads.species)), rows)
        return Knowledge(
            n_species=len(species),
            names=("starter",),
            chunks=(VectorTable(ids=tuple(map(str, described)), owners=described, vectors=texts),),
            anchors=VectorTable(ids=ids, owners=owners, vectors=model.looks[photos]),
            images=(VectorTable(ids=ids, owners=owners, vectors=model.photos[photos]),),
            trained=trained,
            prototypes=heads.prototypes[rows[trained]],
            background=heads.prototypes[background],
            background_names=tuple(heads.species[row] for row in background),
        )


@dataclass(frozen=True, kw_only=True)
class Run:
    """Photos identified with one knowledge base and preset."""

    world: World
    species: IntArray
    """The species of the knowledge base, ascending."""
    knowledge: Knowledge
    photos: IntArray
    rankings: Sequence[Ranking]

    @cached_property
    def mode(self) -> Mode:
        """Anchor mode of the knowledge base."""
        return mode_of(self.knowledge)

    @cached_property
    def truth(self) -> IntArray:
        """Species of each photo."""
        return self.world.labels[self.photos]

    @cached_property
    def is_held(self) -> NDArray[np.bool_]:
        """Whether the knowledge base holds the species of each photo."""
        return np.isin(self.truth, self.species)

    @cached_property
    def is_new(self) -> NDArray[np.bool_]:
        """Whether the model has not seen the species of each photo."""
        return self.world.prototype_rows[self.truth] < 0

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Whether the first species, its genus, family and order are right, `(n, 4)`."""
        lineages = self.world.lineages
        found = np.zeros((len(self.photos), len(RANKS)), dtype=np.bool_)
        for row, (ranking, truth) in enumerate(zip(self.rankings, self.truth.tolist(), strict=True)):
            if len(ranking.species):
                first = int(self.species[ranking.species[0]])
                same = [lineages[truth].get(rank, "") == lineages[first].get(rank, "-") for rank in RANKS[1:]]
                found[row] = [first == truth, *(first == truth or is_same for is_same in same)]
        return found

    def scored(self) -> list[tuple[Scores, int | None]]:
        """Return the scores of the best species of each held photo, and the position of the right one, if any."""
        found = []
        for row in np.flatnonzero(self.is_held).tolist():
            ranking = self.rankings[row]
            at = np.flatnonzero(self.species[ranking.species[:N_JUDGED]] == self.truth[row])
            found.append((ranking.scores[:N_JUDGED], int(at[0]) if len(at) else None))
        return found

    def evidence(self, temperature: float) -> Scores:
        """Return the features of each photo."""
        model, lineages = self.world.model, self.world.lineages
        queries = Queries(text_image=(model.photos[self.photos],), visual=model.looks[self.photos])
        return find_evidence(
            self.rankings, queries, self.knowledge, lambda at: [lineages[i] for i in self.species[at]],
            temperature=temperature,
        ).rows  # fmt: skip


def identify(world: World, species: IntArray, knowledge: Knowledge, photos: IntArray, preset: str) -> Run:
    """Return photos identified with the knowledge base of some species."""
    queries = Queries(text_image=(world.model.photos[photos],), visual=world.model.looks[photos])
    rankings = score(preset, knowledge, queries, Settings(n_shown=N_JUDGED))
    return Run(world=world, species=species, knowledge=knowledge, photos=photos, rankings=rankings)


def draw_runs(world: World, presets: Sequence[str], *, n: int, seed: int) -> dict[str, list[Run]]:
    """Return for each preset its runs with `n` random knowledge bases; presets of texts need some."""
    rng = np.random.default_rng(seed)
    runs: dict[str, list[Run]] = {preset: [] for preset in presets}
    for _ in range(n):
        n_anchors, with_texts = int(rng.integers(0, MOST_ANCHORS + 1)), bool(rng.random() >= WITHOUT_TEXTS)
        with_texts = with_texts or n_anchors == 0
        if rng.random() < ALL_TRAINED:
            species = draw_all_trained(world, rng)
        else:
            species = draw_species(world, rng, of=world.described if with_texts else np.arange(len(world.names)))
        texts_of = species[rng.random(len(species)) >= TEXTS_LOST] if with_texts else np.empty(0, dtype=np.intp)
        knowledge = world.knowledge(species, n_anchors=n_anchors, texts_of=texts_of)
        photos = draw_photos(world, species, world.anchors_of(species, n_anchors)[0], rng)
        for preset in presets:
            if _can_run(preset, knowledge):
                runs[preset].append(identify(world, species, knowledge, photos, preset))
    return runs


def _can_run(preset: str, knowledge: Knowledge) -> bool:
    n_texts, n_anchors = len(knowledge.chunk_owners), len(knowledge.anchors.owners)
    if preset == "default":
        return True
    return n_anchors > 0 if preset == "anchors-only" else n_texts > 0


def draw_all_trained(world: World, rng: np.random.Generator) -> IntArray:
    """Return all species that the model knows and up to six in ten of the new ones, ascending."""
    new = np.flatnonzero(world.prototype_rows < 0)
    held = rng.choice(new, int(rng.uniform(0, 0.6) * len(new)), replace=False)
    return np.union1d(np.flatnonzero(world.prototype_rows >= 0), held)


def draw_species(world: World, rng: np.random.Generator, *, of: IntArray) -> IntArray:
    """Return some species, ascending, chosen singly or by family; at least one of them has photos to identify."""
    n = int(np.exp(rng.uniform(np.log(FEWEST), np.log(len(of)))))
    first = int(rng.choice(np.intersect1d(of, world.labels[world.photos])))
    others = of[of != first]
    if rng.random() >= BY_FAMILY:
        return np.sort(np.append(rng.choice(others, n - 1, replace=False), first))
    # Half of them take one order after the other, as `kb build --taxon` does.
    keep_orders = rng.random() < 0.5
    families = {i: (world.lineages[i].get("order", "") if keep_orders else "", world.families[i]) for i in of.tolist()}
    by_rank = list(zip(families[first], *families.values(), strict=True))
    rank = [_shuffled(set(names), rng) | {names[0]: -1} for names in by_rank]
    order = sorted(others.tolist(), key=lambda i: (rank[0][families[i][0]], rank[1][families[i][1]]))
    # A region lacks some species of its families.
    return np.sort(np.append(rng.choice(order[: max(n - 1, n * 4 // 3)], n - 1, replace=False), first))


def _shuffled(names: set[str], rng: np.random.Generator) -> dict[str, int]:
    """Return name -> place in a random order."""
    return dict(zip(sorted(names), rng.permutation(len(names)).tolist(), strict=True))


def draw_photos(world: World, species: IntArray, used: IntArray, rng: np.random.Generator) -> IntArray:
    """Return photos of held and of other species, known and new to the model, up to `MOST_PHOTOS` of each kind."""
    free = np.setdiff1d(world.photos, used)
    is_held, is_new = np.isin(world.labels[free], species), world.prototype_rows[world.labels[free]] < 0
    kinds = [free[(is_held == held) & (is_new == new)] for held in (True, False) for new in (True, False)]
    return np.sort(np.concatenate([rng.permutation(kind)[:MOST_PHOTOS] for kind in kinds]))
