"""Names of profiles."""

import pytest

from data.errors import ConfigError
from recognize.encoders.profiles import LOADERS, load_encoders
from recognize.settings import PROFILES


def test_an_unknown_profile_lists_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r'Unknown profile "big"\. Expected one of starter, paper, best'):
        load_encoders("big")


def test_every_profile_has_a_loader() -> None:
    assert tuple(LOADERS) == PROFILES
