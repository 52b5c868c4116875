"""`kb eval species`: answers for labelled photos, right and wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import numpy as np

from cli.common import exit_codes, options, output, wiring
from cli.common.output import counted
from data.errors import NothingReadable
from data.frames import as_csv
from data.words import plural
from recognize.settings import MIN_CONFIDENCE, PHOTO_PRESETS, EvaluationSettings

if TYPE_CHECKING:
    from data.records import Identification, Taxon
    from kb.store.knowledge_base import KnowledgeBase
    from recognize.evaluation.report import Rate, SpeciesFigures, SpeciesReport

MOST_SHOWN: Final = 40
"""Species in the table of wrong answers."""


@click.command()
@click.argument("dataset", type=click.Path(exists=True, path_type=Path), metavar="FOLDER|TABLE")
@options.kb_option("Knowledge base.")
@click.option("--preset", type=click.Choice(PHOTO_PRESETS), default="default", show_default=True,
              help="Scoring of photos.")  # fmt: skip
@click.option("--min-confidence", type=options.Number(0, 1), default=MIN_CONFIDENCE, show_default=True,
              metavar="PROBABILITY", help="Minimum confidence of an answer, as for kb identify.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Number of photos, evenly spread over the dataset.")
@options.format_option("table", "csv", "json")
@click.pass_context
def species(
    ctx: click.Context, dataset: Path, kb: Path | None, preset: str, min_confidence: float, limit: int | None, form: str
) -> None:
    """Measure the answers of kb identify on labelled photos.

    The dataset is a folder with one folder per species (of train and test folders above them, test counts), or a table
    with the columns path and scientific_name or common_name, or the folder of photos that you named in kb serve
    (with one bird each). Labels are names in the checklist or the knowledge base.

    Prints how many photos are named, how many of the names are right, and what each species is mistaken for. Photos of
    species outside the knowledge base are counted apart. Left out and reported: unmatched labels, and copies of
    reference photos and of the training photos of the encoders. Exit code 7 if some photos are unreadable.

    Example: kb eval species photos --kb birds.kb
    """
    from cli.common.labelled_photos import read_labelled
    from recognize.evaluation.report import report_of

    settings = options.settings(kb=kb)
    method, quiet = options.method_settings("eval.species", EvaluationSettings), options.invocation().quiet
    with wiring.open_knowledge_base(settings) as store:
        labelled = read_labelled(dataset, store, split="test")
        photos = [*labelled.photos, *labelled.absent]
        if limit is not None and limit < len(photos):
            photos = [photos[i * len(photos) // limit] for i in range(limit)]
        found = wiring.make_recognizer(store, preset=preset, k=5, min_confidence=min_confidence)
        kept = photos if method.keep_leaks else without_copies(store, photos)
        rows = found.identify([(str(path),) for path, _ in kept])
        answered = list(zip(counted(rows, len(kept), "photos", quiet=quiet), (taxon for _, taxon in kept), strict=True))
        if not method.keep_leaks:
            answered = [(row, taxon) for row, taxon in answered if not is_copy(row)]
        if all(row.status == "error" for row, _ in answered):
            raise NothingReadable(
                f"None of {plural(len(photos), 'photo')} is left: the others are unreadable, or copies of photos that "
                "the knowledge base or the encoders know.",
                hint="Use --set keep_leaks=true to measure copies too.",
            )
        report = report_of(answered, found.taxa)
    n_copies = len(photos) - len(answered)
    if n_copies:
        output.warn(
            f"{plural(n_copies, 'photo')} left out: copies of reference photos, or of training photos of the encoders"
        )
    for line in labelled.lines():
        output.warn(line)
    if report.unreadable:
        path, why = next(iter(report.unreadable.items()))
        output.warn(f"{plural(len(report.unreadable), 'photo')} unreadable; the first is {path}: {why}")
    name = "the starter knowledge" if settings.kb is None else str(settings.kb)
    if form == "json":
        from data.codec import to_json

        counts = {"kb": name, "preset": preset, "n_copies": n_copies, "n_unmatched": labelled.n_unmatched}
        unmatched = [to_json(label) for label in labelled.unmatched]
        output.write(output.as_json({**counts, "unmatched": unmatched, **to_json(report)}))
    elif form == "csv":
        output.write_rows(as_csv(report.to_frame()))
    else:
        output.write(as_text(report, kb=name))
    if report.unreadable:
        ctx.exit(exit_codes.PARTLY)


def without_copies(store: KnowledgeBase, photos: list[tuple[Path, Taxon]]) -> list[tuple[Path, Taxon]]:
    """Return the photos that look like no reference photo and no training photo of the encoders."""
    from recognize.encoded_photos import iter_hashes, near_duplicates, reference_hashes, training_hashes

    encoders = wiring.load_encoders(store.info.profile)  # the recognizer has warned of outdated reference photos
    known = np.concatenate([reference_hashes(store, store.anchor_path), training_hashes(encoders)])
    hashes = iter_hashes(path for path, _ in photos)
    return [
        photo
        for photo, value in zip(photos, hashes, strict=True)
        if value is None or not near_duplicates(np.array([value], dtype=np.uint64), known)[0]
    ]


def is_copy(row: Identification) -> bool:
    """Return whether a photo has the vector of a reference photo, which may have no file to compare with."""
    from recognize.encoded_photos import NEAR_COSINE

    return any(anchor.similarity >= NEAR_COSINE for candidate in row.candidates for anchor in candidate.anchors)


def as_text(report: SpeciesReport, *, kb: str) -> str:
    """Return the summary, and the species with other answers than the right one."""
    from recognize.evaluation.report import RATES

    named, right = report["named"], report["named_right"]
    species = plural(report.n_species, "species", "species")
    head = [
        f"{plural(report.n, 'photo')} of {species}; knowledge base {kb}",
        f"Of {plural(named.of, 'photo')} of its species, {named.n:,} are named to species; {right.n:,} of these names "
        f"are right{f' ({_shares(right)})' if right.of else ''}.",
    ]
    rows = [
        [RATES[found.name], found.n, found.of, f"{100 * found.share:.0f}", _interval(found)]
        for found in report.rates
        if found.share is not None
    ]
    columns = ["", "photos", "of", "percent", "95 % interval"]
    parts = ["\n".join(head), output.as_table(columns, rows, right=columns[1:])]
    if wrong := [of for of in report.species if not of.is_all_right]:
        rows_of = [[_name(of), of.n, of.named_right.n, _others(of)] for of in wrong[:MOST_SHOWN]]
        columns = ["species", "photos", "named right", "other answers"]
        left = len(wrong) - MOST_SHOWN
        text = output.as_table(columns, rows_of, right=columns[1:3])
        text += f"\n(and {left:,} more species; --format csv has all)" if left > 0 else ""
        parts.append(f"Species with other answers, most wrong names first\n{text}")
    parts.append("Intervals are right for independent photos; of bursts of one bird they are too narrow.")
    return "\n\n".join(parts)


def _interval(found: Rate) -> str:
    low, high = found.interval
    return f"{100 * low:.0f} to {100 * high:.0f}"


def _shares(found: Rate) -> str:
    return f"{100 * (found.share or 0):.0f} %, 95 % interval {_interval(found)} %"


def _name(of: SpeciesFigures) -> str:
    return (of.common_name or of.scientific_name) + ("" if of.is_held else " (not in the knowledge base)")


def _others(of: SpeciesFigures) -> str:
    return "; ".join(
        f"{given.text} {given.n:,}" for given in of.answers if not (given.is_right and given.rank == "species")
    )
