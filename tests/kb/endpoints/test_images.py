"""Drawings behind an images API, with scripted servers: several forms of answers, refusals, costs, files and cache."""

import asyncio
import base64
import io
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.errors import CostStop, MalformedAnswer, NotCached, Refused, SourceError, UsageError
from data.event_loop import wait_for
from kb.endpoints.cache import DrawingCache
from kb.endpoints.endpoint import Budget, Endpoint
from kb.endpoints.images import Drawings, ImageConnection
from kb.http import RetryPolicy
from tests.servers.openai_server import Call, OpenAIServer, Raw, Reaction, Status

QUICK = RetryPolicy(tries=3, first_wait_s=0.01)
REFUSED = Status(status=400, error={"message": "Rejected by the safety system.", "code": "moderation_blocked"})


def png(shade: int, form: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (32, 32), (shade % 256, 80, 40)).save(out, form)
    return out.getvalue()


def in_base64(*images: bytes, usage: dict[str, int] | None = None) -> Raw:
    data = [{"b64_json": base64.b64encode(image).decode()} for image in images]
    return Raw(body=json.dumps({"data": data, "usage": usage}).encode(), media_type="application/json")


def by_urls(*urls: str) -> Raw:
    return Raw(body=json.dumps({"data": [{"url": url} for url in urls]}).encode(), media_type="application/json")


def data_url(image: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(image).decode()}"


def one_each(call: Call) -> Reaction:
    return in_base64(png(call.number))


def draw(
    server: OpenAIServer, folder: Path, n: int = 3, *, offline: bool = False, limit: float | None = None, **more: object
) -> Drawings:
    endpoint = Endpoint(model="m", base_url=server.base_url, **more)  # type: ignore[arg-type]
    with ImageConnection(
        endpoint, cache=DrawingCache(folder), budget=Budget(limit), offline=offline, retry=QUICK
    ) as images:
        return wait_for(images.draw("Generate a small image of the Wood Duck", n))


def test_the_request_has_prompt_number_and_parameters_and_no_other_field(tmp_path: Path) -> None:
    with OpenAIServer() as server:
        more = {"size": "1024x1024", "quality": "high", "response_format": "base64"}
        found = draw(server, tmp_path, extra_body=more)
        (call,) = server.calls
    assert call.path == "/v1/images/generations"
    assert call.payload == {
        "model": "m", "prompt": "Generate a small image of the Wood Duck", "n": 3, "size": "1024x1024",
        "quality": "high", "response_format": "base64",
    }  # fmt: skip
    assert len({path.read_bytes() for path in found.paths}) == 3


def test_drawings_are_paid_for_once_and_more_of_them_cost_only_the_rest(tmp_path: Path) -> None:
    with OpenAIServer() as server:
        first = draw(server, tmp_path, 2, price_per_request=0.04)
        assert first.cost_usd == pytest.approx(0.08)
        again = draw(server, tmp_path, 2, price_per_request=0.04)
        assert (again.paths, again.cost_usd, again.n_cached, server.n_calls) == (first.paths, 0, 2, 1)
        more = draw(server, tmp_path, 3, price_per_request=0.04)
        assert more.cost_usd == pytest.approx(0.04) and server.calls[-1].payload["n"] == 1
        draw(server, tmp_path, 2, extra_body={"quality": "low"})
        assert server.n_calls == 3, "other parameters, other drawings"
    assert draw(server, tmp_path, 3, offline=True).paths == more.paths
    with pytest.raises(NotCached, match="No cached drawing of m@127"):
        draw(server, tmp_path / "empty", offline=True)


def busy_at_first(call: Call) -> Reaction:
    if call.number == 1:
        return Status(status=429, error={"message": "Rate limit reached."}, headers={"retry-after": "0.2"})
    return in_base64(png(1), png(2), png(3))


def test_the_address_of_a_drawing_is_an_error_with_the_setting_that_helps(tmp_path: Path) -> None:
    with OpenAIServer(by_urls("http://127.0.0.1:9/a.png")) as server:
        with pytest.raises(SourceError, match="the address of a drawing") as caught:
            draw(server, tmp_path, 1)
        assert "response_format" in (caught.value.hint or "")
        assert server.n_calls == 1, "the next answer would be the same, and charged"


def test_a_refusal_is_stored_and_leaves_the_drawings_before_it(tmp_path: Path) -> None:
    with OpenAIServer(REFUSED) as server:
        for _ in range(2):
            with pytest.raises(Refused, match="safety system"):
                draw(server, tmp_path / "refused")
        assert server.n_calls == 1
    with OpenAIServer(lambda call: one_each(call) if call.number == 1 else REFUSED) as server:
        found = draw(server, tmp_path)
        assert len(found.paths) == 1 and isinstance(found.problem, Refused)
        assert draw(server, tmp_path, 1).n_cached == 1  # stored before the next request


def test_a_cost_limit_stops_before_it_is_passed(tmp_path: Path) -> None:
    with OpenAIServer(one_each) as server:
        with pytest.raises(CostStop):
            draw(server, tmp_path, 3, limit=0.05, price_per_request=0.04)
        assert server.n_calls == 0
        with pytest.raises(UsageError, match=r"price of m@127\.0\.0\.1 is unknown"):
            draw(server, tmp_path, 3, limit=0.05)


