"""`kb identify`: species identification in photos."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click
from click.core import ParameterSource

from cli.common import exit_codes, options, output, readers, wiring
from cli.common.engines import open_engine
from cli.common.groups import note_group_once
from cli.common.progress import counted
from cli.verbs.identify import encounters, rows
from cli.verbs.identify import species_list as species_lists
from cli.verbs.identify.files import find_photos, form_for, identify_parameters, settle_unknown_prior, sink_for
from cli.verbs.identify.notices import (
    cards_text,
    n_without_card,
    no_calibration,
    resumed_text,
    warn_of_calibration,
    warn_of_missing,
)
from cli.verbs.identify.table import evidence_text
from data.errors import NothingReadable, SourceError, UsageError
from data.words import plural
from recognize.settings import (
    MAX_READER_CANDIDATES,
    MIN_CONFIDENCE,
    PHOTO_PRESETS,
    IdentifySettings,
)

if TYPE_CHECKING:
    from data.places.gazetteer import Place
    from data.records import Identification

GROUPS = {
    "Answer": ("kb", "preset", "n", "min_confidence", "fast"),
    "Encounters": ("group", "group_by"),
    "Expected species": ("species_list", "place"),
    "Explanation": ("scores", "explain", "cards"),
    "Reader (a vision model)": ("reader", *readers.OPTIONS),
    "Output": ("form", "rows_per", "file"),
}


@click.command(cls=options.GroupedCommand, groups=GROUPS)
@click.argument("photos", nargs=-1, required=True, metavar="PHOTO|FOLDER|GLOB|-...")
@options.kb_option("Knowledge base.")
@click.option(
    "--preset", type=click.Choice(PHOTO_PRESETS), default="default", show_default=True, help="Scoring of photos."
)
@click.option(
    "--top", "n", type=click.IntRange(min=1), metavar="N", default=5, show_default=True,
    help="Candidates per photo; without --scores the table shows at most three beside the answer.",
)  # fmt: skip
@click.option(
    "--min-confidence", type=options.Number(0, 1), default=MIN_CONFIDENCE, show_default=True, metavar="PROBABILITY",
    help="Minimum confidence of an answer; below it the answer rolls up to genus, family or order.",
)  # fmt: skip
@click.option(
    "--group", type=click.Choice(("burst",)),
    help="One answer per burst: photos of one camera and folder, each taken within seconds of the one before.",
)  # fmt: skip
@click.option(
    "--group-by", metavar="COLUMN", help="One answer per value of a column; the photos are in a CSV with a column path."
)
@click.option(
    "--species-list", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Expected species: an eBird download (bar chart, life list, own data), a CSV, or one name per line.",
)  # fmt: skip
@click.option(
    "--place", metavar="PLACE",
    help="Place of the photos: country, state, region, or latitude,longitude. Default: GPS data of each photo.",
)  # fmt: skip
@click.option("--fast", is_flag=True, help="Compare photos as a whole, without looking for birds in them.")
@click.option("--scores", is_flag=True, help="Show the scores of the candidates and their stages (table only).")
@click.option(
    "--explain", is_flag=True,
    help="Show descriptions, reference photos and the differences between the first two candidates (table only).",
)  # fmt: skip
@click.option(
    "--cards", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Write an HTML page per photo to DIR, with reference photos, credits and differences, and an index.",
)  # fmt: skip
@click.option("--reader", is_flag=True, help="Let the model of [llm.vision] choose among the candidates.")
@options.cost_options
@click.option(
    "--format", "form", type=click.Choice(rows.FORMATS),
    help="Output format.  [default: table, or by the name of FILE]",
)  # fmt: skip
@click.option(
    "--rows", "rows_per", type=click.Choice(get_args(rows.Rows)), default="photos", show_default=True,
    help="One row per photo (or bird, where there are several) or per candidate, in CSV and Parquet.",
)  # fmt: skip
@click.option(
    "--output", "file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Write to FILE, and resume an earlier run that wrote it.",
)  # fmt: skip
@click.pass_context
def identify(
    ctx: click.Context,
    photos: tuple[str, ...],
    kb: Path | None,
    preset: str,
    n: int,
    min_confidence: float,
    group: str | None,
    group_by: str | None,
    species_list: Path | None,
    place: str | None,
    fast: bool,
    scores: bool,
    explain: bool,
    cards: Path | None,
    reader: bool,
    max_cost: float | None,
    offline: bool,
    form: rows.Form | None,
    rows_per: rows.Rows,
    file: Path | None,
) -> None:
    """Identify the species in photos.

    Prints the answer for each bird, how sure it is, and up to three alternatives. Folders are searched recursively; -
    reads paths from stdin. An unreadable photo is a row with an error, and the run continues: exit code 7, or 5 if no
    photo was readable; 7 as well if the reader failed for some photos, 6 if for all. With --output, an interrupted
    run resumes where it stopped, and photos that changed are identified again.

    A detector looks for birds in each photo. Each bird that it is sure of is identified by itself, from the photo and
    the part of it with the bird. With --fast, photos are compared as a whole.

    Answers have a confidence, the probability that they are right, estimated for any knowledge base of the starter
    profile. A species below --min-confidence is replaced by its genus, family or order, else by "Not sure". If the
    species is more likely outside the knowledge base, the answer is "Probably not in the knowledge base", with the
    species that it looks like, or its genus, family or order, if they are clear. The other candidates share the
    remaining confidence by their scores. With --reader the answer is the model's choice, without a confidence.

    With --group burst or --group-by each encounter gets one answer from all of its photos together. Photos without a
    time of exposure are encounters of their own; unreadable photos are named, and the others answer.

    With --species-list the listed species are favoured, and no species is ruled out. Results show scores and answers
    with and without the list. A warning says where the list overrides confident answers or does not fit the photos.

    With --place, or GPS data in a photo, species are favoured whose texts say that they live there, in the month of the
    photo; none is ruled out, and a text without a range changes nothing.

    Higher scores (--scores) are better; they are not probabilities. list, place: boosts of the score. text:
    similarity to the description. visual: similarity to the reference photos, at most 1. prototype: similarity to
    the prototype that the model learned. text_part, visual_part, prototype_part: contributions to the score of the
    default preset. Blank: the stage does not apply.
    """
    limit_numpy_threads()
    settings = options.settings(kb=kb)
    run = options.method_settings("identify", IdentifySettings)
    _check_options(ctx, reader=reader, has_list=species_list is not None, has_file=file is not None, group=group)
    n_candidates = run.reader_candidates or n
    if reader and n_candidates > MAX_READER_CANDIDATES:
        raise UsageError(
            f"Expected at most {MAX_READER_CANDIDATES} candidates for the reader, got {n_candidates}.",
            hint="Use a smaller --top, or --set reader_candidates=K.",
        )
    if cards is not None:
        from recognize.explanation.cards.index import check_folder

        check_folder(cards)
    row_form = form_for(form, file)
    quiet = options.invocation().quiet
    found = find_photos(photos, column=group_by, quiet=quiet)
    for_table = options.given_options(ctx, ("scores", "explain"))
    if for_table and row_form != "table":
        verb = "changes" if len(for_table) == 1 else "change"
        output.warn(f"{' and '.join(for_table)} only {verb} the table, not {row_form} rows")
    if row_form not in {"csv", "parquet"} and ctx.get_parameter_source("rows_per") is ParameterSource.COMMANDLINE:
        output.warn(f"--rows only changes CSV and Parquet, not {row_form}")
    with ExitStack() as stack:
        store = stack.enter_context(wiring.open_knowledge_base(settings))
        expected, n_outside, share = None, 0, run.off_list_share
        if species_list is not None:
            expected, n_outside = species_lists.read_expected(store, species_list, share, quiet=quiet)
        recognizer = wiring.make_recognizer(
            store,
            preset=preset,
            n=n_candidates if reader else n,
            n_chunks=run.reader_chunks(preset) if reader else None,
            min_confidence=min_confidence,
            unknown_prior=run.unknown_prior,
            species_list=expected,
            place=None if place is None else read_place(place),
            place_odds=run.place_odds,
            fast=fast,
            engine=stack.enter_context(open_engine(settings)),
        )
        given = options.given_options(ctx, ["min_confidence"])
        given += [] if run.unknown_prior is None else ["the setting unknown_prior"]
        warn_of_calibration(given, recognizer, store, reader=reader)
        if settings.kb is not None and not quiet:
            note_group_once(store, settings.home)
        fit = species_lists.list_fit(store, recognizer, share, quiet=quiet)
        reading, parameters = None, identify_parameters(store, recognizer)
        if reader:
            reading = stack.enter_context(
                readers.open_reader(
                    settings,
                    store,
                    preset=preset,
                    context=run.reader_context,
                    forced=run.reader_forced,
                    n_samples=run.reader_samples,
                    max_cost=max_cost,
                    offline=offline,
                )
            )
            parameters |= {**reading.parameters, "reader_chunks": recognizer.n_chunks}
        wanted = encounters.find_encounters(
            found, burst_s=run.burst_seconds if group else None, by=group_by, quiet=quiet
        )
        parameters |= {"burst_seconds": run.burst_seconds} if group else {"group_by": group_by} if group_by else {}
        sink = sink_for(
            row_form,
            file,
            settings.home,
            parameters,
            per=rows_per,
            retry_failed=run.retry_failed,
            wanted=wanted,
            start_over=not run.resume,
        )
        stack.enter_context(sink)
        if cards is not None:
            from recognize.explanation.cards.index import write_index

            stack.callback(write_index, cards)  # also after Ctrl-C
        is_grouped, names = bool(group or group_by), {each.photos[0]: each.name for each in wanted}
        unit = "encounter" if is_grouped else "photo"
        todo = [each.photos for each in wanted if each.photos[0] not in sink.done]
        n_failed = len(sink.failed.intersection(names))
        missing = Counter(sink.missing[image] for image in names if image in sink.missing)
        if len(todo) < len(names) and not quiet:
            output.note(resumed_text(plural(len(names), unit), len(names) - len(todo), n_failed, missing))
            if cards is not None and (n_without := n_without_card(cards, sink.done.intersection(names))):
                output.note(
                    f"--cards writes no pages for {unit}s that were done before ({n_without:,} have none); "
                    "--set resume=false writes all"
                )
        if run.unknown_prior is None and recognizer.calibration is not None and todo:
            settle_unknown_prior(
                recognizer, sink, [each.photos for each in wanted], f"{unit}s", quiet=quiet or run.progress == "jsonl"
            )
        if todo and not quiet:
            species_lists.suggest_prior(recognizer, n_outside)
        n_placed = n_with_range = n_read = 0
        # Bars and rows on the same terminal would overwrite each other.
        is_shown = run.progress != "auto" or (len(todo) > 1 and (file is not None or not sys.stdout.isatty()))
        made = recognizer.identify(todo if is_grouped else [image for (image,) in todo])
        if reading is not None:
            made = reading.read(made)
        unreadable: list[str] = []
        pages: set[Path] = set()
        for birds in counted(
            rows.by_photo(made),
            len(todo),
            f"{unit}s",
            quiet=quiet or not is_shown,
            form=run.progress,
            failed=_failed,
        ):
            text, missing_parts = "", set()
            for one in birds:
                row = replace(one, group=names[one.image])
                evidence = ""
                if explain and row_form == "table":
                    from recognize import explain as explanation_of

                    evidence = evidence_text(row, explanation_of(store, row).text if row.candidates else "")
                if cards is not None:
                    from recognize.explanation.cards.page import write_card

                    pages.add(write_card(store, row, cards))
                missing_parts.add(row.reader.missing if row.reader is not None else "")
                n_read += row.reader is not None and row.reader.answered > 0
                if row.status != "error" and (failed := [photo.image for photo in row.photos if photo.error]):
                    unreadable += failed
                    missing_parts.add("photos")
                text += rows.lines(row_form, row, per=rows_per, with_scores=scores, why=evidence)
                n_placed += row.place_name is not None
                n_with_range += any(candidate.range_text for candidate in row.candidates)
                if fit is not None:
                    fit.add(row)
            missing_part = next((part for part in ("reader", "samples", "photos") if part in missing_parts), "")
            sink.add(birds[0].image, text, ok=not _failed(birds), missing=missing_part)
            n_failed += _failed(birds)
            missing[missing_part] += 1
    if cards is not None and todo and not quiet:
        output.note(cards_text(cards, plural(len(todo), "card"), pages))
    if fit is not None:
        if fit.n_changed and not quiet:
            output.note(species_lists.changed_text(fit))
        for warning in species_lists.fit_warnings(fit):
            output.warn(warning)
    if place is not None and n_placed and not n_with_range:
        output.warn(
            f"--place has no effect: no text of a candidate states a range, in {plural(n_placed, 'photo')}. "
            "Build the knowledge base from articles (kb build)"
        )
    if n_failed == len(names):
        readable = f"The {unit} is not readable." if n_failed == 1 else f"None of the {n_failed:,} {unit}s is readable."
        raise NothingReadable(readable)
    if row_form == "table" and not (reader or recognizer.misfit or quiet):
        if recognizer.calibration is None:
            output.note(f"Confidence is not available: {no_calibration(store)}. Each answer is the best match in it.")
        elif recognizer.calibration.kind == "shipped" and settings.kb is not None:
            output.note("Confidence is estimated for any knowledge base; kb calibrate fits it to yours")
    warn_of_missing(n_failed, missing, plural(len(names), unit), unreadable, can_retry=file is not None)
    if missing["reader"] and not n_read and missing["reader"] + n_failed == len(names):
        ctx.exit(SourceError.exit_code)
    if n_failed or missing["reader"] or missing["photos"]:
        ctx.exit(exit_codes.PARTLY)


def _check_options(ctx: click.Context, *, reader: bool, has_list: bool, has_file: bool, group: str | None) -> None:
    """Raise `UsageError` for options and settings that need another option."""
    of_reader = [field.name for field in fields(IdentifySettings) if field.name.startswith("reader_")]
    needs: list[tuple[str, bool, Sequence[str], Sequence[str]]] = [
        ("--reader", reader, readers.OPTIONS, of_reader),
        ("--species-list", has_list, (), ["off_list_share"]),
        ("--output", has_file, (), ["resume", "retry_failed"]),
        ("--group burst", group is not None, (), ["burst_seconds"]),
    ]
    for option, is_given, dependent, settings in needs:
        found = options.given_options(ctx, dependent)
        found += [f"the setting {name}" for name in settings if name in options.invocation().set]
        if found and not is_given:
            text = f"{' and '.join(found)} {'needs' if len(found) == 1 else 'need'} {option}."
            raise UsageError(text[0].upper() + text[1:])
    if group is not None and options.given_options(ctx, ["group_by"]):
        raise UsageError("--group and --group-by cannot be combined.")


def read_place(text: str) -> Place:
    """Return the place of `--place`."""
    from data.places.gazetteer import place_of  # loads numpy

    return place_of(text)


def _failed(birds: Sequence[Identification]) -> bool:
    return birds[0].status == "error"


def limit_numpy_threads() -> None:
    """Run NumPy on one thread, if it is not loaded yet, and shorten the interpreter's switch interval.

    All cores are busy encoding the next photos. Threads of NumPy would wait for each other by spinning, which cost a
    quarter of the throughput. A thread that returns from the encoder continues after half a millisecond instead of
    five, and starts on the next photo.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.setswitchinterval(5e-4)
