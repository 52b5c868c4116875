"""Rows passed through a reader on a real HTTP server with scripted answers: mechanics only."""

import json
import re
import threading
from typing import Any

import pytest

from data.errors import BadImage, CostStop
from data.records import Answer, Box, Candidate, Identification
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Endpoint
from recognize.reader.reader import Reader
from recognize.reader.stream import AHEAD, read_over
from tests.servers.openai_server import Answer as Says
from tests.servers.openai_server import OpenAIServer

NAMES = {"Cyanocitta cristata": "Blue Jay", "Cardinalis cardinalis": "Northern Cardinal"}


def row(image: Any, **changes: Any) -> Identification:
    candidates = tuple(
        Candidate(taxon_id=name.lower().replace(" ", "-"), scientific_name=name, common_name=common, score=1.0,
                  summary=f"Looks like {common}.", family=f"{common} family", order="Passeriformes")
        for name, common in NAMES.items()
    )  # fmt: skip
    answer = Answer(rank="genus", name="Cyanocitta", confidence=0.8, p_unknown=0.1)
    return Identification(image=image, **({"answer": answer, "candidates": candidates} | changes))


def picture_of(path: Any, box: Any) -> Any:
    return b"\xff\xd8\xff" + path.name.encode() + (b"" if box is None else f" {box.left:g}".encode())


def read(rows: Any, script: Any) -> Any:
    with OpenAIServer(script) as server, Connection(Endpoint(model="m", base_url=server.base_url)) as chat:
        return list(read_over(rows, Reader(chat), picture_of)), server


def labelled(call: Any, name: Any) -> Any:
    return json.dumps({"reason": "seen", "answer": re.search(rf"^([A-Z])\. {name}", call.text, re.MULTILINE).group(1)})


def test_the_choice_becomes_the_answer_without_confidence() -> None:
    (found,), server = read([row("a.jpg")], lambda call: labelled(call, "Northern Cardinal"))
    assert found.answer == Answer(
        rank="species", name="Cardinalis cardinalis", common_name="Northern Cardinal", confidence=None,
        family="Northern Cardinal family", order="Passeriformes",
    )  # fmt: skip
    assert found.status == "identified"
    assert (found.reader.choice, found.reader.reason) == ("cardinalis-cardinalis", "seen")
    assert server.calls[0].images == [b"\xff\xd8\xffa.jpg"]
    (found,), _ = read([row("a.jpg")], '{"reason": "a heron", "answer": "none"}')
    assert (found.answer, found.status) == (Answer(rank="none", name=""), "not_sure")
    assert (found.reader.choice, found.reader.agreement) == (None, 1.0)


def test_of_several_birds_the_model_sees_the_one_of_the_row() -> None:
    birds = [row("a.jpg", bird=number, n_birds=2, box=Box(9 * number, 0, 20, 20)) for number in (1, 2)]
    _, server = read([*birds, row("b.jpg", box=Box(1, 0, 20, 20))], '{"answer": "A"}')
    pictures = sorted(call.images[0].removeprefix(b"\xff\xd8\xff") for call in server.calls)
    assert pictures == [b"a.jpg 18", b"a.jpg 9", b"b.jpg"], "one bird: the whole photo"


def test_unreadable_and_refused_replies_and_unreadable_photos_keep_the_answer() -> None:
    def script(call: Any) -> Any:
        return "?" if call.images[0].endswith(b"a.jpg") else Says(text=None, refusal="No.")

    before = [row("a.jpg"), row("b.jpg")]
    found, _ = read(before, script)
    assert [each.answer for each in found] == [each.answer for each in before]
    readings = [each.reader for each in found]
    assert [(each.agreement, each.answered, len(each.failures)) for each in readings] == [(0.0, 0, 0), (0.0, 0, 1)]
    assert readings[0].reason == "the reader failed: no choice in the reply '?'"
    assert "the reader failed" in readings[1].reason

    def broken(path: Any, _: Any) -> None:
        raise BadImage(f"{path} is gone")

    with OpenAIServer("?") as server, Connection(Endpoint(model="m", base_url=server.base_url)) as chat:
        (gone,) = read_over([row("a.jpg")], Reader(chat), broken)
    assert (gone.answer, gone.reader.reason) == (row("a.jpg").answer, "the reader failed: a.jpg is gone")
    assert (gone.reader.samples, gone.reader.answered, gone.reader.failures) == (0, 0, ("a.jpg is gone",))
    bad = Identification(image="x.jpg", status="error", error="truncated")
    found, server = read([bad, row("y.jpg", candidates=())], "?")
    assert ([each.reader for each in found], server.n_calls) == ([None, None], 0)


def test_rows_keep_their_order_while_requests_run_in_parallel() -> None:
    together = threading.Barrier(4)

    def script(call: Any) -> Any:
        if call.number <= 4:
            together.wait(120)  # passes only if four are in flight at a time
        return labelled(call, "Blue Jay")

    images = [f"{i}.jpg" for i in range(AHEAD + 5)]
    found, _ = read([row(image) for image in images], script)
    assert [each.image for each in found] == images


def test_the_cost_limit_ends_the_stream_after_finished_rows() -> None:
    class Expensive:
        name = "expensive"
        n = 0

        async def reply(self, request: Any) -> Any:
            Expensive.n += 1
            if Expensive.n > 1:
                raise CostStop("the next request could pass 1 cent")
            return await self.chat.reply(request)

    with OpenAIServer('{"answer": "A"}') as server, Connection(Endpoint(model="m", base_url=server.base_url)) as chat:
        expensive = Expensive()
        expensive.chat = chat
        stream = read_over([row("a.jpg"), row("b.jpg")], Reader(expensive), picture_of)
        assert next(stream).reader.agreement == 1.0
        with pytest.raises(CostStop):
            next(stream)
