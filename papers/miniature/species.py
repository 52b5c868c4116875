"""Miniatures of the data sets of VR-RAG: drawings as photos of species, and a folder of articles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from papers.miniature.birds import Bird, birds, write

N_SPECIES: Final = 8


def _birds() -> tuple[Bird, ...]:
    return birds()[:N_SPECIES]


def _articles(folder: Path) -> None:
    for bird in _birds():
        text = " ".join(bird.species.text)
        write(folder / bird.name / "article.txt", f"The {bird.name} is a bird.\n\n## Description\n\n{text}\n")
        for n, drawing in enumerate(bird.training[:2], 1):
            write(folder / bird.name / f"{n}.png", drawing)


def _photos(bird: Bird) -> Iterator[tuple[Literal["train", "test"], int, bytes]]:
    """Yield split, number and content of each photo of a bird."""
    for n, drawing in enumerate(bird.test, 1):
        yield "test", n, drawing
    for n, drawing in enumerate(bird.training, len(bird.test) + 1):
        yield "train", n, drawing


def _cub(folder: Path) -> None:
    classes, images, labels, split = "", "", "", ""
    number = 0
    for i, bird in enumerate(_birds(), 1):
        name = f"{i:03d}.{bird.name.replace(' ', '_')}"
        classes += f"{i} {name}\n"
        for which, n, drawing in _photos(bird):
            number += 1
            write(folder / "images" / name / f"{n}.png", drawing)
            images += f"{number} {name}/{n}.png\n"
            labels += f"{number} {i}\n"
            split += f"{number} {int(which == 'train')}\n"
    tables = {"classes": classes, "images": images, "image_class_labels": labels, "train_test_split": split}
    for name, text in tables.items():
        write(folder / f"{name}.txt", text)


def _birdsnap(folder: Path) -> None:
    species, images, tests = "id\tcommon\tscientific\tdir\n", "path\tspecies_id\n", "path\n"
    for i, bird in enumerate(_birds(), 1):
        place = bird.name.replace(" ", "_")
        species += f"{i}\t{bird.name}\t{bird.binomial}\t{place.lower()}\n"
        for which, n, drawing in _photos(bird):
            write(folder / "download" / "images" / place / f"{n}.png", drawing)
            images += f"{place}/{n}.png\t{i}\n"
            tests += f"{place}/{n}.png\n" if which == "test" else ""
    for name, text in (("species", species), ("images", images), ("test_images", tests)):
        write(folder / f"{name}.txt", text)


def _indian(folder: Path) -> None:
    for bird in _birds():
        for which, n, drawing in _photos(bird):
            split = "valid" if which == "test" else "train"
            write(folder / split / bird.name.replace(" ", "-") / f"{n}.png", drawing)


def _inaturalist(folder: Path) -> None:
    categories = [{"id": i, "name": bird.binomial, "class": "Aves"} for i, bird in enumerate(_birds())]
    for name, wanted in (("val", "test"), ("train_mini", "train")):
        images: list[dict[str, object]] = []
        annotations: list[dict[str, int]] = []
        for i, bird in enumerate(_birds()):
            place = f"{name}/{i:05d}_Animalia_Chordata_Aves_{bird.binomial.replace(' ', '_')}"
            for which, n, drawing in _photos(bird):
                if which == wanted:
                    write(folder / place / f"{n}.png", drawing)
                    annotations.append({"image_id": len(images), "category_id": i})
                    images.append({"id": len(images), "file_name": f"{place}/{n}.png"})
        content = {"categories": categories, "images": images, "annotations": annotations}
        write(folder / f"{name}.json", json.dumps(content))


def _lasbird(folder: Path) -> None:
    for bird in _birds():
        for n, drawing in enumerate(bird.pictures, 1):
            write(folder / bird.name / f"{n}.png", drawing)
    counts = {bird.name: len(bird.pictures) for bird in _birds()}
    write(folder / "species_counts.json", json.dumps(counts))


SPECIES: Final = {
    "articles": _articles,
    "CUB_200_2011": _cub,
    "birdsnap": _birdsnap,
    "Birds_25": _indian,
    "inat2021": _inaturalist,
    "LaSBiRD": _lasbird,
}
