"""Random knowledge bases, and photos identified with them.

A confidence must hold in knowledge bases that nobody has seen yet, and for poor photos. So it is fitted on many random
parts of the shipped knowledge base: one to all of its species, chosen singly or by family; with none to three reference
photos a species, with and without texts; with photos of species that they hold and of others, each whole and made
small. For a species that is new to the model its prototype is left out, from the background too.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import kb
from data.arrays import IntArray
from data.contracts import Encoders, VectorTable
from data.files import sha256_hex
from data.records import Taxon, taxon_id
from kb.checklist.avilist import load_checklist
from kb.shipped import unpack_shipped
from recognize import load_encoders
from recognize.answers import RANKS, Lineage, lineage_with_self
from recognize.confidence.evidence import N_JUDGED, Mode, find_evidence, mode_of
from recognize.photos import encode_in_batches
from recognize.scoring.knowledge import Knowledge, Queries, read_knowledge
from recognize.scoring.presets import Settings, score
from recognize.scoring.ranking import Ranking, Scores
from training.collection import Collection
from training.knowledge.vectors import anchor_photos, described
from training.starter.study import Model

MOST_PHOTOS: Final = 45  # of each kind and knowledge base
MOST_ANCHORS: Final = 3
FORGOTTEN: Final = 0.6
"""Largest share of the species without a prototype."""
BY_FAMILY: Final = 0.6
WITHOUT_TEXTS: Final = 0.35
TEXTS_LOST: Final = 0.2
"""Share of the species without text where there are texts."""
POOR_SHARE: Final = 0.25
"""Share of the photos that are made small."""
POOR_PX: Final = (36, 130)
"""Least and largest longer side of photos that are made small, in pixels."""


def poor_look(picture: Image.Image, rng: np.random.Generator) -> Image.Image:
    """Return a photo as if taken from far away: few pixels, compressed, enlarged again."""
    side = np.exp(rng.uniform(*np.log(POOR_PX))) / max(picture.size)
    small = picture.resize(tuple(max(8, round(each * side)) for each in picture.size), Image.Resampling.BICUBIC)
    stored = io.BytesIO()
    small.save(stored, "JPEG", quality=int(rng.integers(50, 95)))
    return Image.open(stored).convert("RGB").resize(picture.size, Image.Resampling.BICUBIC)


def encoded(collection: Collection, photos: IntArray, encoders: Encoders, work: Path) -> Queries:
    """Return the vectors of photos, then those of the same photos as `poor_look`; kept in a file of the work folder."""
    key = "\n".join([*encoders.spaces, *(collection.photos[i].path for i in photos)])
    file = work / f"confidence-{sha256_hex(key)[:12]}.npz"
    if not file.exists():

        def pictures() -> Iterator[Image.Image]:
            for is_poor in (False, True):
                for i in photos.tolist():
                    with Image.open(collection.folder / collection.photos[i].path) as image:
                        picture = image.convert("RGB")
                    yield poor_look(picture, np.random.default_rng([1, i])) if is_poor else picture

        found = [queries for _, queries, _ in encode_in_batches(encoders, pictures(), one_bird=True)]
        np.savez(
            file,
            text_image=np.concatenate([queries.text_image[0] for queries in found]),
            visual=np.concatenate([queries.visual for queries in found]),
        )
    with np.load(file) as stored:
        return Queries(text_image=(stored["text_image"],), visual=stored["visual"])


@dataclass(frozen=True, kw_only=True)
class World:
    """The shipped knowledge base, and photos of its species that the shipped model was not trained on."""

    whole: Knowledge
    taxa: Sequence[Taxon]
    """The species."""
    queries: Queries
    """The photos; with `has_poor` followed by `poor_look` of all."""
    truth: IntArray
    """Species of each photo."""
    has_poor: bool = True

    @cached_property
    def lineages(self) -> Sequence[Lineage]:
        """The lineage of each species."""
        return [lineage_with_self(taxon) for taxon in self.taxa]

    @cached_property
    def plain(self) -> IntArray:
        """Photos that were not made small."""
        return np.arange(len(self.truth) // (1 + self.has_poor))

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Whether the model knows the species of each photo."""
        return np.isin(self.truth, self.whole.trained)

    def with_poor(self, rng: np.random.Generator) -> IntArray:
        """Return the photos, a share of `POOR_SHARE` of them poor if there are poor ones."""
        is_poor = (rng.random(len(self.plain)) < POOR_SHARE) & self.has_poor
        drawn: IntArray = self.plain + is_poor * len(self.plain)
        return drawn

    def knowledge(self, species: IntArray, *, n_anchors: int, texts_of: IntArray, forgotten: IntArray) -> Knowledge:
        """Return the knowledge of some species.

        Args:
            species: the species, ascending.
            n_anchors: maximum number of anchors of each.
            texts_of: species with their text, if they have any.
            forgotten: species without a prototype.
        """
        whole = self.whole
        position = np.full(whole.n_species, -1, dtype=np.intp)
        position[species] = np.arange(len(species))

        def taken(table: VectorTable, rows: IntArray) -> VectorTable:
            ids, vectors = tuple(table.ids[row] for row in rows), np.asarray(table.vectors)[rows]
            return VectorTable(ids=ids, owners=position[table.owners[rows]], vectors=vectors)

        texts = np.flatnonzero((position[whole.chunk_owners] >= 0) & np.isin(whole.chunk_owners, texts_of))
        owners = whole.anchors.owners
        turn = np.arange(len(owners)) - whole.anchor_starts[owners]
        anchors = np.flatnonzero((position[owners] >= 0) & (turn < n_anchors))
        is_known, is_held = ~np.isin(whole.trained, forgotten), position[whole.trained] >= 0
        return Knowledge(
            n_species=len(species),
            names=whole.names,
            chunks=tuple(taken(table, texts) for table in whole.chunks),
            anchors=taken(whole.anchors, anchors),
            images=tuple(taken(table, anchors) for table in whole.images),
            trained=position[whole.trained[is_known & is_held]],
            prototypes=whole.prototypes[is_known & is_held],
            background=whole.prototypes[is_known & ~is_held],
            background_names=tuple(self.taxa[i].scientific_name for i in whole.trained[is_known & ~is_held]),
        )

    def only(self, kept: NDArray[np.bool_]) -> World:
        """Return the world with some of its photos, `kept` in the order of `plain`."""
        rows = np.flatnonzero(np.tile(kept, 1 + self.has_poor))
        return replace(self, queries=self.queries[rows], truth=self.truth[rows])


