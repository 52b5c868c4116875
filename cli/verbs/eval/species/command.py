"""`kb eval species`: accuracy of species identification on labelled photos."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from cli.common import exit_codes, options, output, wiring
from cli.common.output import counted_calls
from data.errors import NothingReadable, UsageError
from data.frames import as_csv
from recognize.settings import ANCHOR_SETS, EvaluationSettings, Vocabulary

if TYPE_CHECKING:
    from cli.verbs.eval.species.tables import Skipped
    from kb.store.knowledge_base import KnowledgeBase
    from recognize.evaluation.labelled import Dataset, SelectedPhotos

PRESETS = ("text-only", "anchors-only", "vr-rag-v1", "vr-rag-v2", "default")
CHOICES = (*PRESETS, "direct-rag")


# Long: parse, wire, call and print; a part of it would take most of the options.
@click.command()
@click.argument("dataset", type=click.Path(exists=True, path_type=Path), metavar="FOLDER|TABLE")
@options.kb_option("Knowledge base.")
@click.option("--preset", "presets", type=click.Choice(CHOICES), multiple=True,
    help="Scoring of photos; repeat to compare with the first.  [default: all but direct-rag]",
)  # fmt: skip
@click.option("--anchors", type=click.Choice(ANCHOR_SETS), multiple=True,
    help="Reference photos; repeat to compare: of the knowledge base (kb), up to three training photos per species of "
    "the dataset (train), or a set that the table names (wiki).  [default: kb]",
)  # fmt: skip
@click.option("--train", type=click.Path(exists=True, path_type=Path), metavar="FOLDER|TABLE",
    help="Photos of --anchors train.  [default: the split train of the dataset]",
)  # fmt: skip
@click.option("--split", type=click.Choice(("train", "test", "all")),
    help="Split of the dataset.  [default: test, if there is one]",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Number of photos, evenly spread over the dataset.")
@options.format_option("table", "csv", "json")
@click.pass_context
def species(
    ctx: click.Context,
    dataset: Path,
    kb: Path | None,
    presets: tuple[str, ...],
    anchors: tuple[str, ...],
    train: Path | None,
    split: str | None,
    limit: int | None,
    form: str,
) -> None:
    """Measure the accuracy of species identification.

    The dataset is a folder with one folder per species (with or without train and test above them), or a CSV table with
    the columns path and scientific_name or common_name (and split). Labels are names in the checklist or the knowledge
    base. Skipped and reported: unmatched labels, reference photos of the knowledge base, and training photos of the
    encoders, with their near-duplicates. Exit code 7 if some photos are unreadable.

    Example: kb eval species photos --preset text-only --preset default
    """
    from cli.verbs.eval.species import tables
    from recognize.evaluation import labelled
    from recognize.evaluation.comparison import compare_setups
    from recognize.evaluation.labelled import read_dataset

    settings = options.settings(kb=kb)
    method = options.method_settings("eval.species", EvaluationSettings)
    anchors = tuple(dict.fromkeys(anchors)) or ("kb",)
    if train is not None and "train" not in anchors:
        raise UsageError("--train needs --anchors train.")
    with ExitStack() as stack:
        store = stack.enter_context(wiring.open_knowledge_base(settings))
        read = read_dataset(dataset, split=split, train=train, anchors=anchors)
        selected, skipped = select(store, read, limit=limit)
        if not selected.photos:
            raise NothingReadable(
                f"No photo of {dataset} shows a species of the knowledge base: {output.printable(skipped.text())}.",
                hint=tables.NAMES_HINT if skipped.unmatched else "Choose a knowledge base of these species with --kb.",
            )
        encoders = wiring.encoders_of(store)
        photos = labelled.read_photos(
            store,
            encoders,
            selected,
            anchors,
            keep_leaks=method.keep_leaks,
            anchor_path=store.anchor_path,
            progress=partial(counted_calls, quiet=options.invocation().quiet),
        )
        vocabularies = get_args(Vocabulary) if method.vocabulary == "both" else (method.vocabulary,)
        evaluation = compare_setups(
            store,
            encoders,
            photos.photos,
            photos.labels,
            labelled.setups_of(tuple(dict.fromkeys(presets)) or PRESETS, vocabularies, anchors),
            anchor_sets=photos.anchor_sets,
            n_resamples=method.resamples,
            seed=method.seed,
        )
    for line in tables.warnings(photos, skipped, leaks_kept=method.keep_leaks):
        output.warn(line)
    name = "the starter knowledge" if settings.kb is None else str(settings.kb)
    if form == "json":
        output.write(output.as_json(tables.payload(evaluation, photos, skipped, kb=name, leaks_kept=method.keep_leaks)))
    elif form == "csv":
        output.write_rows(as_csv(evaluation.to_frame()))
    else:
        output.write(tables.as_text(evaluation, kb=name, dataset=selected.kind))
    if photos.unreadable:
        ctx.exit(exit_codes.PARTLY)


def select(store: KnowledgeBase, read: Dataset, *, limit: int | None = None) -> tuple[SelectedPhotos, Skipped]:
    """Return the photos of species in a knowledge base, and the skipped ones."""
    from cli.verbs.eval.species.tables import Skipped
    from recognize.evaluation.labelled import select_photos

    names = wiring.match_labels(store, list(dict.fromkeys([*(photo.label for photo in read.photos), *read.covered])))
    taxa = {match.name: match.taxon for match in names.matched}
    selected = select_photos(read, taxa, frozenset(store.taxon_ids), limit=limit)
    measured = {photo.label for photo in read.photos}
    return selected, Skipped(selected, tuple(name for name in names.unmatched if name.name in measured))
