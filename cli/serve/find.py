"""Find: the photos of a folder for a query, in turns that learn from the ones marked as relevant."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from cli.serve.guard import whole
from cli.serve.pages import SIDE_PX, attachment, jpeg, page
from data.errors import BadInput
from data.files import Closing
from rerank.jobs import path_of_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from starlette.requests import Request

    from cli.common.feedback_resources import FeedbackResources
    from cli.common.settings import Settings
    from rerank.collection import Collection
    from rerank.feedback.search import FeedbackSearch
    from rerank.feedback.session import Session
    from rerank.settings import FeedbackMethod, FeedbackSettings

AnswerT = TypeVar("AnswerT")
N_LATEST: Final = 12
COLUMNS: Final = {
    "turn": "integer", "query": "text", "rank": "integer", "photo": "text", "score": "number", "relevant": "boolean",
}  # fmt: skip
_SOON_S: Final = 3.0  # an index that is ready by then needs no page of its progress
_LARGE_PX: Final = 1_600


class _Stopped(Exception):  # no error: the server ends
    """The server ends while photos are encoded."""


@dataclass(slots=True)
class Opening:
    """A folder whose new photos are encoded, and then its photos."""

    task: asyncio.Task[Collection] | None = None
    done: int = 0
    total: int = 0


class Finder(Closing):
    """The folders to search, and the resources of searches, which are opened with the first one.

    Sessions are those of `kb feedback`, in the same files. Photos are encoded on one thread and searched on another.

    Args:
        settings: general settings.
        folders: the folders, absolute.
        method: use of the marked photos in a new session.
        of_method: constants of a new session.
    """

    def __init__(
        self, settings: Settings, folders: Sequence[Path], method: FeedbackMethod, of_method: FeedbackSettings
    ) -> None:
        self.folders = [folder.resolve() for folder in folders]
        self._settings, self._method, self._of_method = settings, method, of_method
        self._openings: dict[int, Opening] = {}
        self._resources: dict[tuple[FeedbackMethod, FeedbackSettings], FeedbackResources] = {}
        self._stack = ExitStack()
        self._encoding = ThreadPoolExecutor(1, thread_name_prefix="encoding")
        self._searching = ThreadPoolExecutor(1, thread_name_prefix="searching")
        self._is_closed = False

    def close(self) -> None:
        """Stop encoding; what is encoded stays."""
        self._is_closed = True
        self._encoding.shutdown(cancel_futures=True)
        self._searching.submit(self._stack.close).result()
        self._searching.shutdown()

    async def run(self, work: Callable[..., AnswerT], *arguments: object) -> AnswerT:
        """Return the answer of a search, made beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._searching, partial(work, *arguments))

    async def photos(self, number: int, *, is_new: bool = False) -> Collection | Opening:
        """Return the photos of a folder, or its opening while new ones are encoded; `is_new` looks for new ones."""
        opening = self._openings.get(number)
        if opening is None or opening.task is None or (opening.task.done() and is_new):
            opening = self._openings[number] = Opening()
            opening.task = asyncio.create_task(self._opened(opening, self.folders[number]))
        assert opening.task is not None
        await asyncio.wait([opening.task], timeout=_SOON_S)
        if not opening.task.done():
            return opening
        try:
            return opening.task.result()
        except Exception:
            del self._openings[number]  # the next request tries again
            raise

    async def _opened(self, opening: Opening, folder: Path) -> Collection:
        found = await self.run(self._opened_resources, self._method, self._of_method)
        work = partial(self._encoded, opening, folder, found)
        return await asyncio.get_running_loop().run_in_executor(self._encoding, work)

    def _encoded(self, opening: Opening, folder: Path, found: FeedbackResources) -> Collection:
        from cli.common.wiring import open_engine
        from rerank.collection import open_collection

        def progress(done: int, total: int, _: int) -> None:
            opening.done, opening.total = done, total
            if self._is_closed:
                raise _Stopped

        with (
            open_engine(self._settings) as engine,
            open_collection(
                folder, found.encoder, home=self._settings.home, on_progress=progress, engine=engine
            ) as collection,
        ):
            return collection

    def _opened_resources(self, method: FeedbackMethod, of_method: FeedbackSettings) -> FeedbackResources:
        from cli.common.feedback_resources import open_feedback

        key = (method, of_method)
        if key not in self._resources:
            self._resources[key] = self._stack.enter_context(
                open_feedback(self._settings, [method], of_method, captioner=None, max_cost=None, offline=False)
            )
        return self._resources[key]

    def file(self, number: int, query: str) -> Path:
        """Return the file of a session, the same as that of `kb feedback`."""
        from cli.common.feedback_resources import session_file

        return session_file(self._settings, query, self.folders[number])

    def latest(self) -> list[tuple[int, Session]]:
        """Return the sessions in these folders that were worked on last, with the number of the folder."""
        from rerank.feedback.session import read_session

        numbers = {str(folder): number for number, folder in enumerate(self.folders)}
        files = sorted((self._settings.home / "feedback").glob("*.json"), key=lambda file: -file.stat().st_mtime)
        found: list[tuple[int, Session]] = []
        for file in files[: N_LATEST * 4]:
            try:
                session = read_session(file)
            except BadInput:
                continue
            number = numbers.get(session.folder)
            if number is not None and file == self.file(number, session.query):
                found.append((number, session))
        return found[:N_LATEST]

    def session(self, number: int, query: str, collection: Collection) -> tuple[Session, FeedbackSearch]:
        """Return the session of a query, begun if there is none, and its search.

        Raises:
            BadInput: if it was begun with other encoders, or its file is damaged.
            NoEvidence: if the encoder knows no word of the query.
        """
        from rerank.feedback.session import read_session, write_session

        file = self.file(number, query)
        if not file.exists():
            search = self._search(collection, self._method, self._of_method)
            session = search.begin(query, folder=str(self.folders[number]))
            write_session(file, session)
            return session, search
        session = read_session(file)
        if session.collection.space != collection.space:
            raise BadInput(
                f"This search was begun with the encoders {session.collection.space}.",
                hint=f"Delete {file} to begin anew.",
            )
        return session, self._search(collection, session.method, session.settings)

    def _search(self, collection: Collection, method: FeedbackMethod, of_method: FeedbackSettings) -> FeedbackSearch:
        return self._opened_resources(method, of_method).search(collection, method, of_method)

    def shown(self, number: int, query: str, collection: Collection) -> dict[str, object]:
        """Return what the page shows of a session."""
        from rerank.feedback.session import changes_since

        session, search = self.session(number, query, collection)
        following = self._following(number, query, session, search) if session.is_marked else session.turns[-1].query
        return {
            "session": session, "turn": session.turns[-1], "following": following, "n_left": search.n_unseen(session),
            "n": len(collection.ids), "n_unreadable": len(collection.errors), "held": set(collection.ids),
            "changes": changes_since(session, collection), "name_of": path_of_id,
        }  # fmt: skip

    def _following(self, number: int, query: str, session: Session, search: FeedbackSearch) -> str:
        """Return the query that grew by the marked photos; their captions are kept, since they may cost money."""
        from rerank.feedback.session import write_session

        grown, turn = asyncio.run(search.grow(session))
        write_session(self.file(number, query), grown)
        return turn.query

    def step(
        self, number: int, query: str, collection: Collection, photos: Sequence[str], *, turn: int, does: str,
        edited: str | None,
    ) -> tuple[str, ...]:  # fmt: skip
        """Do a step of a session; return the photos whose marks an undo has taken back.

        A query that grew by captions is shown before it is searched. `turn` is the number of turns on the page.

        Raises:
            BadInput: for a page of another turn.
            UsageError: if there is nothing to undo.
        """
        from rerank.feedback.session import Turn, write_session
        from rerank.settings import text_form

        file = self.file(number, query)
        session, search = self.session(number, query, collection)
        if turn != len(session.turns):
            raise BadInput("The search has gone on since this page.", hint="Open it again.")
        if does == "undo":
            before = search.undo(session)
            write_session(file, before)
            return session.turns[len(before.turns) - 1].relevant or ()
        was_marked, following = session.is_marked, Turn(query=session.turns[-1].query)
        if not was_marked:
            session = search.mark(session, photos)
            write_session(file, session)
        is_written = text_form(session.method, session.settings) is not None
        if not search.n_unseen(session) or (is_written and edited is None and not was_marked):
            return ()
        if was_marked or edited is None:
            session, following = asyncio.run(search.grow(session))
        write_session(file, search.search(session, following, edited=edited))
        return ()

    def marked(self, number: int, query: str, collection: Collection, photos: Sequence[str]) -> Session:
        """Return the session with the marks of a page, which are not written."""
        session, search = self.session(number, query, collection)
        return session if session.is_marked else search.mark(session, photos)


