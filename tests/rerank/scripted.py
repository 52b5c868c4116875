import json
import math
from typing import Any

from data.records import ChatReply, TokenLogprobs

QUESTIONS = (
    "Does the photo show a frog?",
    "Is one frog on the back of another?",
    "Do the forelegs of the upper frog hold the lower one?",
)


class ScriptedChat:
    """A `ChatModel` with scripted replies; a text becomes a reply that costs one cent."""

    name = "scripted"

    def __init__(self, script: Any) -> None:
        self.script = script
        self.requests = []

    async def reply(self, request: Any) -> Any:
        self.requests.append(request)
        answer = self.script(request)
        return answer if isinstance(answer, ChatReply) else ChatReply(text=answer, model="scripted", cost_usd=0.01)


def questions_reply(questions: Any = QUESTIONS) -> Any:
    """Return questions in the JSON format of a model's reply."""
    entries = [{"question": q, "statement": f"yes {i}", "negation": f"no {i}"} for i, q in enumerate(questions)]
    return json.dumps({"questions": entries})


def token(text: Any, **masses: Any) -> TokenLogprobs:
    """Return a token with alternatives; `_` in a name is a blank, so `_yes` is " yes"."""
    top = tuple((name.replace("_", " "), math.log(mass)) for name, mass in masses.items())
    return TokenLogprobs(token=text, logprob=top[0][1] if top else -0.1, top=top)