def read_world(collection: Collection, photos: IntArray, work: Path) -> World:
    """Return the shipped knowledge base with those of the photos whose species it holds."""
    encoders = load_encoders("starter")
    with kb.open(unpack_shipped(work, encoders)) as store:
        whole = read_knowledge(store, encoders)
        taxa = [entry.taxon for entry in store.species(store.taxon_ids)]
    truth = positions([collection.photos[i].species for i in photos], taxa)
    photos, truth = photos[truth >= 0], truth[truth >= 0]
    return World(whole=whole, taxa=taxa, queries=encoded(collection, photos, encoders, work), truth=np.tile(truth, 2))


def positions(names: Sequence[str], taxa: Sequence[Taxon]) -> IntArray:
    """Return the position of species among the taxa, by the checklist's name where it has them; -1 for others."""
    checklist, at = load_checklist(), {taxon.taxon_id: i for i, taxon in enumerate(taxa)}
    ids = [taxon_id(name) if (found := checklist.find(name)) is None else found.taxon_id for name in names]
    return np.array([at.get(each, -1) for each in ids], dtype=np.intp)


def world_of_model(world: World, model: Model, photos: IntArray) -> World:
    """Return a world as another model knows it, by its vectors and prototypes, with photos that it was not trained on.

    Reference photos among these photos are left out.
    """
    whole, collection = world.whole, model.collection
    truth = positions([collection.photos[i].species for i in photos], world.taxa)
    photos, truth = photos[truth >= 0], truth[truth >= 0]
    paths = {photo.path: i for i, photo in enumerate(collection.photos)}
    found = {
        sha256_hex((collection.folder / path).read_bytes()): paths[path] for _, path in anchor_photos(collection.folder)
    }
    rows = np.array([found[anchor] for anchor in whole.anchors.ids], dtype=np.intp)
    kept = np.flatnonzero(~np.isin(rows, photos))
    ids, owners = tuple(whole.anchors.ids[i] for i in kept), whole.anchors.owners[kept]
    texts = described(collection.folder)
    ids_of_chunks = [world.taxa[owner].taxon_id for owner in whole.chunk_owners.tolist()]
    with_text = np.flatnonzero([each in texts for each in ids_of_chunks])
    chunks = VectorTable(
        ids=tuple(ids_of_chunks[i] for i in with_text),
        owners=whole.chunk_owners[with_text],
        vectors=model.heads.encode_texts([texts[ids_of_chunks[i]] for i in with_text]),
    )
    trained = positions(model.heads.species, world.taxa)
    trained, at = np.unique(np.where(trained < 0, len(world.taxa), trained), return_index=True)
    is_held = trained < len(world.taxa)
    knowledge = Knowledge(
        n_species=whole.n_species,
        names=whole.names,
        chunks=(chunks,),
        anchors=VectorTable(ids=ids, owners=owners, vectors=model.looks[rows[kept]]),
        images=(VectorTable(ids=ids, owners=owners, vectors=model.photos[rows[kept]]),),
        trained=trained[is_held],
        prototypes=model.heads.prototypes[at[is_held]],
    )
    queries = Queries(text_image=(model.photos[photos],), visual=model.looks[photos])
    return World(whole=knowledge, taxa=world.taxa, queries=queries, truth=truth, has_poor=False)


