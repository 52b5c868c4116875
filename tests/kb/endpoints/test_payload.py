"""Citations in replies of different servers."""

from __future__ import annotations

from typing import Any

import pytest

from data.records import ChatMessage, ChatRequest
from kb.endpoints.payload import reply_of

URL = "https://a.example/frogs"
REQUEST = ChatRequest(messages=(ChatMessage(role="user", text="What is amplexus?"),))


def cited(annotations: object) -> list[tuple[str, str | None]]:
    message: dict[str, Any] = {"content": "An embrace.", "annotations": annotations}
    reply = reply_of({"choices": [{"message": message}]}, REQUEST, where="sonar", prices=None, image_tokens=1)
    return [(passage.source.title, passage.source.url) for passage in reply.citations]


def test_message_annotations_become_citations() -> None:
    found = [{"type": "url_citation", "url_citation": {"url": URL, "title": "Frogs"}}]
    assert cited(found) == [("Frogs", URL)]


@pytest.mark.parametrize("annotations", [None, 5, "x", {"url": URL}, [], ["x", 3]])
def test_malformed_annotations_are_ignored(annotations: object) -> None:
    assert cited(annotations) == []
