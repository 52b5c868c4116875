"""A wiki that sends one answer with one wrong value in it."""

import copy
import json
import random
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any, Final

from tests.servers.faulty_wiki import Fault, FaultyWiki

Path = tuple[str | int, ...]


DEEP: Final = "(deep)"
WRONG: Final = (
    None, 0, -1, 1.5, True, 10**30, "x", "", " ", "\ud83d", "http://[", [], {}, [0], [[]], [None], ["x"], {"x": 0},
    {"title": 0}, [{}], [{"title": []}], DEEP,
)  # fmt: skip
DELETED: Final = object()


class MutatingWiki(FaultyWiki):
    """After `mutate(seed)`, one answer has one wrong value."""

    def __init__(self) -> None:
        super().__init__()
        self._seed: int | None = None
        self._asked: list[str] = []
        self._chosen = ""

    def mutate(self, seed: int) -> None:
        """Choose one of the requests that were made before the first mutation."""
        self._seed, self._chosen = seed, random.Random(seed).choice(sorted(dict.fromkeys(self._asked)))

    def _api(self, handler: BaseHTTPRequestHandler, query: str) -> tuple[Fault | None, bytes, str]:
        fault, body, kind = super()._api(handler, query)
        if self._seed is None:
            self._asked.append(query)
        elif query == self._chosen:
            body = self._mutated(json.loads(body), random.Random(self._seed))
        return fault, body, kind

    def _mutated(self, answer: Any, at_random: random.Random) -> bytes:
        paths = [path for path in paths_in(answer) if path]
        depth = at_random.choice(sorted({len(path) for path in paths}))  # or nearly all would be single values
        path = at_random.choice([path for path in paths if len(path) == depth])
        value = at_random.choice((*WRONG, DELETED))
        *above, last = path
        changed = copy.deepcopy(answer)
        inner = changed
        for step in above:
            inner = inner[step]
        if value is DELETED:
            del inner[last]
        else:
            inner[last] = value
        return json.dumps(changed).replace(json.dumps(DEEP), "[" * 5_000 + "]" * 5_000).encode()


def paths_in(value: Any, at: Path = ()) -> Iterator[Path]:
    """Yield the paths to all values of JSON."""
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from paths_in(each, (*at, key))