@dataclass(frozen=True, kw_only=True)
class Run:
    """Photos identified with one knowledge base and preset."""

    world: World
    species: IntArray
    """The species of the knowledge base, ascending."""
    forgotten: IntArray
    """Species without a prototype."""
    knowledge: Knowledge
    photos: IntArray
    rankings: Sequence[Ranking]
    weight: float = 1.0
    """Of its photos in a fit."""

    @cached_property
    def mode(self) -> Mode:
        """Anchor mode of the knowledge base."""
        return mode_of(self.knowledge)

    @property
    def is_small(self) -> NDArray[np.bool_]:
        """Whether each photo was made small."""
        return self.photos >= len(self.world.plain)

    @cached_property
    def truth(self) -> IntArray:
        """Species of each photo."""
        return self.world.truth[self.photos]

    @cached_property
    def is_held(self) -> NDArray[np.bool_]:
        """Whether the knowledge base holds the species of each photo."""
        return np.isin(self.truth, self.species)

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
        lineages = self.world.lineages
        return find_evidence(
            self.rankings, self.world.queries[self.photos], self.knowledge,
            lambda at: [lineages[i] for i in self.species[at]], temperature=temperature,
        ).rows  # fmt: skip


def draw_runs(world: World, presets: Sequence[str], *, n: int, seed: int) -> dict[str, list[Run]]:
    """Return for each preset its runs with `n` random knowledge bases; presets of texts need some."""
    rng = np.random.default_rng(seed)
    runs: dict[str, list[Run]] = {preset: [] for preset in presets}
    everything = np.arange(world.whole.n_species)
    for _ in range(n):
        n_anchors, with_texts = int(rng.integers(0, MOST_ANCHORS + 1)), bool(rng.random() >= WITHOUT_TEXTS)
        of = np.flatnonzero(world.whole.chunk_counts) if n_anchors == 0 else everything
        species = draw_species(world, rng, of=of)
        forgotten = rng.choice(everything, int(rng.uniform(0, FORGOTTEN) * len(everything)), replace=False)
        texts_of = np.empty(0, dtype=np.intp)
        if with_texts or n_anchors == 0:
            texts_of = species[rng.random(len(species)) >= TEXTS_LOST]
        knowledge = world.knowledge(species, n_anchors=n_anchors, texts_of=texts_of, forgotten=forgotten)
        photos = draw_photos(world, species, forgotten, rng)
        for preset in presets:
            if _can_run(preset, knowledge):
                rankings = score(preset, knowledge, world.queries[photos], Settings())
                run = Run(
                    world=world, species=species, forgotten=forgotten, knowledge=knowledge, photos=photos,
                    rankings=rankings,
                )  # fmt: skip
                runs[preset].append(run)
    return runs


