"""Abilities of an image generator, tested with one drawing."""

from __future__ import annotations

import re
from typing import Final

from data.errors import FieldmarkError, MissingRequirement
from data.event_loop import wait_for
from kb.endpoints.drawing.openai_images import OpenAIImages
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.probe import WITHOUT, Ability, Probe
from kb.endpoints.retry import RetryPolicy, Tries

_PROMPT: Final = "Generate a small image of a red circle"
_SIZE: Final = re.compile(r"(\d+)x(\d+)")
_PATIENCE: Final = RetryPolicy(tries=2, tries_if_malformed=1)


def probe_images(endpoint: Endpoint, key: str = "") -> list[Probe]:
    """Return the abilities of the generator `[llm.image]` from one drawing, which costs as much as any other."""

    def result(ability: Ability, is_there: bool, seen: str) -> Probe:
        without = "" if is_there else WITHOUT[ability]
        return Probe(endpoint="image", model=endpoint.address, ability=ability, is_there=is_there, seen=seen,
                     without=without)  # fmt: skip

    tries = Tries(_PATIENCE)
    try:
        with OpenAIImages(endpoint, key) as images:
            drawn = wait_for(tries.result(lambda: images.draw(_PROMPT, 1)))
        if drawn.problem is not None:
            raise drawn.problem
    except FieldmarkError as error:
        has_hint = isinstance(error, MissingRequirement) and error.hint
        return [result("answers", False, f"{error} ({error.hint})" if has_hint else str(error))]
    width, height = _size(drawn.images[0])
    found = [result("answers", True, f"drew a picture of {width} x {height} pixels")]
    asked = _SIZE.fullmatch(str(endpoint.extra_body.get("size", "")))
    if asked is not None:
        is_same = (int(asked[1]), int(asked[2])) == (width, height)
        found.append(result("size", is_same, "as set in extra_body" if is_same else f"{asked[0]} was asked for"))
    is_priced = drawn.cost_usd is not None
    seen = f"${drawn.cost_usd:.4g} for this drawing" if is_priced else "price_per_request is not set"
    return [*found, result("price", is_priced, seen)]


def _size(content: bytes) -> tuple[int, int]:
    from data.images.decode import read_image

    return read_image(content).size
