"""Tuning of the trunks: `python -m training.starter.tune --data DIR --work DIR --only fold0`, on a graphics card.

Trunks, metric and class vectors together learn to name the species of birds; stem and first blocks keep their ImageNet
weights. The metric starts as linear discriminants of their first features. The loss is the cross entropy of the mean of
photo and crop, as recognised, and half of those of photo and crop alone. What is kept is the moving average of the
weights, then the mean of two runs (those of folds 1 to 4 were tuned once). A card is faster than the processors that
feed it, so it holds all photos and makes the views itself. A run of 3,600 photos takes 75 s on an H100 and some hours
on two cores.
"""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import click
import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional

from data.arrays import FloatArray, IntArray, as_unit_rows
from data.images.views import MARGIN
from recognize.detect.birds import NanoDet
from recognize.tower import IMAGE_PX
from training.starter.backbone import N_FEATURES, Backbone, load_backbone
from training.starter.discriminants import fit_discriminants
from training.starter.protocol import StudyCollection, model_names, read_study_collection, training_photos
from training.starter.views import birds_in

log = logging.getLogger(__name__)

TRUNKS: Final = ("lite0", "lite1", "lite2")
LOOK_DIM: Final = 384
EPOCHS: Final = 12
BATCH: Final = 128
"""Birds, of two pictures each."""
RATE: Final = 1e-3
"""Learning rate. Of .0003, .001, .003 the highest is best for new species and the middle one for known ones."""
DECAY: Final = 0.05
TEMPERATURE: Final = 12.0
"""Of the cosine softmax."""
SMOOTHING: Final = 0.1
DROPOUT: Final = 0.3
N_FIXED: Final = 3
"""Blocks of each trunk that keep their weights, after the stem."""
N_RUNS: Final = 2
"""Runs whose weights are averaged. Two of fold 0 name .704 and .698 of known birds, .645 and .673 of new ones; their
mean .708 and .667."""
EACH: Final = 0.25
"""Weight of the loss of the photo alone, and of the crop alone."""
AVERAGE: Final = 0.995
"""Decay of the moving average of the weights."""
STORED_PX: Final = 400
"""Side of a photo on the card, squeezed to a square."""
SMALL_PX: Final = (40, 64, 90, 128)
"""Sides of views that are made as small as distant birds."""
SMALL: Final = (0.15, 0.35)
"""Shares of photos and crops that are made small."""
LIGHT: Final = 0.3
"""Largest change of brightness, contrast and saturation. Hue is a field mark and does not vary."""
TURN: Final = math.radians(10)
"""Standard deviation of the turn of a view."""

Regions: TypeAlias = "torch.Tensor"
"""`(n, 4)`: left, top, right and bottom of a region, as shares of its photo."""


class Eye(nn.Module):  # type: ignore[misc]  # torch is not installed where types are checked
    """Trunks side by side, and the linear metric of their features."""

    def __init__(self, trunks: Mapping[str, Backbone], dim: int) -> None:
        super().__init__()
        self.trunks = nn.ModuleDict(trunks)
        self.register_buffer("offset", torch.zeros(N_FEATURES * len(trunks)))
        self.metric = nn.Parameter(torch.zeros(N_FEATURES * len(trunks), dim))

    def features(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return a unit row for each picture: the unit features of the trunks, side by side."""
        rows = [functional.normalize(trunk(pictures).float(), dim=1) for trunk in self.trunks.values()]
        return functional.normalize(torch.cat(rows, dim=1), dim=1)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return unit rows in the metric."""
        centred = functional.dropout(self.features(pictures) - self.offset, DROPOUT, self.training)
        return functional.normalize(centred @ self.metric, dim=1)

    def fixed(self) -> list[nn.Module]:
        """Return the parts that keep their weights and statistics."""
        return [part for t in self.trunks.values() for part in (t._conv_stem, t._bn0, *t._blocks[:N_FIXED])]


def cut(photos: torch.Tensor, regions: Regions, px: int, turns: torch.Tensor | None = None) -> torch.Tensor:
    """Return regions of uint8 photos as `(n, 3, px, px)` pixels in [-1, 1], turned by angles in radians."""
    centre, half = regions[:, :2] + regions[:, 2:] - 1, regions[:, 2:] - regions[:, :2]
    angle = torch.zeros(len(regions), device=regions.device) if turns is None else turns
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]
    x = torch.cat([half[:, :1] * cos, -half[:, :1] * sin, centre[:, :1]], dim=1)
    y = torch.cat([half[:, 1:] * sin, half[:, 1:] * cos, centre[:, 1:]], dim=1)
    grid = functional.affine_grid(torch.stack([x, y], dim=1), [len(regions), 3, 2 * px, 2 * px], align_corners=False)
    fine = functional.grid_sample(photos.float(), grid, padding_mode="reflection", align_corners=False)
    return ((functional.avg_pool2d(fine, 2) - 127) / 128).contiguous(memory_format=torch.channels_last)


