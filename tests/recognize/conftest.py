from typing import Any

import pytest

from tests.recognize.birds_in_memory import BIRDS, bird
from tests.toy.encoders import toy_encoders
from tests.toy.store import MemoryStore, Sketch


@pytest.fixture(scope="session")
def encoders() -> Any:
    return toy_encoders()


@pytest.fixture(scope="session")
def store(encoders: Any) -> MemoryStore:
    sketches = {
        name: Sketch(texts=[text], pictures=[bird(colour), bird(colour, x=5)], common_name=common, credit="A. Painter")
        for name, (colour, common, text) in BIRDS.items()
    }
    return MemoryStore(sketches, encoders)
