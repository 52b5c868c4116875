"""Starter encoders of photos, texts and sentences, in NumPy on the features of the tower.

A text is its words and its pairs of part and attribute ("red crown"): a pair states that the crown is red, which
distinguishes species; a bag of words does not. The shipped weights freeze `PARTS`, `ATTRIBUTES` and the `starter`
columns of the lexicon, so these are separate from `data.lexicon.marks`.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, as_unit_rows
from data.contracts import Encoders
from data.lexicon.words import column, organisms, variants
from recognize.detect.birds import NanoDet
from recognize.tower import IMAGE_PX, Tower

if TYPE_CHECKING:
    from PIL.Image import Image


WINDOW: Final = 5
"""Maximum distance in words between a part and its attribute."""

_WORD: Final = re.compile(r"[a-z]+")
_SENTENCE_END: Final = re.compile(r"[.;!?\n]+")

_PART_NAMES: Final = """
bill head crown forehead nape eye lore cheek face eyebrow eyering eyestripe throat chin breast belly flank back rump
wing wingbar tail leg foot crest neck vent mask collar body upperparts underparts shoulder undertail moustache
"""
_ATTRIBUTE_NAMES: Final = """
white black grey brown red yellow green blue orange olive rufous chestnut buff pink purple cream tan scarlet crimson
violet turquoise golden maroon cinnamon iridescent streaked spotted barred mottled scaled long short curved hooked
thick thin pointed conical large small forked rounded slender stout straight dark pale bright bare notched broad
"""
PARTS: Final = tuple(_PART_NAMES.split())
ATTRIBUTES: Final = tuple(_ATTRIBUTE_NAMES.split())
_PART_WORDS: Final = column("parts", "starter")
_PART_OF: Final = {word: PARTS.index(name) for word, name in _PART_WORDS.items()}
_ATTRIBUTE_OF: Final = {
    word: ATTRIBUTES.index(name) for table in ("colours", "looks") for word, name in column(table, "starter").items()
}
N_PAIRS: Final = len(PARTS) * len(ATTRIBUTES)


def sentences_of(text: str) -> list[list[str]]:
    """Return the words of each sentence, in lower case."""
    parts = (_WORD.findall(part) for part in _SENTENCE_END.split(text.lower()))
    return [words for words in parts if words]


def pairs_of(words: list[str]) -> set[int]:
    """Return the pairs of a sentence, positions in `PARTS` x `ATTRIBUTES`."""
    parts = [(at, _PART_OF[word]) for at, word in enumerate(words) if word in _PART_OF]
    attributes = [(at, _ATTRIBUTE_OF[word]) for at, word in enumerate(words) if word in _ATTRIBUTE_OF]
    return {
        part * len(ATTRIBUTES) + attribute
        for at, part in parts
        for where, attribute in attributes
        if abs(at - where) <= WINDOW
    }


# Marks that some birds have and others lack; every bird has a bill, so the word alone tells none apart.
_MARKS: Final = frozenset(("crest", "wingbar", "eyering", "eyestripe", "eyebrow", "mask", "collar", "moustache"))
_ANIMALS: Final = frozenset(
    ("mammals", "reptiles", "amphibians", "fish", "insects", "arachnids", "crustaceans", "molluscs")
)
"""Groups of organisms besides birds; plants are not among them, because birds sit on them."""
_ANY_BIRD: Final = frozenset((
    "bird", "waterbird", "seabird", "songbird", "shorebird", "hen", "cock", "nestling", "fledgling", "chick", "fledge",
))  # fmt: skip
_BEFORE_A_BIRD: Final = 3  # words between an attribute and "bird": "a brown and white bird"
_TOKEN: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def visible_words(text: str) -> tuple[str, ...]:
    """Return the looks in a text, as words: attributes of a part or of the whole bird, marks, and kinds of birds.

    Empty for behaviour, places and counts, and for texts about other animals, of which the pair has seen no photo.
    """
    found: list[str] = []
    for sentence in _SENTENCE_END.split(text.lower()):
        tokens = _TOKEN.findall(sentence)
        if _is_of_another_animal(tokens):
            return ()
        words = [word for token in tokens for word in token.split("-")]
        parts = {at for at, word in enumerate(words) if word in _PART_WORDS}
        birds = {at for at, word in enumerate(words) if _is_bird(word)}
        for at, word in enumerate(words):
            if word in _ATTRIBUTE_OF:
                is_of_part = not parts.isdisjoint(range(at - WINDOW, at + WINDOW + 1))
                is_before_a_bird = not birds.isdisjoint(range(at + 1, at + 1 + _BEFORE_A_BIRD))
                if is_of_part or is_before_a_bird or sentence.strip() == word:
                    found.append(word)
            elif _PART_WORDS.get(word.removesuffix("ed")) in _MARKS or (
                at in birds and not _ANY_BIRD & {word, *variants(word)}
            ):
                found.append(word)
    return tuple(found)


def _is_bird(word: str) -> bool:
    return any(organisms().get(form) == "birds" for form in (word, *variants(word)))


def _is_of_another_animal(tokens: list[str]) -> bool:
    """Return whether a word is another animal: not in "mouse-grey", "mouse grey" and "fox sparrow"."""
    for at, word in enumerate(tokens):
        if any(organisms().get(form) in _ANIMALS for form in (word, *variants(word))):
            following = tokens[at + 1] if at + 1 < len(tokens) else ""
            if following not in _ATTRIBUTE_OF and not _is_bird(following):
                return True
    return False


_GELU: Final = np.float32(np.sqrt(2 / np.pi))


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """All weights except the photo tower. Matrices are `(n_in, n_out)` float32."""

    words: tuple[str, ...]
    table: FloatArray
    """`(n_words, 384)`: the sentence model's vector of each word, times the weight of the word."""
    pair_weights: FloatArray
    """`(N_PAIRS,)`: rarity of each pair, 0 if absent in training."""
    text_words: FloatArray
    text_pairs: FloatArray
    text_bias: FloatArray
    text_out: FloatArray
    text_skip: FloatArray
    text_out_bias: FloatArray
    photo_mean: FloatArray
    photo_in: FloatArray
    photo_bias: FloatArray
    photo_out: FloatArray
    photo_skip: FloatArray
    photo_out_bias: FloatArray
    look_mean: FloatArray
    look: FloatArray
    """`(n_features, dim)`: the learned metric of species."""
    species: tuple[str, ...]
    """Scientific names of the prototypes."""
    prototypes: FloatArray
    """`(n_species, dim)` unit rows in the metric, one for each trained species."""

    def encode_looks(self, features: FloatArray) -> FloatArray:
        """Return `(n, dim)` unit rows of photo features `(n, n_features)`, for comparing photos."""
        return as_unit_rows(_rows(as_unit_rows(features) - self.look_mean, self.look))

    def encode_photos(self, features: FloatArray) -> FloatArray:
        """Return `(n, dim)` unit rows of photo features in the space shared with texts."""
        return self.shared(self.encode_looks(features))

    def shared(self, looks: FloatArray) -> FloatArray:
        """Return `(n, dim)` unit rows in the space shared with texts, of photos as `encode_looks` returns them."""
        centred = looks - self.photo_mean
        hidden = gelu(_rows(centred, self.photo_in) + self.photo_bias)
        return as_unit_rows(_rows(hidden, self.photo_out) + _rows(centred, self.photo_skip) + self.photo_out_bias)

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` unit rows of texts in the space shared with photos; zero if no word is known."""
        words = self.encode_words(texts)
        pairs = self.encode_pairs(texts)
        hidden = gelu(_rows(words, self.text_words) + _rows(pairs, self.text_pairs) + self.text_bias)
        out = _rows(hidden, self.text_out) + _rows(words, self.text_skip) + self.text_out_bias
        out[~words.any(axis=1)] = 0
        return as_unit_rows(out)

    def encode_words(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, 384)` unit rows, the weighted mean of the words of each text; zero if no word is known."""
        position = _positions(self.words)
        out = np.zeros((len(texts), self.table.shape[1]), dtype=np.float32)
        for row, text in enumerate(texts):
            counts = Counter(position[w] for words in sentences_of(text) for w in words if w in position)
            if counts:
                at = np.fromiter(sorted(counts), dtype=np.intp)
                amounts = np.log1p(np.array([counts[i] for i in at], dtype=np.float32))
                out[row] = amounts @ self.table[at]
        return as_unit_rows(out)

    def encode_pairs(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, N_PAIRS)` unit rows of the pairs of part and attribute in each text."""
        out = np.zeros((len(texts), N_PAIRS), dtype=np.float32)
        for row, text in enumerate(texts):
            counts = Counter(pair for words in sentences_of(text) for pair in pairs_of(words))
            for pair, count in counts.items():
                out[row, pair] = np.log1p(np.float32(count)) * self.pair_weights[pair]
        return as_unit_rows(out)


