"""Pictures without a bird: share of bird photos that are silenced, and of other pictures that get no species.

    python -m benchmarks.no_bird --data ../shared/birds [--n 600] [--pictures FOLDER] [--work FOLDER]

Bird photos: all but the ones set aside by `training.starter.protocol`; photos outside the model's training
are counted by themselves, since the model knows the others, and with `--work` photos of species that the models of the
folds have not seen. At most 1 % may be silenced. Other pictures: made ones;
bundled ones of scikit-image, scikit-learn and matplotlib, where these are installed; the parts of bird photos
beside the bird; and a folder of your own. `LOW_COSINE` and `FLAT` of `recognize.detect.birds` are chosen by the table
of cosines. Where nothing in a picture is detected as a bird, the cosine decides.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image

from data.arrays import FloatArray
from data.errors import BadImage
from data.images.decode import read_image
from data.images.views import boxes_of
from recognize.detect.birds import LOW_COSINE, NanoDet, is_flat, shows_bird
from recognize.starter.encoders import StarterLook, Weights, read_heads
from training.starter.protocol import N_FOLDS, fold_of, read_study_collection, set_aside

THRESHOLDS = (0.3, 0.35, 0.4, 0.5, 0.6, 0.7)
BUNDLED = {
    "skimage": "data",
    "sklearn": "datasets/images",
    "matplotlib": "mpl-data/sample_data",
}
SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".tif"}
MIN_PX = 64  # shorter side; icons are no photos


def made(rng: np.random.Generator, n: int) -> Iterator[tuple[str, Image.Image]]:
    """Yield blank, noisy, dark and blurred pictures and gradients."""
    for number in range(n):
        width, height = (int(side) for side in rng.integers(150, 600, 2))
        colours = rng.uniform(0, 255, (2, 3))
        yield "blank", Image.new("RGB", (width, height), tuple(int(value) for value in colours[0]))
        yield "noise", Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8))
        yield "dark", Image.fromarray(rng.integers(0, 12, (height, width, 3), dtype=np.uint8))
        coarse = Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8))
        yield "blurred", coarse.resize((width, height), Image.Resampling.BICUBIC)
        steps = np.linspace(0, 1, width)[None, :, None] if number % 2 else np.linspace(0, 1, height)[:, None, None]
        shades = np.broadcast_to(colours[0] * (1 - steps) + colours[1] * steps, (height, width, 3))
        yield "gradient", Image.fromarray(shades.astype(np.uint8))


def bundled() -> Iterator[Image.Image]:
    """Yield the pictures that installed libraries bundle; none of them shows a bird."""
    for library, folder in BUNDLED.items():
        spec = find_spec(library)
        if spec is not None and spec.origin is not None:
            yield from pictures_in(Path(spec.origin).parent / folder)


def pictures_in(folder: Path) -> Iterator[Image.Image]:
    """Yield the readable pictures of a folder."""
    for file in sorted(folder.iterdir()):
        if file.suffix.lower() in SUFFIXES:
            try:
                picture = read_image(file)
            except BadImage:
                continue
            if min(picture.size) >= MIN_PX:
                yield picture


def beside(picture: Image.Image, detector: NanoDet) -> Image.Image | None:
    """Return the largest strip of a photo beside all of its boxes; None if it is narrow or no bird is sure."""
    found = detector.detect([picture])[0]
    if not any(each.kind == "bird" and each.score >= 0.6 for each in found):
        return None
    left, top = min(each.box.left for each in found), min(each.box.top for each in found)
    right, bottom = max(each.box.right for each in found), max(each.box.bottom for each in found)
    strips = ((0, 0, left, picture.height), (right, 0, picture.width, picture.height),
              (0, 0, picture.width, top), (0, bottom, picture.width, picture.height))  # fmt: skip
    x, y, end, low = max(strips, key=lambda strip: min(strip[2] - strip[0], strip[3] - strip[1]))
    return picture.crop((int(x), int(y), int(end), int(low))) if min(end - x, low - y) >= MIN_PX else None


class Judge:
    """Judges pictures like `kb identify`, with the shipped knowledge."""

    def __init__(self) -> None:
        """Use the shipped model."""
        self.detector, self.look = NanoDet(), StarterLook(Weights())
        self.prototypes: FloatArray = self.look.prototypes()[1]

    def judge(
        self, picture: Image.Image, seen: tuple[FloatArray, FloatArray] | None = None
    ) -> tuple[bool, bool, float]:
        """Return whether a bird is detected, whether the picture is silenced, and its best cosine.

        `seen` are its vector and the prototypes of another model.
        """
        if boxes_of(self.detector.detect([picture])[0]):
            return True, False, 1.0
        vector, prototypes = seen or (self.look.encode_images([picture])[0], self.prototypes)
        cosine = -1.0 if is_flat(picture) else float((prototypes @ vector).max())
        return False, is_flat(picture) or not shows_bird(vector, (prototypes,)), cosine


def main() -> None:
    """Measure and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--n", type=int, default=600, help="Bird photos of each kind.")
    parser.add_argument("--pictures", type=Path, help="Folder of pictures without birds.")
    parser.add_argument("--work", type=Path, help="Work folder of training.starter.train.")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    collection = read_study_collection(args.data)
    aside = set_aside(collection)
    hidden = {*aside.new, *aside.known}
    usable = [i for i, photo in enumerate(collection.photos) if photo.path not in hidden]
    held_out = np.intersect1d(usable, collection.hidden)
    trained = np.setdiff1d(usable, collection.hidden)
    judge = Judge()
    found: dict[str, list[tuple[bool, bool, float]]] = {}

    def add(kind: str, picture: Image.Image) -> None:
        found.setdefault(kind, []).append(judge.judge(picture))

    for kind, numbers in (("birds, held out", held_out), ("birds, in training", trained)):
        for number in rng.permutation(numbers)[: args.n]:
            picture = read_image(collection.folder / collection.photos[number].path)
            add(kind, picture)
            strip = beside(picture, judge.detector) if len(found.get("beside birds", ())) < args.n / 4 else None
            if strip is not None:
                add("beside birds", strip)
    for fold in range(N_FOLDS) if args.work else ():
        prototypes = read_heads(args.work / f"fold{fold}.heads.npz").prototypes
        looks = np.load(args.work / f"fold{fold}.looks.npy")[0].astype(np.float32)
        unseen = [i for i in usable if fold_of(collection.photos[i].species) == fold]
        for number in rng.permutation(unseen)[: args.n // N_FOLDS]:
            picture = read_image(collection.folder / collection.photos[number].path)
            found.setdefault("birds, new species", []).append(judge.judge(picture, (looks[number], prototypes)))
    for kind, picture in made(rng, 20):
        add(kind, picture)
    for picture in bundled():
        add("bundled", picture)
    for picture in pictures_in(args.pictures) if args.pictures else ():
        add("folder", picture)
    sys.stdout.write("\n".join(table(found)) + "\n")


def table(found: dict[str, list[tuple[bool, bool, float]]]) -> Iterator[str]:
    """Yield the lines of the table."""
    cosines = " | ".join(f"cosine under {threshold:g}" for threshold in THRESHOLDS)
    yield f"No bird below a cosine of {LOW_COSINE:g}; the last columns: shares at other thresholds"
    yield ""
    yield f"| pictures | n | bird detected | no bird | {cosines} |"
    yield "|---|---|---|---|" + "---|" * len(THRESHOLDS)
    for kind, judged in found.items():
        n = len(judged)
        shares = [np.mean([detected for detected, _, _ in judged]), np.mean([silent for _, silent, _ in judged])]
        shares += [np.mean([cosine < threshold for _, _, cosine in judged]) for threshold in THRESHOLDS]
        yield f"| {kind} | {n:,} | " + " | ".join(f"{share:.1%}" for share in shares) + " |"


if __name__ == "__main__":
    main()
