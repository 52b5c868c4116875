"""`kb serve`: the page and the HTTP API."""

from __future__ import annotations

import secrets
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from signal import SIGTERM, signal
from typing import TYPE_CHECKING

import click

from cli.common import options, output, wiring
from cli.common.feedback_resources import default_method
from cli.common.settings import TOKEN
from data.errors import MissingDependency, MissingRequirement
from recognize.settings import IdentifySettings
from rerank.settings import FeedbackSettings

if TYPE_CHECKING:
    from data.contracts import TextEncoder
    from kb.store.knowledge_base import KnowledgeBase
    from recognize import Recognizer


@click.command()
@options.kb_option("Knowledge base.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0 takes a free one."
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
    help=f"Address to listen at; other machines need the token of {TOKEN}, or else the printed one.",
)  # fmt: skip
@click.option(
    "--photos", type=click.Path(exists=True, file_okay=False, path_type=Path), multiple=True, metavar="FOLDER",
    help="Folder to identify and review; may be given several times.",
)  # fmt: skip
def serve(kb: Path | None, port: int, host: str, photos: tuple[Path, ...]) -> None:
    """Open a page to identify photos and look up species, with an HTTP API below /api/v1.

    The page works without the network. At 127.0.0.1 it answers this machine alone; at another --host each request needs
    a token. Photos of the form are kept in a temporary folder until the server stops. Stop it with Ctrl-C.

    With --photos, the photos of a folder are identified and reviewed by keyboard. The answers are in the folder's
    fieldmark.jsonl, as by kb identify --output; what you say is in its corrections.jsonl, which kb identify honours.
    """
    try:
        import uvicorn

        from cli.serve.app import make_app
        from cli.serve.find import Finder
        from cli.serve.guard import LOOPBACK
        from cli.serve.rerank import Rankings
        from cli.serve.review import Review
        from cli.serve.site import Site
    except ModuleNotFoundError as error:
        raise MissingDependency(error.name or "starlette", extra="serve") from error
    import os

    from cli.verbs.identify import limit_numpy_threads

    limit_numpy_threads()
    token = None if host in LOOPBACK else os.environ.get(TOKEN) or secrets.token_urlsafe(16)
    with ExitStack() as stack:
        # uvicorn repeats the signal at its end, and the temporary folder must go before the process does.
        stack.callback(signal, SIGTERM, signal(SIGTERM, lambda *_: sys.exit(128 + SIGTERM)))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fieldmark-")))
        settings, of_method = options.settings(kb=kb), options.method_settings("feedback", FeedbackSettings)
        options_of_verbs = {"--kb": settings.kb, "--settings": options.invocation().settings}
        given = [text for name, value in options_of_verbs.items() if value for text in (name, str(value))]
        opened, reviews = partial(_opened, click.get_current_context(), stack, kb), dict.fromkeys(photos)
        site = Site(opened, folder, [Review(each, given) for each in reviews], settings.home)
        folders = [each.absolute() for each in reviews]
        finder = stack.enter_context(Finder(settings, folders, default_method(settings), of_method))
        rankings = stack.enter_context(Rankings(folders, has_model="vision" in settings.llm, given=given))
        config = uvicorn.Config(
            make_app(site, finder, rankings, token=token), host=host, port=port, log_level="warning", access_log=False,
            timeout_graceful_shutdown=5, server_header=False,
        )  # fmt: skip
        try:
            listening = stack.enter_context(config.bind_socket())
        except SystemExit as error:  # of uvicorn, which has logged the reason
            raise MissingRequirement(
                f"Port {port} of {host} is taken or not allowed.", hint="Choose another one: --port 8001."
            ) from error
        listening.listen()  # whoever opens the printed address at once waits, and is not refused
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/"
        output.note(f"Fieldmark is at {address}{f'?token={token}' if token else ''} (Ctrl-C stops it)")
        uvicorn.Server(config).run(sockets=[listening])


def _opened(context: click.Context, stack: ExitStack, kb: Path | None) -> tuple[KnowledgeBase, Recognizer, TextEncoder]:
    """Open the knowledge base in use now; on any thread, of which click knows only that of the command."""
    method = IdentifySettings()
    with context.scope(cleanup=False):
        store = stack.enter_context(wiring.open_knowledge_base(options.settings(kb=kb)))
        place_model = wiring.occurrence_model(method.place_model, is_needed=False)
        recognizer = wiring.make_recognizer(store, occurrence=place_model, place_odds=method.place_odds)
    return store, recognizer, wiring.load_encoders(store.info.profile).sentence
