"""Cost limits are never exceeded, even by concurrent requests, and are used as fully as possible."""

import asyncio

import pytest

from data.errors import CostStop, Refused, UsageError
from data.event_loop import wait_for
from data.records import ChatMessage, ChatReply, ChatRequest
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Budget, Endpoint
from kb.http import RetryPolicy
from tests.servers.openai_server import Answer, Call, Cut, OpenAIServer, Reaction, Status

QUICK = RetryPolicy(first_wait_s=0.01)
PRICED = {"price_in": 1000.0, "price_out": 1000.0}  # 0.1 cents per token


def request(text: str) -> ChatRequest:
    return ChatRequest(messages=(ChatMessage(role="user", text=text),), max_tokens=10)


async def ask_all(chat: Connection, n: int) -> list[ChatReply | BaseException]:
    return await asyncio.gather(*(chat.reply(request(f"{i:03d}")) for i in range(n)), return_exceptions=True)


def test_a_request_that_could_exceed_the_limit_is_not_sent() -> None:
    with (
        OpenAIServer() as server,
        Connection(Endpoint(model="m", base_url=server.base_url, **PRICED), budget=Budget(0.01)) as chat,
    ):
        with pytest.raises(CostStop, match=r"could cost up to \$0\.0290, and \$0\.0000 of \$0\.01"):
            wait_for(chat.reply(request("000")))
        assert server.n_calls == 0


def test_lost_replies_count_as_charged_but_busy_errors_do_not() -> None:
    def script(call: Call) -> Reaction:
        return (Cut(), Status(status=429), Status(status=503), Answer(text="ok", input_tokens=3, output_tokens=1))[
            call.number - 1
        ]

    budget = Budget(1.0)
    with (
        OpenAIServer(script) as server,
        Connection(Endpoint(model="m", base_url=server.base_url, **PRICED), budget=budget, retry=QUICK) as chat,
    ):
        wait_for(chat.reply(request("000")))
    assert budget.meter.unsure_usd == pytest.approx(0.029)
    assert budget.meter.spent_usd == pytest.approx(0.004)
    assert chat.n_retries == 3


def test_each_retry_reserves_its_cost() -> None:
    """A server that cuts off every reply may charge for each, so the limit ends the retries."""
    with (
        OpenAIServer(Cut()) as server,
        Connection(Endpoint(model="m", base_url=server.base_url, **PRICED), budget=Budget(0.07), retry=QUICK) as chat,
    ):
        with pytest.raises(CostStop):
            wait_for(chat.reply(request("000")))
        assert server.n_calls == 2


def test_a_cost_limit_requires_a_known_price() -> None:
    with OpenAIServer("ok") as server:
        endpoint = Endpoint(model="m", base_url=server.base_url, price_in=1.0)
        with pytest.raises(UsageError, match=r"The price of m@.* is unknown") as caught:
            Connection(endpoint, budget=Budget(1.0))
        assert "price_out" in str(caught.value.hint)
        with pytest.raises(UsageError, match="Expected a cost limit"):
            Budget(float("nan"))
        budget = Budget()
        with Connection(endpoint, budget=budget) as chat:
            wait_for(chat.reply(request("a")))
    assert (budget.meter.calls, budget.meter.unpriced) == (1, 1)


def test_concurrent_requests_use_up_but_never_exceed_the_limit() -> None:
    """Each reply costs 12 tokens (1.2 cents) but could cost up to 29; the limit is 50 cents; one request fails."""

    def script(call: Call) -> Reaction:
        if call.number == 5:
            return Status(status=413, error={"message": "bad"})
        return Answer(text="ok", input_tokens=3, output_tokens=9, after_s=(call.number * 7 % 5) / 200)

    budget = Budget(0.5)
    with (
        OpenAIServer(script) as server,
        Connection(Endpoint(model="m", base_url=server.base_url, **PRICED), budget=budget, retry=QUICK) as chat,
    ):
        replies = asyncio.run(ask_all(chat, 100))
        n_paid = server.n_calls - 1
    stopped = [reply for reply in replies if isinstance(reply, CostStop)]
    assert len(stopped) + server.n_calls == 100
    assert budget.meter.spent_usd == pytest.approx(n_paid * 0.012)
    assert budget.meter.calls == n_paid
    assert 0.5 >= n_paid * 0.012 > 0.5 - 0.029 - 0.012  # unused: at most the reservation of one request
    assert "--max-cost" in str(stopped[0].hint)


def test_a_refusal_is_a_call_at_its_stated_cost() -> None:
    refusals: tuple[tuple[Reaction, float, float], ...] = (
        (Answer(text=None, refusal="No.", input_tokens=3, output_tokens=2), 0.005, 0.0),
        (Answer(text="", finish="content_filter", input_tokens=3, output_tokens=2), 0.005, 0.0),
        (Answer(text=None, refusal="No.", has_usage=False), 0.0, 0.029),
        (Status(status=400, error={"message": "no", "code": "content_filter"}), 0.0, 0.029),
    )
    for refusal, spent, unsure in refusals:
        for limit in (None, 1.0):
            budget = Budget(limit)
            with (
                OpenAIServer(refusal) as server,
                Connection(Endpoint(model="m", base_url=server.base_url, **PRICED), budget=budget) as chat,
                pytest.raises(Refused),
            ):
                wait_for(chat.reply(request("000")))
            assert (budget.meter.calls, budget.meter.spent_usd) == (1, pytest.approx(spent)), refusal
            assert budget.meter.unsure_usd == pytest.approx(unsure), refusal
