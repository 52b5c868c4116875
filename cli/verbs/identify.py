"""`kb identify`: species identification in photos."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from click.core import ParameterSource

from cli.common import exit_codes, options, output, readers, wiring
from cli.common.output import counted, named_calls
from cli.common.reports import note_group_once
from cli.common.wiring import open_engine
from cli.verbs import identify_rows as rows
from cli.verbs.identify_files import (
    find_encounters,
    find_photos,
    identify_parameters,
    resumed_text,
    settle_unknown_prior,
    sink_for,
    warn_of_missing,
)
from cli.verbs.identify_formats import FORMATS, NAMES, Form, check_place_and_time, form_for
from cli.verbs.identify_lists import Listed
from cli.verbs.identify_species_list import fit_warnings, list_fit, read_expected
from data.errors import NothingReadable, SourceError, UsageError
from data.words import plural
from recognize.columns import Rows
from recognize.corrections import corrected, corrections_beside
from recognize.settings import MAX_READER_CANDIDATES, MIN_CONFIDENCE, PHOTO_PRESETS, IdentifySettings

if TYPE_CHECKING:
    from cli.common.resumable import Encounter, ResumableOutput
    from cli.common.settings import Settings
    from cli.verbs.identify_files import Printed
    from data.records import Identification
    from kb.store.knowledge_base import KnowledgeBase
    from recognize import Recognizer
    from recognize.confidence.prior import ListFit
    from recognize.corrections import Corrections
    from recognize.exports.document import Facts
    from recognize.place_names import Place


@click.command()
@click.argument("photos", nargs=-1, required=True, metavar="PHOTO|FOLDER|GLOB|LIST|-...")
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
    help="One answer per burst: photos of one camera, each taken within seconds of the one before.",
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
    help="Place of the photos: city, country, US state, or latitude,longitude. Default: GPS data of each photo.",
)  # fmt: skip
@click.option(
    "--date", metavar="DATE", help="Date of the photos, such as 2026-05-31. Default: EXIF data of each photo."
)
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
    "--format", "form", type=click.Choice(NAMES),
    help="Output format; camtrap-dp is a folder.  [default: table, or by the name of FILE]",
)  # fmt: skip
@click.option(
    "--rows", "rows_per", type=click.Choice(get_args(Rows)), default="photos", show_default=True,
    help="One row per photo (or bird, where there are several) or per candidate, in CSV and Parquet.",
)  # fmt: skip
@click.option(
    "--columns", type=click.Choice(get_args(rows.Columns)), default="lean", show_default=True,
    help="Columns of CSV and Parquet: the answer with the first two candidates, or all.",
)  # fmt: skip
@click.option("--excel", is_flag=True, help="Begin CSV with a byte-order mark, so that Excel shows accents.")
@click.option("--xmp", is_flag=True, help="Add the name to the keywords in an XMP sidecar of each photo.")
@click.option(
    "--output", "file", type=click.Path(path_type=Path), metavar="FILE",
    help="Write to FILE, and resume an earlier run that wrote it.",
)  # fmt: skip
@click.pass_context
def identify(ctx: click.Context, /, **chosen: Any) -> None:  # noqa: ANN401  # checked by click
    """Identify the species in photos.

    Prints the answer for each bird, how sure it is, and up to three alternatives. Folders are searched recursively; -
    reads paths from stdin. A LIST is a table with a column path, of Timelapse or Camtrap DP (media.csv), a text file of
    paths, or the JSON of MegaDetector, whose boxes are used. An unreadable photo is a row with an error, and the run
    continues: exit code 7, or 5 if no photo was readable; 7 as well if the reader failed for some photos, 6 if for all.
    With --output, an interrupted run resumes where it stopped, and photos that changed are identified again.

    A detector looks for birds in each photo. Each bird that it is sure of is identified by itself, from the photo and
    the part of it with the bird. With --fast, photos are compared as a whole.

    Answers have a confidence, the probability that they are right, estimated for any knowledge base of the starter
    profile. A species below --min-confidence is replaced by its genus, family or order, else by "Not sure". If the
    photo shows the bird well and it fits no species, the answer is "Probably not in the knowledge base", with the
    species that it looks like, if that is clear. The other candidates share the remaining confidence by their scores.
    With --reader the answer is the model's choice, without a confidence.

    With --group burst or --group-by each encounter gets one answer from all of its photos together. Photos without a
    time of exposure are encounters of their own; unreadable photos are named, and the others answer.

    With --species-list the listed species are favoured, and no species is ruled out. Results show scores and answers
    with and without the list. A warning says where the list overrides confident answers or does not fit the photos.

    With --place, or GPS data in a photo, and the extra `place`, birds hardly ever reported there in the week of the
    photo become less likely; none is ruled out. A warning says where confident answers contradict the place.
    """
    limit_numpy_threads()
    given, quiet = Given(**chosen), options.invocation().quiet
    settings, method = options.settings(kb=given.kb), options.method_settings("identify", IdentifySettings)
    _check_options(ctx, given, method)
    form = form_for(given.form, given.file)
    photos = find_photos(given.photos, column=given.group_by, quiet=quiet)
    _warn_of_form(ctx, form)
    if given.fast and photos.detections:
        output.warn("--fast compares photos as a whole: the boxes of MegaDetector are not used")
    with ExitStack() as stack:
        run = _opened(ctx, given, settings, method, photos, form, stack)
        counts = _identify(run)
    _report(run, counts)
    if counts.missing["reader"] and not counts.n_read and counts.missing["reader"] + counts.n_failed == len(run.names):
        ctx.exit(SourceError.exit_code)
    if counts.n_failed or counts.missing["reader"] or counts.missing["photos"]:
        ctx.exit(exit_codes.PARTLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Arguments and options of the command line."""

    photos: tuple[str, ...]
    kb: Path | None
    preset: str
    n: int
    min_confidence: float
    group: str | None
    group_by: str | None
    species_list: Path | None
    place: str | None
    date: str | None
    fast: bool
    scores: bool
    explain: bool
    cards: Path | None
    reader: bool
    max_cost: float | None
    offline: bool
    form: Form | None
    rows_per: Rows
    columns: rows.Columns
    excel: bool
    xmp: bool
    file: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run with everything open: what answers, the photos, and where the rows go."""

    given: Given
    method: IdentifySettings
    form: Form
    quiet: bool
    has_own_kb: bool
    store: KnowledgeBase
    recognizer: Recognizer
    reading: readers.OpenReader | None
    encounters: Sequence[Encounter]
    sink: ResumableOutput | Printed
    fit: ListFit | None
    corrections: Sequence[Corrections]

    @property
    def names(self) -> Mapping[str, str | None]:
        """First photo of each encounter -> its name."""
        return {each.photos[0]: each.name for each in self.encounters}

    @property
    def todo(self) -> list[tuple[str, ...]]:
        """Photos of each encounter without rows."""
        return [each.photos for each in self.encounters if each.photos[0] not in self.sink.done]

    @property
    def unit(self) -> str:
        """Noun of the unit that gets an answer."""
        return "encounter" if self.given.group or self.given.group_by else "photo"


@dataclass(slots=True, kw_only=True)
class Counts:
    """Counts of a run, rows of earlier runs included."""

    n_failed: int
    missing: Counter[str]
    """Part of a row -> number of rows without it."""
    why: str = ""
    """Why the reader gave no answer, for the first such row of this run."""
    n_read: int = 0
    n_placed: int = 0
    n_with_range: int = 0
    n_sure: int = 0
    """Photos with a place and a confident answer without it."""
    n_elsewhere: int = 0
    """Those of species that are hardly ever reported there."""
    notes: Counter[str] = field(default_factory=Counter)
    """Kind of note -> number of photos of this run with it."""
    sidecars: set[Path] = field(default_factory=set)
    """XMP files with the names."""
    unreadable: list[str] = field(default_factory=list)
    """Photos of encounters that the other photos answered."""


def _opened(
    ctx: click.Context,
    given: Given,
    settings: Settings,
    method: IdentifySettings,
    photos: Listed,
    form: Form,
    stack: ExitStack,
) -> Run:
    """Open knowledge base, recognizer, reader and output, closed with the stack."""
    # Long: one block opens everything in the order in which it closes.
    quiet = options.invocation().quiet
    store = stack.enter_context(wiring.open_knowledge_base(settings))
    expected = None
    if given.species_list is not None:
        expected = read_expected(store, given.species_list, method.off_list_share, quiet=quiet)
    place = occurrence = None
    if given.place is not None:
        from recognize.place_names import place_of

        place = place_of(given.place)
        if place.name.casefold() != given.place.casefold() and not quiet:
            output.note(f"Place: {place.name}")
    detections = {} if given.fast else photos.detections
    facts = _facts(given, place) if FORMATS[form].document else None
    if facts is not None:
        check_place_and_time(form, photos.groups, facts)
    if method.place_odds != 1:
        is_needed = given.place is not None and not FORMATS[form].document  # which has the place in any case
        occurrence = wiring.occurrence_model(method.place_model, is_needed=is_needed)
    recognizer = wiring.make_recognizer(
        store,
        preset=given.preset,
        k=(method.reader_candidates or given.n) if given.reader else given.n,
        n_chunks=method.reader_chunks(given.preset) if given.reader else None,
        min_confidence=given.min_confidence,
        unknown_prior=method.unknown_prior,
        species_list=expected,
        occurrence=occurrence,
        place=place,
        place_odds=method.place_odds,
        date=given.date,
        fast=given.fast,
        detections=detections,
        engine=stack.enter_context(open_engine(settings)),
    )
    of_confidence = options.given_options(ctx, ["min_confidence"])
    of_confidence += [] if method.unknown_prior is None else ["the setting unknown_prior"]
    _warn_of_calibration(of_confidence, recognizer, store, reader=given.reader)
    if settings.kb is not None and not quiet:
        note_group_once(store, settings.home)
    fit = None if expected is None else list_fit(store, recognizer, method.off_list_share, quiet=quiet)
    reading = None
    if given.reader:
        opened = readers.open_reader(
            settings, store, preset=given.preset, context=method.reader_context, forced=method.reader_forced,
            n_samples=method.reader_samples, max_cost=given.max_cost, offline=given.offline,
        )  # fmt: skip
        reading = stack.enter_context(opened)
    encounters = find_encounters(
        photos.groups, burst_s=method.burst_seconds if given.group else None, by=given.group_by, quiet=quiet
    )
    corrections = corrections_beside(
        *(Path(each) if Path(each).is_dir() else Path(each).parent for each in given.photos),
        *([given.file.parent] if given.file else []),
    )
    parameters = identify_parameters(store, recognizer, detections)
    parameters |= {**reading.parameters, "reader_chunks": recognizer.n_chunks} if reading is not None else {}
    parameters |= {"burst_seconds": method.burst_seconds} if given.group else {}
    parameters |= {"group_by": given.group_by} if given.group_by else {}
    sink = sink_for(
        form,
        given.file,
        settings.home,
        parameters,
        facts=facts,
        per=given.rows_per,
        columns=given.columns,
        excel=given.excel,
        retry_failed=method.retry_failed,
        wanted=encounters,
        start_over=not method.resume,
        said_of=lambda photo: " ".join(filter(None, (each.state_of(photo) for each in corrections))),
    )
    stack.enter_context(sink)
    if given.cards is not None:
        from recognize.cards.index import write_index

        stack.callback(write_index, given.cards)  # also after Ctrl-C
    return Run(
        given=given, method=method, form=form, quiet=quiet, has_own_kb=settings.kb is not None, store=store,
        recognizer=recognizer, reading=reading, encounters=encounters, sink=sink, fit=fit,
        corrections=corrections,
    )  # fmt: skip


def _facts(given: Given, place: Place | None) -> Facts:
    """Return what documents need beside the rows."""
    from fieldmark import fieldmark_version
    from recognize.exports.document import Facts
    from recognize.place_names import point_of

    def name_in_ebird(name: str) -> tuple[str, str] | None:
        from kb.checklist.avilist import ebird_names, load_checklist

        taxon = load_checklist().find(name)
        return None if taxon is None else ebird_names().get(taxon.ids.get("ebird", ""))

    point = point_of(given.place or "")
    name = "" if place is None or point is not None else place.name
    if place is not None and len(place.points) == 1:
        point = point or place.points[0]
    elif place is not None and given.form is not None and FORMATS[given.form].needs_place:
        raise UsageError(f"--place {given.place} is no point.", hint="Give a city, or latitude,longitude.")
    try:
        datetime.fromisoformat(given.date or "2026-05-31")
    except ValueError as error:
        raise UsageError(f"Expected a date such as 2026-05-31, got {given.date}.") from error
    folder = given.file or Path("photos")
    return Facts(
        program=f"Fieldmark {fieldmark_version(otherwise='')}".strip(),
        folder=(folder if given.form == "camtrap-dp" else folder.parent).absolute(),
        place=point,
        place_name=name,
        date=given.date,
        name_in_ebird=name_in_ebird,
    )


def _identify(run: Run) -> Counts:
    """Identify the photos without rows, and write their rows and cards."""
    given, sink, names, todo = run.given, run.sink, run.names, run.todo
    counts = Counts(
        n_failed=len(sink.failed.intersection(names)),
        missing=Counter(sink.missing[image] for image in names if image in sink.missing),
    )
    if len(todo) < len(names) and not run.quiet:
        _say_resumed(run, counts)
    if run.method.unknown_prior is None and run.recognizer.calibration is not None and todo:
        _look_first(run)
    made = run.recognizer.identify(todo if run.unit == "encounter" else [image for (image,) in todo])
    if run.reading is not None:
        made = run.reading.read(made)
    # Bars and rows on the same terminal would overwrite each other.
    is_shown = run.method.progress != "auto" or (len(todo) > 1 and (given.file is not None or not sys.stdout.isatty()))
    for birds in counted(
        rows.by_photo(made),
        len(todo),
        f"{run.unit}s",
        quiet=run.quiet or not is_shown,
        form=run.method.progress,
        failed=_failed,
    ):
        text, missing = "", set[str]()
        for each in run.corrections:
            each.refresh()  # a person may review the first photos while the last are identified
        for row in (replace(corrected(one, run.corrections), group=names[one.image]) for one in birds):
            text += _written(run, row, counts)
            missing.update(_missing_parts(row))
            if row.reader is not None and row.reader.missing == "reader":
                counts.why = counts.why or f" ({row.reader.reason})"
        part = next((part for part in ("reader", "samples", "photos") if part in missing), "")
        sink.add(birds[0].image, text, ok=not _failed(birds), missing=part)
        counts.n_failed += _failed(birds)
        counts.missing[part] += 1
    return counts


def _look_first(run: Run) -> None:
    """Estimate the share of unknown species; meanwhile the file of the output has the photos identified alone."""
    from recognize.confidence.calibration import N_SAMPLED

    given, photos = run.given, [each.photos for each in run.encounters]
    is_quiet, done = run.quiet or run.method.progress == "jsonl", run.sink.done
    n = 0
    with named_calls(quiet=run.quiet, form=run.method.progress) as meter:

        def show(birds: list[Identification]) -> None:
            nonlocal n
            n += sum(row.bird == row.n_birds for row in birds)
            meter("first look", n, min(len(photos), N_SAMPLED))
            if run.unit == "photo" and run.reading is None:
                new = [row for row in birds if row.image not in done]
                texts = [rows.lines(run.form, row, per=given.rows_per, columns=given.columns) for row in new]
                run.sink.preview("".join(texts))

        settle_unknown_prior(run.recognizer, run.sink, photos, f"{run.unit}s", show=show, quiet=is_quiet)


def _written(run: Run, row: Identification, counts: Counts) -> str:
    """Return the rows of one bird, with its card written and counted."""
    given, evidence = run.given, ""
    if given.explain and run.form == "table":
        from recognize import explain

        why = explain(run.store, row) if row.candidates else None
        evidence = "" if why is None else rows.evidence_text(row, why.text, why.photos_command)
    if given.cards is not None:
        from recognize.cards.page import write_card

        write_card(run.store, row, given.cards)
    if given.xmp:
        from recognize.exports.keywords import write_keywords

        counts.sidecars.update(write_keywords(row))
    counts.n_read += row.reader is not None and row.reader.answered > 0
    counts.notes.update({note.partition(":")[0] for note in row.notes if row.bird == 1})
    counts.n_placed += row.place_name is not None
    counts.n_with_range += any(candidate.range_text for candidate in row.candidates)
    if row.answer_without_place is not None:
        from recognize.confidence.place import contradicts

        does = contradicts(row)
        counts.n_sure += does is not None
        counts.n_elsewhere += does is True
    if row.status != "error":
        counts.unreadable += [photo.image for photo in row.photos if photo.error]
    if run.fit is not None:
        run.fit.add(row)
    return rows.lines(run.form, row, per=given.rows_per, columns=given.columns, with_scores=given.scores, why=evidence)


def _missing_parts(row: Identification) -> Iterator[str]:
    if row.reader is not None:
        yield row.reader.missing
    if row.status != "error" and any(photo.error for photo in row.photos):
        yield "photos"


def _say_resumed(run: Run, counts: Counts) -> None:
    n, n_done = len(run.names), len(run.names) - len(run.todo)
    output.note(resumed_text(plural(n, run.unit), n_done, counts.n_failed, counts.missing))
    if run.given.cards is not None:
        from recognize.cards.page import card_path

        n = sum(not card_path(image, run.given.cards).exists() for image in run.sink.done.intersection(run.names))
        if n:
            output.note(
                f"--cards writes no pages for {run.unit}s that were done before ({n:,} have none); "
                "--set resume=false writes all"
            )


def _report(run: Run, counts: Counts) -> None:
    """Print what the rows do not say: cards, effect of list and place, confidence, unreadable photos.

    Raises:
        NothingReadable: if no photo was readable.
    """
    given, names, fit, n_failed = run.given, run.names, run.fit, counts.n_failed
    if given.cards is not None and run.todo and not run.quiet:
        n_cards = plural(len(run.todo), "card")
        output.note(f"{n_cards} in {given.cards}: open {given.cards / 'index.html'} in a browser")
    if given.xmp and not run.quiet:
        sidecars = plural(len(counts.sidecars), "XMP sidecar")
        output.note(f"The names are in the keywords of {sidecars}; photos without a name, or done before, get none")
    if fit is not None:
        if fit.n_changed and not run.quiet:
            output.note(
                f"Without the list, {fit.n:,} of {plural(fit.n_photos, 'photo')} {'is' if fit.n == 1 else 'are'} "
                f"identified to species; the list puts another species first in {fit.n_changed:,} of them"
            )
        for warning in fit_warnings(fit):
            output.warn(warning)
    if given.place is not None and counts.n_placed and not counts.n_with_range:
        output.warn(
            f"--place has no effect: the model of occurrence, of birds, knows no candidate of "
            f"{plural(counts.n_placed, 'photo')}"
        )
    has_weeks = run.recognizer.prior is not None and run.recognizer.prior.has_quarters
    if given.date is not None and given.place is None and run.todo and not (counts.n_placed or has_weeks):
        output.warn("--date has no effect: it is used with --place, GPS data of a photo, or a species list with weeks")
    if counts.n_elsewhere:
        from recognize.confidence.place import SHARE_ELSEWHERE
        from recognize.confidence.prior import is_by_chance

        if not is_by_chance(counts.n_elsewhere, counts.n_sure, SHARE_ELSEWHERE):
            output.warn(
                f"{counts.n_elsewhere:,} of {counts.n_sure:,} confident answers are species hardly ever reported at "
                "the place of the photo: check the place"
            )
    if n_failed == len(names):
        readable = f"The {run.unit} is not readable."
        raise NothingReadable(readable if n_failed == 1 else f"None of the {n_failed:,} {run.unit}s is readable.")
    calibration = run.recognizer.calibration
    if run.form == "table" and not (given.reader or run.recognizer.misfit or run.quiet):
        if calibration is None:
            why = _no_calibration(run.store)
            output.note(f"Confidence is not available: {why}. Each answer is the best match in it.")
        elif calibration.kind == "shipped" and run.has_own_kb:
            output.note("Confidence is estimated for any knowledge base; kb calibrate fits it to yours")
    photos = plural(len(names), run.unit)
    for kind, n in counts.notes.items():
        output.warn(f"{kind}: {n:,} of {photos} (see the notes)")
    retry = "; use --set retry_failed=true to retry" if given.file is not None else ""
    warn_of_missing(n_failed, counts.missing, photos, counts.unreadable, how=f"{retry}{counts.why}")


def _check_options(ctx: click.Context, given: Given, method: IdentifySettings) -> None:
    """Raise `UsageError` for options and settings that need another option, and for a folder that holds other pages."""
    of_reader = [field.name for field in fields(IdentifySettings) if field.name.startswith("reader_")]
    needs: list[tuple[str, bool, Sequence[str], Sequence[str]]] = [
        ("--reader", given.reader, readers.OPTIONS, of_reader),
        ("--species-list", given.species_list is not None, (), ["off_list_share"]),
        ("--output", given.file is not None, (), ["resume", "retry_failed"]),
        ("--group burst", given.group is not None, (), ["burst_seconds"]),
    ]
    for option, is_given, dependent, settings in needs:
        found = options.given_options(ctx, dependent)
        found += [f"the setting {name}" for name in settings if f"identify.{name}" in options.invocation().set]
        if found and not is_given:
            text = f"{' and '.join(found)} {'needs' if len(found) == 1 else 'need'} {option}."
            raise UsageError(text[0].upper() + text[1:])
    if given.group is not None and options.given_options(ctx, ["group_by"]):
        raise UsageError("--group and --group-by cannot be combined.")
    n_candidates = method.reader_candidates or given.n
    if given.reader and n_candidates > MAX_READER_CANDIDATES:
        raise UsageError(
            f"Expected at most {MAX_READER_CANDIDATES} candidates for the reader, got {n_candidates}.",
            hint="Use a smaller --top, or --set reader_candidates=K.",
        )
    if given.cards is not None:
        from recognize.cards.index import check_folder

        check_folder(given.cards)


def _warn_of_form(ctx: click.Context, form: Form) -> None:
    """Warn of options that change only other output formats."""
    has_columns, chosen = FORMATS[form].has_columns, ctx.params
    has_scores = has_columns and (chosen["rows_per"], chosen["columns"]) == ("candidates", "all")
    for_table = options.given_options(ctx, ("explain",) if has_scores else ("scores", "explain"))
    if for_table and form != "table":
        verb = "changes" if len(for_table) == 1 else "change"
        remedy = "; for scores: --rows candidates --columns all" if has_columns and "--scores" in for_table else ""
        output.warn(f"{' and '.join(for_table)} only {verb} the table, not {form} rows{remedy}")
    for name, option in (("rows_per", "--rows"), ("columns", "--columns")):
        if not has_columns and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            output.warn(f"{option} only changes CSV and Parquet, not {form}")
    if chosen["excel"] and form != "csv":
        output.warn(f"--excel only changes CSV, not {form}")


def _warn_of_calibration(given: Sequence[str], recognizer: Recognizer, store: KnowledgeBase, *, reader: bool) -> None:
    """Warn of options that change only calibrated answers, where there are none."""
    if not given:
        return
    names = " and ".join(given)
    if recognizer.calibration_id is not None:
        if reader:
            output.warn(f"Only rows where the reader fails use {names}: its choices have no confidence")
        return
    why = f"the calibration of this knowledge base {recognizer.misfit}" if recognizer.misfit else _no_calibration(store)
    output.warn(f"{names} {'has' if len(given) == 1 else 'have'} no effect: {why}")


def _no_calibration(store: KnowledgeBase) -> str:
    """Return the reason that answers have no confidence."""
    return f"none ships for the profile {store.info.profile}; kb calibrate fits it to this knowledge base"


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
