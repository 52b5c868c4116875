"""Folders of photos as the verbs open them: a collection, and words about files that are skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import output
from cli.common.output import named_calls
from cli.common.settings import Settings
from cli.common.wiring import open_engine
from data.words import plural

if TYPE_CHECKING:
    from data.contracts import ImageEncoder
    from data.images.find import Skipped
    from rerank.collection import Collection


def report_skipped(skipped: Skipped, *, quiet: bool) -> None:
    """Note skipped files, by their kind, and folders; warn of videos and folders that cannot be listed."""
    from data.images.header import VIDEO

    counts = Counter(path.suffix.lower() for path in skipped.files)
    if counts and not quiet:
        kinds = (
            f"{n:,} {suffix or 'without extension'}"
            for suffix, n in sorted(counts.items(), key=lambda kind: (-kind[1], kind[0]))
        )
        output.note(f"Skipped {plural(counts.total(), 'file')}: {output.printable(', '.join(kinds))}")
    if (n := len(skipped.folders)) and not quiet:
        output.note(f"Not searched: {plural(n, 'folder')}, such as {output.printable(str(min(skipped.folders)))}")
    if skipped.unlisted:
        names = output.first_few([str(path) for path in skipped.unlisted])
        output.warn(f"{plural(len(skipped.unlisted), 'folder')} cannot be listed: {names}")
    if found := sorted(VIDEO.intersection(counts)):
        n = sum(counts[suffix] for suffix in found)
        output.warn(f"{plural(n, 'video')} skipped: {', '.join(found)} not supported; save stills as JPEG")


ENCODER_HELP = "Profile, or a model of open_clip such as ViT-L-14-336/openai.  [default: profile, else starter]"


@contextmanager
def open_photos(folder: Path, encoder: ImageEncoder, settings: Settings, *, quiet: bool) -> Iterator[Collection]:
    """Give the photos below a folder as a collection, indexed first; unreadable ones are counted in a warning."""
    from rerank.collection import open_collection

    with ExitStack() as stack:
        with named_calls(quiet=quiet) as meter:
            opened = open_collection(
                folder,
                encoder,
                home=settings.home,
                on_progress=lambda done, total, failed: meter("photos", done, total, failed),
                engine=stack.enter_context(open_engine(settings)),
            )
            collection = stack.enter_context(opened)
        if collection.update.n_new or collection.update.n_removed:
            report_skipped(collection.update.skipped, quiet=quiet)
        if collection.errors:
            n, example = plural(len(collection.errors), "photo"), next(iter(collection.errors))
            output.warn(f"{n} cannot be read: {reasons_text(collection.reasons())}; such as {example}")
        yield collection


def reasons_text(reasons: dict[str, int]) -> str:
    """Return kinds of errors with their numbers."""
    return ", ".join(f"{n:,} {kind}" for kind, n in reasons.items())
