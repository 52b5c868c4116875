"""The conversation of `kb feedback`: a turn is shown, marked and searched again, and saved after each step."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import Final

from cli.common import output
from cli.common.contact_sheet import SheetPhoto, contact_sheet
from data.contracts import ImageCollection
from data.errors import BadInput, FieldmarkError, UsageError
from data.files import write_atomic
from data.words import plural
from rerank.feedback.search import FeedbackSearch
from rerank.feedback.session import Session, write_session
from rerank.jobs import path_of_id

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
        write_session(self._file, session)

    def _list(self, session: Session) -> None:
        turn, number = session.turns[-1], len(session.turns) - 1
        for each in turn.notes:
            output.warn(each)
        sheet = self._file.with_name(f"{self._file.stem}-turn{number}.html")
        photos = [
            SheetPhoto(
                path=self._path(image.image_id), number=place, name=path_of_id(image.image_id), score=image.score
            )
            for place, image in enumerate(turn.shown, start=1)
        ]
        write_atomic(sheet, contact_sheet(f"Turn {number}: {turn.query}", [], photos).encode(errors="replace"))
        output.note(f"\nTurn {number}: {turn.query}")
        if turn.species:
            output.note(f"Searched by reference photos and descriptions: {turn.species}")
        rows = [
            (place, output.printable(path_of_id(image.image_id)), image.score)
            for place, image in enumerate(turn.shown, start=1)
        ]
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
        if answer.lower() in _UNDO:
            return self._undone(session), False
        shown = session.turns[-1].ids
        try:
            return self._search.mark(session, [shown[number - 1] for number in numbers_in(answer, len(shown))]), False
        except BadInput as error:
            _say(error)
            return session, False

    def _next_turn(self, session: Session) -> tuple[Session, bool]:
        """Return the session after the next search, and whether the user quits before it."""
        session, query = asyncio.run(self._search.grow(session))
        self._save(session)  # captions cost money
        for caption in session.turns[-1].captions:
            photo = output.printable(path_of_id(caption.image_id))
            output.note(f"Caption of {photo}: {output.printable(caption.text) or caption.error}")
        while True:
            output.note(f"Query: {output.printable(query.text)}")
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

    def _undone(self, session: Session) -> Session:
        try:
            return self._search.undo(session)
        except UsageError as error:
            _say(error)
            return session


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
