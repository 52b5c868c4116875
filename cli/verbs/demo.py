"""`kb demo`: a small knowledge base of the shipped knowledge, and drawings of birds identified with it."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.common import options, output
from cli.common.output import stage_progress
from data.errors import UsageError
from data.files import writer_lock
from data.words import plural

if TYPE_CHECKING:
    from data.contracts import Encoders
    from kb.store.knowledge_base import KnowledgeBase

TERM_QUERY = "a duck with a blue speculum"
FOLDERS = ("birds.kb", "pictures")


@click.command()
@click.option("--workdir", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="New folder for the results.  [default: FIELDMARK_HOME/demo, replaced every time]")  # fmt: skip
def demo(workdir: Path | None) -> None:
    """Build a small knowledge base, look up a term and identify birds. No network, no key.

    The birds are drawings made by code. Every answer is printed, right or wrong.

    Example: kb demo
    """
    import kb
    from recognize import load_encoders

    home, quiet = options.settings().home, options.invocation().quiet
    with ExitStack() as stack:
        if workdir is None:
            stack.enter_context(writer_lock(home / "demo" / "lock"))  # two demos would clear each other's folder
            for name in FOLDERS:  # nothing but the results of a demo
                shutil.rmtree(home / "demo" / name, ignore_errors=True)
        elif workdir.exists() and any(workdir.iterdir()):
            raise UsageError(f"{workdir} is not empty.", hint="Give a new folder with --workdir.")
        folder = workdir or home / "demo"
        folder.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        path, pictures = (folder / name for name in FOLDERS)
        output.write("Fieldmark demo. It runs on this machine alone: no network, no key.\n")
        encoders = load_encoders("starter")
        with timed("1. Build a knowledge base"):
            show_build(path, encoders, quiet=quiet)
        store = stack.enter_context(kb.open(path))
        with timed("2. Look up a term"):
            show_term(store, encoders)
        with timed("3. Find birds by a description"):
            show_trials(store, ask_in_words(store, encoders))
        with timed("4. Fit the confidence to this knowledge base"):
            show_calibration(path, store, encoders)
        store = stack.enter_context(kb.open(path))  # with the calibration, as for `kb identify`
        with timed("5. Identify birds in pictures"):
            show_drawings(store, encoders, pictures)
        output.write(f"Finished in {time.monotonic() - began:.1f} s. The results are in {folder}.\n")
        output.write(next_steps(path, pictures))


@contextmanager
def timed(title: str) -> Iterator[None]:
    """Print a title before the block, and its duration after it."""
    output.write(title)
    began = time.monotonic()
    yield
    output.write(f"   {time.monotonic() - began:.2f} s\n")


def show_build(path: Path, encoders: Encoders, *, quiet: bool) -> None:
    """Build from the starter source, through the same stages as a build from Wikipedia."""
    import kb
    from kb.sources.starter import StarterSource

    source = StarterSource(with_vectors=False)
    with stage_progress(quiet=quiet) as progress:
        status = kb.build(path, source.drawn_taxa(), source, encoders, terms=source.terms(), progress=progress)
    output.write("   kb build --source starter: facts and sentences of our own, drawings made by code")
    output.write(
        f"   {plural(status.species, 'species', 'species')}, {status.summaries} summaries, "
        f"{status.chunks} chunks, {status.anchors} reference drawings, {status.terms} terms"
    )
    for failure in status.failures:
        output.write(f"   failed: {failure.taxon}: {failure.stage}: {failure.reason}")


def show_term(store: KnowledgeBase, encoders: Encoders) -> None:
    """Print the context of a query with a term."""
    import kb

    found = kb.context(store, TERM_QUERY, encoders.sentence)
    output.write(f'   kb context "{TERM_QUERY}"')
    output.write(output.wrapped(found.passage or "Nothing found.", indent="   "))
    for source in found.sources:
        output.write(f"   source: our own words on {source.title}, {source.licence}")


def show_calibration(path: Path, store: KnowledgeBase, encoders: Encoders) -> None:
    """Calibrate with the reference drawings, as `kb calibrate` does, and print the errors before and after."""
    from kb.store.calibrations import save_calibration
    from recognize.confidence.calibration import calibration_bytes
    from recognize.confidence.fit import calibrate
    from recognize.confidence.labelled import photos_of_anchors
    from recognize.scoring.knowledge import read_knowledge

    knowledge = read_knowledge(store, encoders)
    source = photos_of_anchors(store, encoders, knowledge, anchor_path=store.anchor_path)
    made = calibrate(store, encoders, knowledge, source)
    save_calibration(path, "default", calibration_bytes(made.calibration))
    estimated, calibrated = made.quality.estimated, made.quality.calibrated
    before = "" if estimated is None else f"{100 * estimated.calibration_error:.0f} % before, "
    output.write("   kb calibrate: each reference drawing is identified with and without its species")
    output.write(
        f"   mean gap between confidence and accuracy: {before}{100 * calibrated.calibration_error:.0f} % after"
    )


def show_drawings(store: KnowledgeBase, encoders: Encoders, folder: Path) -> None:
    """Print the answers for new drawings."""
    drawings = write_drawings(folder)
    output.write(f"   {len(drawings)} drawings in {folder}")
    output.write("   They are made by code, no photos: the birds of the reference drawings in other poses, light and")
    output.write("   paper. They show that all parts work together, not how well it names photos.")
    show_trials(store, ask_with_drawings(store, encoders, drawings))


def show_trials(store: KnowledgeBase, trials: Iterable[Trial]) -> None:
    """Print the rank of the right species for each question, its score or confidence, and the total."""
    ranks, n = list[int | None](), len(store.taxon_ids)
    for question, right, answers in trials:
        [entry] = store.species([right])
        rank = [*answers].index(right) + 1 if right in answers else None
        name, value = entry.taxon.common_name, answers[right][1] if right in answers else "-"
        place = f"rank {rank:>2} of {n}" if rank else f"not among {n}"
        first = next(iter(answers.values()), ("nothing", ""))[0]
        beside = "" if rank == 1 else f"  (first: {first})"
        output.write(f"   {place} {value:>9}  {name:<25} {question}{beside}")
        ranks.append(rank)
    five = sum(rank is not None and rank <= 5 for rank in ranks)
    output.write(f"   {ranks.count(1)} of {len(ranks)} first, {five} of {len(ranks)} among the first five")


def next_steps(path: Path, pictures: Path) -> str:
    """Return commands to try next."""
    store, picture = shlex.quote(str(path)), shlex.quote(str(pictures / "pica-pica.png"))
    steps = (
        ("name the bird in your own photo, with the species that ship", "kb identify PHOTO.jpg"),
        ("see the reasons for an answer", f"kb identify {picture} --kb {store} --explain"),
        ("show a species", f'kb show "Snowy Owl" --kb {store}'),
        ("build from Wikipedia", "kb build --taxon Strigiformes --kb owls.kb --contact you@example.org"),
        ("all birds of Wikipedia; takes hours", "kb build --taxon Aves --kb birds.kb --contact you@example.org"),
    )
    return "\n".join(["Next:", *(f"  {command}\n      {purpose}" for purpose, command in steps)])


DESCRIPTIONS: tuple[tuple[str, str], ...] = (
    ("red bird with a black mask and a crest", "cardinalis-cardinalis"),
    ("tall grey-blue wader, neck bent like an S, dagger bill", "ardea-herodias"),
    ("an all white owl with yellow eyes", "bubo-scandiacus"),
    ("owl whose white face is shaped like a heart", "tyto-alba"),
    ("duck with a green head and yellow bill", "anas-platyrhynchos"),
    ("tiny, yellow below, with a blue cap and white cheeks", "cyanistes-caeruleus"),
    ("enormous bill in green, orange, blue and red; yellow throat", "ramphastos-sulfuratus"),
    ("black all over but for the red shoulder", "agelaius-phoeniceus"),
    ("fan-like crest, barred wings, bill thin and bent downwards", "upupa-epops"),
    ("stiff-tailed bird on a trunk, red under the tail", "dendrocopos-major"),
)
"""Descriptions in other words than the summaries, and their species."""


Trial = tuple[str, str, Mapping[str, tuple[str, str]]]
"""A question, its right species, and the answers: taxon_id -> (common name, score or confidence), best first."""


def ask_in_words(store: KnowledgeBase, encoders: Encoders) -> Iterator[Trial]:
    """Yield a trial for each description."""
    import kb

    for text, right in DESCRIPTIONS:
        matches = kb.search(store, text, encoders.sentence, n=len(store.taxon_ids))
        yield text, right, {match.taxon_id: (match.common_name, f"{match.score:.3f}") for match in matches}


def ask_with_drawings(store: KnowledgeBase, encoders: Encoders, drawings: Mapping[Path, str]) -> Iterator[Trial]:
    """Yield a trial for each picture file and its species."""
    from recognize import Recognizer
    from recognize.answers import percent

    rows = Recognizer(store, encoders, k=len(store.taxon_ids)).identify(list(drawings))
    for (path, right), row in zip(drawings.items(), rows, strict=True):
        yield path.name, right, {
            each.taxon_id: (each.common_name, "-" if each.confidence is None else percent(each.confidence))
            for each in row.candidates
        }  # fmt: skip


def write_drawings(folder: Path) -> dict[Path, str]:
    """Write the drawings that are not reference photos into a folder; return file -> species."""
    from data.starter.knowledge import read_drawings

    folder.mkdir(parents=True, exist_ok=True)
    drawings = {folder / f"{each.plate}.png": each for each in read_drawings() if each.purpose == "query"}
    for path, drawing in drawings.items():
        path.write_bytes(drawing.png())
    return {path: drawing.taxon_id for path, drawing in drawings.items()}