def _asked(finder: Finder, given: Mapping[str, Any]) -> tuple[int, str]:
    """Return the number of the folder and the query of a request."""
    number, query = whole(given.get("folder", 0), -1), " ".join(str(given.get("q", "")).split())[:2_000]
    if number < 0 or (number >= len(finder.folders) and query):
        raise HTTPException(404, "There is no such folder: kb serve --photos names them.")
    return number, query


async def find(finder: Finder, request: Request) -> Response:
    """Return the form, and the last turn of a search; a POST does a step of it."""
    if request.method == "POST":
        return await _stepped(finder, request)
    number, query = _asked(finder, request.query_params)
    values: dict[str, object] = {"folders": finder.folders, "folder": number, "q": query, "opening": None}
    if not query:
        return page("find.html", "Find", **values, session=None, latest=await finder.run(finder.latest))
    found = await finder.photos(number, is_new=not finder.file(number, query).exists())
    if isinstance(found, Opening):
        return page("find.html", "Find", **values | {"opening": found}, session=None, latest=[])
    shown = await finder.run(finder.shown, number, query, found)
    return page("find.html", "Find", **values, **shown, marked=set(request.query_params.getlist("marked")))


async def _stepped(finder: Finder, request: Request) -> Response:
    async with request.form(max_fields=200) as form:
        number, query = _asked(finder, form)
        photos, turn = [*map(str, form.getlist("photos"))], whole(form.get("turn"), -1)
        text, does = " ".join(str(form.get("query", "")).split())[:2_000], str(form.get("do", "next"))
        edited = text if text not in ("", str(form.get("shown", ""))) else None
    found, undone = await finder.photos(number), tuple[str, ...]()
    if not isinstance(found, Opening) and does in ("csv", "jsonl"):
        return _table(await finder.run(finder.marked, number, query, found, photos), found, does)
    if not isinstance(found, Opening):
        step = partial(finder.step, turn=turn, does=does, edited=edited)
        undone = await finder.run(step, number, query, found, photos)
    again = urlencode({"folder": number, "q": query, "marked": undone}, doseq=True, errors="surrogateescape")
    return RedirectResponse(f"/find?{again}", status_code=303)


