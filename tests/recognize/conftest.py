from typing import Any

import pytest

from tests.recognize.birds_in_memory import memory_store
from tests.toy.encoders import toy_encoders
from tests.toy.store import MemoryStore


@pytest.fixture(scope="session")
def encoders() -> Any:
    return toy_encoders()


@pytest.fixture(scope="session")
def store(encoders: Any) -> MemoryStore:
    return memory_store(encoders)
