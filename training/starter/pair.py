"""Training of the shared space of texts and photos: two small heads and a contrastive loss.

Each round samples sources and sentences of each species, so that the heads learn to work with a short summary.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from data.arrays import FloatArray, IntArray, as_unit_rows
from recognize.starter.encoders import N_PAIRS, pairs_of, sentences_of
from training.collection import Description

log = logging.getLogger(__name__)

DIM = 256
HIDDEN = 512
DROPOUT = 0.2
BATCH = 512
SOURCES_KEPT = 0.6
SENTENCES_KEPT = 0.6
FEWEST_SENTENCES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Descriptions of each species of the vocabulary, as words and pairs per sentence."""

    n_species: int
    owners: IntArray
    """The species of each sentence."""
    sources: IntArray
    """The source of each sentence."""
    word_rows: IntArray
    """With `word_columns`: sentence `word_rows[i]` holds word `word_columns[i]`."""
    word_columns: IntArray
    pair_rows: IntArray
    pair_columns: IntArray
    table: FloatArray
    """`(n_words, 384)`: the sentence model's vectors of single words times their weights."""
    pair_weights: FloatArray

    def vectors(self, kept: NDArray[np.bool_] | None = None) -> tuple[FloatArray, FloatArray]:
        """Return word vectors and pair vectors of each species, as in `Heads`, from the kept sentences."""
        words = self._bag(self.word_rows, self.word_columns, len(self.table), kept) @ self.table
        pairs = self._bag(self.pair_rows, self.pair_columns, N_PAIRS, kept) * self.pair_weights
        return as_unit_rows(words), as_unit_rows(pairs)

    def _bag(self, rows: IntArray, columns: IntArray, n: int, kept: NDArray[np.bool_] | None) -> FloatArray:
        if kept is not None:
            chosen = kept[rows]
            rows, columns = rows[chosen], columns[chosen]
        counts = np.bincount(self.owners[rows] * n + columns, minlength=self.n_species * n)
        return np.log1p(counts.astype(np.float32)).reshape(self.n_species, n)

    def draw(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return a random sample of sentences: some sources of each species, some sentences of each source."""
        n_sources = int(self.sources.max()) + 1
        keeps_source = rng.random((self.n_species, n_sources)) < SOURCES_KEPT
        kept = keeps_source[self.owners, self.sources] & (rng.random(len(self.owners)) < SENTENCES_KEPT)
        few = np.bincount(self.owners[kept], minlength=self.n_species) < FEWEST_SENTENCES
        result: NDArray[np.bool_] = kept | few[self.owners]
        return result


def read_corpus(
    descriptions: Sequence[Description], vocabulary: Sequence[str], words: Sequence[str], vectors: FloatArray
) -> Corpus:
    """Return the corpus of `descriptions`, weighted by rarity; `vectors` are the unit vectors of `words`."""
    species = {name: i for i, name in enumerate(vocabulary)}
    position = {word: i for i, word in enumerate(words)}
    source_names = sorted({description.source for description in descriptions})
    owners: list[int] = []
    sources: list[int] = []
    word_cells: list[tuple[int, int]] = []
    pair_cells: list[tuple[int, int]] = []
    for description in descriptions:
        for sentence in (s for text in description.sentences for s in sentences_of(text)):
            row = len(owners)
            owners.append(species[description.species])
            sources.append(source_names.index(description.source))
            word_cells += [(row, position[word]) for word in sentence if word in position]
            pair_cells += [(row, pair) for pair in sorted(pairs_of(sentence))]
    word_rows, word_columns = np.array(word_cells, dtype=np.intp).T
    pair_rows, pair_columns = np.array(pair_cells, dtype=np.intp).T
    owner_array = np.array(owners, dtype=np.intp)

    def rarity(rows: IntArray, columns: IntArray, n: int) -> FloatArray:
        present = np.unique(np.stack([owner_array[rows], columns]), axis=1)[1]
        n_with = np.bincount(present, minlength=n)
        return np.log((len(vocabulary) + 1) / (n_with + 1)).astype(np.float32)

    pair_weights = rarity(pair_rows, pair_columns, N_PAIRS)
    pair_weights[np.bincount(pair_columns, minlength=N_PAIRS) == 0] = 0  # never seen in training
    return Corpus(
        n_species=len(vocabulary),
        owners=owner_array,
        sources=np.array(sources, dtype=np.intp),
        word_rows=word_rows,
        word_columns=word_columns,
        pair_rows=pair_rows,
        pair_columns=pair_columns,
        table=vectors * rarity(word_rows, word_columns, len(words))[:, None],
        pair_weights=pair_weights,
    )


class TextHead(nn.Module):  # type: ignore[misc]  # torch is not installed where types are checked
    """Word and pair vectors to the shared space."""

    def __init__(self, n_words: int) -> None:
        super().__init__()
        self.words = nn.Linear(n_words, HIDDEN)
        self.pairs = nn.Linear(N_PAIRS, HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, DIM)
        self.skip = nn.Linear(n_words, DIM, bias=False)
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, words: torch.Tensor, pairs: torch.Tensor) -> torch.Tensor:
        """Return unit rows."""
        hidden = functional.gelu(self.words(words) + self.pairs(self.drop(pairs)), approximate="tanh")
        return functional.normalize(self.out(self.drop(hidden)) + self.skip(words), dim=1)


class PhotoHead(nn.Module):  # type: ignore[misc]
    """Standardised looks to the shared space."""

    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.inner = nn.Linear(n_features, HIDDEN)
        self.out = nn.Linear(HIDDEN, DIM)
        self.skip = nn.Linear(n_features, DIM, bias=False)
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return unit rows."""
        features = self.drop(features)
        hidden = functional.gelu(self.inner(features), approximate="tanh")
        return functional.normalize(self.out(self.drop(hidden)) + self.skip(features), dim=1)


def train_pair(
    corpus: Corpus, features: FloatArray, labels: IntArray, photos: IntArray, *, epochs: int = 50, seed: int = 0
) -> dict[str, FloatArray]:
    """Return the arrays of both heads, named as in `Heads`.

    Args:
        corpus: descriptions; only species in `photos` are trained on.
        features: looks of the photos, `(n_views, n_photos, dim)`; even views are of whole photos, odd ones of crops.
        labels: species of every photo, -1 outside the vocabulary.
        photos: training photos.
        epochs: number of rounds, each with another sample of sentences.
        seed: random seed.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    photos = photos[labels[photos] >= 0]
    species, classes = np.unique(labels[photos], return_inverse=True)
    rows = as_unit_rows(features.reshape(-1, features.shape[-1])).reshape(features.shape)[:, photos]
    mean, deviation = rows[0].mean(axis=0), rows[0].std(axis=0) + np.float32(1e-4)
    inputs = torch.from_numpy((rows - mean) / deviation)
    text_head, photo_head = TextHead(corpus.table.shape[1]), PhotoHead(rows.shape[-1])
    scale = nn.Parameter(torch.tensor(float(np.log(1 / 0.07))))
    parameters = [*text_head.parameters(), *photo_head.parameters()]
    optimiser = torch.optim.AdamW(
        [{"params": parameters}, {"params": [scale], "weight_decay": 0.0}], lr=1e-3, weight_decay=0.05
    )
    n_steps = max(1, len(photos) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-3, total_steps=n_steps * epochs, pct_start=0.1)
    chances = 1 / np.sqrt(np.bincount(classes)[classes])
    chances /= chances.sum()
    targets = torch.from_numpy(classes)
    for epoch in range(epochs):
        words, pairs = (torch.from_numpy(vectors[species]) for vectors in corpus.vectors(corpus.draw(rng)))
        for _ in range(n_steps):
            picked = torch.from_numpy(rng.choice(len(photos), BATCH, p=chances))
            views = [photo_head(inputs[torch.from_numpy(rows), picked]) for rows in draw_views(rng, len(features))]
            birds = functional.normalize(views[0] + views[1], dim=1)
            logits = scale.exp() * birds @ text_head(words, pairs).T
            wanted = targets[picked]
            loss = functional.cross_entropy(logits, wanted)  # smoothed labels cost unseen species
            present = torch.unique(wanted)
            share = (wanted[None] == present[:, None]).float()
            share /= share.sum(dim=1, keepdim=True)
            loss = loss - 0.5 * (functional.log_softmax(logits[:, present].T, dim=1) * share).sum(dim=1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        if epoch % 10 == 9:
            log.info("pair: epoch %d of %d, loss %.3f", epoch + 1, epochs, loss.item())

    return arrays_of(text_head, photo_head, mean, deviation)


def arrays_of(
    text_head: TextHead, photo_head: PhotoHead, mean: FloatArray, deviation: FloatArray
) -> dict[str, FloatArray]:
    """Return the arrays of both heads, as in `Heads`; mean and deviation of features go into the first matrices."""

    def array(tensor: torch.Tensor) -> FloatArray:
        return np.ascontiguousarray(tensor.detach().numpy().T)

    per_feature: FloatArray = (1 / deviation)[:, None].astype(np.float32)
    return {
        "text_words": array(text_head.words.weight),
        "text_pairs": array(text_head.pairs.weight),
        "text_bias": array(text_head.words.bias),
        "text_out": array(text_head.out.weight),
        "text_skip": array(text_head.skip.weight),
        "text_out_bias": array(text_head.out.bias),
        "photo_mean": mean,
        "photo_in": np.multiply(array(photo_head.inner.weight), per_feature, dtype=np.float32),
        "photo_bias": array(photo_head.inner.bias),
        "photo_out": array(photo_head.out.weight),
        "photo_skip": np.multiply(array(photo_head.skip.weight), per_feature, dtype=np.float32),
        "photo_out_bias": array(photo_head.out.bias),
    }


def draw_views(rng: np.random.Generator, n_views: int) -> tuple[IntArray, IntArray]:
    """Return a random view of the whole photo and one of the crop for each photo of a batch."""
    return 2 * rng.integers(0, n_views // 2, BATCH), 1 + 2 * rng.integers(0, n_views // 2, BATCH)