def widened(boxes: Regions, margins: torch.Tensor | float) -> Regions:
    """Return boxes with margins, as shares of their width and height."""
    size = (boxes[:, 2:] - boxes[:, :2]).repeat(1, 2)
    outward = torch.tensor([-1.0, -1.0, 1.0, 1.0], device=boxes.device)
    return (boxes + outward * margins * size).clamp(0, 1)


def _between(low: float, high: float, n: int, like: torch.Tensor) -> torch.Tensor:
    return torch.rand(n, device=like.device) * (high - low) + low


def drawn_views(photos: torch.Tensor, boxes: Regions) -> torch.Tensor:
    """Return a random view of each whole photo, then one of each crop, `(2 * n, 3, IMAGE_PX, IMAGE_PX)`."""
    n = len(photos)
    area, shape = _between(0.35, 1, n, boxes), _between(math.log(0.75), math.log(4 / 3), n, boxes).exp()
    size = torch.stack([(area * shape).sqrt(), (area / shape).sqrt()], dim=1).clamp(max=1)
    corner = torch.rand(n, 2, device=boxes.device) * (1 - size)
    near = widened(boxes, torch.rand(n, 4, device=boxes.device) * 0.43 - 0.08)
    return torch.cat(
        [
            varied(cut(photos, regions, IMAGE_PX, torch.randn(n, device=boxes.device) * TURN), small)
            for regions, small in zip((torch.cat([corner, corner + size], dim=1), near), SMALL, strict=True)
        ]
    )


def varied(pictures: torch.Tensor, small: float) -> torch.Tensor:
    """Return pictures in other light, half of them mirrored, a share of them made small."""
    n = len(pictures)
    brightness, contrast, colour = (1 + LIGHT * _between(-1, 1, n, pictures)[:, None, None, None] for _ in range(3))
    light = (pictures + 1) * brightness - 1
    mean = light.mean((1, 2, 3), keepdim=True)
    light = (light - mean) * contrast + mean
    grey = light.mean(1, keepdim=True)
    light = ((light - grey) * colour + grey).clamp(-1, 1)
    light = torch.where(_between(0, 1, n, light)[:, None, None, None] < 0.5, light.flip(3), light)
    step = torch.floor(_between(0, 1, n, light) * len(SMALL_PX) / small)  # beyond the last size: not made small
    for at, px in enumerate(SMALL_PX):
        mine = torch.nonzero(step == at)[:, 0]
        if len(mine):
            little = functional.interpolate(light[mine], size=(px, px), mode="area")
            light[mine] = functional.interpolate(little, size=light.shape[2:], mode="bilinear", align_corners=False)
    return light


@torch.no_grad()  # type: ignore[untyped-decorator]
def features_of(eye: Eye, photos: torch.Tensor, boxes: Regions) -> torch.Tensor:
    """Return the features of all photos and of their crops, as recognised, `(2, n, n_features)`."""
    eye.eval()
    whole = torch.tensor([[0.0, 0.0, 1.0, 1.0]], device=boxes.device).expand(len(boxes), 4)
    views = []
    for regions in (whole, widened(boxes, MARGIN)):
        with torch.autocast(photos.device.type, torch.bfloat16):
            pairs = zip(photos.split(2 * BATCH), regions.split(2 * BATCH), strict=True)
            views.append(torch.cat([eye.features(cut(*pair, IMAGE_PX)) for pair in pairs]))
    return torch.stack(views)