def test_each_drawing_is_stored_before_the_next_request(tmp_path: Path) -> None:
    """So that a kill pays for nothing twice."""
    stored: list[int] = []

    def counted(call: Call) -> Reaction:
        stored.append(len(list(tmp_path.rglob("*.png"))))
        return one_each(call)

    with OpenAIServer(counted) as server:
        draw(server, tmp_path, 3)
        assert (stored, [call.payload["n"] for call in server.calls]) == ([0, 1, 2], [3, 2, 1])


def test_a_drawing_in_flight_is_waited_for_and_stored_although_its_caller_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, begun, trace = threading.Event(), threading.Event(), ImageConnection._trace

    def busy(images: ImageConnection, task: object, event: str, info: object) -> Any:
        if event.endswith("headers.started"):
            begun.set()
            time.sleep(0.2)  # the event loop has other work, and the caller gives up meanwhile
        return trace(images, task, event, info)

    def held(call: Call) -> Reaction:
        return one_each(call) if gate.wait(60) else Status(status=503)

    async def give_up(images: ImageConnection) -> None:
        task = asyncio.create_task(images.draw("Generate a small image of the Wood Duck", 2))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    monkeypatch.setattr(ImageConnection, "_trace", busy)
    for name in ("closed", "asked again"):
        gate.clear()
        begun.clear()
        with OpenAIServer(held) as server:
            cache, endpoint = DrawingCache(tmp_path / name), Endpoint(model="m", base_url=server.base_url)
            with ImageConnection(endpoint, cache=cache) as images:
                asyncio.run(give_up(images))
                threading.Timer(0.3, gate.set).start()
                if name == "asked again":
                    wait_for(images.draw("Generate a small image of the Wood Duck", 1))
            assert draw(server, tmp_path / name, 1, offline=True).n_cached == 1
            assert server.n_calls == 1, "the second drawing is not asked for"


def several(*images: bytes, usage: dict[str, int] | None = None) -> Callable[[Call], Reaction]:
    return lambda _call: in_base64(*images, usage=usage)


def by_form(asked: Reaction | None, other: Reaction | None) -> Callable[[Call], Reaction]:
    return lambda call: (asked if "response_format" in call.payload else other) or one_each(call)


KINDS: dict[str, tuple[Callable[[Call], Reaction], list[int]]] = {
    "b64_json": (several(png(1), png(2), png(3)), [3]),
    "data URLs": (lambda _call: by_urls(*(data_url(png(i)) for i in range(3))), [3]),
    "WebP": (several(*(png(i, "WEBP") for i in (10, 80, 160))), [3]),
    "JPEG": (several(*(png(i, "JPEG") for i in (10, 80, 160))), [3]),
    "one image whatever n is": (one_each, [3, 2, 1]),
    "n = 1 alone": (lambda call: one_each(call) if call.payload["n"] == 1 else Status(status=400), [3, 1, 1, 1]),
    "addresses without being asked for base64": (by_form(None, by_urls("http://127.0.0.1:9/a")), [3, 2, 1]),
    "base64 is a wrong field": (by_form(Status(status=400), None), [3, 1, 3, 2, 1]),
    "base64 is a fault": (by_form(Status(status=500), None), [3, 3, 1, 3, 2, 2, 1, 2, 1, 1, 1]),  # nothing is learnt
    "busy": (busy_at_first, [3, 3]),
    "down at first": (lambda call: Status(status=503) if call.number < 3 else in_base64(png(1), png(2), png(3)),
                      [3, 3, 3]),
    "more images than asked for": (several(*(png(i) for i in range(5))), [3]),
    "usage": (several(png(1), png(2), png(3), usage={"input_tokens": 9, "output_tokens": 3000}), [3]),
}  # fmt: skip
"""Kind of server -> its reactions, and the numbers of drawings asked for in turn."""


def test_every_kind_of_server_gives_three_drawings_that_are_paid_for_once(tmp_path: Path) -> None:
    for kind, (reaction, numbers) in KINDS.items():
        with OpenAIServer(reaction) as server:
            began = time.monotonic()
            found = draw(server, tmp_path / kind, extra_body={"size": "64x64"}, price_per_request=0.04)
            assert len(set(found.paths)) == 3 and found.problem is None, kind
            for path in found.paths:
                with Image.open(path) as opened:
                    assert (opened.format, opened.size) == ("PNG", (32, 32))  # as sent, though not as asked for
            assert found.cost_usd == pytest.approx(0.04 * (5 if kind.startswith("more") else 3))
            assert kind != "busy" or time.monotonic() - began > 0.2
            again = draw(server, tmp_path / kind, extra_body={"size": "64x64"}, price_per_request=0.04)
            assert again.n_cached == 3
            assert [call.payload["n"] for call in server.calls] == numbers, kind


def test_garbage_is_an_error_after_two_tries(tmp_path: Path) -> None:
    black = io.BytesIO()
    Image.new("RGB", (32, 32)).save(black, "PNG")
    for answer in (
        Raw(body=b"<html>"), in_base64(b"no image"), Raw(body=b'{"data": []}', media_type="application/json"),
        Raw(body=b'{"data": [{"b64_json": "%%"}]}', media_type="application/json"), in_base64(black.getvalue()),
    ):  # fmt: skip
        with OpenAIServer(answer) as server:
            with pytest.raises(MalformedAnswer):
                draw(server, tmp_path)
            assert server.n_calls == 2, answer
