"""Fitting of the default preset's weights: `python -m training.starter.weights --data DIR --work DIR`.

All species as the knowledge base, with three anchors each and with one; photos of species that the models of the folds
know and of new ones, half and half. No photo of the hidden half and none set aside is read. Prints the weights for
`recognize.scoring.presets.WEIGHTS` and the share of photos named right.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
import numpy as np

from recognize.scoring.knowledge import Queries
from recognize.scoring.presets import AnchorMode
from training.starter.fitting import Sample, as_fusion_weights, fit_weights, stage_scores
from training.starter.study import Study, read_study
from training.starter.world import World, world_of_fold
from training.tables import study_options

ANCHORS: Final[Mapping[AnchorMode, int]] = {"several": 3, "single": 1}


def samples_of(world: World, n_anchors: int) -> dict[str, Sample]:
    """Return the samples of photos of new species and of known ones, of equal weight."""
    species = np.arange(len(world.names))
    knowledge = world.knowledge(species, n_anchors=n_anchors, texts_of=species)
    photos = np.setdiff1d(world.photos, world.anchors_of(species, n_anchors)[0])
    is_new = world.prototype_rows[world.labels[photos]] < 0
    samples = {}
    for kind, some in (("new", photos[is_new]), ("known", photos[~is_new])):
        queries = Queries(text_image=(world.model.photos[some],), visual=world.model.looks[some])
        samples[kind] = Sample(stages=stage_scores(knowledge, queries), truth=world.labels[some], share=0.5)
    return samples


@click.command()
@study_options
def main(data: Path, work: Path) -> None:
    """Fit and print the weights of the default preset."""
    study: Study = read_study(data, work)
    worlds = [world_of_fold(study, fold) for fold in range(len(study.folds))]
    for mode, n_anchors in ANCHORS.items():
        samples = [samples_of(world, n_anchors) for world in worlds]
        weights = fit_weights([sample for some in samples for sample in some.values()])
        click.echo(f"{mode}: {as_fusion_weights(weights)}")
        for kind in ("new", "known"):
            right = [(some[kind].stages @ weights).argmax(axis=1) == some[kind].truth for some in samples]
            click.echo(f"  {kind}: {np.concatenate(right).mean():.3f} of {sum(map(len, right)):,} photos right")


if __name__ == "__main__":
    main()