def tune(
    trunks: Mapping[str, Backbone], photos: torch.Tensor, boxes: Regions, species: IntArray, dim: int, *, seed: int
) -> Eye:
    """Return the tuned trunks with their metric.

    Args:
        trunks: trunks with their ImageNet weights, which change.
        photos: training photos, `(n, 3, side, side)` uint8, squeezed to squares; on the device to train on.
        boxes: the bird in each photo; the whole photo where none was found.
        species: the species of each photo, from 0, none left out.
        dim: numbers of a vector in the metric.
        seed: seed of the views and of the order of photos.
    """
    torch.manual_seed(seed)
    eye = Eye(trunks, dim).to(photos.device, memory_format=torch.channels_last)
    features = features_of(eye, photos, boxes)
    mean, matrix = fit_discriminants(features.cpu().numpy(), species, dim)
    eye.offset.copy_(torch.from_numpy(mean))
    projected = (features - eye.offset) @ torch.from_numpy(matrix).to(photos.device)
    eye.metric.data.copy_(torch.from_numpy(matrix) / projected[0].norm(dim=1).mean().cpu())
    targets = torch.from_numpy(species).to(photos.device)
    centres = torch.zeros(int(species.max()) + 1, dim, device=photos.device)
    centres.index_add_(0, targets, functional.normalize(projected, dim=2).sum(0))
    vectors = nn.Parameter(functional.normalize(centres, dim=1))
    for part in eye.fixed():
        part.requires_grad_(False)
    free = [each for each in eye.trunks.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(
        [
            {"params": [*(each for each in free if each.ndim > 1), eye.metric, vectors], "weight_decay": DECAY},
            {"params": [each for each in free if each.ndim == 1], "weight_decay": 0.0},
        ],
        lr=RATE,
    )
    n_steps = max(1, round(len(photos) * EPOCHS / BATCH))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=max(2, n_steps), pct_start=0.1)
    chances = torch.from_numpy(1 / np.sqrt(np.bincount(species)[species])).to(photos.device)
    kept: Eye = copy.deepcopy(eye)
    old, new = ([each for each in some.state_dict().values() if each.is_floating_point()] for some in (kept, eye))
    for step in range(n_steps):
        eye.train()
        for part in eye.fixed():
            part.eval()
        picked = torch.multinomial(chances, BATCH, replacement=len(photos) < BATCH)
        with torch.autocast(photos.device.type, torch.bfloat16):
            first, second = eye(drawn_views(photos[picked], boxes[picked])).float().split(BATCH)
        named = TEMPERATURE * functional.normalize(vectors, dim=1).T
        losses = (
            functional.cross_entropy(rows @ named, targets[picked], label_smoothing=SMOOTHING)
            for rows in (functional.normalize(first + second, dim=1), first, second)
        )
        loss = sum(weight * each for weight, each in zip((1, EACH, EACH), losses, strict=True))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        schedule.step()
        with torch.no_grad():
            torch._foreach_lerp_(old, new, 1 - min(AVERAGE, (1 + step) / (10 + step)))
        if step % 100 == 0:
            log.info("step %d of %d, loss %.3f", step, n_steps, loss.item())
    return kept


def mean_of(eyes: Sequence[Eye]) -> Eye:
    """Return the mean of the weights of runs from the same start."""
    states = [eye.state_dict() for eye in eyes]
    mean: Eye = copy.deepcopy(eyes[0])
    mean.load_state_dict(
        {
            name: torch.stack([state[name] for state in states]).mean(0) if value.is_floating_point() else value
            for name, value in states[0].items()
        }
    )
    return mean


def centres_of(birds: FloatArray, species: IntArray, n: int) -> FloatArray:
    """Return the mean direction of the birds of each of `n` species; zero for a species without any."""
    means = np.zeros((n, birds.shape[1]), dtype=np.float32)
    np.add.at(means, species, birds)
    return as_unit_rows(means)


