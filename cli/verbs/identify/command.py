"""`kb identify`: species identification in photos."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click
from click.core import ParameterSource

from cli.common import options, output, wiring
from cli.common import readers as reader_wiring
from cli.common.option_groups import GroupedCommand
from cli.common.progress import ProgressForm, counted
from cli.verbs.identify import order as identifying
from cli.verbs.identify import rows
from cli.verbs.identify import species_list as species_lists
from data.errors import NothingReadable, UsageError
from recognize.settings import (
    MAX_READER_CANDIDATES,
    MIN_CONFIDENCE,
    OFF_LIST_SHARE,
    PHOTO_PRESETS,
    UNKNOWN_PRIOR,
    IdentifySettings,
)

if TYPE_CHECKING:
    from data.records import Identification

EXIT_PARTLY = 7
CALIBRATED = ("min_confidence", "unknown_prior")  # options that only change calibrated answers
READER_OPTIONS = ("reader_samples", "prompts", "max_cost", "offline")
GROUPS = {
    "Answer": ("kb", "preset", "n", "min_confidence", "unknown_prior"),
    "Expected species": ("species_list", "off_list_share"),
    "Explanation": ("explain", "cards"),
    "Reader (a vision model)": ("reader", *READER_OPTIONS),
    "Output": ("form", "file", "retry_failed", "no_resume", "progress"),
}


@click.command(cls=GroupedCommand, groups=GROUPS)
@click.argument("photos", nargs=-1, required=True, metavar="PHOTO|FOLDER|GLOB|-...")
@options.kb_option("Knowledge base.")
@click.option(
    "--preset", type=click.Choice(PHOTO_PRESETS), default="default", show_default=True, help="Scoring of photos."
)
@click.option("--top", "n", type=click.IntRange(min=1), default=5, show_default=True, help="Candidates per photo.")
@click.option(
    "--min-confidence", type=click.FloatRange(0, 1), default=MIN_CONFIDENCE, show_default=True, metavar="PROBABILITY",
    help="Minimum confidence of an answer; below it the answer rolls up to genus, then family. Needs a calibration.",
)  # fmt: skip
@click.option(
    "--unknown-prior", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=UNKNOWN_PRIOR,
    show_default=True, metavar="PROBABILITY",
    help="Prior probability that a photo shows a species outside the knowledge base. Needs a calibration.",
)  # fmt: skip
@click.option(
    "--species-list", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Expected species: an eBird download (bar chart, life list, own data), a CSV, or one name per line.",
)  # fmt: skip
@click.option(
    "--off-list-share", type=click.FloatRange(0, 1, min_open=True, max_open=True), metavar="SHARE",
    help=f"Expected share of photos with species that are not on the list.  [default: {OFF_LIST_SHARE}]",
)  # fmt: skip
@click.option(
    "--explain", is_flag=True,
    help="Show descriptions, reference photos and the differences between the first two candidates (table only).",
)  # fmt: skip
@click.option(
    "--cards", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Write an HTML page per photo to DIR, with reference photos, credits and differences.",
)  # fmt: skip
@click.option("--reader", is_flag=True, help="Let the model of [llm.vision] choose among the candidates.")
@click.option(
    "--reader-samples", type=click.IntRange(min=1), default=1, show_default=True, metavar="N",
    help="Model calls per photo, each with the candidates in another order.",
)  # fmt: skip
@click.option(
    "--prompts", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="Folder with your own reader prompt, read_photo.md.",
)  # fmt: skip
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Stop before the reader costs more.")
@click.option("--offline", is_flag=True, help="Use cached replies of the reader only.")
@click.option(
    "--format", "form", type=click.Choice(rows.FORMATS),
    help="Output format.  [default: table, or by the name of FILE]",
)  # fmt: skip
@click.option(
    "--output", "file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Write to FILE, and resume an earlier run that wrote it.",
)  # fmt: skip
@click.option("--retry-failed", is_flag=True, help="Retry photos that were unreadable or that the reader failed on.")
@click.option("--no-resume", is_flag=True, help="Start FILE from scratch.")
@click.option(
    "--progress", type=click.Choice(get_args(ProgressForm)), default="auto", show_default=True,
    help="Progress on stderr: bars or lines, or one line of JSON per second.",
)  # fmt: skip
@click.pass_context
def identify(
    ctx: click.Context,
    photos: tuple[str, ...],
    kb: Path | None,
    preset: str,
    n: int,
    min_confidence: float,
    unknown_prior: float,
    species_list: Path | None,
    off_list_share: float | None,
    explain: bool,
    cards: Path | None,
    reader: bool,
    reader_samples: int,
    prompts: Path | None,
    max_cost: float | None,
    offline: bool,
    form: str | None,
    file: Path | None,
    retry_failed: bool,
    no_resume: bool,
    progress: ProgressForm,
) -> None:
    """Identify the species in photos.

    Prints the answer for each photo, how sure it is, and the closest matches. Folders are searched recursively; - reads
    paths from stdin. An unreadable photo is a row with an error, and the run continues: exit code 7, or 5 if no photo
    was readable; 7 as well if the reader failed. With --output, an interrupted run resumes where it stopped, and photos
    that changed are identified again.

    With a calibrated knowledge base, such as the one that ships, answers have a confidence: the probability that the
    answer is right, given that the species is in the knowledge base. A species below --min-confidence is replaced by
    its genus, then its family, then "Not sure". If the species is more likely outside the knowledge base, the answer is
    "Probably not in the knowledge base". With --reader the answer is the model's choice, without a confidence.

    With --species-list the listed species are favoured, and no species is ruled out. Results show scores and answers
    with and without the list. A warning says where the list overrides confident answers or does not fit the photos.

    Higher scores are better; they are not probabilities. text: similarity to the description. visual: similarity to the
    reference photos, at most 1. prototype: similarity to what the model learned of the species. text_part, visual_part,
    prototype_part: contributions to the score of the default preset. Blank: the stage does not apply.
    """
    limit_numpy_threads()
    settings = options.settings(kb=kb)
    reading_settings = options.method_settings("identify", IdentifySettings)
    _check_options(ctx, reader=reader, has_list=species_list is not None, has_file=file is not None)
    shown = reading_settings.reader_candidates or n
    if reader and shown > MAX_READER_CANDIDATES:
        raise UsageError(
            f"Expected at most {MAX_READER_CANDIDATES} candidates for the reader, got {shown}.",
            hint="Use a smaller --top, or --set reader_candidates=K.",
        )
    sink_form = identifying.form_for(form, file)
    quiet = options.invocation().quiet
    found = identifying.find_photos(photos)
    if explain and sink_form != "table":
        output.warn(f"--explain only changes the table, not {sink_form} rows")
    with ExitStack() as stack:
        store = stack.enter_context(wiring.opened(settings))
        expected, share = None, OFF_LIST_SHARE if off_list_share is None else off_list_share
        if species_list is not None:
            expected = species_lists.expected(store, species_list, share, quiet=quiet)
        recognizer = wiring.recognizer(
            store,
            preset=preset,
            n=shown if reader else n,
            n_chunks=reading_settings.reader_chunks(preset) if reader else None,
            min_confidence=min_confidence,
            unknown_prior=unknown_prior,
            species_list=expected,
        )
        given = _given(ctx, CALIBRATED)
        if given and recognizer.calibration_id is None:
            output.warn(identifying.uncalibrated_text(given, recognizer, store))
        elif given and reader:
            names = identifying.named(given)
            output.warn(f"Only rows where the reader fails use {names}: its choices have no confidence")
        listed: frozenset[str] = frozenset()
        if recognizer.prior is not None and expected is not None:
            if not quiet:
                output.note(species_lists.boost_text(recognizer.prior))
            for warning in species_lists.few_warnings(recognizer.prior):
                output.warn(warning)
            listed = species_lists.names(store, expected)
        reading: wiring.Reading = wiring.no_reading
        parameters = identifying.parameters_of(store, recognizer)
        if reader:
            reads = stack.enter_context(
                reader_wiring.reading(
                    settings,
                    store,
                    context=reading_settings.reader_context,
                    n_samples=reader_samples,
                    max_cost=max_cost,
                    offline=offline,
                    prompts=prompts,
                )
            )
            reading = reads.read
            parameters |= {**reads.parameters, "reader_chunks": recognizer.n_chunks}
        sink = identifying.sink_for(
            sink_form,
            file,
            settings.home,
            parameters,
            retry_failed=retry_failed,
            wanted=frozenset(found),
            start_over=no_resume,
        )
        stack.enter_context(sink)
        todo = [photo for photo in found if photo not in sink.done]
        n_failed = len(sink.failed.intersection(found))
        missing = Counter(sink.missing[photo] for photo in found if photo in sink.missing)
        if len(todo) < len(found) and not quiet:
            output.note(identifying.resumed_text(len(found), len(found) - len(todo), n_failed, missing))
            if cards is not None:
                output.note("--cards writes no pages for photos that were done before; --no-resume writes all")
        # Bars and rows on the same terminal would overwrite each other.
        is_shown = progress != "auto" or (len(todo) > 1 and (file is not None or not sys.stdout.isatty()))
        made = reading(recognizer.identify(todo))
        facts: Counter[species_lists.Fact] = Counter()
        for row in counted(made, len(todo), "photos", quiet=quiet or not is_shown, form=progress, failed=_has_failed):
            why = rows.evidence_text(row, wiring.told_apart(store, row)) if explain and sink_form == "table" else ""
            if cards is not None:
                from recognize.explanation.cards.files import write_card

                write_card(store, row, cards)
            lacking = identifying.missing_in(row)
            sink.add(row.image, rows.lines(sink_form, row, why=why), ok=not _has_failed(row), missing=lacking)
            n_failed += _has_failed(row)
            missing[lacking] += 1
            facts.update(species_lists.facts_of(row, listed))
    if facts["changed"] and not quiet:
        output.note(species_lists.changed_text(facts))
    for warning in species_lists.changed_warnings(facts, share):
        output.warn(warning)
    if n_failed == len(found):
        raise NothingReadable(f"None of {output.plural(n_failed, 'photo')} is readable.")
    if n_failed:
        output.warn(f"{n_failed:,} of {output.plural(len(found), 'photo')} skipped: unreadable")
    for warning in identifying.missing_warnings(missing, len(found), can_retry=file is not None):
        output.warn(warning)
    if n_failed or missing["reader"]:
        ctx.exit(EXIT_PARTLY)


def _check_options(ctx: click.Context, *, reader: bool, has_list: bool, has_file: bool) -> None:
    """Raise `UsageError` for options that need another option."""
    needs = [
        ("--reader", reader, READER_OPTIONS),
        ("--species-list", has_list, ("off_list_share",)),
        ("--output", has_file, ("retry_failed", "no_resume")),
    ]
    for option, is_given, dependent in needs:
        if not is_given and (found := _given(ctx, dependent)):
            raise UsageError(f"{identifying.named(found)} {'needs' if len(found) == 1 else 'need'} {option}.")
    keys = [field.name for field in fields(IdentifySettings) if field.name in options.invocation().set]
    if keys and not reader:
        raise UsageError(f"The setting {keys[0]} needs --reader.")


def _given(ctx: click.Context, names: Sequence[str]) -> list[str]:
    return [name for name in names if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]


def _has_failed(row: Identification) -> bool:
    return row.status == "error"


def limit_numpy_threads() -> None:
    """Run NumPy on one thread, if it is not loaded yet, and shorten the interpreter's switch interval.

    All cores are busy encoding the next photos. Threads of NumPy would wait for each other by spinning, which cost a
    quarter of the throughput. A thread that returns from the encoder continues after half a millisecond instead of
    five, and starts on the next photo.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.setswitchinterval(5e-4)
