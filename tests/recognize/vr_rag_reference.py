"""VR-RAG and the default preset as loops over Python numbers; shares no code with the package."""

import math
from dataclasses import dataclass
from functools import cached_property
from operator import mul
from typing import Any


@dataclass
class World:
    """Vectors as lists of floats: chunks[encoder][row], owners of rows, anchors, images[encoder][row]."""

    n_species: int
    chunks: list
    chunk_owners: list
    anchors: list
    anchor_owners: list
    images: list
    image_owners: list

    @cached_property
    def anchor_rows(self) -> Any:
        """Species -> the rows of its anchors."""
        rows: dict = {}
        for row, owner in enumerate(self.anchor_owners):
            rows.setdefault(owner, []).append(row)
        return rows


def dot(a: Any, b: Any) -> Any:
    assert len(a) == len(b)
    return math.fsum(map(mul, a, b))


def mean(values: Any) -> Any:
    return math.fsum(values) / len(values)


def best_first(scored: Any) -> Any:
    """Sort (score, row) pairs: high scores first, then low rows; equal to twelve digits is equal."""
    return sorted(scored, key=lambda pair: (-round(pair[0], 12), pair[1]))


def text_scores(world: Any, text_queries: Any) -> Any:
    return [
        mean([dot(world.chunks[e][row], text_queries[e]) for e in range(len(world.chunks))])
        for row in range(len(world.chunk_owners))
    ]


def anchor_score(world: Any, visual_query: Any, species: Any, pooling: str, limit: Any = None) -> Any:
    """Mean, maximum, or the cosine to the mean direction."""
    rows = world.anchor_rows.get(species, [])[:limit]
    cosines = [dot(world.anchors[i], visual_query) for i in rows]
    if not cosines:
        return None
    if pooling == "centroid":
        middle = centre([world.anchors[i] for i in rows], len(visual_query))
        length = math.sqrt(math.fsum(x * x for x in middle))
        return mean(cosines) / length if length > 1e-9 else mean(cosines)
    return max(cosines) if pooling == "max" else mean(cosines)


def each_once(species: Any) -> Any:
    return list(dict.fromkeys(species))


def v1(world: Any, text_queries: Any, visual_query: Any, m: Any) -> Any:
    """Return (ranked chunks, ranked species, their scores)."""
    text = text_scores(world, text_queries)
    pool = [row for _, row in best_first([(text[row], row) for row in range(len(text))])[:m]]
    visual = {}
    for row in pool:
        species = world.chunk_owners[row]
        visual[species] = anchor_score(world, visual_query, species, "mean", limit=3)
    total = {row: text[row] + (visual[world.chunk_owners[row]] or 0.0) for row in pool}
    chunks = [row for _, row in best_first([(total[row], row) for row in pool])]
    species = each_once([world.chunk_owners[row] for row in chunks])
    scores = [max(total[row] for row in pool if world.chunk_owners[row] == one) for one in species]
    return chunks, species, scores


def text_only(world: Any, text_queries: Any, m: Any) -> Any:
    """Return (ranked chunks, ranked species, their scores)."""
    text = text_scores(world, text_queries)
    chunks = [row for _, row in best_first([(score, row) for row, score in enumerate(text)])[:m]]
    species = each_once([world.chunk_owners[row] for row in chunks])
    return chunks, species, [max(text[row] for row in chunks if world.chunk_owners[row] == one) for one in species]


def anchors_only(world: Any, visual_query: Any, m: Any) -> Any:
    """Return (ranked species, their scores)."""
    seen = [dot(anchor, visual_query) for anchor in world.anchors]
    rows = [row for _, row in best_first([(score, row) for row, score in enumerate(seen)])[:m]]
    species = {world.anchor_owners[row] for row in rows}
    ranked = best_first([(anchor_score(world, visual_query, one, "max"), one) for one in species])
    return [one for _, one in ranked], [score for score, _ in ranked]


def centre(vectors: Any, dim: Any) -> Any:
    return [mean([v[d] for v in vectors]) for d in range(dim)] if vectors else [0.0] * dim


def v2(world: Any, text_queries: Any, visual_query: Any, m: Any) -> Any:
    """Return (ranked species, their scores)."""
    first, final = {}, {}
    for species in range(world.n_species):
        texts = [i for i, owner in enumerate(world.chunk_owners) if owner == species]
        pictures = [i for i, owner in enumerate(world.image_owners) if owner == species]
        looks = [world.anchors[i] for i, owner in enumerate(world.anchor_owners) if owner == species]
        if not texts and not looks:
            continue
        scores = []
        for e, query in enumerate(text_queries):
            text = centre([world.chunks[e][i] for i in texts], len(query))
            picture = centre([world.images[e][i] for i in pictures], len(query))
            scores.append(dot([(a + b) / 2 for a, b in zip(text, picture, strict=True)], query))
        first[species] = mean(scores)
        final[species] = 0.7 * first[species] + 0.3 * dot(centre(looks, len(visual_query)), visual_query)
    pool = [species for _, species in best_first([(score, species) for species, score in first.items()])[:m]]
    ranked = best_first([(final[species], species) for species in pool])
    return [species for _, species in ranked], [score for score, _ in ranked]


def spread_out(scores: Any) -> Any:
    """Return 256 evenly spread scores, or all if there are fewer."""
    return scores if len(scores) <= 256 else [scores[i * len(scores) // 256] for i in range(256)]


def deviations(value: Any, scores: Any) -> Any:
    scores = spread_out(scores)
    if value is None or not scores:
        return 0.0
    return (value - mean(scores)) / deviation(scores) if deviation(scores) > 1e-6 else 0.0


def deviation(scores: Any) -> Any:
    return math.sqrt(mean([(score - mean(scores)) ** 2 for score in scores]))


def unit(world: Any, text_queries: Any, visual_query: Any) -> Any:
    """Return the smallest cosine that the default preset counts as one, which magnifies the rounding of cosines."""
    stages = text_scores(world, text_queries), [dot(anchor, visual_query) for anchor in world.anchors]
    return min([1.0, *(one for one in map(deviation, map(spread_out, filter(None, stages))) if one > 1e-6)])


def default(world: Any, text_queries: Any, visual_query: Any, m: Any, text_weight: float) -> Any:
    """Return (ranked species, their scores)."""
    text = text_scores(world, text_queries)
    seen = [dot(anchor, visual_query) for anchor in world.anchors]
    chunks = [row for _, row in best_first([(text[row], row) for row in range(len(text))])[:m]]
    pictures = [row for _, row in best_first([(seen[row], row) for row in range(len(seen))])[:m]]
    pool = sorted({world.chunk_owners[row] for row in chunks} | {world.anchor_owners[row] for row in pictures})
    final = []
    for species in pool:
        own = [text[row] for row in range(len(text)) if world.chunk_owners[row] == species]
        best_text = max(own) if own else None
        shown = anchor_score(world, visual_query, species, "centroid")
        final.append((text_weight * deviations(best_text, text) + deviations(shown, seen), species))
    ranked = best_first(final)
    return [species for _, species in ranked], [score for score, _ in ranked]
