"""`kb demo`: the main job on what ships with Fieldmark, from the build of a knowledge base to named birds."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.common import options, output
from cli.common.progress import stage_progress
from cli.verbs.demo.trials import Trial, ask_in_words, ask_with_drawings, line_of, total, write_drawings
from data.errors import UsageError
from data.files import writer_lock

if TYPE_CHECKING:
    from data.contracts import Encoders
    from kb.store.knowledge_base import KnowledgeBase

TERM_QUERY = "a duck with a blue speculum"
OTHER_PRESETS = ("text-only", "vr-rag-v1", "vr-rag-v2")
FOLDERS = ("birds.kb", "pictures")


@click.command()
@click.option(
    "--workdir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="New folder for the results.  [default: FIELDMARK_HOME/demo, replaced every time]",
)
def demo(workdir: Path | None) -> None:
    """Build a small knowledge base, look up a term and identify birds. No network, no key.

    The birds are drawings made by code. Every answer is printed, right or wrong.

    Example: kb demo
    """
    run_demo(workdir, home=options.settings().home, quiet=options.invocation().quiet)


def run_demo(workdir: Path | None, *, home: Path, quiet: bool = False) -> None:
    """Build a small knowledge base out of the starter knowledge, put questions to it, and print what came of it.

    Args:
        workdir: a folder that is empty or not there yet; None takes `demo` below `home` and clears it first.
        home: where Fieldmark keeps files of its own.
        quiet: show no progress on stderr.

    Raises:
        UsageError: if `workdir` holds something already.
        KnowledgeBaseLocked: if another demo runs below the same `home`.
    """
    if workdir is not None:
        show_all(fresh_folder(workdir, home), quiet=quiet)
        return
    with writer_lock(home / "demo" / "lock"):  # two demos at once would clear each other's folder
        show_all(fresh_folder(None, home), quiet=quiet)


def show_all(folder: Path, *, quiet: bool) -> None:
    """Build, ask and print, all within one folder."""
    began = time.monotonic()
    import kb
    from recognize import load_encoders

    path, pictures = folder / "birds.kb", folder / "pictures"
    output.write("Fieldmark demo. It runs on this machine alone: no network, no key.\n")
    encoders = load_encoders("starter")
    with timed("1. Build a knowledge base"):
        show_build(path, encoders, quiet=quiet)
    store = kb.open(path)
    try:
        with timed("2. Look a term up"):
            show_term(store, encoders)
        with timed("3. Find birds by words"):
            show_trials(ask_in_words(store, encoders))
        with timed("4. Name the birds in pictures"):
            show_drawings(store, encoders, pictures)
    finally:
        store.close()
    output.write(f"All of it took {time.monotonic() - began:.1f} s and lies in {folder}.\n")
    output.write(next_steps(path, pictures))


def fresh_folder(workdir: Path | None, home: Path) -> Path:
    """Return the folder for this demo, without what an earlier demo left in it.

    Raises:
        UsageError: if `workdir` holds something already.
    """
    if workdir is None:
        folder = home / "demo"
        for name in FOLDERS:  # nothing but what a demo makes
            shutil.rmtree(folder / name, ignore_errors=True)
    else:
        folder = workdir
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty.", hint="Give a new folder with --workdir.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def timed(title: str) -> Iterator[None]:
    """Print a title, and the seconds that went by below it."""
    output.write(title)
    began = time.monotonic()
    yield
    output.write(f"   {time.monotonic() - began:.2f} s\n")


def show_build(path: Path, encoders: Encoders, *, quiet: bool) -> None:
    """Build from the starter source, through the stages that a build from Wikipedia goes through."""
    import kb
    from kb.sources.starter import StarterSource

    source = StarterSource(with_vectors=False)
    with stage_progress(quiet=quiet) as progress:
        status = kb.build(path, source.drawn_taxa(), source, encoders, terms=source.terms(), progress=progress)
    output.write("   kb build --source starter: facts and sentences of our own, drawings made by code")
    output.write(
        f"   {output.plural(status.species, 'species', 'species')}, {status.summaries} summaries, "
        f"{status.chunks} chunks, {status.anchors} anchors (drawings), {status.terms} terms"
    )
    for failure in status.failures:
        output.write(f"   failed: {failure.taxon}: {failure.stage}: {failure.reason}")


def show_term(store: KnowledgeBase, encoders: Encoders) -> None:
    """Look the term of a query up."""
    import kb

    found = kb.context(store, TERM_QUERY, encoders.sentence)
    output.write(f'   kb context "{TERM_QUERY}"')
    output.write(output.wrapped(found.passage or "found nothing", indent="   "))
    for source in found.sources:
        output.write(f"   source: our own words on {source.title}, {source.licence}")


def show_drawings(store: KnowledgeBase, encoders: Encoders, folder: Path) -> None:
    """Draw the birds anew, name them by the default preset, and count what the others would have said."""
    drawings = write_drawings(folder)
    output.write(f"   {len(drawings)} drawings in {folder}")
    output.write(
        "   They are made by code, no photos: the birds of the anchors in other poses, light and paper. So this"
    )
    output.write("   shows that the line of work holds, not how well it names photos.")
    show_trials(ask_with_drawings(store, encoders, drawings))
    output.write("   The other presets on the same drawings (text-only uses no reference photos):")
    for preset in OTHER_PRESETS:
        trials = ask_with_drawings(store, encoders, drawings, preset=preset)
        output.write(f"   {preset:<10} {total(trials)}")


def show_trials(trials: Sequence[Trial]) -> None:
    """Print where the right species of each question came in, with its score, and the total."""
    for trial in trials:
        output.write(f"   {line_of(trial)}")
    output.write(f"   {total(trials)}")


def next_steps(path: Path, pictures: Path) -> str:
    """Return commands to try next."""
    store, picture = shlex.quote(str(path)), shlex.quote(str(pictures / "pica-pica.png"))
    steps = (
        ("name the bird in your own photo, with the 1,408 species that ship", "kb identify PHOTO.jpg"),
        ("see the reasons for an answer", f"kb identify {picture} --kb {store} --explain"),
        ("show a species", f'kb show "Snowy Owl" --kb {store}'),
        ("build from Wikipedia", "kb build --taxon Strigiformes --kb owls.kb --contact you@example.org"),
        ("all birds of Wikipedia; takes hours", "kb build --taxon Aves --kb birds.kb --contact you@example.org"),
    )
    return "\n".join(["Next:", *(f"  {command}\n      {purpose}" for purpose, command in steps)])