def complete_runs(world: World, presets: Sequence[str]) -> dict[str, list[Run]]:
    """Return for each preset a run with all of the shipped knowledge base but photographed species new to the model.

    A share of `POOR_SHARE` of the photos is poor, if there are poor ones.
    """
    photographed = np.flatnonzero(world.whole.anchor_counts)
    lost = np.setdiff1d(np.union1d(photographed, world.truth), world.whole.trained)
    species = np.setdiff1d(np.arange(world.whole.n_species), lost)
    knowledge = world.knowledge(species, n_anchors=MOST_ANCHORS, texts_of=species, forgotten=lost)
    photos = world.with_poor(np.random.default_rng(0))
    return {
        preset: [
            Run(
                world=world, species=species, forgotten=lost, knowledge=knowledge, photos=photos,
                rankings=score(preset, knowledge, world.queries[photos], Settings()),
            )
        ]
        for preset in presets
    }  # fmt: skip


def _can_run(preset: str, knowledge: Knowledge) -> bool:
    n_texts, n_anchors = len(knowledge.chunk_owners), len(knowledge.anchors.owners)
    if preset == "default":
        return bool(n_texts or n_anchors)
    return n_anchors > 0 if preset == "anchors-only" else n_texts > 0


def draw_species(world: World, rng: np.random.Generator, *, of: IntArray) -> IntArray:
    """Return some species, ascending, chosen singly or by family; at least one of them has photos to identify."""
    n = int(np.exp(rng.uniform(0, np.log(len(of)))))
    first = int(rng.choice(np.intersect1d(of, world.truth)))
    others = of[of != first]
    if rng.random() >= BY_FAMILY:
        return np.union1d(rng.choice(others, n - 1, replace=False), [first])
    # Half of them take one order after the other, as `kb build --taxon` does.
    keep_orders = rng.random() < 0.5
    families = {
        i: (world.lineages[i].get("order", "") if keep_orders else "", world.lineages[i].get("family", ""))
        for i in of.tolist()
    }
    by_rank = list(zip(families[first], *families.values(), strict=True))
    rank = [_shuffled(set(names), rng) | {names[0]: -1} for names in by_rank]
    order = sorted(others.tolist(), key=lambda i: (rank[0][families[i][0]], rank[1][families[i][1]]))
    # A region lacks some species of its families.
    return np.union1d(rng.choice(order[: max(n - 1, n * 4 // 3)], n - 1, replace=False), [first]).astype(np.intp)


def _shuffled(names: set[str], rng: np.random.Generator) -> dict[str, int]:
    """Return name -> place in a random order."""
    return dict(zip(sorted(names), rng.permutation(len(names)).tolist(), strict=True))


def draw_photos(world: World, species: IntArray, forgotten: IntArray, rng: np.random.Generator) -> IntArray:
    """Return photos of held and of other species, known and new to the model, up to `MOST_PHOTOS` of each kind.

    A share of `POOR_SHARE` is poor.
    """
    drawn = world.with_poor(rng)
    is_held, is_new = np.isin(world.truth[drawn], species), np.isin(world.truth[drawn], forgotten)
    kinds = [drawn[(is_held == held) & (is_new == new)] for held in (True, False) for new in (True, False)]
    return np.sort(np.concatenate([rng.permutation(kind)[:MOST_PHOTOS] for kind in kinds]))
