"""A scripted model behind real HTTP; one server and one client for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from kb.endpoints.endpoint import Endpoint
from kb.endpoints.openai_client import OpenAIChat
from tests.servers.openai_server import Call, OpenAIServer, Script


@dataclass(frozen=True)
class Model:
    """A chat model whose script can be set."""

    server: OpenAIServer
    chat: OpenAIChat

    def follows(self, script: Script) -> OpenAIChat:
        """Return the chat model, from now on with this script, and forget earlier calls."""
        self.server.script = script
        self.server.calls.clear()
        return self.chat

    @property
    def calls(self) -> list[Call]:
        """The calls since the script was set."""
        return self.server.calls


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    with (
        OpenAIServer() as server,
        OpenAIChat(Endpoint(model="m", base_url=server.base_url, price_in=1, price_out=1)) as chat,
    ):
        yield Model(server=server, chat=chat)
