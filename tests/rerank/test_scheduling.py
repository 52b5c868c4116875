"""Slots for calls: limited concurrency, queries in turn, and no slot lost when a waiter is cancelled."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from data.errors import Refused, SourceUnavailable
from data.records import ChatMessage, ChatRequest
from rerank.scheduling import MAX_FAILURES_IN_A_ROW, FairChat, FairSlots, all_of
from tests.rerank.scripted import ScriptedChat

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


def test_groups_take_turns() -> None:
    assert order_of([("a", 0)] * 4 + [("b", 0)] * 2) == ["a0", "a1", "b4", "a2", "b5", "a3"]


def test_within_a_group_the_higher_step_goes_first() -> None:
    assert order_of([("a", 0), ("a", 0), ("a", 2), ("a", 1)]) == ["a0", "a2", "a3", "a1"]


def test_a_cancelled_waiter_gives_its_place_to_the_next() -> None:
    async def main() -> Any:
        slots, got = FairSlots(1), []

        async def work(name: Any) -> None:
            async with slots.slot("a"):
                got.append(name)

        async with slots.slot("a"):
            tasks = [asyncio.create_task(work(i)) for i in range(3)]
            await asyncio.sleep(0)
            tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(60), slots.slot("b"):
            return got

    assert asyncio.run(main()) == [1, 2]


def test_a_waiter_cancelled_with_a_new_slot_passes_it_on() -> None:
    async def main() -> Any:
        slots, got = FairSlots(1), []

        async def work(name: Any) -> None:
            async with slots.slot("a"):
                got.append(name)

        async with slots.slot("a"):
            first, second = (asyncio.create_task(work(i)) for i in range(2))
            await asyncio.sleep(0)
        first.cancel()  # it owns the slot now, but has not run yet
        await asyncio.gather(first, second, return_exceptions=True)
        async with asyncio.timeout(60), slots.slot("b"):
            return got

    assert asyncio.run(main()) == [1]


def test_no_request_is_sent_after_twelve_failures_in_a_row() -> None:
    def down(_: Any) -> None:
        raise SourceUnavailable("503")

    async def main() -> Any:
        inner = ScriptedChat(down)
        chat = FairChat(inner, n_in_flight=1)
        for _ in range(MAX_FAILURES_IN_A_ROW + 5):
            with pytest.raises(SourceUnavailable):
                await chat.reply(ASKED)
        return len(inner.requests)

    assert asyncio.run(main()) == MAX_FAILURES_IN_A_ROW


def test_a_reply_resets_the_count_of_failures() -> None:
    def mostly_down(_: Any) -> str:
        if len(inner.requests) % MAX_FAILURES_IN_A_ROW:
            raise SourceUnavailable("503")
        return "at last"

    async def main() -> Any:
        chat = FairChat(inner, n_in_flight=1)
        for _ in range(3 * MAX_FAILURES_IN_A_ROW):
            with suppress(SourceUnavailable):
                replies.append(await chat.reply(ASKED))
        return replies

    inner, replies = ScriptedChat(mostly_down), []
    assert len(asyncio.run(main())) == 3
    assert len(inner.requests) == 36


def test_refusals_do_not_count_as_failures() -> None:
    def refuse(_: Any) -> None:
        raise Refused("no")

    async def main() -> Any:
        inner = ScriptedChat(refuse)
        chat = FairChat(inner)
        for _ in range(MAX_FAILURES_IN_A_ROW + 5):
            with pytest.raises(Refused):
                await chat.reply(ASKED)
        return len(inner.requests)

    assert asyncio.run(main()) == MAX_FAILURES_IN_A_ROW + 5


def test_the_first_failure_cancels_the_rest() -> None:
    async def main() -> Any:
        ended = []

        async def fail() -> None:
            await asyncio.sleep(0)
            raise ValueError("first")

        async def wait() -> None:
            try:
                await asyncio.sleep(10)
            finally:
                ended.append(True)

        with pytest.raises(ValueError, match="first"):
            await all_of([wait(), fail(), wait()])
        return ended

    assert asyncio.run(main()) == [True, True]
