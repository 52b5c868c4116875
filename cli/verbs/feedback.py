"""`kb feedback`: a search that learns from the photos marked as relevant."""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

import click

from cli.common import options, output
from cli.common.feedback_resources import CAPTIONERS, default_method, open_feedback, session_file
from cli.common.photo_folders import open_photos
from data.errors import BadInput, FieldmarkError, UsageError
from data.files import write_atomic
from data.words import plural
from rerank.jobs import path_of_id
from rerank.settings import FEEDBACK_PRESETS, FeedbackMethod, FeedbackSettings, text_form

if TYPE_CHECKING:
    from data.contracts import ImageCollection
    from rerank.feedback.search import FeedbackSearch
    from rerank.feedback.session import Session


@click.command()
@click.argument("query", required=False)
@click.option("--images", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the photos to search.")
@click.option("--session", "file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Session file to write, or to resume.  [default: one for each query in FIELDMARK_HOME]")  # fmt: skip
@click.option("--method", type=click.Choice(get_args(FeedbackMethod)),
              help="Use of the marked photos.  [default: cot if [llm.vision] and [llm.text] are set, else "
              "rocchio]")  # fmt: skip
@click.option("--preset", type=click.Choice(list(FEEDBACK_PRESETS)),
              help="Constants: ours, or of the paper.  [default: ours]")  # fmt: skip
@click.option("--captioner", metavar="NAME", help=f"{CAPTIONERS}  [default: vision if it is set, else phrases]")
@options.kb_option("Knowledge base of the phrases.")
@options.cost_options
@click.option("--export", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="At the end, write the judged photos with `relevant` as a job of kb rerank.")  # fmt: skip
def feedback(
    query: str | None,
    images: Path | None,
    file: Path | None,
    method: FeedbackMethod | None,
    preset: str | None,
    captioner: str | None,
    kb: Path | None,
    max_cost: float | None,
    offline: bool,
    export: Path | None,
) -> None:
    """Search a folder of photos in turns: mark the relevant photos, and the search grows by them.

    Each turn shows twenty photos that were not shown before. cot, summary and keywords caption two of the marked photos
    and have a language model rewrite the query; captions appends the captions; rocchio moves the vector of the query
    towards the marked photos; rocchio-then-text does that once and continues with words, rocchio-and-text does both;
    none shows the next photos. The session is saved after every answer: the same command resumes it.

    Example: kb feedback "a red bird with a black face" --images photos/
    """
    from data.codec import dumps
    from rerank.feedback.session import labelled_job

    settings = options.settings(kb=kb)
    folder = None if images is None else images.expanduser().resolve()
    words = None if query is None else " ".join(query.split())
    file = file or session_file(settings, words, folder)
    resumed = _resumed(file, words, method)
    if resumed is None and (not words or folder is None):
        raise UsageError("A new session needs a query and --images.", hint='kb feedback "a red bird" --images photos/')
    chosen = resumed.method if resumed else method or default_method(settings)
    of_method = _settings(resumed, preset, file)
    if captioner is not None and text_form(chosen, of_method) is None:
        raise UsageError(f"--captioner is for methods that write text, not for {chosen}.")
    with ExitStack() as stack:
        opened = stack.enter_context(
            open_feedback(settings, [chosen], of_method, captioner=captioner, max_cost=max_cost, offline=offline)
        )
        where = folder or Path(resumed.folder if resumed else "")
        quiet = options.invocation().quiet
        collection = stack.enter_context(open_photos(where, opened.encoder, settings, quiet=quiet))
        search = opened.search(collection, chosen, of_method)
        if resumed is None:
            session = search.begin(words or "", folder=str(folder))
        else:
            session = resumed
            _say_resumed(session, file, collection)
        session = Conversation(search, collection, file).run(session)
        for line in search.tally.warnings():
            output.warn(line)
        job = labelled_job(session, collection)
        if export is not None and job.candidates:
            write_atomic(export, f"{dumps(job)}\n".encode("utf-8", "surrogateescape"))
        elif export is not None:
            output.warn(f"No turn was marked, so {export} was not written")
        counts = [plural(len(session.turns), "turn"), plural(len(session.relevant), "relevant photo")]
        counts += [*search.tally.lines(), *opened.cost_lines()]
    output.note(f"{', '.join(counts)}. Session: {file}")


def _resumed(file: Path, query: str | None, method: str | None) -> Session | None:
    """Return the session in a file, None if there is no file.

    Raises:
        BadInput: if the file is no session.
        UsageError: if the command asks for another search than the session is.
    """
    from rerank.feedback.session import read_session

    if not file.exists():
        return None
    session = read_session(file)
    for name, given, kept in (("query", query, session.query), ("method", method, session.method)):
        if given is not None and given != kept:
            raise _other(file, f'{name} "{kept}", not "{given}"')
    return session


def _settings(resumed: Session | None, preset: str | None, file: Path) -> FeedbackSettings:
    """Return the settings of the session; those of a session that resumes cannot change."""
    base = resumed.settings if resumed is not None and preset is None else FEEDBACK_PRESETS[preset or "default"]
    found = options.method_settings("feedback", FeedbackSettings, base=base)
    if resumed is not None and found != resumed.settings:
        changed = [
            f"{name} {kept}, not {given}"
            for name, kept in asdict(resumed.settings).items()
            if kept != (given := getattr(found, name))
        ]
        raise _other(file, "; ".join(changed))
    return found


def _other(file: Path, difference: str) -> UsageError:
    return UsageError(f"The session {file} has the {difference}.", hint="Choose another file with --session.")


def _say_resumed(session: Session, file: Path, collection: ImageCollection) -> None:
    from rerank.feedback.session import changes_since

    if set(collection.ids).isdisjoint(session.seen):
        raise UsageError(
            f"The session {file} is of photos in {session.folder}; none of them is in this folder.",
            hint="Give that folder, or another --session.",
        )
    output.note(f"Resuming turn {len(session.turns) - 1} of {file}. Delete the file to begin anew.")
    if session.collection.space != collection.space:
        raise UsageError(
            f"The session {file} has vectors of {session.collection.space}, the photos of {collection.space}.",
            hint="Use the profile that it was begun with.",
        )
    if changed := changes_since(session, collection):
        output.warn(changed)


_UNDO: Final = ("u", "undo")
_QUIT: Final = ("q", "quit")
_MARKS: Final = "Relevant photos (such as 1 3 5-7; Enter for none; u undo, q quit): "
_QUERY: Final = "Enter searches by this query, or type another one (u undo, q quit): "
_RANGE: Final = re.compile(r"(\d+)(?:-(\d+))?")


class Conversation:
    """Asks on stderr, reads answers from stdin, and lists photos on stdout. The end of stdin is the same as q.

    Args:
        search: searches the collection.
        collection: the photos.
        file: the session file, written after every step.
    """

    def __init__(self, search: FeedbackSearch, collection: ImageCollection, file: Path) -> None:
        self._search, self._collection, self._file = search, collection, file

    def run(self, session: Session) -> Session:
        """Return the session when the user quits, or when all photos have been shown."""
        self._save(session)
        n_listed = 0
        while True:
            if session.is_marked and not self._search.n_unseen(session):
                output.note(f"All {plural(len(self._collection.ids), 'photo')} have been shown.")
                return session
            if not session.is_marked and len(session.turns) != n_listed:
                self._list(session)
                n_listed = len(session.turns)
            session, is_over = self._next_turn(session) if session.is_marked else self._marked(session)
            self._save(session)
            if is_over:
                return session

    def _save(self, session: Session) -> None:
        from rerank.feedback.session import write_session

        write_session(self._file, session)

    def _list(self, session: Session) -> None:
        from cli.common.contact_sheet import SheetPhoto, contact_sheet

        turn, number = session.turns[-1], len(session.turns) - 1
        for each in turn.notes:
            output.warn(each)
        names = [output.printable(path_of_id(image_id)) for image_id in turn.ids]
        sheet = self._file.with_name(f"{self._file.stem}-turn{number}.html")
        photos = [
            SheetPhoto(path=self._path(image.image_id), number=place, name=name, score=image.score)
            for place, (image, name) in enumerate(zip(turn.shown, names, strict=True), start=1)
        ]
        write_atomic(sheet, contact_sheet(f"Turn {number}: {turn.query}", [], photos).encode(errors="replace"))
        output.note(f"\nTurn {number}: {turn.query}")
        if turn.species:
            output.note(f"Searched by reference photos and descriptions: {turn.species}")
        rows = [(photo.number, photo.name, photo.score) for photo in photos]
        output.write(output.as_table(("#", "photo", "cosine"), rows, right=("#", "cosine")))
        output.note(f"Pictures: {sheet}")

    def _path(self, image_id: str) -> Path:
        """Return the file of a photo; of one that is gone since, its former name."""
        try:
            return self._collection.path(image_id)
        except BadInput:
            return Path(image_id)

    def _marked(self, session: Session) -> tuple[Session, bool]:
        """Return the session after the answer to a turn, and whether the user quits."""
        answer = _asked(_MARKS)
        if answer is None or answer.lower() in _QUIT:
            return session, True
        shown = session.turns[-1].ids
        try:
            if answer.lower() in _UNDO:
                return self._search.undo(session), False
            return self._search.mark(session, [shown[number - 1] for number in numbers_in(answer, len(shown))]), False
        except (BadInput, UsageError) as error:  # nothing to undo
            _say(error)
            return session, False

    def _next_turn(self, session: Session) -> tuple[Session, bool]:
        """Return the session after the next search, and whether the user quits before it."""
        import asyncio  # late, for `kb --help`

        session, query = asyncio.run(self._search.grow(session))
        self._save(session)  # captions cost money
        for caption in session.turns[-1].captions:
            photo = output.printable(path_of_id(caption.image_id))
            output.note(f"Caption of {photo}: {output.printable(caption.text) or caption.error}")
        while True:
            output.note(f"Query: {output.printable(query.query)}")
            answer = _asked(_QUERY)
            if answer is None or answer.lower() in _QUIT:
                return session, True
            if answer.lower() in _UNDO:
                return self._search.undo(session), False
            try:
                return self._search.search(session, query, edited=answer or None), False
            except FieldmarkError as error:
                if not answer:
                    raise
                _say(error)


def numbers_in(answer: str, n: int) -> list[int]:
    """Return the numbers in an answer, from 1 to `n`; ranges such as 3-5 are filled.

    Raises:
        BadInput: for anything else.

    Example:
        >>> numbers_in("1, 4-6 9", 20)
        [1, 4, 5, 6, 9]
    """
    found: list[int] = []
    for word in re.split(r"[\s,;]+", answer.strip()):
        if not word:
            continue
        match = _RANGE.fullmatch(word)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last <= n:
            raise BadInput(f'Expected numbers from 1 to {n}, got "{output.printable(word)}".')
        found += range(first, last + 1)
    return found


def _asked(prompt: str) -> str | None:
    """Return a line of stdin, None at its end."""
    sys.stderr.write(prompt)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not sys.stdin.isatty():
        sys.stderr.write(line if line.endswith("\n") else f"{line}\n")
    return line.strip() if line else None


def _say(error: FieldmarkError) -> None:
    output.note(f"{error}{f' {error.hint}' if error.hint else ''}")
