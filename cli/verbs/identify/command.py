"""`kb identify`: the species in photos."""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click
from click.core import ParameterSource

from cli.common import options, output, wiring
from cli.common import readers as reader_wiring
from cli.common.progress import ProgressForm, counted
from cli.verbs.identify import order as identifying
from cli.verbs.identify import rows
from cli.verbs.identify import species_list as species_lists
from data.errors import NothingReadable, UsageError

if TYPE_CHECKING:
    from data.records import Identification

EXIT_PARTLY = 7
PRESETS = ("default", "vr-rag-v1", "vr-rag-v2", "direct-rag")
# Those of `recognize.confidence.answers`, which `kb --help` does not load; a test compares them.
MIN_CONFIDENCE = 0.5
UNKNOWN_PRIOR = 0.2
# Of `recognize.reader.candidate_context` but `chunks`, which rows do not hold.
READER_CONTEXTS = ("refined", "summary", "article", "names")
CHUNK_PRESETS = ("vr-rag-v1", "direct-rag")
MOST_READ = 26  # of `recognize.reader.reader`, likewise
CHUNKS_READ = 10  # VR-RAG, section 6.1: k
OFF_LIST_SHARE = 0.1  # of `recognize.confidence.prior`, likewise
CALIBRATED = ("min_confidence", "unknown_prior")  # what only a calibration gives a meaning


