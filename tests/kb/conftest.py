import pytest

from data.contracts import Encoders
from tests.toy.encoders import toy_encoders


@pytest.fixture(scope="session")
def encoders() -> Encoders:
    return toy_encoders()