def shares_right(collection: StudyCollection, model: str, birds: FloatArray) -> dict[str, tuple[float, int]]:
    """Return the share of photos named right, and their number, on photos for choices.

    `many` and `few`: known species by prototypes, with more than two training photos and with one or two. `new`, `new,
    one anchor`: new species of the fold by the mean of up to three anchors, and by the lead image. All species of the
    collection can be the answer; no photo of the hidden half or set aside is read.
    """
    names, species = np.unique([photo.species for photo in collection.photos], return_inverse=True)
    training = training_photos(collection, model)
    counts = np.bincount(species[training], minlength=len(names))
    held = np.setdiff1d(collection.tuning, training)
    held = held[counts[species[held]] > 0]
    right = (birds[held] @ centres_of(birds[training], species[training], len(names)).T).argmax(axis=1) == species[held]
    is_few = counts[species[held]] <= 2
    found = {"many": right[~is_few], "few": right[is_few]}
    if model.startswith("fold"):
        queries = collection.queries[collection.folds[collection.labels[collection.queries]] == int(model[4:])]
        left_out = np.concatenate([collection.all_aside, collection.hidden, collection.tuning])
        others = np.setdiff1d(np.flatnonzero(collection.labels < 0), left_out)
        for kind, mode in (("new", "three"), ("new, one anchor", "wiki")):
            anchors = np.setdiff1d(collection.anchors(mode), collection.all_aside)
            centres = centres_of(birds[(rows := np.union1d(anchors, others))], species[rows], len(names))
            asked = queries[np.isin(species[queries], species[anchors])]
            found[kind] = (birds[asked] @ centres.T).argmax(axis=1) == species[asked]
    return {kind: (float(each.mean()), len(each)) for kind, each in found.items()}


def read_photos(collection: StudyCollection) -> tuple[torch.Tensor, Regions]:
    """Return all photos, `(n, 3, STORED_PX, STORED_PX)` uint8, and the region of the bird in each."""
    pixels = np.empty((len(collection.photos), 3, STORED_PX, STORED_PX), dtype=np.uint8)
    regions = np.tile(np.array([0, 0, 1, 1], dtype=np.float32), (len(pixels), 1))
    boxes = birds_in(collection.folder, collection.photos, NanoDet())
    for i, photo in enumerate(collection.photos):
        with Image.open(collection.folder / photo.path) as image:
            square = image.convert("RGB").resize((STORED_PX, STORED_PX), Image.Resampling.BICUBIC)
            pixels[i] = np.asarray(square).transpose(2, 0, 1)
            if (box := boxes[i]) is not None:
                sides = (box.left / image.width, box.top / image.height, box.right / image.width)
                regions[i] = (*sides, box.bottom / image.height)
    return torch.from_numpy(pixels), torch.from_numpy(regions.clip(0, 1))


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True, help="Folder of photos.csv.")
@click.option("--work", type=click.Path(path_type=Path), required=True, help="Folder of the tuned trunks.")
@click.option("--only", type=click.Choice(model_names()), multiple=True, help="Tune only these models.")
@click.option("--device", default="cuda" if torch.cuda.is_available() else "cpu", show_default=True)
def main(data: Path, work: Path, only: tuple[str, ...], device: str) -> None:
    """Tune the trunks of models, write each to `MODEL.trunks.pt`, and print the shares of photos named right."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    work.mkdir(parents=True, exist_ok=True)
    collection = read_study_collection(data)
    photos, boxes = (each.to(device) for each in read_photos(collection))
    for model in only or model_names():
        training = training_photos(collection, model)
        _, species = np.unique([collection.photos[i].species for i in training], return_inverse=True)
        eye = mean_of(
            [
                tune(
                    {name: load_backbone(name) for name in TRUNKS}, photos[training], boxes[training], species,
                    LOOK_DIM, seed=seed,
                )
                for seed in range(N_RUNS)
            ]
        )  # fmt: skip
        torch.save({"state": eye.state_dict(), "trunks": TRUNKS}, work / f"{model}.trunks.pt")
        with torch.no_grad():
            rows = (features_of(eye, photos, boxes) - eye.offset) @ eye.metric
            birds = functional.normalize(functional.normalize(rows, dim=2).sum(0), dim=1).cpu().numpy()
        for kind, (share, n) in shares_right(collection, model, birds).items():
            click.echo(f"{model} {kind}: {share:.3f} of {n}")


if __name__ == "__main__":
    main()