def _table(session: Session, collection: Collection, form: str) -> Response:
    """Return the photos of the marked turns: CSV, or a job of `kb rerank` with `relevant`."""
    from cli.common.output import json_lines
    from data.frames import as_csv, frame_of
    from rerank.feedback.session import labelled_job

    if form == "jsonl":
        return attachment(json_lines([labelled_job(session, collection)]), "find.jsonl")
    return attachment(as_csv(frame_of(_rows(session, collection), COLUMNS)), "find.csv")


def _rows(session: Session, collection: Collection) -> Iterator[dict[str, object]]:
    for number, turn in enumerate(session.turns):
        for rank, image in enumerate(turn.shown if turn.relevant is not None else (), start=1):
            path = collection.folder / path_of_id(image.image_id)
            is_relevant = image.image_id in (turn.relevant or ())
            yield {"turn": number, "query": turn.query, "rank": rank, "photo": str(path), "score": image.score,
                   "relevant": is_relevant}  # fmt: skip


async def progress(finder: Finder, request: Request) -> Response:
    """Return how far the encoding of a folder is."""
    number, _ = _asked(finder, request.query_params)
    found = await finder.photos(number) if number < len(finder.folders) else None
    if not isinstance(found, Opening):
        return JSONResponse({"is_running": False})
    said = f"{found.done:,} of {found.total:,} photos" if found.total else ""
    return JSONResponse({"is_running": True, "done": found.done, "total": found.total, "said": said})


async def photo(finder: Finder, request: Request) -> Response:
    """Return a photo of a folder without its EXIF data; `large` for a larger one."""
    number, _ = _asked(finder, {**request.path_params, "q": "-"})
    found = await finder.photos(number)
    if isinstance(found, Opening):
        raise HTTPException(404, "The photos of this folder are being encoded.")
    side = _LARGE_PX if "large" in request.query_params else SIDE_PX
    return await finder.run(jpeg, found.path(request.path_params["photo"]), None, side)


VIEWS: Final = {"/find": find, "/find/progress": progress, "/find/photos/{folder:number}/{photo:path}": photo}