@lru_cache(maxsize=4)
def _positions(words: tuple[str, ...]) -> dict[str, int]:
    return {word: i for i, word in enumerate(words)}


def gelu(x: FloatArray) -> FloatArray:
    """Return the Gaussian error linear unit in its tanh form, as in training."""
    slope: FloatArray = 1 + np.tanh(_GELU * (x + np.float32(0.044715) * x**3))
    return np.float32(0.5) * x * slope


def _rows(x: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return `x @ matrix`, with rows independent of the batch: BLAS rounds a row differently in other batches."""
    product: FloatArray = np.einsum("ni,ij->nj", x, matrix)
    return product


def read_heads(path: Path) -> Heads:
    """Return the heads in a file of `training.starter.head_file`."""
    with np.load(path, allow_pickle=False) as stored:
        arrays: dict[str, FloatArray] = {}
        for field in fields(Heads):
            if field.name in ("words", "species"):
                continue
            array = np.ascontiguousarray(stored[field.name], dtype=np.float32)
            if f"{field.name}_scales" in stored:
                array *= stored[f"{field.name}_scales"][:, None]
            arrays[field.name] = array
        words = tuple(stored["words"].tobytes().decode().split("\n"))
        species = tuple(stored["species"].tobytes().decode().split("\n"))
    arrays["prototypes"] = as_unit_rows(arrays["prototypes"])
    return Heads(words=words, species=species, **arrays)


TOWER_FILE: Final = "tower.onnx"
"""Trunks tuned on birds."""
GENERAL_FILE: Final = "general.onnx"
"""Trunks with the weights of everyday pictures, for other groups."""
HEADS_FILE: Final = "heads.npz"
PHOTOS_FILE: Final = "photos.npy"
"""Perceptual hashes of the training photos, ascending."""
PREPROCESSING: Final = f"squeeze-{IMAGE_PX}-bicubic"


class Weights:
    """The shipped files, each read on first use."""

    def __init__(self) -> None:
        self.folder = Path(str(files("recognize.starter") / "weights"))
        self.tower = Tower(self.folder / TOWER_FILE)
        self.general = Tower(self.folder / GENERAL_FILE)

    @cached_property
    def heads(self) -> Heads:
        """The trained heads."""
        return read_heads(self.folder / HEADS_FILE)

    @cached_property
    def revision(self) -> str:
        """12 hex digits of the SHA-256 of the heads."""
        return hashlib.sha256((self.folder / HEADS_FILE).read_bytes()).hexdigest()[:12]


@dataclass(frozen=True)
class StarterPair:
    """Texts and photos in one space of field marks."""

    weights: Weights
    name = "starter"
    max_tokens = None

    @property
    def space(self) -> str:
        """Both files and the preprocessing."""
        return f"fieldmark-starter-pair/{self.weights.tower.digest}-{self.weights.revision}/{PREPROCESSING}"

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self.weights.heads.text_out.shape[1])

    def count_tokens(self, text: str) -> int:
        """Return the number of words; there is no limit."""
        return sum(map(len, sentences_of(text)))

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows, zero where no word is known."""
        return self.weights.heads.encode_texts(texts)

    def visible_words(self, text: str) -> tuple[str, ...]:
        """Return the looks in a text, the only words that training compared with photos."""
        return visible_words(text)

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows."""
        return self.weights.heads.encode_photos(self.weights.tower.features(images))


@dataclass(frozen=True)
class StarterLook:
    """Photos in a learned metric of species, with prototypes of the trained species."""

    weights: Weights
    name = "starter-look"

    @property
    def space(self) -> str:
        """Both files and the preprocessing."""
        return f"fieldmark-starter-look/{self.weights.tower.digest}-{self.weights.revision}/{PREPROCESSING}"

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self.weights.heads.look.shape[1])

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows."""
        return self.weights.heads.encode_looks(self.weights.tower.features(images))

    def prototypes(self) -> tuple[tuple[str, ...], FloatArray]:
        """Return the scientific names of the trained species and their prototypes, unit rows."""
        return self.weights.heads.species, self.weights.heads.prototypes

    def photo_hashes(self) -> NDArray[np.uint64]:
        """Return the perceptual hashes of the training photos."""
        hashes: NDArray[np.uint64] = np.load(self.weights.folder / PHOTOS_FILE)
        return hashes


@dataclass(frozen=True)
class StarterWords:
    """Texts by the words in them, in the sentence model's space: a weighted mean, without the model."""

    weights: Weights
    name = "starter-words"
    max_tokens = None

    @property
    def space(self) -> str:
        """The file of the heads."""
        return f"fieldmark-starter-words/{self.weights.revision}"

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self.weights.heads.table.shape[1])

    def count_tokens(self, text: str) -> int:
        """Return the number of words; there is no limit."""
        return sum(map(len, sentences_of(text)))

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows, zero where no word is known."""
        return self.weights.heads.encode_words(texts)


def load_starter() -> Encoders:
    """Return the starter's encoders; files are read on first use."""
    weights = Weights()
    return Encoders(
        profile="starter",
        text_image=(StarterPair(weights),),
        visual=StarterLook(weights),
        sentence=StarterWords(weights),
        detector=NanoDet(),
    )
