import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from data.errors import BadImage, CostStop, FieldmarkError, NothingReadable, Refused, SourceUnavailable
from data.records import ChatMessage, ChatRequest, RankedImage
from rerank.reranker import RunResult, Tally
from rerank.scheduling import MAX_FAILURES_IN_A_ROW, FairChat, FairSlots, all_of, read_in_thread
from tests.rerank.scripted import ScriptedChat

FAILED = RankedImage(query_id="q1", image_id="a", rank=1, score=0.0, first_stage_rank=1, status="error", error="bad")


def test_an_unreadable_image_is_the_cause_only_without_other_errors() -> None:
    for failures, cause in (
        ([BadImage("damaged"), CostStop("cost limit")], "cost limit"), ([BadImage("one"), BadImage("two")], "bad"),
    ):  # fmt: skip
        result = RunResult(rows={"q1": [FAILED]}, tally=Tally(failures=failures))
        with pytest.raises(FieldmarkError, match=cause):
            result.raise_if_all_failed()


def test_every_unreadable_image_is_named_up_to_three() -> None:
    errors = ["a is empty", "a is empty", "b is empty", "c is empty", "d is empty"]
    result = RunResult(rows={"q1": [replace(FAILED, error=error) for error in errors]}, tally=Tally())
    assert result.reasons == "a is empty; b is empty; c is empty; and 1 more"
    with pytest.raises(NothingReadable, match=r"^a is empty; b is empty; c is empty; and 1 more$"):
        result.raise_if_all_failed()


ASKED = ChatRequest(messages=(ChatMessage(role="user", text="?"),))


def order_of(arrivals: Any, *, n_slots: int = 1) -> Any:
    """Return the order in which waiting `(group, step)` arrivals get their slot."""

    async def main() -> Any:
        slots, order = FairSlots(n_slots), []

        async def work(group: Any, step: Any, name: Any) -> None:
            async with slots.slot(group, step=step):
                order.append(name)
                await asyncio.sleep(0)

        await all_of([work(group, step, f"{group}{i}") for i, (group, step) in enumerate(arrivals)])
        return order

    return asyncio.run(main())


def test_groups_take_turns_and_within_a_group_the_higher_step_goes_first() -> None:
    assert order_of([("a", 0)] * 4 + [("b", 0)] * 2) == ["a0", "a1", "b4", "a2", "b5", "a3"]
    assert order_of([("a", 0), ("a", 0), ("a", 2), ("a", 1)]) == ["a0", "a2", "a3", "a1"]


def asked_of(script: Any, n: int) -> tuple[int, int]:
    """Return the numbers of requests and of replies after `n` attempts, one after the other."""
    inner = ScriptedChat(lambda request: script(len(inner.requests)))

    async def main() -> int:
        chat, n_replies = FairChat(inner, n_in_flight=1), 0
        for _ in range(n):
            with suppress(SourceUnavailable, Refused):
                await chat.reply(ASKED)
                n_replies += 1
        return n_replies

    n_replies = asyncio.run(main())
    return len(inner.requests), n_replies


def test_no_request_is_sent_after_twelve_failures_in_a_row() -> None:
    """A reply ends the row; a refusal is a reply of a provider that is up."""

    def down(_: int) -> None:
        raise SourceUnavailable("503")

    def refuse(_: int) -> None:
        raise Refused("no")

    def mostly_down(n: int) -> str:
        return "at last" if n % MAX_FAILURES_IN_A_ROW == 0 else down(n)  # type: ignore[func-returns-value]

    assert MAX_FAILURES_IN_A_ROW == 12
    assert asked_of(down, 17) == (12, 0)
    assert asked_of(refuse, 17) == (17, 0)
    assert asked_of(mostly_down, 36) == (36, 3)


def test_the_first_failure_cancels_the_rest() -> None:
    async def fail() -> None:
        raise ValueError("first")

    async def main() -> list[bool]:
        waiting = [asyncio.create_task(asyncio.sleep(60)) for _ in range(2)]
        with pytest.raises(ValueError, match="first"):
            await all_of([waiting[0], fail(), waiting[1]])
        return [task.cancelled() for task in waiting]

    assert asyncio.run(main()) == [True, True]


def test_a_forked_process_reads_photos() -> None:
    assert asyncio.run(read_in_thread(lambda: 1)) == 1
    if (child := os.fork()) == 0:
        signal.alarm(20)
        try:
            os._exit(asyncio.run(read_in_thread(lambda: 7)))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
