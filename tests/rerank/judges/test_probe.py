"""The probe of an endpoint, with a chat model that is a function."""

import asyncio
import math
from typing import Any

import pytest

from data.records import ChatReply, TokenLogprobs
from rerank.judges.vision import plain_image, probe
from tests.rerank.scripted import ScriptedChat


def reply(text: Any, *, is_scored: bool = True) -> ChatReply:
    other = "No" if text == "Yes" else "Yes"
    top = ((text, math.log(0.9)), (other, math.log(0.1)))
    tokens = (TokenLogprobs(token=text, logprob=top[0][1], top=top),) if is_scored else None
    return ChatReply(text=text, model="m", logprobs=tokens)


def found(red: Any, blue: Any) -> Any:
    chat = ScriptedChat(lambda request: red if request.messages[0].images == (plain_image("red"),) else blue)
    abilities = asyncio.run(probe(chat))
    return (abilities.gives_logprobs, abilities.tells_colours), len(chat.requests)


YES, NO = reply("Yes"), reply("No")


@pytest.mark.parametrize(
    ("red", "blue", "abilities"),
    [
        (YES, NO, (True, True)),
        (YES, YES, (True, False)),
        (NO, NO, (True, False)),
        (NO, YES, (True, False)),
        (reply("Yes", is_scored=False), reply("No", is_scored=False), (False, True)),
        # Log probabilities in only one of the two replies do not count.
        (YES, reply("No", is_scored=False), (False, True)),
        (reply("I see a square.", is_scored=False), NO, (False, False)),
    ],
)
def test_two_pictures_reveal_the_abilities_of_a_server(red: Any, blue: Any, abilities: tuple[bool, bool]) -> None:
    assert found(red, blue) == (abilities, 2)