@click.command()
@click.argument("photos", nargs=-1, required=True, metavar="PHOTO|FOLDER|GLOB|-...")
@options.kb_option("The knowledge base; without it FIELDMARK_KB, else the starter knowledge.")
@click.option(
    "--preset", type=click.Choice(PRESETS), default="default", show_default=True, help="How photos are scored."
)
@click.option("--top", "n", type=click.IntRange(min=1), default=5, show_default=True, help="Candidates a photo.")
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=MIN_CONFIDENCE,
    show_default=True,
    metavar="CHANCE",
    help="An answer less sure than this rolls up to genus, then family; needs a calibration.",
)
@click.option(
    "--unknown-prior",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=UNKNOWN_PRIOR,
    show_default=True,
    metavar="SHARE",
    help="How many of these photos may show a species that is not in it; needs a calibration.",
)
@click.option(
    "--species-list",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Species to be expected: a download of eBird (bar chart, life list, own data), a CSV, a name a line.",
)
@click.option(
    "--off-list-share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=OFF_LIST_SHARE,
    show_default=True,
    metavar="SHARE",
    help="How many of these photos may show a species that is not on that list.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Show summary, anchors with credits, and what told first from second; in the table only.",
)
@click.option(
    "--cards",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Also write a page of HTML for each photo there: anchors side by side, credits, what told them apart.",
)
@click.option("--reader", is_flag=True, help="Let the model of [llm.vision] choose among the candidates.")
@click.option(
    "--reader-samples",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="How often it reads a photo, the candidates in another order each time.",
)
@click.option(
    "--reader-context", type=click.Choice(READER_CONTEXTS), default="refined", show_default=True,
    help="What it is told of a candidate: its summary, the one of a first pass, the raw article, or the name alone.",
)  # fmt: skip
@click.option(
    "--reader-k", type=click.IntRange(1, MOST_READ), metavar="K",
    help="Candidates that it is shown.  [default: --top; the species of the 10 best chunks where chunks are ranked]",
)  # fmt: skip
@click.option(
    "--prompts", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="A prompt of one's own for the reader: read_photo.md.",
)  # fmt: skip
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Stop before the reader costs more.")
@click.option("--offline", is_flag=True, help="Take the reader's replies from those that are kept, and ask nobody.")
@click.option(
    "--format", "form", type=click.Choice(rows.FORMATS), help="How to print.  [default: table; of FILE's name]"
)
@click.option(
    "--output", "file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Write there, and go on where an earlier run stopped.",
)  # fmt: skip
@click.option(
    "--retry-failed", is_flag=True, help="Try photos again that an earlier run could not read, or its reader failed at."
)  # fmt: skip
@click.option("--no-resume", is_flag=True, help="Begin FILE anew, whatever an earlier run wrote.")
@click.option(
    "--progress", type=click.Choice(get_args(ProgressForm)), default="auto", show_default=True,
    help="On stderr: bars or lines, or a line of JSON a second.",
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
    off_list_share: float,
    explain: bool,
    cards: Path | None,
    reader: bool,
    reader_samples: int,
    reader_context: str,
    reader_k: int | None,
    prompts: Path | None,
    max_cost: float | None,
    offline: bool,
    form: str | None,
    file: Path | None,
    retry_failed: bool,
    no_resume: bool,
    progress: ProgressForm,
) -> None:
    """Name the species in photos: candidates with the score of each stage, best first.

    Folders are searched to the bottom; - reads paths from stdin. A photo that cannot be read is a row with an error and
    the run goes on: exit code 7, or 5 if none could be read; 7 as well where the reader failed. A run with
    --output that was stopped, or killed, goes on when it is run again; rows that are there stay, but for those of
    photos that have changed since.

    Where the knowledge base is calibrated (the one that ships is), the answer has a confidence: how likely it is right,
    given that the bird is in the knowledge base. A species less sure than --min-confidence gives way to its genus, then
    its family; else it cannot be told. Where it is likelier than not that the bird is none of those in it, the answer
    is "not in this knowledge base". With --reader the answer is the model's choice, without a confidence, and the
    candidates are those that it was shown.

    With --species-list the listed species get a boost, and no species is ruled out. Scores and answer are shown with
    the list and without it. stderr says where the list went against sure answers, or does not fit the photos.

    Higher scores are better; none is a probability. text: how well the photo fits the description. visual: how much it
    looks like the species' anchors, its pictures in the knowledge base; at most 1. text_part, visual_part:
    what each of the two gave to the score of the default preset. A blank: there is nothing to compare with.
    """
    leave_cores_to_the_encoder()
    changes_reader = reader_samples > 1 or reader_context != "refined" or reader_k is not None or prompts is not None
    if not reader and (offline or max_cost is not None or changes_reader):
        raise UsageError(
            "--reader-samples, --reader-context, --reader-k, --prompts, --max-cost and --offline go with --reader"
        )
    if reader and (reader_k or n) > MOST_READ:
        raise UsageError(f"a reader is shown at most {MOST_READ} candidates", hint="--reader-k, or a smaller --top")
    settings = options.settings(kb=kb)
    if species_list is None and off_list_share != OFF_LIST_SHARE:
        raise UsageError("--off-list-share goes with --species-list")
    if file is None and (retry_failed or no_resume):
        raise UsageError("--retry-failed and --no-resume go with --output")
    sink_form = identifying.form_for(form, file)
    quiet = options.invocation().quiet
    found = identifying.find_photos(photos)
    if explain and sink_form != "table":
        output.warn(f"--explain goes with the table; {sink_form} rows are the same without it")
    with ExitStack() as stack:
        store = stack.enter_context(wiring.opened_or_starter(settings))
        expected = None
        if species_list is not None:
            expected = species_lists.expected(store, species_list, off_list_share, quiet=quiet)
        recognizer = wiring.recognizer(
            store,
            preset=preset,
            n=n if reader_k is None else reader_k,
            n_chunks=(reader_k or CHUNKS_READ) if reader and preset in CHUNK_PRESETS else None,
            min_confidence=min_confidence,
            unknown_prior=unknown_prior,
            species_list=expected,
        )
        given = [name for name in CALIBRATED if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
        if given and recognizer.calibration_id is None:
            output.warn(identifying.uncalibrated_text(given, recognizer, store))
        elif given and reader:
            output.warn(f"{identifying.named(given)} only rows where the reader fails: its choices have no confidence")
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
                    context=reader_context,
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
        lacks = Counter(sink.lacking[photo] for photo in found if photo in sink.lacking)
        if len(todo) < len(found) and not quiet:
            again = identifying.again_text(n_failed, lacks)
            pages = "; --cards makes no pages of these (--no-resume makes all)" if cards is not None else ""
            output.note(f"{output.plural(len(found) - len(todo), 'photo')} of {len(found):,} done before{again}{pages}")
        # Bars and rows would tear each other up on one terminal.
        is_shown = progress != "auto" or (len(todo) > 1 and (file is not None or not sys.stdout.isatty()))
        made = reading(recognizer.identify(todo))
        facts: Counter[species_lists.Fact] = Counter()
        for row in counted(made, len(todo), "photos", quiet=quiet or not is_shown, form=progress, failed=_has_failed):
            why = rows.evidence_text(row, wiring.told_apart(store, row)) if explain and sink_form == "table" else ""
            if cards is not None:
                from recognize.explanation.cards.files import write_card

                write_card(store, row, cards)
            lack = identifying.lack_of(row)
            sink.add(row.image, rows.lines(sink_form, row, why=why), ok=not _has_failed(row), lacks=lack)
            n_failed += _has_failed(row)
            lacks[lack] += 1
            facts.update(species_lists.facts_of(row, listed))
    if facts["changed"] and not quiet:
        output.note(species_lists.changed_text(facts))
    for warning in species_lists.changed_warnings(facts, off_list_share):
        output.warn(warning)
    if n_failed == len(found):
        raise NothingReadable(f"none of {output.plural(n_failed, 'photo')} could be read")
    if n_failed:
        output.warn(f"{n_failed:,} of {output.plural(len(found), 'photo')} could not be read")
    for warning in identifying.lack_warnings(lacks, len(found), can_retry=file is not None):
        output.warn(warning)
    if n_failed or lacks["reader"]:
        ctx.exit(EXIT_PARTLY)


def _has_failed(row: Identification) -> bool:
    return row.status == "error"


def leave_cores_to_the_encoder() -> None:
    """Have NumPy multiply on one thread, if it is not loaded yet, and let threads take turns sooner.

    All cores encode the next photos meanwhile. Threads of NumPy's own would wait for each other by spinning, which
    cost a quarter of the throughput. And a thread that comes back from the encoder gets its turn in half a millisecond
    instead of the interpreter's five: it has the next photo to begin.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.setswitchinterval(5e-4)
